//! Substitutes parameters in statements by the values in PostgreSQL's logs.

use crate::sql::language::Language;
use crate::sql::token::{Kind, Lexer};

/// Writes `statement` to `out`, with the values in `parameters` (`$1 = '7', $2 = NULL`) in place of its
/// parameters. Returns false if a parameter has no known value.
pub fn fill(statement: &[u8], parameters: &[u8], language: Language, out: &mut Vec<u8>) -> bool {
    out.clear();
    let values = match language {
        Language::Postgres => values(parameters),
        _ => Vec::new(),
    };
    let mut lexer = Lexer::new(statement, language);
    let mut copied = 0;
    loop {
        let token = lexer.next_token();
        match token.kind {
            Kind::End => break,
            // In PostgreSQL, a question mark may be an operator.
            Kind::Question if language == Language::Mysql => return false,
            Kind::Parameter => {
                let number = lexer.text(token).strip_prefix(b"$").and_then(number);
                let value = number.and_then(|n| values.get(n.checked_sub(1)?));
                let Some(value) = value else { return false };
                out.extend_from_slice(&statement[copied..token.begin]);
                out.extend_from_slice(value);
                copied = token.end;
            }
            _ => {}
        }
    }
    out.extend_from_slice(&statement[copied..]);
    true
}

fn number(text: &[u8]) -> Option<usize> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The values in order, with their quotes, up to the first malformed one.
fn values(mut text: &[u8]) -> Vec<&[u8]> {
    let mut found: Vec<&[u8]> = Vec::new();
    loop {
        text = text.trim_ascii_start();
        let name = format!("${} = ", found.len() + 1);
        let Some(rest) = text.strip_prefix(name.as_bytes()) else { return found };
        let length = if rest.starts_with(b"'") { quoted(rest) } else { plain(rest) };
        let Some(length) = length else { return found };
        found.push(&rest[..length]);
        match rest[length..].strip_prefix(b",") {
            Some(rest) => text = rest,
            None => return found,
        }
    }
}

/// Length of a quoted string with doubled quotes, bytes; `None` if it does not end.
fn quoted(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += text.get(at..)?.iter().position(|&byte| byte == b'\'')?;
        if text.get(at + 1) != Some(&b'\'') {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// Length of `NULL`, if the text begins with it.
fn plain(text: &[u8]) -> Option<usize> {
    text.starts_with(b"NULL").then_some(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(statement: &str, parameters: &str) -> Option<String> {
        let mut out = Vec::new();
        let is_whole =
            fill(statement.as_bytes(), parameters.as_bytes(), Language::Postgres, &mut out);
        is_whole.then(|| String::from_utf8(out).unwrap())
    }

    #[test]
    fn values_take_the_places_of_their_parameters() {
        assert_eq!(
            filled("select $1, '$2', $2 from t where a=$1", "$1 = '7', $2 = NULL").as_deref(),
            Some("select '7', '$2', NULL from t where a='7'")
        );
        let parameters = "$1 = 'it''s, $2 = ''x''', $2 = '2'";
        assert_eq!(
            filled("select $1, $2", parameters).as_deref(),
            Some("select 'it''s, $2 = ''x''', '2'")
        );
        assert_eq!(filled("select a ? 'b'", "").as_deref(), Some("select a ? 'b'"));
    }

    #[test]
    fn what_has_no_value_is_told() {
        assert_eq!(filled("select $1", ""), None);
        assert_eq!(filled("select $2", "$1 = '1'"), None);
        assert_eq!(filled("select $1", "$1 = 'cut"), None);
        let mut out = Vec::new();
        assert!(!fill(b"select ?", b"", Language::Mysql, &mut out));
    }
}
