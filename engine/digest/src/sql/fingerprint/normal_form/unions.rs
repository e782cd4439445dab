//! Unions: the normal form contains only the first of repeated selects.

use super::{Before, NOWHERE, Normaliser};

impl Normaliser {
    /// After UNION or a similar operator that was written at `begin`.
    pub(super) fn union(&mut self, begin: usize) {
        let word_end = self.length;
        let word: [u8; 16] = std::array::from_fn(|at| self.text[begin + at]);
        self.length = begin;
        let was_like_before = self.end_arm();
        let arm = self.arm();
        let at = self.length;
        let frame = self.frame();
        if !was_like_before {
            frame.arm = arm;
        }
        frame.union = at;
        frame.select = NOWHERE;
        self.write(&word[..word_end - begin]);
    }

    /// The select or bracketed query that was just written; `None` if there is none.
    fn arm(&mut self) -> Option<(usize, usize)> {
        let length = self.length;
        let frame = self.frame();
        if frame.select != NOWHERE {
            return Some((frame.select, length));
        }
        (frame.query.1 == length && length > 0).then_some(frame.query)
    }

    /// Ends the last select of a union before the keyword that was written at `begin`.
    pub(super) fn end_arm_before(&mut self, begin: usize) {
        if self.frame().arm.is_none() {
            return;
        }
        let length = self.length - begin;
        let word: [u8; 16] = std::array::from_fn(|at| self.text[begin + at]);
        self.length = begin;
        self.end_arm();
        self.write(&word[..length]);
    }

    /// Ends the select after a UNION: removes it and returns true if it equals the previous one.
    pub(super) fn end_arm(&mut self) -> bool {
        let Some((from, to)) = self.frame().arm else { return false };
        let Some((begin, end)) = self.arm() else { return false };
        let union = self.frame().union;
        let operator = begin.saturating_sub(union);
        if begin < union || operator > 16 || self.text[from..to] != self.text[begin..end] {
            return false;
        }
        let word: [u8; 16] = std::array::from_fn(|at| self.text[union + at]);
        self.length = to;
        self.write(word[..operator].trim_ascii_end());
        self.write(b"+");
        self.frame().select = NOWHERE;
        self.frame().query = (0, 0);
        self.before = Before::Operand;
        self.is_glued = false;
        true
    }
}
