//! Brackets: what each open one holds, and what its end closes.

use super::{Before, Keyword, NOWHERE, Normaliser};
use crate::sql::token::{Kind, Lexer};

/// Maximum nesting of brackets that have a [`Frame`]; deeper ones are not searched for repetitions.
pub(super) const DEPTH_MAX: usize = 200;
/// Maximum number of different rows kept of one VALUES.
pub(super) const ROWS_MAX: usize = 4;

/// The kind of a bracket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Bracket {
    #[default]
    Plain,
    /// A list: repeated items are written once.
    Items,
    /// A row of VALUES.
    Row,
}

/// State of an open bracket; the first frame is the statement itself.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Frame {
    pub(super) kind: Bracket,
    /// Where its text begins, including the bracket.
    pub(super) begin: usize,
    /// Where the current item and the previous item begin.
    pub(super) item: usize,
    pub(super) item_before: usize,
    /// Where the current select begins; `NOWHERE` before the first.
    pub(super) select: usize,
    /// The last bracket within this one that contains a query.
    pub(super) query: (usize, usize),
    /// The select before the last UNION, if any.
    pub(super) arm: Option<(usize, usize)>,
    /// Where the UNION operator after it begins.
    pub(super) union: usize,
    /// Whether this bracket contains a query.
    pub(super) is_query: bool,
    /// Whether ORDER BY has been read in this bracket.
    pub(super) is_ordered: bool,
    /// Rows of the current VALUES.
    pub(super) rows: [(usize, usize); ROWS_MAX],
    pub(super) rows_count: usize,
}

impl Normaliser {
    pub(super) fn open(&mut self, lexer: &mut Lexer<'_>, bracket: u8) {
        let (in_rows, last, before) = (self.in_rows, self.last, self.before);
        let is_list = before == Before::List && (bracket == b'[') == (last == Keyword::Array);
        let is_row = bracket == b'(' && in_rows;
        if matches!(self.verb, Keyword::Call) && self.frames.len() == 1 && before == Before::Operand
        {
            return skip_group(lexer);
        }
        let begin = self.length;
        if bracket == b'(' && !matches!(before, Before::Operand | Before::List) {
            self.space();
        }
        let at = self.length;
        if (is_list || is_row) && lexer.skip_literals() {
            self.write(if bracket == b'(' { b"(?+)" } else { b"[?+]" });
            self.after(Before::Operand);
            if is_row {
                self.end_row(begin);
            }
            return;
        }
        self.write(&[bracket]);
        self.after(Before::Open);
        self.is_glued = true;
        if self.frames.len() > DEPTH_MAX {
            self.unframed += 1;
            return;
        }
        let kind = match (is_row, is_list) {
            (true, _) => Bracket::Row,
            (_, true) => Bracket::Items,
            _ => Bracket::Plain,
        };
        self.frames.push(Frame {
            kind,
            begin: if is_row { begin } else { at },
            item: self.length,
            item_before: NOWHERE,
            select: NOWHERE,
            ..Frame::default()
        });
    }

    pub(super) fn close(&mut self, bracket: u8) {
        if self.unframed > 0 {
            self.unframed -= 1;
            return self.tight(&[bracket], Before::Operand);
        }
        self.end_item();
        self.end_arm();
        if self.frames.len() == 1 {
            return self.tight(&[bracket], Before::Operand);
        }
        let frame = self.frames.pop().unwrap_or_default();
        self.tight(&[bracket], Before::Operand);
        let end = self.length;
        let outer = self.frame();
        if frame.is_query {
            outer.query = (frame.begin, end);
            outer.is_query |= frame.begin == outer.item && outer.begin < outer.item;
        }
        if frame.kind == Bracket::Row {
            self.end_row(frame.begin);
        }
    }

    #[inline]
    pub(super) fn frame(&mut self) -> &mut Frame {
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }
}

/// Skips to the end of an open bracket.
fn skip_group(lexer: &mut Lexer<'_>) {
    let mut depth = 1u64;
    while depth > 0 {
        match lexer.next_token().kind {
            Kind::Open | Kind::OpenBracket => depth += 1,
            Kind::Close | Kind::CloseBracket => depth -= 1,
            Kind::End => return,
            _ => {}
        }
    }
}
