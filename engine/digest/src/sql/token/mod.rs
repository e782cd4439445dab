//! SQL lexer over bytes: text in any encoding that preserves ASCII is accepted.
//!
//! Sources: the chapters on lexical structure in the manuals of MySQL 8.4 ("Language Structure"),
//! MariaDB ("Identifier Names", "Comment Syntax") and PostgreSQL 17 ("Lexical Structure"). The lexer
//! assumes the defaults of server settings that change lexical rules: backslash is an escape in MySQL's
//! strings, and not in PostgreSQL's plain ones. (With other settings a string seems to end elsewhere, and
//! the content of later strings may be taken for names. A log does not contain these settings.) A
//! statement that is not UTF-8 is read in all character sets that it may have (`multibyte`).
//!
//! Logs truncate statements: a string, name or comment without its end extends to the end of the text.
//! Each byte is read a bounded number of times.

pub mod bytes;
pub mod cut;
mod literals;
mod multibyte;

use crate::sql::language::Language;
use bytes::{is_space, is_word, word_end};
pub(crate) use literals::is_constant;
pub(crate) use multibyte::Readings;
use std::cell::Cell;

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An unquoted name or a keyword; in MySQL also `@name` and `@@name`.
    Word,
    /// A quoted name, including its quotes.
    Name,
    /// A quoted name without its closing quote.
    CutName,
    /// A string, a number or bits, including introducer and quotes.
    Literal,
    /// `$1`, `:name`.
    Parameter,
    /// `?`: a parameter, or an operator of PostgreSQL, depending on the previous token.
    Question,
    /// An operator.
    Operator,
    /// `(`.
    Open,
    /// `)`.
    Close,
    /// `[`.
    OpenBracket,
    /// `]`.
    CloseBracket,
    /// `,`.
    Comma,
    /// `.`.
    Dot,
    /// `;`.
    Semicolon,
    /// `/*+`.
    HintBegin,
    /// `*/` of a hint.
    HintEnd,
    /// End of the text.
    End,
}

/// A token: its kind and its range in the statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// Its kind.
    pub kind: Kind,
    /// Offset of its first byte.
    pub begin: usize,
    /// Offset of the byte after it.
    pub end: usize,
}

/// Splits a statement into tokens.
#[derive(Debug, Clone)]
pub struct Lexer<'a> {
    /// The statement; within a hint only up to the end of the hint.
    bytes: &'a [u8],
    whole: &'a [u8],
    at: usize,
    is_mysql: bool,
    in_hint: bool,
    /// Number of open version comments (MySQL), whose content is code.
    in_version: u32,
    /// The possible character sets; determined when first needed.
    readings: Cell<Readings>,
}

impl<'a> Lexer<'a> {
    /// Begins at the first byte. MongoDB's commands, which are not SQL, are read by MySQL's rules.
    pub fn new(statement: &'a [u8], language: Language) -> Self {
        Self {
            bytes: statement,
            whole: statement,
            at: 0,
            is_mysql: language != Language::Postgres,
            in_hint: false,
            in_version: 0,
            readings: Cell::new(Readings::UNKNOWN),
        }
    }

    /// The bytes of a token.
    #[inline]
    pub fn text(&self, token: Token) -> &'a [u8] {
        &self.whole[token.begin..token.end]
    }

    /// Offset at which the search for the next token begins.
    #[inline]
    pub fn position(&self) -> usize {
        self.at
    }

    /// Moves to the offset `at`.
    pub(crate) fn go_to(&mut self, at: usize) {
        self.at = at;
    }

    /// The next token, without consuming it.
    pub fn peek(&self) -> Token {
        let mut lexer = self.clone();
        let token = lexer.next_token();
        // Keeps the readings that the clone determined: there may be many such tokens.
        self.readings.set(lexer.readings.get());
        token
    }

    /// Consumes the next token; [`Kind::End`] at the end of the text.
    #[inline]
    pub fn next_token(&mut self) -> Token {
        loop {
            let Some(&byte) = self.bytes.get(self.at) else {
                if self.in_hint {
                    return self.end_hint();
                }
                return Token { kind: Kind::End, begin: self.at, end: self.at };
            };
            if is_space(byte) {
                self.at += 1;
                continue;
            }
            if byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80 {
                return self.word();
            }
            let begin = self.at;
            let simple = match byte {
                b',' => Kind::Comma,
                b'(' => Kind::Open,
                b')' => Kind::Close,
                b'=' if self.is_mysql => Kind::Operator,
                b'.' if !self.is_fraction() => Kind::Dot,
                b'0'..=b'9' | b'.' => return self.number(),
                b'\'' => return self.string(begin, begin, self.is_mysql),
                b'"' => return self.double_quoted(),
                b'`' if self.is_mysql => return self.name(begin, begin),
                b'[' => Kind::OpenBracket,
                b']' => Kind::CloseBracket,
                b';' => Kind::Semicolon,
                b'?' if self.is_mysql => Kind::Question,
                _ => match self.rare(byte) {
                    Some(token) => return token,
                    None => continue,
                },
            };
            self.at += 1;
            return Token { kind: simple, begin, end: self.at };
        }
    }

    #[inline]
    fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    #[inline]
    fn take(&mut self, kind: Kind, begin: usize, end: usize) -> Token {
        self.at = end.min(self.bytes.len());
        Token { kind, begin, end: self.at }
    }

    /// Comments, operators, parameters and variables; `None` after a comment.
    fn rare(&mut self, byte: u8) -> Option<Token> {
        let begin = self.at;
        match byte {
            b'-' if self.is_dash_comment(begin) => self.line_comment(),
            b'#' if self.is_mysql => self.line_comment(),
            b'/' if self.byte(begin + 1) == b'*' => return self.comment(),
            b'*' if self.in_version > 0 && self.byte(begin + 1) == b'/' => {
                self.in_version -= 1;
                self.at += 2;
            }
            b'$' => return Some(self.dollar()),
            b':' => return Some(self.colon()),
            b'@' if self.is_mysql => return Some(self.variable()),
            _ if self.is_mysql => return Some(self.mysql_operator(byte)),
            _ => return Some(self.postgres_operator()),
        }
        None
    }

    /// Whether `--` begins a comment; in MySQL only if space follows.
    #[inline]
    fn is_dash_comment(&self, at: usize) -> bool {
        self.byte(at) == b'-'
            && self.byte(at + 1) == b'-'
            && (!self.is_mysql || self.bytes.get(at + 2).is_none_or(|&next| is_space(next)))
    }

    fn line_comment(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    }

    /// At `/*`: skips a comment, or enters a hint or a version comment.
    fn comment(&mut self) -> Option<Token> {
        let begin = self.at;
        match (self.byte(begin + 2), self.byte(begin + 3)) {
            (b'+', _) if !self.in_hint => return Some(self.begin_hint()),
            (b'!', _) if self.is_mysql => self.begin_version(begin + 3),
            (b'M', b'!') if self.is_mysql => self.begin_version(begin + 4),
            _ => self.at = self.comment_end(begin),
        }
        None
    }

    fn begin_version(&mut self, digits: usize) {
        self.in_version += 1;
        self.at = bytes::digits_end(self.bytes, digits);
    }

    /// The end of the comment that begins at `begin`. PostgreSQL's comments nest.
    fn comment_end(&self, begin: usize) -> usize {
        let (mut at, mut depth) = (begin + 2, 1);
        while depth > 0 {
            let rest = self.bytes.get(at..).unwrap_or_default();
            let Some(found) = memchr::memchr2(b'*', b'/', rest) else { return self.bytes.len() };
            at += found + 1;
            match (self.byte(at - 1), self.byte(at)) {
                (b'*', b'/') => (at, depth) = (at + 1, depth - 1),
                (b'/', b'*') if !self.is_mysql => (at, depth) = (at + 1, depth + 1),
                _ => {}
            }
        }
        at
    }

    /// Enters a hint. Hints are read as code; tokens within a hint end with it at the latest.
    fn begin_hint(&mut self) -> Token {
        let begin = self.at;
        let inside = &self.bytes[(begin + 3).min(self.bytes.len())..];
        let length = memchr::memmem::find(inside, b"*/").unwrap_or(inside.len());
        self.bytes = &self.bytes[..begin + 3 + length];
        self.in_hint = true;
        self.take(Kind::HintBegin, begin, begin + 3)
    }

    fn end_hint(&mut self) -> Token {
        let begin = self.at;
        self.bytes = self.whole;
        self.in_hint = false;
        self.take(Kind::HintEnd, begin, begin + 2)
    }

    /// A word, or a literal with an introducer.
    #[inline]
    fn word(&mut self) -> Token {
        let begin = self.at;
        let end = word_end(self.bytes, begin);
        match self.byte(end) {
            b'\'' | b'"' | b'&' => {
                if let Some(token) = self.introduced(begin, end) {
                    return token;
                }
            }
            _ if self.bytes[begin] == b'_' && self.is_mysql => {
                if let Some(token) = self.after_charset(begin, end) {
                    return token;
                }
            }
            _ => {}
        }
        if self.is_trail(begin, end) {
            return self.word_by_pairs(begin, begin);
        }
        self.at = end;
        Token { kind: Kind::Word, begin, end }
    }

    /// A string in MySQL, otherwise a name. (Statements do not show MySQL's mode ANSI_QUOTES. In that mode
    /// names are taken for strings, so that no literal is ever shown.)
    fn double_quoted(&mut self) -> Token {
        let begin = self.at;
        match self.is_mysql {
            true => self.string(begin, begin, true),
            false => self.name(begin, begin),
        }
    }

    /// A quoted name; a doubled quote is part of it.
    fn name(&mut self, begin: usize, quote_at: usize) -> Token {
        let quote = self.bytes[quote_at];
        let mut at = quote_at + 1;
        loop {
            let rest = self.bytes.get(at..).unwrap_or_default();
            let Some(found) = memchr::memchr(quote, rest) else {
                return self.take(Kind::CutName, begin, self.bytes.len());
            };
            at += found + 1;
            if self.is_mysql && self.bytes[at - 2] >= 0x80 && self.may_have_pairs() {
                return self.name_by_pairs(begin, quote_at);
            }
            if self.byte(at) != quote {
                return self.take(Kind::Name, begin, at);
            }
            at += 1;
        }
    }

    /// `$1`, dollar quotes, and MySQL's names that begin with `$`.
    fn dollar(&mut self) -> Token {
        let begin = self.at;
        if self.byte(begin + 1).is_ascii_digit() {
            let end = bytes::digits_end(self.bytes, begin + 1);
            return self.take(Kind::Parameter, begin, end);
        }
        if self.is_mysql {
            return self.run(Kind::Word, begin, begin);
        }
        self.dollar_quoted().unwrap_or_else(|| self.take(Kind::Operator, begin, begin + 1))
    }

    /// `::`, `:=`, `:name`, or a colon.
    fn colon(&mut self) -> Token {
        let begin = self.at;
        match self.byte(begin + 1) {
            b':' | b'=' => self.take(Kind::Operator, begin, begin + 2),
            next if next.is_ascii_alphabetic() || next == b'_' => {
                self.run(Kind::Parameter, begin, begin + 1)
            }
            _ => self.take(Kind::Operator, begin, begin + 1),
        }
    }

    /// `@name`, `@@name`; before quotes (accounts, and variables with quoted names) an operator.
    fn variable(&mut self) -> Token {
        let begin = self.at;
        let name = begin + 1 + usize::from(self.byte(begin + 1) == b'@');
        if is_word(self.byte(name)) {
            return self.run(Kind::Word, begin, name);
        }
        self.take(Kind::Operator, begin, name)
    }

    /// A token that ends with the run of word bytes from `from` on.
    fn run(&mut self, kind: Kind, begin: usize, from: usize) -> Token {
        let end = word_end(self.bytes, from);
        if end > from && self.is_trail(from, end) {
            return self.word_by_pairs(begin, from);
        }
        self.take(kind, begin, end)
    }

    fn mysql_operator(&mut self, byte: u8) -> Token {
        let begin = self.at;
        let length = match (byte, self.byte(begin + 1), self.byte(begin + 2)) {
            (b'-', b'>', b'>') | (b'<', b'=', b'>') => 3,
            (b'-', b'>', _) | (b'<', b'=' | b'>' | b'<', _) | (b'>', b'=' | b'>', _) => 2,
            (b'!', b'=', _) | (b'|', b'|', _) | (b'&', b'&', _) => 2,
            _ => 1,
        };
        self.take(Kind::Operator, begin, begin + length)
    }

    /// The longest run of operator bytes without a comment, and without a sign at the end if the rest could
    /// be an operator of standard SQL: `=-1` is `=` and `-1`, `@-` is one operator.
    fn postgres_operator(&mut self) -> Token {
        let begin = self.at;
        let mut end = begin;
        let mut is_special = false;
        while let byte @ (b'+' | b'-' | b'*' | b'/' | b'<' | b'>' | b'=' | b'~' | b'!' | b'@'
        | b'#' | b'%' | b'^' | b'&' | b'|' | b'`' | b'?') = self.byte(end)
        {
            let next = self.byte(end + 1);
            if end > begin && matches!((byte, next), (b'-', b'-') | (b'/', b'*')) {
                break;
            }
            is_special |= !matches!(byte, b'+' | b'-' | b'*' | b'/' | b'<' | b'>' | b'=');
            end += 1;
        }
        while end > begin + 1 && !is_special && matches!(self.bytes[end - 1], b'+' | b'-') {
            end -= 1;
        }
        let end = end.max(begin + 1);
        let kind = match &self.bytes[begin..end] {
            b"?" => Kind::Question,
            _ => Kind::Operator,
        };
        self.take(kind, begin, end)
    }
}

#[cfg(test)]
mod tests;
