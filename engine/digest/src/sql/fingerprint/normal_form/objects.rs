//! Names of objects that a session creates for itself: savepoints, cursors, prepared statements. Drivers
//! number them, so they become placeholders like values.
//!
//! Sources: MySQL 8.4 manual ("SAVEPOINT, ROLLBACK TO SAVEPOINT, and RELEASE SAVEPOINT Statements", "Prepared
//! Statements", "Cursors"), MariaDB's ("EXECUTE IMMEDIATE"), PostgreSQL 17's ("SAVEPOINT", "DECLARE", "FETCH",
//! "MOVE", "CLOSE", "PREPARE", "EXECUTE", "DEALLOCATE").

use super::{Before, Keyword, Normaliser};
use crate::sql::token::{Kind, Lexer, Token};

/// Maximum number of words between DECLARE's name and CURSOR.
const CURSOR_OPTIONS: usize = 5;

impl Normaliser {
    /// After a keyword that was written at `begin`: replaces the names of objects that follow it.
    #[cold]
    pub(super) fn objects(&mut self, lexer: &mut Lexer<'_>, begin: usize) {
        let text = &self.text[begin..self.length];
        let is_first = begin == 0 || text.starts_with(b";");
        let word = text.strip_prefix(b";").unwrap_or(text).trim_ascii_start();
        let is_explained = self.verb == Keyword::Operand && self.text.starts_with(b"explain");
        match word {
            b"current" => self.object_behind(lexer, "of"),
            b"execute" if is_first || is_explained => self.object_but(lexer, "immediate"),
            b"declare" if (is_first || is_explained) && declares_cursor(lexer) => {
                self.object(lexer)
            }
            _ if !is_first => {}
            b"savepoint" => self.object(lexer),
            b"close" => self.object_but(lexer, "all"),
            b"prepare" => self.object_but(lexer, "transaction"),
            b"release" => {
                self.pass(lexer, &["savepoint"]);
                self.object(lexer);
            }
            b"deallocate" => {
                self.pass(lexer, &["prepare"]);
                self.object_but(lexer, "all");
            }
            b"drop" => self.object_behind(lexer, "prepare"),
            b"rollback" => {
                self.pass(lexer, &["work", "transaction"]);
                if self.pass(lexer, &["to"]) {
                    self.pass(lexer, &["savepoint"]);
                    self.object(lexer);
                }
            }
            b"fetch" | b"move" => self.fetched(lexer),
            _ => {}
        }
    }

    /// The cursor of FETCH or MOVE, after the direction.
    fn fetched(&mut self, lexer: &mut Lexer<'_>) {
        const DIRECTIONS: &[&str] = &[
            "next", "prior", "first", "last", "absolute", "relative", "all", "forward", "backward",
            "from", "in",
        ];
        loop {
            match lexer.peek().kind {
                Kind::Literal | Kind::Operator | Kind::Parameter => self.next(lexer),
                _ if self.pass(lexer, DIRECTIONS) => self.before = Before::Keyword,
                _ => return self.object(lexer),
            }
        }
    }

    /// Writes the next token and returns true if it is one of `words`.
    fn pass(&mut self, lexer: &mut Lexer<'_>, words: &[&str]) -> bool {
        let token = lexer.peek();
        let is_one = words.iter().any(|word| is_word(lexer, token, word));
        if is_one {
            self.next(lexer);
        }
        is_one
    }

    fn next(&mut self, lexer: &mut Lexer<'_>) {
        let token = lexer.next_token();
        self.reserve(token.end - token.begin);
        self.token(lexer, token);
    }

    fn object_behind(&mut self, lexer: &mut Lexer<'_>, word: &str) {
        if self.pass(lexer, &[word]) {
            self.object(lexer);
        }
    }

    fn object_but(&mut self, lexer: &mut Lexer<'_>, word: &str) {
        if !is_word(lexer, lexer.peek(), word) {
            self.object(lexer);
        }
    }

    /// Writes a placeholder for the next name.
    fn object(&mut self, lexer: &mut Lexer<'_>) {
        if matches!(lexer.peek().kind, Kind::Word | Kind::Name) {
            lexer.next_token();
            self.reserve(0);
            self.literal();
            self.before = Before::Operand;
        }
    }
}

fn is_word(lexer: &Lexer<'_>, token: Token, word: &str) -> bool {
    token.kind == Kind::Word && lexer.text(token).eq_ignore_ascii_case(word.as_bytes())
}

/// Whether this DECLARE declares a cursor, not a variable.
fn declares_cursor(lexer: &Lexer<'_>) -> bool {
    let mut ahead = lexer.clone();
    ahead.next_token();
    (0..=CURSOR_OPTIONS).any(|_| {
        let token = ahead.next_token();
        is_word(&ahead, token, "cursor")
    })
}
