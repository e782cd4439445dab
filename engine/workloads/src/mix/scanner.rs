//! Tokenizes a user's SQL to find its parameters: `:name` outside quotes and comments.
//!
//! The syntax of quotes and comments differs between servers, and a misplaced parameter would change
//! the meaning of a statement. The scanner therefore follows the rules of each dialect and rejects
//! parameters in the server's own syntax (`?` in MySQL, `$1` in PostgreSQL, `@x` in SQLite).
//!
//! Sources: MySQL reference manual, "Comments", "String Literals"; PostgreSQL documentation,
//! "Lexical Structure"; SQLite, "SQL Language Expressions" and "SQL Comment Syntax". The rules are those
//! of MySQL's default `sql_mode` (backslash escapes, double quotes around strings) and of PostgreSQL's
//! `standard_conforming_strings = on`.

use dyno_core::workload::Dialect;
use std::ops::Range;

/// A lexical token of SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token<'a> {
    /// A keyword or an unquoted name.
    Word(&'a str),
    /// `:name`, without its colon.
    Param(&'a str),
    /// A string, quoted name, number or operator.
    Other(&'a str),
    /// A comment or white space.
    Blank,
    /// `;` at the end, followed only by white space, comments and further `;`.
    End,
}

/// Invalid or rejected SQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Position of the token, in characters from 1.
    pub at: usize,
    /// Description of the fault.
    pub what: String,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "at character {}: {}", self.at, self.what)
    }
}

/// Tokenizes `sql`. The tokens' byte ranges cover it without gaps.
pub fn scan(sql: &str, dialect: Dialect) -> Result<Vec<(Token<'_>, Range<usize>)>, Fault> {
    let mut scanner = Scanner { sql, dialect, at: 0 };
    let mut tokens = Vec::new();
    while scanner.at < sql.len() {
        let start = scanner.at;
        let token =
            scanner.token().map_err(|what| Fault { at: sql[..start].chars().count() + 1, what })?;
        debug_assert!(scanner.at > start, "every token has a length");
        tokens.push((token, start..scanner.at));
    }
    Ok(tokens)
}

struct Scanner<'a> {
    sql: &'a str,
    dialect: Dialect,
    /// Byte offset of the next token, always at a character boundary.
    at: usize,
}

/// Whether a name may contain `byte`, which includes all bytes of characters beyond ASCII.
fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn starts_name(byte: u8) -> bool {
    is_name(byte) && !byte.is_ascii_digit()
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'\'' | b'"' | b'`')
}

impl<'a> Scanner<'a> {
    fn byte(&self, ahead: usize) -> Option<u8> {
        self.sql.as_bytes().get(self.at + ahead).copied()
    }

    fn rest(&self) -> &'a str {
        &self.sql[self.at..]
    }

    /// Moves to byte offset `end` and returns the text up to it.
    fn to(&mut self, end: usize) -> &'a str {
        let piece = &self.sql[self.at..end];
        self.at = end;
        piece
    }

    fn while_(&mut self, from: usize, fits: impl Fn(u8) -> bool) -> &'a str {
        let bytes = self.sql.as_bytes();
        let mut end = self.at + from;
        while bytes.get(end).is_some_and(|&byte| fits(byte)) {
            end += 1;
        }
        self.to(end)
    }

    fn is_postgres(&self) -> bool {
        self.dialect == Dialect::Postgres
    }

    /// Whether MySQL's rules apply, which the null driver shares.
    fn is_mysql(&self) -> bool {
        matches!(self.dialect, Dialect::Mysql | Dialect::Null)
    }

    fn is_sqlite(&self) -> bool {
        self.dialect == Dialect::Sqlite
    }

    fn token(&mut self) -> Result<Token<'a>, String> {
        let Some(byte) = self.byte(0) else { return Ok(Token::Blank) };
        match byte {
            0 => Err("a zero byte".into()),
            _ if byte.is_ascii_whitespace() || byte == 0x0b => {
                self.while_(0, |byte| byte.is_ascii_whitespace() || byte == 0x0b);
                Ok(Token::Blank)
            }
            b'-' | b'#' | b'/' if self.starts_comment() => self.comment(),
            b'\'' => self.quoted(b'\'', self.is_mysql()),
            b'"' => self.quoted(b'"', self.is_mysql()),
            b'`' if !self.is_postgres() => self.quoted(b'`', false),
            b'[' if self.is_sqlite() => self.quoted(b']', false),
            b'$' => self.dollar(),
            b':' => self.colon(),
            b'?' if !self.is_postgres() => {
                Err("a ? would be a parameter without a name: write :name".into())
            }
            b'@' if self.is_sqlite() => Err("SQLite takes @ for a parameter: write :name".into()),
            b';' => self.end(),
            _ if starts_name(byte) => self.word(),
            _ if byte.is_ascii_digit() => {
                Ok(Token::Other(self.while_(1, |byte| is_name(byte) || byte == b'.')))
            }
            _ => Ok(Token::Other(self.to(self.at + 1))),
        }
    }

    fn starts_comment(&self) -> bool {
        match (self.byte(0), self.byte(1)) {
            // MySQL requires white space or a control character after the dashes, since 5--1 is 6.
            (Some(b'-'), Some(b'-')) => {
                !self.is_mysql() || self.byte(2).is_none_or(|byte| byte <= b' ')
            }
            (Some(b'/'), Some(b'*')) => true,
            (Some(b'#'), _) => self.is_mysql(),
            _ => false,
        }
    }

    fn comment(&mut self) -> Result<Token<'a>, String> {
        if self.byte(0) != Some(b'/') {
            // In PostgreSQL only, a carriage return ends the comment too.
            let returns = self.is_postgres();
            self.while_(1, |byte| byte != b'\n' && !(returns && byte == b'\r'));
            return Ok(Token::Blank);
        }
        let mut depth = 0;
        let mut end = 0;
        let bytes = self.rest().as_bytes();
        while end < bytes.len() {
            match &bytes[end..] {
                // Only PostgreSQL's comments nest.
                [b'/', b'*', ..] if depth == 0 || self.is_postgres() => {
                    depth += 1;
                    end += 2;
                }
                [b'*', b'/', ..] => {
                    depth -= 1;
                    end += 2;
                }
                _ => end += 1,
            }
            if depth == 0 {
                self.to(self.at + end);
                return Ok(Token::Blank);
            }
        }
        // An error in all systems but SQLite, where the comment extends to the end of the text.
        Err("the comment is never closed".into())
    }

    /// Reads a quoted token up to `end`; a doubled `end` is part of the token.
    fn quoted(&mut self, end: u8, backslash: bool) -> Result<Token<'a>, String> {
        self.quoted_from(1, end, backslash)
    }

    fn quoted_from(&mut self, from: usize, end: u8, backslash: bool) -> Result<Token<'a>, String> {
        let bytes = self.rest().as_bytes();
        let mut at = from;
        while let Some(&byte) = bytes.get(at) {
            at += 1;
            if byte == b'\\' && backslash {
                at += 1;
            } else if byte == end {
                // SQLite's brackets cannot be escaped by doubling.
                if bytes.get(at) != Some(&end) || end == b']' {
                    let piece = self.to(self.at + at);
                    return match piece.contains('\0') {
                        true => Err("a zero byte".into()),
                        false => Ok(Token::Other(piece)),
                    };
                }
                at += 1;
            }
        }
        Err("the quote is never closed".into())
    }

    /// Reads `$`: a PostgreSQL string (`$$text$$`, `$tag$text$tag$`) or an operator. Rejects the server's
    /// own parameters.
    fn dollar(&mut self) -> Result<Token<'a>, String> {
        let next = self.byte(1);
        if self.is_sqlite() && next.is_some_and(is_name) {
            return Err("SQLite takes $ for a parameter: write :name".into());
        }
        if !self.is_postgres() {
            return Ok(Token::Other(self.to(self.at + 1)));
        }
        if next.is_some_and(|byte| byte.is_ascii_digit()) {
            return Err("a $ with a number would be a parameter without a name: write :name".into());
        }
        let rest = self.rest();
        let tag = rest[1..]
            .bytes()
            .position(|byte| !is_name(byte))
            .map_or("", |end| if rest.as_bytes()[1 + end] == b'$' { &rest[..end + 2] } else { "" });
        if tag.is_empty() {
            return Ok(Token::Other(self.to(self.at + 1)));
        }
        match rest[tag.len()..].find(tag) {
            Some(text) => Ok(Token::Other(self.to(self.at + 2 * tag.len() + text))),
            None => Err(format!("the quote {tag} is never closed")),
        }
    }

    fn colon(&mut self) -> Result<Token<'a>, String> {
        if let Some(b':' | b'=') = self.byte(1) {
            return Ok(Token::Other(self.to(self.at + 2)));
        }
        if !self.byte(1).is_some_and(starts_name) {
            return Ok(Token::Other(self.to(self.at + 1)));
        }
        let before = self.at.checked_sub(1).map(|at| self.sql.as_bytes()[at]);
        if before.is_some_and(|byte| is_name(byte) || is_quote(byte)) {
            // A slice of an array, `a[1:n]`.
            if self.is_postgres() && before.is_some_and(is_name) {
                return Ok(Token::Other(self.to(self.at + 1)));
            }
            return Err("a parameter needs a blank before it here".into());
        }
        let name = &self.while_(1, is_name)[1..];
        if self.byte(0).is_some_and(is_quote) {
            return Err(format!("a blank is needed between :{name} and the quote behind it"));
        }
        Ok(Token::Param(name))
    }

    fn word(&mut self) -> Result<Token<'a>, String> {
        // In PostgreSQL only, E'...' has backslash escapes.
        if self.is_postgres()
            && let [b'E' | b'e', b'\'', ..] = self.rest().as_bytes()
        {
            return self.quoted_from(2, b'\'', true);
        }
        let dollars = !self.is_sqlite();
        Ok(Token::Word(self.while_(1, |byte| is_name(byte) || (dollars && byte == b'$'))))
    }

    fn end(&mut self) -> Result<Token<'a>, String> {
        self.at += 1;
        while let Some(byte) = self.byte(0) {
            if byte == b';' {
                self.at += 1;
            } else if self.token()? != Token::Blank {
                return Err("there is more than one statement: give each its own".into());
            }
        }
        Ok(Token::End)
    }
}

#[cfg(test)]
mod tests {
    use super::super::statement::{Cut, cut, frame, reads};
    use super::*;
    use proptest::prelude::*;

    const ALL: [Dialect; 4] = [Dialect::Mysql, Dialect::Postgres, Dialect::Sqlite, Dialect::Null];

    fn names(sql: &str, dialect: Dialect) -> Result<Vec<String>, String> {
        let tokens = scan(sql, dialect).map_err(|fault| fault.to_string())?;
        Ok(cut(&tokens, sql).names)
    }

    fn everywhere(sql: &str, expected: &[&str]) {
        for dialect in ALL {
            assert_eq!(
                names(sql, dialect).as_deref(),
                Ok(&expected.iter().map(|n| n.to_string()).collect::<Vec<_>>()[..]),
                "{dialect:?}: {sql}"
            );
        }
    }

    fn only(dialect: Dialect, sql: &str, expected: &[&str]) {
        let expected: Vec<String> = expected.iter().map(|name| name.to_string()).collect();
        assert_eq!(names(sql, dialect), Ok(expected), "{sql}");
    }

    fn refused(dialect: Dialect, sql: &str, expected: &str) {
        let fault = names(sql, dialect).expect_err(sql);
        assert!(fault.contains(expected), "{sql}: {fault}");
    }

    #[test]
    fn parameters_stand_outside_quotes_and_comments() {
        everywhere(
            "SELECT :a, :b_2 FROM t WHERE x=:a AND y IN(:ä,:_c)",
            &["a", "b_2", "a", "ä", "_c"],
        );
        everywhere("SELECT ':a', 'it''s :b', :c -- :d\n + :e /* :f */", &["c", "e"]);
        everywhere("SELECT \":a \"\" :b\", :c", &["c"]);
        everywhere("SELECT '12:30:00', :a;", &["a"]);
        everywhere("SELECT 'ü':: x, 5 : 6", &[]);
        only(Dialect::Mysql, r"SELECT 'a\':b', :c", &["c"]);
        only(Dialect::Sqlite, r"SELECT 'a\', :b, ':c'", &["b"]);
        only(Dialect::Mysql, "SELECT `:a``:b`, :c # :d", &["c"]);
        only(Dialect::Mysql, "SELECT 5--:a", &["a"]);
        only(Dialect::Mysql, "SELECT 5 -- :a", &[]);
        only(Dialect::Postgres, "SELECT 5--:a", &[]);
        only(Dialect::Mysql, "SET @x:=:a", &["a"]);
        only(Dialect::Sqlite, "SELECT [:a], :b", &["b"]);
        only(Dialect::Mysql, "/* a /* b */ :c", &["c"]);
        only(Dialect::Postgres, "/* a /* b */ :c */ :d", &["d"]);
    }

    #[test]
    fn postgres_has_more_of_everything() {
        let p = |sql: &str, expected: &[&str]| only(Dialect::Postgres, sql, expected);
        p("SELECT :a::int, :b :: text, x::date", &["a", "b"]);
        p("SELECT doc ? 'k', doc ?| ARRAY[:a], doc @> :b, doc #>> :c", &["a", "b", "c"]);
        p(
            "SELECT arr[1:n], arr[2:3], arr[:lo : :hi], f(x => :y, z := :w)",
            &["lo", "hi", "y", "w"],
        );
        p(r"SELECT E'it\':a', e'\\', :b, 'x\', :c, ':d'", &["b", "c"]);
        p("SELECT $$ :a $$, $x$ $$ :b $y$ $x$, :c", &["c"]);
        p("SELECT a$b$c, :d", &["d"]);
        p("SELECT U&'\\00e4 :a', B'1', :b", &["b"]);
        p("SELECT 1 # 2, :a", &["a"]);
        p("SELECT 1 -- :a\r, :b", &["b"]);
        only(Dialect::Mysql, "SELECT 1 -- :a\r, :b", &[]);
    }

    #[test]
    fn what_a_server_would_misunderstand_is_refused() {
        for dialect in [Dialect::Mysql, Dialect::Sqlite, Dialect::Null] {
            refused(dialect, "SELECT ?", "at character 8: a ? would be a parameter");
        }
        refused(Dialect::Postgres, "SELECT $1", "at character 8: a $ with a number");
        refused(Dialect::Sqlite, "SELECT @a", "SQLite takes @");
        refused(Dialect::Sqlite, "SELECT $a", "SQLite takes $");
        refused(Dialect::Sqlite, "SELECT x:a", "needs a blank before it");
        refused(Dialect::Postgres, "SELECT $a$ x", "the quote $a$ is never closed");
        for dialect in ALL {
            refused(dialect, "SELECT 'é', 'a", "at character 13: the quote is never closed");
            refused(dialect, "SELECT /* a", "the comment is never closed");
            refused(dialect, "SELECT 1; DELETE FROM t", "more than one statement");
            refused(dialect, "SELECT 'x':a", "needs a blank");
            refused(dialect, "SELECT :a'x'", "between :a and the quote");
            refused(dialect, "SELECT \0", "a zero byte");
            everywhere("SELECT :a ; -- done\n ;", &["a"]);
        }
    }

    /// Random text with frequent quotes, comments and parameters.
    fn sqlish() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            "\\PC{0,3}",
            prop::sample::select(vec![
                ":a", "::", ":=", "'", "''", "\"", "`", "\\", "--", "-- ", "\n", "/*", "*/", "#",
                "$$", "$x$", "$1", "?", "@", "[", "]", "E'", ";", " ", "a", "5", "é", "\0", "(",
            ])
            .prop_map(str::to_owned),
        ];
        prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn tokens_cover_everything_and_pieces_put_it_together(sql in sqlish()) {
            for dialect in ALL {
                let Ok(tokens) = scan(&sql, dialect) else { continue };
                let mut next = 0;
                for (_, range) in &tokens {
                    prop_assert_eq!(range.start, next);
                    prop_assert!(range.end > range.start);
                    next = range.end;
                }
                prop_assert_eq!(next, sql.len());
                let Cut { pieces, names } = cut(&tokens, &sql);
                prop_assert_eq!(pieces.len(), names.len() + 1);
                let mut whole = pieces[0].clone();
                for (name, piece) in names.iter().zip(&pieces[1..]) {
                    whole += &format!(":{name}{piece}");
                }
                let end = tokens.iter().find(|(token, _)| *token == Token::End);
                prop_assert_eq!(&whole, &sql[..end.map_or(sql.len(), |(_, range)| range.start)]);
                // Neither function may panic.
                reads(&tokens);
                frame(&tokens);
            }
        }

        #[test]
        fn what_stands_in_quotes_is_left_alone(text in "[^'\\\\\0]{0,30}") {
            for dialect in ALL {
                let sql = format!("SELECT :a, '{text}', :b");
                prop_assert_eq!(names(&sql, dialect), Ok(vec!["a".to_owned(), "b".to_owned()]));
            }
        }

        #[test]
        fn random_bytes_never_panic(bytes: Vec<u8>) {
            for dialect in ALL {
                let _ = scan(&String::from_utf8_lossy(&bytes), dialect);
            }
        }
    }
}
