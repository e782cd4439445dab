//! The text as it is written: spaces between tokens, and the state that one token leaves to the next.

use super::{Before, Keyword, NAME_BYTES_MAX, NOWHERE, Normaliser, SLACK};

impl Normaliser {
    /// Makes room for a token and the text around it.
    #[inline]
    pub(super) fn reserve(&mut self, token: usize) {
        let room = self.length + token.min(NAME_BYTES_MAX) + 2 * SLACK;
        if self.text.len() < room {
            self.text.resize(room * 2, 0);
        }
    }

    /// Resets the state that applies to one token only.
    #[inline]
    pub(super) fn after(&mut self, before: Before) {
        self.before = before;
        self.last = Keyword::None;
        self.is_glued = false;
        self.sign = NOWHERE;
        self.in_rows = false;
        self.limit = (0, 0);
    }

    /// Writes text with a space before it.
    #[inline]
    pub(super) fn spaced(&mut self, text: &[u8], before: Before) {
        self.space();
        self.write(text);
        self.after(before);
    }

    /// Writes text without a space before it; after a dot no space follows either.
    #[inline]
    pub(super) fn tight(&mut self, text: &[u8], before: Before) {
        self.semicolon();
        self.write(text);
        self.after(before);
        self.is_glued = before == Before::Dot;
    }

    #[inline]
    pub(super) fn space(&mut self) {
        self.semicolon();
        if !self.is_glued {
            self.text[self.length] = b' ';
            self.length += 1;
        }
    }

    #[inline]
    pub(super) fn semicolon(&mut self) {
        if self.semicolon {
            self.semicolon = false;
            self.write(b";");
            self.is_glued = false;
        }
    }

    #[inline]
    pub(super) fn write(&mut self, text: &[u8]) {
        let text = &text[..text.len().min(NAME_BYTES_MAX)];
        self.text[self.length..self.length + text.len()].copy_from_slice(text);
        self.length += text.len();
    }

    /// Writes a word in lower case.
    #[inline]
    pub(super) fn fold(&mut self, word: &[u8]) {
        let to = &mut self.text[self.length..self.length + word.len()];
        for (to, from) in to.iter_mut().zip(word) {
            *to = from.to_ascii_lowercase();
        }
        self.length += word.len();
    }
}
