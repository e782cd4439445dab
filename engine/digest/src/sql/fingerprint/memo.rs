//! Memo from statements to keys: a statement that differs from an earlier one only in the content of
//! its numbers, strings and lists gets its key without a normal form.
//!
//! The *skeleton* of a statement is its text with a mark for each of these. The tokens and their normal
//! form do not depend on the content behind the marks, so equal skeletons have equal keys. (The converse
//! does not hold and is not needed: such statements take the long way.) Statements with comments have no
//! skeleton, because quotes in comments begin no string.

use super::hash;
use super::window::{LIST, WIDTH, Window};
use crate::sql::language::Language;
use crate::sql::token::bytes::{digits_end, is_space, is_word};
use crate::sql::token::{Lexer, Readings};

/// Number of pairs of entries; a pair fits in one cache line.
const PAIRS: usize = 1 << 13;

/// Bounded map from hashes of skeletons to keys: a third entry in a pair evicts the oldest.
#[derive(Debug)]
pub(super) struct Memo {
    language: Language,
    /// Hash of the skeleton, key; a hash of 0 marks an empty entry. Allocated with the first key.
    pairs: Vec<[(u128, u128); 2]>,
    text: Vec<u8>,
}

impl Memo {
    pub(super) fn new(language: Language) -> Self {
        Self { language, pairs: Vec::new(), text: Vec::new() }
    }

    /// The hash of a statement's skeleton; `None` if it has no skeleton.
    #[inline]
    pub(super) fn skeleton(&mut self, statement: &[u8]) -> Option<u128> {
        if self.text.len() < statement.len() + 2 * STEP {
            self.text.resize(statement.len() * 2 + 2 * STEP, 0);
        }
        let is_mysql = match self.language {
            Language::Mysql => true,
            Language::Postgres => false,
            Language::Mongo => return None,
        };
        let skeleton = Skeleton {
            from: statement,
            at: 0,
            seen: Window::NONE,
            readings: Readings::UNKNOWN,
            to: &mut self.text,
            length: 0,
            is_mysql,
        };
        let length = skeleton.write()?;
        Some(hash::hash(&self.text[..length], 0))
    }

    /// The key of statements with this skeleton, if stored.
    #[inline]
    pub(super) fn find(&self, skeleton: u128) -> Option<u128> {
        let [first, second] = self.pairs.get(skeleton as usize % PAIRS)?;
        if first.0 == skeleton { Some(first.1) } else { (second.0 == skeleton).then_some(second.1) }
    }

    /// Stores a key.
    pub(super) fn keep(&mut self, skeleton: u128, key: u128) {
        if self.pairs.is_empty() {
            self.pairs = vec![[(0, 0); 2]; PAIRS];
        }
        let pair = &mut self.pairs[skeleton as usize % PAIRS];
        pair[1] = pair[0];
        pair[0] = (skeleton, key);
    }
}

/// Number of bytes copied at once.
const STEP: usize = 32;

/// Writer of a skeleton.
struct Skeleton<'a> {
    from: &'a [u8],
    at: usize,
    seen: Window,
    /// The possible readings of the statement, as far as determined.
    readings: Readings,
    to: &'a mut [u8],
    length: usize,
    is_mysql: bool,
}

impl Skeleton<'_> {
    /// The length of the skeleton; `None` if the statement must be read token by token.
    #[inline]
    fn write(mut self) -> Option<usize> {
        loop {
            self.copy_plain();
            let Some(&byte) = self.from.get(self.at) else {
                // With multibyte readings, the tokens depend on the content behind the marks.
                return (!self.readings.have_pairs()).then_some(self.length);
            };
            match byte {
                b'0'..=b'9' => self.digits()?,
                b'\'' => self.string(self.escapes()?),
                b'"' if self.is_mysql => self.string(true),
                b'`' if self.is_mysql
                    && self.at > 0
                    && self.is_pair(self.at)
                    && self.has_pairs() =>
                {
                    return None;
                }
                b'`' | b'"' if self.is_mysql || byte == b'"' => self.name(byte)?,
                b'(' if self.is_after(b"in") && self.skip_literals() => self.push(LIST),
                b'(' if self.is_after(b"values") && self.skip_literals() => self.rows(),
                LIST => return None,
                _ if self.begins_comment(byte) => return None,
                b'$' if !self.is_mysql && !self.next_is_digit() => return None,
                _ => self.push_next(),
            }
        }
    }

    /// Copies bytes up to the next special one.
    #[inline]
    fn copy_plain(&mut self) {
        let end = self.next(self.at, |seen| seen.special);
        let plain = &self.from[self.at..end];
        // The buffer is large enough: see `Memo::skeleton`.
        let to = &mut self.to[self.length..self.length + plain.len().max(STEP)];
        match self.from[self.at..].first_chunk::<STEP>() {
            Some(chunk) if plain.len() <= STEP => to[..STEP].copy_from_slice(chunk),
            _ => to[..plain.len()].copy_from_slice(plain),
        }
        self.at = end;
        self.length += plain.len();
    }

    /// Offset of the first byte with a bit in `mask` from `at` on; the length if there is none.
    #[inline]
    fn next(&mut self, mut at: usize, mask: impl Fn(&Window) -> u64) -> usize {
        loop {
            if at >= self.from.len() {
                return self.from.len();
            }
            if at.wrapping_sub(self.seen.begin) >= WIDTH {
                self.seen = Window::new(self.from, at);
            }
            let left = mask(&self.seen) >> (at - self.seen.begin);
            if left != 0 {
                return at + left.trailing_zeros() as usize;
            }
            at = self.seen.begin + WIDTH;
        }
    }

    #[inline]
    fn push(&mut self, byte: u8) {
        self.to[self.length] = byte;
        self.length += 1;
    }

    #[inline]
    fn push_next(&mut self) {
        self.push(self.from[self.at]);
        self.at += 1;
    }

    #[inline]
    fn byte(&self, at: usize) -> u8 {
        self.from.get(at).copied().unwrap_or(0)
    }

    fn next_is_digit(&self) -> bool {
        self.byte(self.at + 1).is_ascii_digit()
    }

    /// Digits: a number becomes a mark; digits within a name, a hexadecimal number or an exponent stay.
    /// `None` if that is not clear.
    #[inline]
    fn digits(&mut self) -> Option<()> {
        let before = self.byte_before(self.at);
        let mut end = digits_end(self.from, self.at);
        if self.byte(end) == b'.' && before != b'.' {
            end = digits_end(self.from, end + 1);
        }
        let is_exponent =
            matches!(before, b'+' | b'-') && matches!(self.byte_before(self.at - 1), b'e' | b'E');
        // `a1.5`: the digits before the point were plain.
        let is_behind_name = before == b'.' && is_word(self.byte_before(self.at - 1));
        let is_kept = before == b'@' || is_exponent || is_behind_name;
        if is_kept || is_word(self.byte(end)) {
            while self.at < end {
                self.push_next();
            }
        } else if self.byte(end) == b'.' {
            // A second point is too rare to be analysed here.
            return None;
        } else {
            self.at = end;
            self.push(b'0');
        }
        Some(())
    }

    /// The byte before `at`; a space before the first byte.
    #[inline]
    fn byte_before(&self, at: usize) -> u8 {
        at.checked_sub(1).map_or(b' ', |before| self.from[before])
    }

    /// Whether backslash is an escape in the string that begins here; `None` if that is not clear.
    #[inline]
    fn escapes(&self) -> Option<bool> {
        if self.is_mysql || !matches!(self.byte_before(self.at), b'e' | b'E') {
            return Some(self.is_mysql);
        }
        // PostgreSQL's `E'..'`.
        let before = self.byte_before(self.at - 1);
        (is_space(before) || matches!(before, b'(' | b',' | b'=')).then_some(true)
    }

    #[inline]
    fn string(&mut self, escapes: bool) {
        let quote = self.from[self.at];
        self.push(quote);
        self.at = match quote {
            b'\'' => self.string_end(self.at, escapes),
            _ => self.with_lexer(|lexer, at| lexer.string_end(at, escapes)),
        };
    }

    /// As [`Lexer::string_end`], for strings in single quotes.
    #[inline]
    fn string_end(&mut self, begin: usize, escapes: bool) -> usize {
        let mut at = begin + 1;
        loop {
            at = self.next(at, |seen| seen.ends);
            match self.from.get(at) {
                None => return self.from.len(),
                Some(b'\'') if self.byte(at + 1) != b'\'' => return at + 1,
                Some(b'\\') if !escapes => at += 1,
                Some(b'\\') if self.is_pair(at) && self.hides(at) => {
                    return self.from.len();
                }
                Some(_) => at += 2,
            }
        }
    }

    /// Copies a quoted name. The second one of a doubled quote begins a name again.
    fn name(&mut self, quote: u8) -> Option<()> {
        let length = memchr::memchr(quote, &self.from[self.at + 1..])? + 2;
        if self.is_mysql && self.is_pair(self.at + length - 1) && self.has_pairs() {
            return None;
        }
        let name = &self.from[self.at..self.at + length];
        self.to[self.length..self.length + length].copy_from_slice(name);
        self.at += length;
        self.length += length;
        Some(())
    }

    /// Whether the byte at `at` may be the second one of a character, as far as determined.
    #[inline]
    fn is_pair(&self, at: usize) -> bool {
        self.from[at - 1] >= 0x80 && self.readings != Readings::PLAIN
    }

    /// [`Lexer::hides`] for strings in single quotes.
    #[cold]
    fn hides(&mut self, at: usize) -> bool {
        self.with_lexer(|lexer, _| lexer.hides(b'\'', at))
    }

    /// Whether a reading with ASCII trail bytes remains.
    #[cold]
    fn has_pairs(&mut self) -> bool {
        self.with_lexer(|lexer, _| lexer.may_have_pairs())
    }

    /// Calls `ask` with a lexer of the statement and the current offset. Keeps the readings that the lexer
    /// determines.
    #[inline]
    fn with_lexer<T>(&mut self, ask: impl FnOnce(&mut Lexer<'_>, usize) -> T) -> T {
        let language = if self.is_mysql { Language::Mysql } else { Language::Postgres };
        let mut lexer = Lexer::new(self.from, language).knowing(self.readings);
        let answer = ask(&mut lexer, self.at);
        self.readings = lexer.readings();
        answer
    }

    #[inline]
    fn begins_comment(&self, byte: u8) -> bool {
        match byte {
            b'-' => self.byte(self.at + 1) == b'-',
            b'/' => self.byte(self.at + 1) == b'*',
            b'#' => self.is_mysql,
            _ => false,
        }
    }

    /// Whether the current byte follows this keyword, and the keyword is not a name (`t.in`, `use in`).
    #[inline]
    fn is_after(&self, keyword: &[u8]) -> bool {
        let before = self.to[..self.length].trim_ascii_end();
        let Some(begin) = before.len().checked_sub(keyword.len()) else { return false };
        let (before, word) = before.split_at(begin);
        word.eq_ignore_ascii_case(keyword)
            && before.last().is_some_and(|&byte| is_space(byte) || byte == b')')
            && before.trim_ascii_end().last() != Some(&b'.')
            && !self
                .from
                .trim_ascii_start()
                .get(..3)
                .is_some_and(|verb| verb.eq_ignore_ascii_case(b"use"))
    }

    /// Moves past a group that contains only literals; false if it contains anything else.
    fn skip_literals(&mut self) -> bool {
        let end = self.with_lexer(|lexer, at| {
            lexer.go_to(at + 1);
            lexer.skip_literals().then(|| lexer.position())
        });
        self.at = end.unwrap_or(self.at);
        end.is_some()
    }

    /// After the first row of VALUES: skips further rows of literals, which do not change the key.
    fn rows(&mut self) {
        self.push(LIST);
        loop {
            let behind = self.at;
            self.skip_space();
            if self.byte(self.at) != b',' {
                self.at = behind;
                return;
            }
            self.at += 1;
            self.skip_space();
            if self.byte(self.at) != b'(' || !self.skip_literals() {
                self.at = behind;
                return;
            }
        }
    }

    fn skip_space(&mut self) {
        while self.at < self.from.len() && is_space(self.from[self.at]) {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skeleton(statement: &str, language: Language) -> Option<u128> {
        Memo::new(language).skeleton(statement.as_bytes())
    }

    #[test]
    fn statements_that_differ_in_literals_only_have_one_skeleton() {
        for [one, other] in [
            [
                "select a1 from t where b = 1 and c = 'x'",
                "select a1 from t where b = 22.5 and c = 'it''s'",
            ],
            ["select `a'b` from t where b = -1", "select `a'b` from t where b = -7"],
            ["select a from t where b in (1, 2)", "select a from t where b in ('x', null, 3)"],
            ["insert into t values (1, 'a')", "insert into t values (2, 'b'), (3, 'c')"],
        ] {
            let found = skeleton(one, Language::Mysql);
            assert!(found.is_some() && found == skeleton(other, Language::Mysql), "{one}");
        }
    }

    #[test]
    fn what_is_no_literal_counts() {
        for [one, other] in [
            ["select a1", "select a2"],
            ["select 0x1", "select 0x2"],
            ["select `1`", "select `2`"],
            ["select 1", "select '1'"],
            ["select f(1, 2)", "select f(1, 2, 3)"],
            ["select 1 from t.in (1)", "select 1 from t.in (1, 2)"],
            ["insert into t values (1, now())", "insert into t values (1, now()), (1, 2)"],
        ] {
            assert_ne!(skeleton(one, Language::Mysql), skeleton(other, Language::Mysql), "{one}");
        }
    }

    #[test]
    fn quotes_that_begin_nothing_are_left_to_the_long_way() {
        for statement in
            ["select 1 -- it's", "select 1 # it's", "select /* it's */ 1", "a\0", "`cut"]
        {
            assert_eq!(
                skeleton(&statement.replace("\\0", "\0"), Language::Mysql),
                None,
                "{statement}"
            );
        }
        for statement in ["select 1 -- it's", "select $$it's$$", "select namee'x'"] {
            assert_eq!(skeleton(statement, Language::Postgres), None, "{statement}");
        }
    }

    #[test]
    fn of_three_with_one_place_the_oldest_is_forgotten() {
        let mut memo = Memo::new(Language::Mysql);
        let place = |n: u128| n << 64 | 5;
        (1..=3).for_each(|n| memo.keep(place(n), n));
        assert_eq!([1, 2, 3].map(|n| memo.find(place(n))), [None, Some(2), Some(3)]);
    }
}
