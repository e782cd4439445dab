//! Detects truncated statements.

use super::{Kind, Lexer};
use crate::sql::language::Language;

/// Whether a statement ends inside a string, a quoted name or a bracket, because the log truncated it.
pub fn is_cut(statement: &[u8], language: Language) -> bool {
    let mut lexer = Lexer::new(statement, language);
    let mut depth = 0_i64;
    loop {
        let token = lexer.next_token();
        match token.kind {
            Kind::End => return depth > 0,
            Kind::CutName => return true,
            Kind::Open => depth += 1,
            Kind::Close => depth -= 1,
            Kind::Literal if token.end == statement.len() => {
                let text = lexer.text(token);
                let quote = text.iter().find(|byte| matches!(byte, b'\'' | b'"' | b'$'));
                let is_open = |&quote: &u8| text.len() < 2 || text.last() != Some(&quote);
                if quote.is_some_and(is_open) {
                    return true;
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_statements_are_noticed() {
        for text in ["select 'abc", "select `abc", "insert into t values (1, 2", "select '"] {
            assert!(is_cut(text.as_bytes(), Language::Mysql), "{text}");
        }
        for text in ["select 'abc'", "select `a`", "select 5", "select 1 -- it's", "select x'41'"] {
            assert!(!is_cut(text.as_bytes(), Language::Mysql), "{text}");
        }
        assert!(is_cut(b"select $$abc", Language::Postgres));
        assert!(!is_cut(b"select $a$abc$a$", Language::Postgres));
    }
}
