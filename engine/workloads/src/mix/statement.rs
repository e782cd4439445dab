//! Analyses a scanned statement: the pieces between its parameters, whether it only reads, and whether
//! it begins or ends a transaction.

use super::scanner::Token;
use std::ops::Range;

/// SQL split at its parameters.
#[derive(Debug, PartialEq, Eq)]
pub struct Cut {
    /// The text before the first parameter and after each parameter.
    pub pieces: Vec<String>,
    /// The parameters' names, in order of the text.
    pub names: Vec<String>,
}

/// Splits scanned SQL at its parameters and drops a final semicolon.
pub fn cut(tokens: &[(Token<'_>, Range<usize>)], sql: &str) -> Cut {
    let mut cut = Cut { pieces: Vec::new(), names: Vec::new() };
    let mut piece = String::new();
    for (token, range) in tokens {
        match token {
            Token::Param(name) => {
                cut.pieces.push(std::mem::take(&mut piece));
                cut.names.push((*name).to_owned());
            }
            Token::End => {}
            _ => piece.push_str(&sql[range.clone()]),
        }
    }
    cut.pieces.push(piece);
    cut
}

/// First keywords of statements that do not change data.
const READING: [&str; 13] = [
    "SELECT",
    "VALUES",
    "TABLE",
    "SHOW",
    "EXPLAIN",
    "DESCRIBE",
    "DESC",
    "SET",
    "USE",
    "HELP",
    "PRAGMA",
    "SAVEPOINT",
    "RELEASE",
];
const WRITING: [&str; 5] = ["INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE"];

/// Whether a statement only reads, judged by its keywords; functions that it calls are assumed to
/// only read.
pub fn reads(tokens: &[(Token<'_>, Range<usize>)]) -> bool {
    let solid: Vec<Token> =
        tokens.iter().map(|(token, _)| *token).filter(|token| *token != Token::Blank).collect();
    let word = |at: usize| match solid.get(at) {
        Some(Token::Word(word)) => word.to_ascii_uppercase(),
        _ => String::new(),
    };
    let Some(first) = solid.iter().position(|token| matches!(token, Token::Word(_))) else {
        return false;
    };
    match word(first).as_str() {
        // A common table expression or an explained statement may write.
        "WITH" | "EXPLAIN" => !(first..solid.len()).any(|at| {
            let locks = at > 0 && ["FOR", "KEY"].contains(&word(at - 1).as_str());
            let call = solid.get(at + 1) == Some(&Token::Other("("));
            word(at) == "INTO" || WRITING.contains(&word(at).as_str()) && !locks && !call
        }),
        // `SELECT ... INTO` creates a table or a file.
        "SELECT" | "TABLE" => !(first..solid.len()).any(|at| word(at) == "INTO"),
        word => READING.contains(&word),
    }
}

/// The statement's first keyword, if the statement begins or ends a transaction.
pub fn frame<'a>(tokens: &[(Token<'a>, Range<usize>)]) -> Option<&'a str> {
    let words = tokens.iter().filter_map(|(token, _)| match token {
        Token::Word(word) => Some(*word),
        _ => None,
    });
    let upper: Vec<String> = words.clone().take(2).map(str::to_ascii_uppercase).collect();
    let second = upper.get(1).map_or("", String::as_str);
    let found = match upper.first()?.as_str() {
        "BEGIN" | "COMMIT" | "END" | "ABORT" => true,
        "START" => second == "TRANSACTION",
        "ROLLBACK" => second != "TO",
        _ => false,
    };
    words.into_iter().next().filter(|_| found)
}

#[cfg(test)]
mod tests {
    use super::super::scanner::scan;
    use super::*;
    use dyno_core::workload::Dialect;

    #[test]
    fn first_words_tell_reading_from_writing() {
        let read = |sql: &str| reads(&scan(sql, Dialect::Postgres).expect(sql));
        for sql in [
            "select 1",
            "/* x */ (SELECT 1) UNION (SELECT 2)",
            "WITH x AS (SELECT replace('update', 'a', 'b')) SELECT * FROM x FOR UPDATE",
            "WITH x AS (SELECT 1) SELECT * FROM x FOR NO KEY UPDATE",
            "VALUES (1)",
            "SHOW ALL",
            "EXPLAIN SELECT 1",
        ] {
            assert!(read(sql), "{sql}");
        }
        for sql in [
            "insert into t values (1)",
            "UPDATE t SET a = 1",
            "WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x",
            "EXPLAIN ANALYZE UPDATE t SET a = 1",
            "CALL p()",
            "DO $$ BEGIN DELETE FROM t; END $$",
            "SELECT * INTO copy FROM t",
            "WITH x AS (SELECT 1 AS a) SELECT a INTO copy FROM x",
            "TRUNCATE t",
            "",
            "'select'",
        ] {
            assert!(!read(sql), "{sql}");
        }
    }

    #[test]
    fn begin_and_commit_are_known() {
        let of = |sql: &str| frame(&scan(sql, Dialect::Mysql).expect(sql)).map(str::to_owned);
        assert_eq!(of("begin").as_deref(), Some("begin"));
        assert_eq!(of("START TRANSACTION READ ONLY").as_deref(), Some("START"));
        assert_eq!(of("ROLLBACK").as_deref(), Some("ROLLBACK"));
        for sql in ["ROLLBACK TO SAVEPOINT a", "SAVEPOINT a", "SELECT 1", "START SLAVE", ""] {
            assert_eq!(of(sql), None, "{sql}");
        }
    }
}
