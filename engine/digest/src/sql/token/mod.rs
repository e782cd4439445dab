//! SQL as tokens, over bytes: text in any encoding that keeps ASCII passes through.
//!
//! Sources: the chapters on lexical structure in the manuals of MySQL 8.4 ("Language Structure"),
//! MariaDB ("Identifier Names", "Comment Syntax") and PostgreSQL 17 ("Lexical Structure"). Server
//! settings that change how text is read are taken at their defaults: backslashes escape in MySQL's
//! strings, and not in PostgreSQL's plain ones. (Where they are not so, a string seems to end elsewhere,
//! and what is in later ones may be taken for names: a log does not show it.) Statements that are not UTF-8 are
//! read in all character sets that they may be in (`multibyte`).
//!
//! Logs cut statements: a string, name or comment without its end goes to the end of the text. Every
//! byte is looked at a bounded number of times.

pub mod bytes;
pub mod cut;
mod literals;
mod multibyte;

use crate::sql::language::Language;
use bytes::{is_space, is_word, word_end};
pub(crate) use literals::is_constant;
pub(crate) use multibyte::Readings;
use std::cell::Cell;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An unquoted name or a keyword; `@name` and `@@name` of MySQL too.
    Word,
    /// A name in quotes, with them.
    Name,
    /// A name in quotes without its end.
    CutName,
    /// A string, a number, bits: with its introducer and its quotes.
    Literal,
    /// `$1`, `:name`.
    Parameter,
    /// `?`: a parameter, or one of PostgreSQL's operators, by what stands before.
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
    /// Nothing follows.
    End,
}

/// A token: its kind and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Its first byte.
    pub begin: usize,
    /// The byte behind it.
    pub end: usize,
}

/// Takes a statement apart, token by token.
#[derive(Debug, Clone)]
pub struct Lexer<'a> {
    /// The statement, up to the end of the hint while in one.
    bytes: &'a [u8],
    whole: &'a [u8],
    at: usize,
    is_mysql: bool,
    in_hint: bool,
    /// How many of MySQL's version comments are open: their content is code.
    in_version: u32,
    /// In which character sets it is read: asked for where that matters.
    readings: Cell<Readings>,
}

impl<'a> Lexer<'a> {
    /// Begins at the first byte. MongoDB's commands are no SQL; they are read as MySQL's would be.
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

    /// Where the next token is looked for.
    #[inline]
    pub fn position(&self) -> usize {
        self.at
    }

    /// Looks for the next token there.
    pub(crate) fn go_to(&mut self, at: usize) {
        self.at = at;
    }

    /// The next token, without taking it.
    pub fn peek(&self) -> Token {
        let mut lexer = self.clone();
        let token = lexer.next_token();
        // What was found out of the statement is kept: there may be many such tokens.
        self.readings.set(lexer.readings.get());
        token
    }

    /// The next token; [`Kind::End`] from the end on.
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

    /// Comments, operators, parameters and variables; none: it was a comment.
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

    /// `--` begins a comment; in MySQL only if space follows.
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

    /// After `/*`: skips a comment, or goes into a hint or into code of a certain version.
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

    /// Where a comment that begins at `begin` ends. PostgreSQL's have others within.
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

    /// Hints are read as code, and what they hold ends with them.
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

    /// A word, or a literal that a word introduces.
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

    /// MySQL's strings; names elsewhere. (In MySQL's mode ANSI_QUOTES, which statements do not show, names
    /// are taken for strings: what might be a literal is never shown.)
    fn double_quoted(&mut self) -> Token {
        let begin = self.at;
        match self.is_mysql {
            true => self.string(begin, begin, true),
            false => self.name(begin, begin),
        }
    }

    /// A name in quotes; a doubled quote stands for one.
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

    /// `$1`, dollar quotes, and MySQL's names that begin so.
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

    /// `@name`, `@@name`; before quotes (accounts, and variables of odd names) an operator.
    fn variable(&mut self) -> Token {
        let begin = self.at;
        let name = begin + 1 + usize::from(self.byte(begin + 1) == b'@');
        if is_word(self.byte(name)) {
            return self.run(Kind::Word, begin, name);
        }
        self.take(Kind::Operator, begin, name)
    }

    /// A token that ends with the run of word bytes at `from`.
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

    /// The longest run of operator bytes, but no comment within, and no sign at the end if the rest
    /// could be an operator of standard SQL: `=-1` is `=` and `-1`, `@-` is one operator.
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
