//! pt-query-digest's IDs, for people who have a history of them: the MD5, in capitals, of that program's
//! own fingerprint.
//!
//! An ID is given only to plain MySQL statements, for which that fingerprint was observed to be what one
//! expects. There is none for names with digits (they become `?` there, so that tables flow together),
//! signs and arithmetic, escapes and doubled quotes, hexadecimal numbers, comments, unions, upserts,
//! calls, JSON. Source: the program's manual, and its answers (version 3.2.1), which the tests hold.

use crate::event::Language;
use crate::token::{Kind, Lexer, Token};
use md5::{Digest, Md5};

/// Longer statements get none: that program, too, looks at a part of them only.
const STATEMENT_MAX: usize = 64 * 1024;

/// The 32 digits, if the statement is plain enough.
pub(super) fn id(statement: &[u8]) -> Option<String> {
    let text = fingerprint(statement)?;
    let digest = Md5::digest(text.as_bytes());
    Some(digest.iter().map(|byte| format!("{byte:02X}")).collect())
}

/// That program's fingerprint, if the statement is plain enough.
fn fingerprint(statement: &[u8]) -> Option<String> {
    let statement = statement.trim_ascii().trim_suffix_semicolon();
    if statement.is_empty() || statement.len() > STATEMENT_MAX || !statement.is_ascii() {
        return None;
    }
    let mut lexer = Lexer::new(statement, Language::Mysql);
    let (mut text, mut end) = (String::new(), 0);
    let (mut word, mut is_list) = (Vec::new(), false);
    loop {
        let token = lexer.next_token();
        let gap = &statement[end..token.begin];
        if !gap.trim_ascii().is_empty() {
            return None;
        }
        if token.kind == Kind::End {
            return Some(text);
        }
        if token.kind == Kind::Open && is_list && lexer.skip_literals() {
            let list = &statement[token.begin..lexer.position()];
            if list.iter().any(|b| matches!(b, b'\\' | b'/' | b'#' | b'-' | b'+'))
                || !list.ends_with(b")")
            {
                return None;
            }
            text.push_str("(?+)");
            end = skip_rows(&mut lexer, word == b"values", statement)?;
            is_list = false;
            continue;
        }
        if !gap.is_empty() {
            text.push(' ');
        }
        let written = piece(&lexer, token, &word)?;
        text.push_str(&written);
        word = written.into_bytes();
        is_list = matches!(word.as_slice(), b"in" | b"values");
        end = token.end;
    }
}

/// Behind the further rows of VALUES; where the last one ends.
fn skip_rows(lexer: &mut Lexer<'_>, in_values: bool, statement: &[u8]) -> Option<usize> {
    loop {
        let end = lexer.position();
        if !in_values || lexer.peek().kind != Kind::Comma {
            return Some(end);
        }
        lexer.next_token();
        if lexer.next_token().kind != Kind::Open || !lexer.skip_literals() {
            return None;
        }
        let row = &statement[end..lexer.position()];
        if row.iter().any(|b| matches!(b, b'\\' | b'/' | b'#' | b'-' | b'+'))
            || !row.ends_with(b")")
        {
            return None;
        }
    }
}

/// What one token becomes.
fn piece(lexer: &Lexer<'_>, token: Token, before: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(lexer.text(token)).ok()?;
    let lower = text.to_ascii_lowercase();
    match token.kind {
        Kind::Word | Kind::Name if text.bytes().any(|b| b.is_ascii_digit() || b == b'@') => None,
        Kind::Word => word(lower, before),
        Kind::Name => Some(lower),
        Kind::Literal => is_plain(text).then(|| "?".to_owned()),
        Kind::Operator => {
            matches!(text, "=" | "<" | ">" | "<=" | ">=" | "<>" | "!=" | "*").then_some(lower)
        }
        Kind::Open | Kind::Close | Kind::Comma | Kind::Dot => Some(lower),
        _ => None,
    }
}

fn word(word: String, before: &[u8]) -> Option<String> {
    match word.as_str() {
        "null" => Some("?".to_owned()),
        // The database is a value there; the tool's other special cases are left to it.
        _ if before == b"use" => None,
        "union" | "asc" | "duplicate" | "call" | "limit" | "value" | "use" | "true" | "false"
        | "load" => None,
        _ => Some(word),
    }
}

/// A string without escapes, or a number of digits, with a point or not.
fn is_plain(literal: &str) -> bool {
    let bytes = literal.as_bytes();
    match bytes {
        [quote @ (b'\'' | b'"'), inside @ .., last] => {
            quote == last && !inside.iter().any(|b| matches!(b, b'\\' | b'\'' | b'"'))
        }
        _ => bytes[0].is_ascii_digit() && bytes.iter().all(|b| b.is_ascii_digit() || *b == b'.'),
    }
}

trait TrimSemicolon {
    fn trim_suffix_semicolon(&self) -> &Self;
}

impl TrimSemicolon for [u8] {
    fn trim_suffix_semicolon(&self) -> &Self {
        self.strip_suffix(b";").unwrap_or(self).trim_ascii_end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_statements_have_the_fingerprints_that_the_tool_gives() {
        let observed = [
            (
                "SELECT  c,  d FROM t WHERE id = 5 AND name = 'x'",
                "select c, d from t where id = ? and name = ?",
            ),
            ("INSERT INTO t (a, b) VALUES (1, 'x'), (2,'y');", "insert into t (a, b) values(?+)"),
            (
                "select c from t where a between 1 and 2 order by c",
                "select c from t where a between ? and ? order by c",
            ),
            ("SELECT `a`.`b` FROM `Orders` a", "select `a`.`b` from `orders` a"),
            ("COMMIT", "commit"),
            ("select a from t where x = \"abc\"", "select a from t where x = ?"),
            ("select a from t where x = 1.5", "select a from t where x = ?"),
            ("select a\n from t", "select a from t"),
            ("set a = 5", "set a = ?"),
            ("select a from t where c IN(1,2)", "select a from t where c in(?+)"),
        ];
        for (statement, expected) in observed {
            assert_eq!(fingerprint(statement.as_bytes()).as_deref(), Some(expected), "{statement}");
        }
    }

    #[test]
    fn ids_are_those_that_the_tool_gives() {
        let observed = [
            ("commit", "FFFCA4D67EA0A788813031B8BBC3B329"),
            ("begin", "8D589AFA4DFAEEED85FFF5AA78E5FF6A"),
            ("insert into t select * from u", "3305D9CA95442D57B9251A5CF4437D7F"),
            ("replace into t values (1)", "BCC5D6D3F1B7555F4044C84594C94EC0"),
            ("delete a from a join b using (id)", "3F6CF128B625D950EC5D118F623BC1E5"),
            ("update a, b set a.x=1 where a.id=b.id", "499D8DDC868C823A13791F86CF4B1475"),
        ];
        for (statement, expected) in observed {
            assert_eq!(id(statement.as_bytes()).as_deref(), Some(expected), "{statement}");
        }
    }

    #[test]
    fn statements_that_the_tool_mangles_have_none() {
        for statement in [
            "select c from t1",
            "select a-b from t",
            "select 0xff",
            "select 'O''Brien'",
            "select a -- c\n from t",
            "select 1 union select 2",
            "insert into t values (1) on duplicate key update a = 2",
            "select doc->>'$.name' from t",
            "select a from t where x in (-1)",
            "select 'cut",
            "call p(1)",
            "",
        ] {
            assert_eq!(id(statement.as_bytes()), None, "{statement}");
        }
    }
}
