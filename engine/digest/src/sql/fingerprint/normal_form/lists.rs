//! Repetitions in lists: equal items of a list and equal rows of VALUES are written once.

use super::brackets::{Bracket, ROWS_MAX};
use super::{Before, NOWHERE, Normaliser};

impl Normaliser {
    /// After a row of VALUES that begins at `begin`: removes it if an equal one is known.
    pub(super) fn end_row(&mut self, begin: usize) {
        let end = self.length;
        let Self { text, frames, .. } = self;
        let Some(frame) = frames.last_mut() else { return };
        let (rows, count) = (&mut frame.rows, &mut frame.rows_count);
        let row = &text[begin..end];
        let first = if text[begin] == b' ' { 1 } else { 0 };
        let is_known = rows[..*count].iter().any(|&(from, to)| text[from..to] == row[first..]);
        if *count > 0 && (is_known || *count == ROWS_MAX) {
            self.length = rows[*count - 1].1;
        } else {
            rows[*count] = (begin + first, end);
            *count += 1;
        }
        self.in_rows = true;
    }

    #[inline]
    pub(super) fn comma(&mut self) {
        let in_rows = self.in_rows && self.before == Before::Operand;
        let limit = self.limit;
        if limit.0 == 1 && self.before == Before::Literal {
            self.spaced(b"offset", Before::Keyword);
            return;
        }
        if self.frame().kind == Bracket::Items && self.unframed == 0 {
            self.end_item();
            let at = self.length;
            let frame = self.frame();
            if frame.item < at {
                frame.item_before = frame.item;
            }
            frame.item = at + ", ".len();
        }
        self.tight(b",", Before::Comma);
        self.in_rows = in_rows;
    }

    /// After an item of a list: removes it and its comma if it equals the previous item.
    pub(super) fn end_item(&mut self) {
        let length = self.length;
        let Self { text, frames, .. } = self;
        let Some(frame) = frames.last_mut() else { return };
        if frame.kind != Bracket::Items || frame.item_before == NOWHERE || frame.item > length {
            return;
        }
        let before_end = frame.item - ", ".len();
        if text[frame.item_before..before_end] == text[frame.item..length] {
            self.length = before_end;
            frame.item = frame.item_before;
            frame.item_before = NOWHERE;
        }
    }
}
