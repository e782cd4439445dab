//! Character sets whose characters may end in ASCII's backslash or backtick: gbk, gb18030, sjis, cp932,
//! big5. Read as single bytes, such a character hides the quote behind it, and what is in strings passes for
//! names.
//!
//! A statement does not say which character set its client had. One that is UTF-8 is read as UTF-8. Any other is
//! read in all four ways; a reading that no server would accept is dropped, and what any of those left takes for
//! a literal is one.
//!
//! Sources: MySQL 8.4 manual ("Supported Character Sets and Collations"), the tables of leading and trailing
//! bytes of each character set (Unicode's mappings CP936, CP932, BIG5).

use super::bytes::{is_space, is_word};
use super::{Kind, Lexer, Token};
use crate::sql::language::Language;

/// What pairs of bytes are one character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pairs {
    /// None that ends in ASCII: UTF-8, latin1, EUC.
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

/// The ways to read a statement that are left, a bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Readings(u8);

impl Readings {
    /// Nobody has looked yet.
    pub(crate) const UNKNOWN: Self = Self(0);
    /// UTF-8, or what else never ends a character in ASCII.
    pub(crate) const PLAIN: Self = Self::of(Pairs::None);

    const fn of(pairs: Pairs) -> Self {
        Self(1 << pairs as u8)
    }

    /// Whether one is left in which characters end in ASCII; not, as long as nobody has looked.
    #[inline]
    pub(crate) fn have_pairs(self) -> bool {
        !matches!(self, Self::UNKNOWN | Self::PLAIN)
    }

    fn has(self, pairs: Pairs) -> bool {
        self.0 & Self::of(pairs).0 != 0
    }

    /// The only one, if there is one.
    fn only(self) -> Option<Pairs> {
        ALL.into_iter().find(|&pairs| self == Self::of(pairs))
    }

    /// Those of a statement. If none is left, it is no SQL, and all are.
    fn possible(statement: &[u8], language: Language) -> Self {
        if is_utf8(statement) {
            return Self::PLAIN;
        }
        let left = ALL.into_iter().filter(|&pairs| is_possible(statement, language, pairs));
        let left = left.fold(0, |left, pairs| left | Self::of(pairs).0);
        Self(if left == 0 { (1 << ALL.len()) - 1 } else { left })
    }
}

/// Whether a server would take a statement that is read so: outside of strings, names and comments there is
/// neither a backslash nor a control character, and names are no text between names.
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

/// Whether this is space that no statement has. Comments, which may have it, are none.
fn has_control(gap: &[u8]) -> bool {
    gap.iter().all(|&byte| is_space(byte))
        && gap.iter().any(|byte| !matches!(byte, b' ' | b'\t'..=b'\r'))
}

/// Whether what stands in quotes is what stands between two names: names end with no space, and nobody lets
/// them begin or end with a comma.
fn is_between_names(name: &[u8]) -> bool {
    let inside = name.get(1..name.len().saturating_sub(1)).unwrap_or_default();
    match inside {
        [] | [b'.'] => true,
        [first, .., last] => is_space(*last) || b",=(".contains(last) || b",=)".contains(first),
        [one] => is_space(*one) || b",=()".contains(one),
    }
}

/// Whether this may be the second byte of a character and is no part of words.
#[inline]
fn is_trail(byte: u8) -> bool {
    matches!(byte, b'@' | b'['..=b'^' | b'`' | b'{'..=b'~')
}

impl Lexer<'_> {
    /// With what is known of the statement's readings.
    #[inline]
    pub(crate) fn knowing(self, readings: Readings) -> Self {
        self.readings.set(readings);
        self
    }

    /// What is known of the statement's readings.
    #[inline]
    pub(crate) fn readings(&self) -> Readings {
        self.readings.get()
    }

    /// Whether the byte at `at`, behind the word that begins at `begin`, is the second one of a character in some
    /// reading. A word of UTF-8 that no backtick follows is taken for one, whatever literals are in: its
    /// statement may share a skeleton with others.
    #[inline]
    pub(super) fn is_trail(&self, begin: usize, at: usize) -> bool {
        is_trail(self.byte(at)) && self.bytes[at - 1] >= 0x80 && self.ends_word_otherwise(begin, at)
    }

    #[cold]
    fn ends_word_otherwise(&self, begin: usize, at: usize) -> bool {
        let is_odd = self.byte(at) == b'`' || self.has_pairs() || !is_utf8(&self.bytes[begin..=at]);
        is_odd && self.may_have_pairs()
    }

    /// Whether a reading is left in which characters end in ASCII.
    #[cold]
    pub(crate) fn may_have_pairs(&self) -> bool {
        if self.readings.get() == Readings::UNKNOWN {
            let language = if self.is_mysql { Language::Mysql } else { Language::Postgres };
            self.readings.set(Readings::possible(self.whole, language));
        }
        self.has_pairs()
    }

    /// The same, as far as is known without looking.
    pub(crate) fn has_pairs(&self) -> bool {
        self.readings.get().have_pairs()
    }

    /// [`Lexer::string_end`], of statements with such characters.
    #[cold]
    pub(super) fn string_end_by_pairs(&self, quote_at: usize, escapes: bool) -> usize {
        self.agreed(|pairs| self.quoted_end(quote_at, escapes, pairs).0).0
    }

    /// A name in quotes, of statements with such characters.
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

    /// A word that begins with the run at `from`, of statements with such characters.
    #[cold]
    pub(super) fn word_by_pairs(&mut self, begin: usize, from: usize) -> Token {
        let (end, is_agreed) = self.agreed(|pairs| self.word_end_in(from, pairs));
        self.take(if is_agreed { Kind::Word } else { Kind::Literal }, begin, end)
    }

    /// Where what is in quotes ends in one reading, and whether with its quote.
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

    /// Where all readings are between two tokens again: of each the first token ends where `first` says. And
    /// whether it ends there in all of them.
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

/// Whether this is UTF-8, of which the last character may be cut.
fn is_utf8(text: &[u8]) -> bool {
    std::str::from_utf8(text).map_or_else(|error| error.error_len().is_none(), |_| true)
}
