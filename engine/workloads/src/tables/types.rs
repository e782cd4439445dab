//! Translates portable column types into each dialect. Any other type text is passed to the server
//! unchanged.
//!
//! | word | MySQL, MariaDB | PostgreSQL | SQLite |
//! |---|---|---|---|
//! | `tinyint` | TINYINT | SMALLINT | INTEGER |
//! | `smallint`, `int` (`integer`), `bigint` | the same | the same | INTEGER |
//! | `float` (`real`) | FLOAT | REAL | REAL |
//! | `double` | DOUBLE | DOUBLE PRECISION | REAL |
//! | `decimal(p,s)` (`numeric`) | the same | the same | NUMERIC |
//! | `boolean` (`bool`) | BOOLEAN | BOOLEAN | INTEGER |
//! | `char(n)`, `varchar(n)`, `text` | the same | the same | TEXT |
//! | `date`, `time` | the same | the same | TEXT |
//! | `datetime` | DATETIME | TIMESTAMP | TEXT |
//! | `timestamp` | TIMESTAMP | TIMESTAMP | TEXT |
//! | `blob` (`bytea`) | BLOB | BYTEA | BLOB |
//! | `json` | JSON | JSONB | TEXT |
//! | `uuid` | CHAR(36) | UUID | TEXT |

use crate::mix::scanner::{Token, scan};
use crate::node::Node;
use dyno_core::error::Result;
use dyno_core::workload::Dialect;

/// Maximum length of a type's text, bytes.
const BYTES_MAX: usize = 1000;

/// Portable types and their names in MySQL, PostgreSQL and SQLite.
const WORDS: [(&str, [&str; 3]); 22] = [
    ("tinyint", ["TINYINT", "SMALLINT", "INTEGER"]),
    ("smallint", ["SMALLINT", "SMALLINT", "INTEGER"]),
    ("int", ["INT", "INTEGER", "INTEGER"]),
    ("integer", ["INT", "INTEGER", "INTEGER"]),
    ("bigint", ["BIGINT", "BIGINT", "INTEGER"]),
    ("float", ["FLOAT", "REAL", "REAL"]),
    ("real", ["FLOAT", "REAL", "REAL"]),
    ("double", ["DOUBLE", "DOUBLE PRECISION", "REAL"]),
    ("decimal", ["DECIMAL", "DECIMAL", "NUMERIC"]),
    ("numeric", ["DECIMAL", "DECIMAL", "NUMERIC"]),
    ("boolean", ["BOOLEAN", "BOOLEAN", "INTEGER"]),
    ("bool", ["BOOLEAN", "BOOLEAN", "INTEGER"]),
    ("char", ["CHAR", "CHAR", "TEXT"]),
    ("varchar", ["VARCHAR", "VARCHAR", "TEXT"]),
    ("text", ["TEXT", "TEXT", "TEXT"]),
    ("date", ["DATE", "DATE", "TEXT"]),
    ("time", ["TIME", "TIME", "TEXT"]),
    ("datetime", ["DATETIME", "TIMESTAMP", "TEXT"]),
    ("timestamp", ["TIMESTAMP", "TIMESTAMP", "TEXT"]),
    ("blob", ["BLOB", "BYTEA", "BLOB"]),
    ("bytea", ["BLOB", "BYTEA", "BLOB"]),
    ("json", ["JSON", "JSONB", "TEXT"]),
];

/// The type in `node`, in `dialect`. Fails if the text could end the column definition.
pub fn read(node: &Node, dialect: Dialect) -> Result<String> {
    let text = node.text()?.trim();
    check(node, text, dialect)?;
    let (word, size) = match text.split_once('(') {
        Some((word, size)) => (word.trim_end(), Some(size.trim_end())),
        None => (text, None),
    };
    let word = word.to_ascii_lowercase();
    let place = match dialect {
        Dialect::Mysql | Dialect::Null => 0,
        Dialect::Postgres => 1,
        Dialect::Sqlite => 2,
    };
    if word == "uuid" && size.is_none() {
        return Ok(["CHAR(36)", "UUID", "TEXT"][place].to_owned());
    }
    let Some((_, names)) = WORDS.iter().find(|(known, _)| *known == word) else {
        return Ok(text.to_owned());
    };
    Ok(match size {
        // A size in parentheses must end the text; otherwise the type is specific to the server.
        Some(size) if size.strip_suffix(')').is_some_and(is_size) => match place {
            2 => names[2].to_owned(),
            _ => format!("{}({size}", names[place]),
        },
        Some(_) => text.to_owned(),
        None => names[place].to_owned(),
    })
}

fn is_size(text: &str) -> bool {
    text.split(',').all(|n| !n.trim().is_empty() && n.trim().bytes().all(|b| b.is_ascii_digit()))
}

/// Fails if `text` could end the column definition: by a comma, an unmatched parenthesis, a
/// semicolon or a comment.
fn check(node: &Node, text: &str, dialect: Dialect) -> Result<()> {
    let wrong = |why: &str| Err(node.wrong(format_args!("{text:?} is no type of a column: {why}")));
    if text.is_empty() || text.len() > BYTES_MAX {
        return wrong("it is empty or longer than 1000 bytes");
    }
    let tokens = match scan(text, dialect) {
        Ok(tokens) => tokens,
        Err(fault) => return wrong(&fault.to_string()),
    };
    let mut depth = 0i32;
    for (token, range) in &tokens {
        match (token, &text[range.clone()]) {
            (Token::Param(_) | Token::End, _) => return wrong("it holds a : or a ;"),
            (Token::Other("("), _) => depth += 1,
            (Token::Other(")"), _) => depth -= 1,
            (Token::Other(","), _) if depth == 0 => return wrong("it holds a comma"),
            (Token::Blank, piece) if !piece.trim().is_empty() => {
                return wrong("it holds a comment");
            }
            _ => {}
        }
        if depth < 0 {
            break;
        }
    }
    if depth != 0 { wrong("its parentheses do not match") } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(text: &str, dialect: Dialect) -> Result<String> {
        let value = json!(text);
        read(&Node::new("tables", "tables.t.columns.c.type", &value), dialect)
    }

    #[test]
    fn words_are_translated_and_other_types_stay() {
        for (text, expected) in [
            ("bigint", ["BIGINT", "BIGINT", "INTEGER"]),
            ("Double", ["DOUBLE", "DOUBLE PRECISION", "REAL"]),
            ("decimal(10, 2)", ["DECIMAL(10, 2)", "DECIMAL(10, 2)", "NUMERIC"]),
            ("varchar (64)", ["VARCHAR(64)", "VARCHAR(64)", "TEXT"]),
            ("datetime(6)", ["DATETIME(6)", "TIMESTAMP(6)", "TEXT"]),
            ("uuid", ["CHAR(36)", "UUID", "TEXT"]),
            ("int unsigned", ["int unsigned"; 3]),
            ("varchar(20) CHARACTER SET latin1", ["varchar(20) CHARACTER SET latin1"; 3]),
            ("enum('a,b', 'c)')", ["enum('a,b', 'c)')"; 3]),
            ("text[]", ["text[]"; 3]),
        ] {
            for (dialect, expected) in
                [Dialect::Mysql, Dialect::Postgres, Dialect::Sqlite].into_iter().zip(expected)
            {
                assert_eq!(of(text, dialect).as_deref(), Ok(expected), "{dialect:?}");
            }
        }
    }

    #[test]
    fn a_type_is_only_a_type() {
        for text in [
            "",
            "int, b int",
            "int)",
            "int((",
            "int; DROP TABLE t",
            "int -- x",
            "int /* x */",
            "'a",
        ] {
            let message = of(text, Dialect::Mysql).expect_err(text).to_string();
            assert!(message.contains("type of workload tables"), "{message}");
            assert!(message.contains("is no type of a column"), "{message}");
        }
    }
}
