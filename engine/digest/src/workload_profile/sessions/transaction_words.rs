//! Recognises the statements that begin and end transactions.
//!
//! Sources: MySQL 8.4 manual ("START TRANSACTION, COMMIT, and ROLLBACK Statements", "SET Syntax for
//! Variable Assignment"), PostgreSQL 17's ("BEGIN", "END", "ABORT").

use crate::sql::language::Language;
use crate::sql::token::{Kind, Lexer, Token};

/// Statements about transactions and sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    Begin,
    Commit,
    Rollback,
    /// `SET autocommit = 0`: later statements are in a transaction.
    Implicit,
    Explicit,
    /// A statement about the session only.
    Other,
}

/// Iterates over the statements of a text, mostly one: `Some(word)` for a transaction or session
/// statement, `None` for any other. Yields at least one item.
pub fn words(text: &[u8], language: Language) -> Words<'_> {
    let text = text.trim_ascii_end();
    let text = text.strip_suffix(b";").unwrap_or(text);
    let is_one = memchr::memchr(b';', text).is_none();
    Words { lexer: Lexer::new(text, language), language, is_one, is_first: true }
}

/// Iterator of [`words`].
pub struct Words<'a> {
    lexer: Lexer<'a>,
    language: Language,
    /// The text has no semicolon: the rest of a long statement need not be read.
    is_one: bool,
    is_first: bool,
}

impl Iterator for Words<'_> {
    type Item = Option<Word>;

    fn next(&mut self) -> Option<Option<Word>> {
        let is_first = std::mem::take(&mut self.is_first);
        if self.is_one && !is_first {
            return None;
        }
        while self.lexer.peek().kind == Kind::Semicolon {
            self.lexer.next_token();
        }
        if self.lexer.peek().kind == Kind::End {
            return is_first.then_some(None);
        }
        let found = self.statement();
        if !self.is_one {
            while self.within().is_some() {}
        }
        Some(found)
    }
}

impl Words<'_> {
    /// The next token of this statement.
    fn within(&mut self) -> Option<Token> {
        let next = self.lexer.peek();
        let is_over = matches!(next.kind, Kind::Semicolon | Kind::End);
        (!is_over).then(|| self.lexer.next_token())
    }

    /// The next word of this statement in lower case; empty after its end.
    fn word(&mut self) -> Vec<u8> {
        self.within().map_or_else(Vec::new, |token| self.small(token))
    }

    /// The first 32 bytes of a token in lower case, enough for all words of interest.
    fn small(&self, token: Token) -> Vec<u8> {
        let text = self.lexer.text(token);
        text[..text.len().min(32)].to_ascii_lowercase()
    }

    fn statement(&mut self) -> Option<Word> {
        let is_postgres = self.language == Language::Postgres;
        let first = self.word();
        Some(match &*first {
            b"set" => self.set(),
            b"begin" if !self.is_followed_by(b"not") => Word::Begin,
            b"start" if self.is_followed_by(b"transaction") => Word::Begin,
            b"commit" => Word::Commit,
            b"end" if is_postgres => Word::Commit,
            b"abort" if is_postgres => Word::Rollback,
            b"rollback" => self.rollback(),
            b"use" | b"show" | b"discard" | b"reset" | b"deallocate" | b"savepoint"
            | b"release" => Word::Other,
            // BEGIN NOT ATOMIC and bodies of routines: semicolons within them end no statement.
            b"begin" => return self.take_all(),
            b"create" | b"alter" if !self.is_one && self.has(b"begin") => return self.take_all(),
            _ => return None,
        })
    }

    fn is_followed_by(&self, word: &[u8]) -> bool {
        self.small(self.lexer.peek()) == word
    }

    /// Whether this statement contains `word`; moves past it, or to the end of the statement.
    fn has(&mut self, word: &[u8]) -> bool {
        while let Some(token) = self.within() {
            if token.kind == Kind::Word && self.lexer.text(token).eq_ignore_ascii_case(word) {
                return true;
            }
        }
        false
    }

    /// Treats the rest of the text as one statement.
    fn take_all(&mut self) -> Option<Word> {
        self.is_one = true;
        None
    }

    fn rollback(&mut self) -> Word {
        let second = self.word();
        let is_noise = matches!(&*second, b"work" | b"transaction");
        let word = if is_noise { self.word() } else { second };
        if word == b"to" { Word::Other } else { Word::Rollback }
    }

    /// `SET`: only the session's `autocommit` matters, in any syntax.
    fn set(&mut self) -> Word {
        let mut found = Word::Other;
        let (mut is_global, mut is_autocommit) = (false, false);
        while let Some(token) = self.within() {
            match &*self.small(token) {
                b"global" | b"persist" | b"persist_only" | b"@@global" | b"@@persist"
                | b"@@persist_only" => is_global = true,
                b"session" | b"local" | b"@@session" | b"@@local" => is_global = false,
                b"autocommit" | b"@@autocommit" | b"`autocommit`" => is_autocommit = true,
                b"=" | b":=" if is_autocommit && !is_global => {
                    let value = self.word();
                    let is_off = matches!(&*value, b"0" | b"off" | b"false" | b"'off'");
                    found = if is_off { Word::Implicit } else { Word::Explicit };
                }
                b"," => is_autocommit = false,
                _ => {}
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<Option<Word>> {
        words(text.as_bytes(), Language::Mysql).collect()
    }

    fn of_postgres(text: &str) -> Vec<Option<Word>> {
        words(text.as_bytes(), Language::Postgres).collect()
    }

    #[test]
    fn comments_before_words_do_not_hide_them() {
        for text in [
            "/* app:web req=7 */ BEGIN",
            "-- why\n start /* a */ transaction with consistent snapshot",
            "# why\nBegin;",
            "/*!40101 BEGIN */",
        ] {
            assert_eq!(of(text), [Some(Word::Begin)], "{text}");
        }
        assert_eq!(of_postgres("/* a /* b */ */ commit"), [Some(Word::Commit)]);
        for work in ["/* BEGIN */ select 1", "start replica", "-- commit", "", "end", "abort"] {
            assert_eq!(of(work), [None], "{work}");
        }
    }

    #[test]
    fn autocommit_is_understood_in_all_its_forms() {
        for text in [
            "SET autocommit = 0",
            "SET autocommit=FALSE",
            "set @@autocommit:=off",
            "SET SESSION autocommit = 0",
            "SET LOCAL autocommit = 'OFF'",
            "SET @@session.autocommit = 0",
            "/* app */ SET @@local.autocommit = 0",
            "SET `autocommit` = 0",
            "SET @old = @@autocommit, NAMES utf8mb4, autocommit = 0",
        ] {
            assert_eq!(of(text), [Some(Word::Implicit)], "{text}");
        }
        for text in ["SET autocommit = 1", "SET SESSION autocommit = TRUE", "set autocommit=on"] {
            assert_eq!(of(text), [Some(Word::Explicit)], "{text}");
        }
        for text in [
            "SET GLOBAL autocommit = 0",
            "SET @@global.autocommit = 0",
            "SET @autocommit = 0",
            "SET @old = @@autocommit",
            "SET NAMES utf8mb4",
        ] {
            assert_eq!(of(text), [Some(Word::Other)], "{text}");
        }
    }

    #[test]
    fn rolling_back_to_a_savepoint_ends_nothing() {
        for text in ["rollback to a", "ROLLBACK WORK TO SAVEPOINT a", "savepoint a"] {
            assert_eq!(of(text), [Some(Word::Other)], "{text}");
        }
        for text in ["rollback", "ROLLBACK WORK", "rollback and chain"] {
            assert_eq!(of(text), [Some(Word::Rollback)], "{text}");
        }
    }

    #[test]
    fn a_string_of_several_statements_is_looked_at_one_by_one() {
        let (begin, commit) = (Some(Word::Begin), Some(Word::Commit));
        assert_eq!(of_postgres("BEGIN; UPDATE t SET a = 1; COMMIT;"), [begin, None, commit]);
        assert_eq!(of_postgres("commit; begin"), [commit, begin]);
        assert_eq!(of_postgres("select 1;; end ; -- over"), [None, commit]);
        assert_eq!(of("select ';commit'; /* ; */ set a = 1"), [None, Some(Word::Other)]);
    }

    #[test]
    fn bodies_of_routines_are_one_statement() {
        for text in [
            "CREATE PROCEDURE p() BEGIN SELECT 1; COMMIT; END",
            "create trigger a before insert on t for each row begin set new.b = 1; end;",
            "BEGIN NOT ATOMIC DELETE FROM t; COMMIT; END",
        ] {
            assert_eq!(of(text), [None], "{text}");
        }
        assert_eq!(of("create table t (a int); commit"), [None, Some(Word::Commit)]);
        assert_eq!(of_postgres("do $$ begin delete from t; commit; end $$"), [None]);
    }
}
