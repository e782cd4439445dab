//! Character sets in which the last byte of a character may be an ASCII backslash or backtick: gbk,
//! gb18030, sjis, cp932, big5. Read as single bytes, such a character hides the quote after it, and the
//! content of strings is taken for names.
//!
//! A statement does not contain the character set of its client. A statement in UTF-8 is read as UTF-8. Any
//! other is read in four ways. A reading that no server would accept is dropped; text that any of the
//! remaining readings takes for a literal is a literal.
//!
//! Sources: MySQL 8.4 manual ("Supported Character Sets and Collations"), the tables of leading and trailing
//! bytes of each character set (Unicode's mappings CP936, CP932, BIG5).

use super::bytes::{is_space, is_word};
use super::{Kind, Lexer, Token};
use crate::sql::language::Language;

/// Character sets, by the pairs of bytes that form one character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pairs {
    /// No pair ends in ASCII: UTF-8, latin1, EUC.
    None,
    /// gbk, gb18030.
    Gbk,
    /// sjis, cp932.
    Sjis,
    Big5,
}

const ALL: [Pairs; 4] = [Pairs::None, Pairs::Gbk, Pairs::Sjis, Pairs::Big5];

impl Pairs {
    fn holds(self, lead: u8, trail: u8) -> bool {
        let is_ascii_trail = matches!(trail, 0x40..=0x7e);
        match self {
            Self::None => false,
            Self::Gbk => {
                matches!(lead, 0x81..=0xfe) && (is_ascii_trail || matches!(trail, 0x80..=0xfe))
            }
            Self::Sjis => {
                matches!(lead, 0x81..=0x9f | 0xe0..=0xfc)
                    && (is_ascii_trail || matches!(trail, 0x80..=0xfc))
            }
            Self::Big5 => {
                matches!(lead, 0xa1..=0xf9) && (is_ascii_trail || matches!(trail, 0xa1..=0xfe))
            }
        }
    }
}

/// The remaining ways to read a statement, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Readings(u8);

impl Readings {
    /// Not determined yet.
    pub(crate) const UNKNOWN: Self = Self(0);
    /// UTF-8, or any other character set without ASCII trail bytes.
    pub(crate) const PLAIN: Self = Self::of(Pairs::None);

    const fn of(pairs: Pairs) -> Self {
        Self(1 << pairs as u8)
    }

    /// Whether a reading with ASCII trail bytes remains; false if not determined yet.
    #[inline]
    pub(crate) fn have_pairs(self) -> bool {
        !matches!(self, Self::UNKNOWN | Self::PLAIN)
    }

    fn has(self, pairs: Pairs) -> bool {
        self.0 & Self::of(pairs).0 != 0
    }

    /// The only remaining reading; `None` if there are several.
    fn only(self) -> Option<Pairs> {
        ALL.into_iter().find(|&pairs| self == Self::of(pairs))
    }

    /// Determines the readings of a statement. If none remains, the text is not SQL, and all are kept.
    fn possible(statement: &[u8], language: Language) -> Self {
        if is_utf8(statement) {
            return Self::PLAIN;
        }
        let left = ALL.into_iter().filter(|&pairs| is_possible(statement, language, pairs));
        let left = left.fold(0, |left, pairs| left | Self::of(pairs).0);
        Self(if left == 0 { (1 << ALL.len()) - 1 } else { left })
    }
}

/// Whether a server would accept a statement in this reading: outside strings, names and comments it has
/// neither a backslash nor a control character, and no quoted name looks like text between two names.
fn is_possible(statement: &[u8], language: Language, pairs: Pairs) -> bool {
    let mut lexer = Lexer::new(statement, language);
    lexer.readings.set(Readings::of(pairs));
    let mut end = 0;
    loop {
        let token = lexer.next_token();
        let text = lexer.text(token);
        let is_odd = match token.kind {
            Kind::End => return true,
            // `\N` is NULL.
            Kind::Operator if text == b"\\" => lexer.byte(token.end) != b'N',
            Kind::Name => is_between_names(text),
            Kind::CutName => text.iter().any(|byte| b"'\"=,;".contains(byte)),
            _ => false,
        };
        if is_odd || has_control(&statement[end..token.begin]) {
            return false;
        }
        end = token.end;
    }
}

/// Whether this gap is space with a control character that no statement has. Gaps with comments do not
/// count.
fn has_control(gap: &[u8]) -> bool {
    gap.iter().all(|&byte| is_space(byte))
        && gap.iter().any(|byte| !matches!(byte, b' ' | b'\t'..=b'\r'))
}

/// Whether the text in quotes looks like the text between two names: names do not end with a space, and
/// are assumed not to begin or end with a comma, equals sign or bracket.
fn is_between_names(name: &[u8]) -> bool {
    let inside = name.get(1..name.len().saturating_sub(1)).unwrap_or_default();
    match inside {
        [] | [b'.'] => true,
        [first, .., last] => is_space(*last) || b",=(".contains(last) || b",=)".contains(first),
        [one] => is_space(*one) || b",=()".contains(one),
    }
}

/// Whether this may be the second byte of a character and is not a word byte.
#[inline]
fn is_trail(byte: u8) -> bool {
    matches!(byte, b'@' | b'['..=b'^' | b'`' | b'{'..=b'~')
}

impl Lexer<'_> {
    /// Sets the readings of the statement.
    #[inline]
    pub(crate) fn knowing(self, readings: Readings) -> Self {
        self.readings.set(readings);
        self
    }

    /// The readings of the statement, as far as determined.
    #[inline]
    pub(crate) fn readings(&self) -> Readings {
        self.readings.get()
    }

    /// Whether the byte at `at`, after the word that begins at `begin`, is the second byte of a character in
    /// some reading. A word in UTF-8 that no backtick follows is always a word, whatever the literals
    /// contain: other statements may have the same skeleton.
    #[inline]
    pub(super) fn is_trail(&self, begin: usize, at: usize) -> bool {
        is_trail(self.byte(at)) && self.bytes[at - 1] >= 0x80 && self.ends_word_otherwise(begin, at)
    }

    #[cold]
    fn ends_word_otherwise(&self, begin: usize, at: usize) -> bool {
        let is_odd = self.byte(at) == b'`' || self.has_pairs() || !is_utf8(&self.bytes[begin..=at]);
        is_odd && self.may_have_pairs()
    }

    /// Whether a reading with ASCII trail bytes remains.
    #[cold]
    pub(crate) fn may_have_pairs(&self) -> bool {
        if self.readings.get() == Readings::UNKNOWN {
            let language = if self.is_mysql { Language::Mysql } else { Language::Postgres };
            self.readings.set(Readings::possible(self.whole, language));
        }
        self.has_pairs()
    }

    /// The same, without determining the readings.
    pub(crate) fn has_pairs(&self) -> bool {
        self.readings.get().have_pairs()
    }

    /// [`Lexer::string_end`] for statements with such characters.
    #[cold]
    pub(super) fn string_end_by_pairs(&self, quote_at: usize, escapes: bool) -> usize {
        self.agreed(|pairs| self.quoted_end(quote_at, escapes, pairs).0).0
    }

    /// A quoted name in a statement with such characters.
    #[cold]
    pub(super) fn name_by_pairs(&mut self, begin: usize, quote_at: usize) -> Token {
        let (end, is_agreed) = self.agreed(|pairs| self.quoted_end(quote_at, false, pairs).0);
        let is_whole = ALL.into_iter().any(|pairs| {
            self.readings.get().has(pairs) && self.quoted_end(quote_at, false, pairs).1
        });
        let kind = match (is_agreed, is_whole) {
            (false, _) => Kind::Literal,
            (true, false) => Kind::CutName,
            (true, true) => Kind::Name,
        };
        self.take(kind, begin, end)
    }

    /// A word that begins with the run at `from`, in a statement with such characters.
    #[cold]
    pub(super) fn word_by_pairs(&mut self, begin: usize, from: usize) -> Token {
        let (end, is_agreed) = self.agreed(|pairs| self.word_end_in(from, pairs));
        self.take(if is_agreed { Kind::Word } else { Kind::Literal }, begin, end)
    }

    /// The end of a quoted text in one reading, and whether it has its closing quote.
    fn quoted_end(&self, quote_at: usize, escapes: bool, pairs: Pairs) -> (usize, bool) {
        let quote = self.bytes[quote_at];
        let mut at = quote_at + 1;
        while let Some(&byte) = self.bytes.get(at) {
            let next = self.byte(at + 1);
            if byte == quote && next != quote {
                return (at + 1, true);
            }
            let is_two = byte == quote || byte == b'\\' && escapes || pairs.holds(byte, next);
            at += if is_two { 2 } else { 1 };
        }
        (self.bytes.len(), false)
    }

    fn word_end_in(&self, begin: usize, pairs: Pairs) -> usize {
        let mut at = begin;
        loop {
            let (byte, next) = (self.byte(at), self.byte(at + 1));
            at += match () {
                () if at >= self.bytes.len() => return self.bytes.len(),
                () if pairs.holds(byte, next) => 2,
                () if is_word(byte) => 1,
                () => return at,
            };
        }
    }

    /// The first offset at which all readings are between two tokens, if the first token of each ends at
    /// `first`; and whether this first token ends there in all readings.
    fn agreed(&self, first: impl Fn(Pairs) -> usize) -> (usize, bool) {
        let readings = self.readings.get();
        if let Some(only) = readings.only() {
            return (first(only), true);
        }
        let reading = |pairs| {
            let mut lexer = self.clone();
            lexer.readings.set(Readings::of(pairs));
            lexer.at = first(pairs);
            lexer
        };
        let mut lexers = ALL.map(reading);
        let is_left = |lexer: &&mut Lexer<'_>| readings.has(lexer.only_pairs());
        let end = self.bytes.len();
        let farthest = |lexers: &mut [Lexer<'_>; 4]| {
            lexers.iter_mut().filter(is_left).map(|lexer| lexer.at).max().unwrap_or(end)
        };
        let mut is_first = true;
        let mut last = farthest(&mut lexers);
        while last < end {
            let is_there =
                |lexer: &mut Lexer<'_>| lexer.at == last && lexer.in_version == self.in_version;
            if lexers.iter_mut().filter(is_left).all(is_there) {
                return (last, is_first);
            }
            is_first = false;
            for lexer in lexers.iter_mut().filter(is_left).filter(|lexer| lexer.at <= last) {
                lexer.next_token();
            }
            last = farthest(&mut lexers);
        }
        (end, is_first && lexers.iter_mut().filter(is_left).all(|lexer| lexer.at >= end))
    }

    fn only_pairs(&self) -> Pairs {
        self.readings.get().only().unwrap_or(Pairs::None)
    }
}

/// Whether this is UTF-8; the last character may be truncated.
fn is_utf8(text: &[u8]) -> bool {
    std::str::from_utf8(text).map_or_else(|error| error.error_len().is_none(), |_| true)
}
