//! Strings, numbers and bits.

use super::bytes::{digits_end, find2, is_space, is_word, numbers_end, word_end};
use super::{Kind, Lexer, Token};

/// MySQL's character sets: `_NAME` before a string gives its character set.
const CHARSETS: &[&str] = &[
    "armscii8", "ascii", "big5", "binary", "cp1250", "cp1251", "cp1256", "cp1257", "cp850",
    "cp852", "cp866", "cp932", "dec8", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "geostd8",
    "greek", "hebrew", "hp8", "keybcs2", "koi8r", "koi8u", "latin1", "latin2", "latin5", "latin7",
    "macce", "macroman", "sjis", "swe7", "tis620", "ucs2", "ujis", "utf16", "utf16le", "utf32",
    "utf8", "utf8mb3", "utf8mb4",
];

impl Lexer<'_> {
    /// A string with its quote at `quote_at`; `begin` is the offset of its introducer.
    #[inline]
    pub(super) fn string(&mut self, begin: usize, quote_at: usize, escapes: bool) -> Token {
        let end = self.string_end(quote_at, escapes);
        self.take(Kind::Literal, begin, end)
    }

    /// The end of a string: after its closing quote, or the end of the text. Doubled quotes are part of it.
    #[inline]
    pub(crate) fn string_end(&self, quote_at: usize, escapes: bool) -> usize {
        let quote = self.bytes[quote_at];
        let other = if escapes { b'\\' } else { quote };
        let mut at = quote_at + 1;
        loop {
            at = find2(quote, other, self.bytes, at.min(self.bytes.len()));
            if at >= self.bytes.len() {
                return self.bytes.len();
            }
            // An escaped byte or a doubled quote.
            let is_escape = self.bytes[at] != quote;
            if is_escape || self.byte(at + 1) == quote {
                if is_escape
                    && self.bytes[at - 1] >= 0x80
                    && let Some(end) = self.hidden_end(quote_at, at, escapes)
                {
                    return end;
                }
                at += 2;
            } else {
                return at + 1;
            }
        }
    }

    /// The end of the string if it depends on whether the backslash at `at` is part of a character.
    #[cold]
    #[inline(never)]
    fn hidden_end(&self, quote_at: usize, at: usize, escapes: bool) -> Option<usize> {
        self.hides(self.bytes[quote_at], at).then(|| self.string_end_by_pairs(quote_at, escapes))
    }

    /// Whether the backslash at `at`, after a byte beyond ASCII, may be the second byte of a character and
    /// thereby move the end of the string.
    #[cold]
    pub(crate) fn hides(&self, quote: u8, at: usize) -> bool {
        let next = self.byte(at + 1);
        (next == quote || next == b'\\') && self.may_have_pairs()
    }

    /// A literal with the introducer `begin..end` directly before its quote: `N'..'`, `x'..'`, `E'..'`,
    /// `U&'..'`, `_utf8mb4'..'`; also the name `U&".."`.
    pub(super) fn introduced(&mut self, begin: usize, end: usize) -> Option<Token> {
        let word = &self.bytes[begin..end];
        let next = self.byte(end);
        if self.is_mysql {
            let is_introducer = matches!(word, [b'n' | b'N' | b'x' | b'X' | b'b' | b'B'])
                && next == b'\''
                || is_charset(word) && next != b'&';
            return is_introducer.then(|| self.string(begin, end, true));
        }
        match (word, next, self.byte(end + 1)) {
            ([b'e' | b'E'], b'\'', _) => Some(self.string(begin, end, true)),
            ([b'n' | b'N' | b'x' | b'X' | b'b' | b'B'], b'\'', _) => {
                Some(self.string(begin, end, false))
            }
            ([b'u' | b'U'], b'&', b'\'') => Some(self.string(begin, end + 1, false)),
            ([b'u' | b'U'], b'&', b'"') => Some(self.name(begin, end + 1)),
            _ => None,
        }
    }

    /// A literal after a character set and space: `_utf8mb4 'a'`, `_binary 0x41`, `_latin1 x'41'`.
    pub(super) fn after_charset(&mut self, begin: usize, end: usize) -> Option<Token> {
        if !is_charset(&self.bytes[begin..end]) {
            return None;
        }
        let mut at = end;
        while at < self.bytes.len() && is_space(self.bytes[at]) {
            at += 1;
        }
        match (self.byte(at), self.byte(at + 1)) {
            (b'\'' | b'"', _) => Some(self.string(begin, at, true)),
            (b'x' | b'X' | b'b' | b'B' | b'n' | b'N', b'\'') => {
                Some(self.string(begin, at + 1, true))
            }
            (b'0', b'x' | b'b') => {
                let end = word_end(self.bytes, at);
                Some(self.take(Kind::Literal, begin, end))
            }
            _ => None,
        }
    }

    /// Whether the dot here begins a number: a digit follows, and no name precedes.
    #[inline]
    pub(super) fn is_fraction(&self) -> bool {
        self.byte(self.at + 1).is_ascii_digit()
            && !self.at.checked_sub(1).is_some_and(|before| {
                let before = self.bytes[before];
                is_word(before) || matches!(before, b'`' | b'"' | b']' | b')')
            })
    }

    /// A number, or a MySQL name that begins with digits.
    #[inline]
    pub(super) fn number(&mut self) -> Token {
        let begin = self.at;
        let mut end = digits_end(self.bytes, begin);
        match self.byte(end) {
            b'.' => {
                end = digits_end(self.bytes, end + 1);
                end = self.exponent_end(end).unwrap_or(end);
            }
            next if is_word(next) => return self.number_with_letters(begin, end),
            _ => {}
        }
        self.take(Kind::Literal, begin, end)
    }

    /// Digits that are followed by letters.
    fn number_with_letters(&mut self, begin: usize, digits: usize) -> Token {
        let run = word_end(self.bytes, begin);
        let is_based = digits == begin + 1 && self.bytes[begin] == b'0';
        let rest = &self.bytes[(begin + 2).min(run)..run];
        let is_literal = match self.byte(begin + 1) {
            b'x' | b'X' if is_based => rest.iter().all(|b| b.is_ascii_hexdigit() || *b == b'_'),
            b'b' | b'B' | b'o' | b'O' if is_based => {
                rest.iter().all(|b| b.is_ascii_digit() || *b == b'_')
            }
            _ => false,
        };
        if is_literal || self.in_hint && is_size(&self.bytes[digits..run]) {
            return self.take(Kind::Literal, begin, run);
        }
        if let Some(end) = self.exponent_end(digits)
            && !is_word(self.byte(end))
        {
            return self.take(Kind::Literal, begin, end);
        }
        if self.is_mysql {
            // `7e` at the end of the text is a truncated number.
            let sign = usize::from(matches!(self.byte(run), b'+' | b'-'));
            let is_cut = run + sign == self.bytes.len()
                && run == digits + 1
                && matches!(self.bytes[digits], b'e' | b'E');
            let kind = if is_cut { Kind::Literal } else { Kind::Word };
            return self.run(kind, begin, begin);
        }
        let mut end = digits;
        while self.byte(end).is_ascii_digit() || self.byte(end) == b'_' {
            end += 1;
        }
        self.take(Kind::Literal, begin, end)
    }

    /// The end of the exponent that begins at `at`; `None` if there is none.
    fn exponent_end(&self, at: usize) -> Option<usize> {
        if !matches!(self.byte(at), b'e' | b'E') {
            return None;
        }
        let digits = at + 1 + usize::from(matches!(self.byte(at + 1), b'+' | b'-'));
        let end = digits_end(self.bytes, digits.min(self.bytes.len()));
        (end > digits).then_some(end)
    }

    /// `$$..$$` or `$tag$..$tag$`; `None` if neither begins here.
    pub(super) fn dollar_quoted(&mut self) -> Option<Token> {
        let begin = self.at;
        let mut tag_end = begin + 1;
        while is_word(self.byte(tag_end)) && self.byte(tag_end) != b'$' {
            tag_end += 1;
        }
        if self.byte(tag_end) != b'$' {
            return None;
        }
        let tag = &self.bytes[begin..=tag_end];
        let inside = &self.bytes[tag_end + 1..];
        let end = match memchr::memmem::find(inside, tag) {
            Some(found) => tag_end + 1 + found + tag.len(),
            None => self.bytes.len(),
        };
        Some(self.take(Kind::Literal, begin, end))
    }

    /// Moves past a group that contains only literals, parameters, commas and such groups, and returns
    /// true; otherwise stays. The lexer must be directly after the opening bracket. A truncated group ends
    /// with the text. Accepted: `(1, -2.5, 'a', NULL, (?, $1))`; not accepted: `()`, `(1, now())`.
    pub fn skip_literals(&mut self) -> bool {
        let (begin, mut at) = (self.at, self.at);
        let (mut depth, mut holds_any) = (1u32, false);
        while depth > 0 {
            let has_digit;
            (at, has_digit) = numbers_end(self.bytes, at);
            holds_any |= has_digit;
            let Some(&byte) = self.bytes.get(at) else { break };
            match byte {
                b')' | b']' => (at, depth) = (at + 1, depth - 1),
                b'(' | b'[' => (at, depth) = (at + 1, depth + 1),
                b'-' if !self.is_dash_comment(at) => at += 1,
                b'\'' => (at, holds_any) = (self.string_end(at, self.is_mysql), true),
                b'?' if self.is_mysql => (at, holds_any) = (at + 1, true),
                _ => match self.literal_or_comment(at, begin) {
                    Some((end, is_literal)) => (at, holds_any) = (end, holds_any | is_literal),
                    None => return false,
                },
            }
        }
        if holds_any {
            self.at = at;
        }
        holds_any
    }

    /// The end of the literal or comment at `at` (a literal may begin before), and whether it is a literal.
    fn literal_or_comment(&mut self, at: usize, group: usize) -> Option<(usize, bool)> {
        let mut begin = at;
        while is_word(self.bytes[at]) && begin > group && self.bytes[begin - 1].is_ascii_digit() {
            begin -= 1;
        }
        if let Some(end) = self.comment_within_group(at) {
            return Some((end, false));
        }
        let mut lexer = self.clone();
        lexer.at = begin;
        let token = lexer.next_token();
        // Keeps the readings that the clone determined: there may be many such literals.
        self.readings.set(lexer.readings.get());
        let is_value = match token.kind {
            Kind::Literal | Kind::Parameter | Kind::Question => true,
            Kind::Word => is_constant(lexer.text(token)),
            _ => false,
        };
        (is_value && token.end > at).then_some((token.end, true))
    }

    fn comment_within_group(&self, at: usize) -> Option<usize> {
        let rest = &self.bytes[at..];
        let is_line = self.is_dash_comment(at) || self.is_mysql && rest[0] == b'#';
        match (rest[0], self.byte(at + 1), self.byte(at + 2)) {
            _ if is_line => Some(at + memchr::memchr(b'\n', rest).unwrap_or(rest.len())),
            (b'/', b'*', b'+' | b'!' | b'M') => None,
            (b'/', b'*', _) => Some(self.comment_end(at)),
            _ => None,
        }
    }
}

/// The unit of a size in a hint: `SET_VAR(sort_buffer_size = 16M)`.
fn is_size(letters: &[u8]) -> bool {
    matches!(letters, [unit] if b"kmgtpe".contains(&unit.to_ascii_lowercase()))
}

/// NULL, TRUE, FALSE, and DEFAULT as a value.
pub(crate) fn is_constant(word: &[u8]) -> bool {
    match word.len() {
        4 => word.eq_ignore_ascii_case(b"null") || word.eq_ignore_ascii_case(b"true"),
        5 => word.eq_ignore_ascii_case(b"false"),
        7 => word.eq_ignore_ascii_case(b"default"),
        _ => false,
    }
}

fn is_charset(word: &[u8]) -> bool {
    word.first() == Some(&b'_')
        && CHARSETS.iter().any(|name| word[1..].eq_ignore_ascii_case(name.as_bytes()))
}
