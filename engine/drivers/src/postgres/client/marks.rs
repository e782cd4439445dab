//! `?` as a parameter mark, which PostgreSQL writes as `$1`, `$2`, ...
//!
//! A `?` in a literal, quoted name, comment or dollar-quoted string is not a mark. Any other `?` is
//! one: the jsonb operators `?`, `?|` and `?&` cannot be distinguished from it. Prepared statements
//! can use the underlying functions `jsonb_exists`, `jsonb_exists_any` and `jsonb_exists_all`
//! instead. A statement may contain `$1` itself instead of marks.
//!
//! Source: PostgreSQL documentation, "Lexical Structure".

/// Appends `sql` with its marks numbered from 1. `backslashes`: the session has
/// `standard_conforming_strings = off`, where a backslash escapes in any literal.
pub(super) fn number(sql: &[u8], backslashes: bool, out: &mut Vec<u8>) {
    let (mut at, mut marks) = (0, 0_u32);
    while at < sql.len() {
        let end = token_end(sql, at, backslashes);
        if sql[at] == b'?' {
            marks += 1;
            out.push(b'$');
            out.extend_from_slice(itoa::Buffer::new().format(marks).as_bytes());
        } else {
            out.extend_from_slice(&sql[at..end]);
        }
        at = end;
    }
}

/// Offset of the end of the token that begins at `at`; an unterminated token ends with the
/// statement.
fn token_end(sql: &[u8], at: usize, backslashes: bool) -> usize {
    match (sql[at], sql.get(at + 1)) {
        (b'\'', _) => quoted_end(sql, at + 1, b'\'', backslashes),
        (b'"', _) => quoted_end(sql, at + 1, b'"', false),
        (b'-', Some(b'-')) => find(sql, at, |byte| matches!(byte, b'\n' | b'\r')),
        (b'/', Some(b'*')) => comment_end(sql, at),
        (b'$', _) => dollar_end(sql, at),
        (byte, _) if is_word(byte) => {
            let end = find(sql, at, |byte| !is_word(byte) && byte != b'$');
            match (&sql[at..end], sql.get(end)) {
                (b"E" | b"e", Some(b'\'')) => quoted_end(sql, end + 1, b'\'', true),
                _ => end,
            }
        }
        _ => at + 1,
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Offset of the first byte from `at` on for which `is` holds, or the end.
fn find(sql: &[u8], at: usize, is: impl Fn(u8) -> bool) -> usize {
    sql[at..].iter().position(|&byte| is(byte)).map_or(sql.len(), |found| at + found)
}

/// Offset after the closing quote; `at` is after the opening one. A doubled quote counts as the end
/// of a token and the beginning of the next, with the same result.
fn quoted_end(sql: &[u8], mut at: usize, quote: u8, backslashes: bool) -> usize {
    loop {
        at = find(sql, at, |byte| byte == quote || (backslashes && byte == b'\\'));
        match sql.get(at) {
            None => return sql.len(),
            Some(b'\\') => at = (at + 2).min(sql.len()),
            Some(_) if !backslashes => return at + 1,
            // In a literal with escapes, the text after a doubled quote and a continuation on the
            // next line have escapes too.
            Some(_) => match continued(sql, at + 1) {
                Some(next) => at = next,
                None => return at + 1,
            },
        }
    }
}

/// Offset after the quote that continues the literal that ended before `at`.
fn continued(sql: &[u8], at: usize) -> Option<usize> {
    let next = find(sql, at, |byte| !byte.is_ascii_whitespace());
    let blanks = &sql[at..next];
    let joins = blanks.is_empty() || blanks.iter().any(|byte| matches!(byte, b'\n' | b'\r'));
    (joins && sql.get(next) == Some(&b'\'')).then_some(next + 1)
}

/// Comments of this kind nest.
fn comment_end(sql: &[u8], mut at: usize) -> usize {
    let mut depth = 0_u32;
    while at < sql.len() {
        let step = match &sql[at..] {
            [b'/', b'*', ..] => {
                depth += 1;
                2
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                2
            }
            _ => 1,
        };
        at += step;
        if depth == 0 {
            return at;
        }
    }
    sql.len()
}

/// End of `$tag$ ... $tag$`; any other dollar is a token of its own.
fn dollar_end(sql: &[u8], at: usize) -> usize {
    let behind = find(sql, at + 1, |byte| !is_word(byte));
    let is_tag = sql.get(behind) == Some(&b'$') && !sql[at + 1].is_ascii_digit();
    if !is_tag {
        return at + 1;
    }
    let quote = &sql[at..=behind];
    let text = behind + 1;
    memchr::memmem::find(&sql[text..], quote).map_or(sql.len(), |found| text + found + quote.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn numbered(sql: &str) -> String {
        let mut out = Vec::new();
        number(sql.as_bytes(), false, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn marks_are_numbered_from_one() {
        assert_eq!(numbered("SELECT c FROM t WHERE id=?"), "SELECT c FROM t WHERE id=$1");
        assert_eq!(numbered("?,?, ?::int-?"), "$1,$2, $3::int-$4");
        let eleven = numbered(&"?".repeat(11));
        assert!(eleven.ends_with("$10$11"), "{eleven}");
        assert_eq!(numbered("WHERE id=$1"), "WHERE id=$1");
        assert_eq!(numbered(""), "");
    }

    #[test]
    fn what_is_quoted_or_commented_is_no_mark() {
        for same in [
            "'?'",
            "'it''s ?'",
            r"'\' || '?'",
            r"E'\'?' 'x'",
            "e'a'\n '\\'?'",
            "e'''?'",
            "\"a?\"\"?\"",
            "-- ?\r",
            "--?",
            "/* ? /* ? */ ? */",
            "/* ? /* */ ?",
            "$$ ? $$",
            "$a$ ? $$ ? $b$ $a$",
            "$_1$?$_1$",
            "$a$?",
            "'?",
            "\"?",
            "U&'?' N'?'",
        ] {
            assert_eq!(numbered(same), same);
        }
    }

    #[test]
    fn marks_behind_them_are_found() {
        for (sql, expected) in [
            ("'a'?", "'a'$1"),
            (r"'\'?", r"'\'$1"),
            (r"E'\\'?", r"E'\\'$1"),
            ("te'\\'?", "te'\\'$1"),
            ("a-?--?\n-?", "a-$1--?\n-$2"),
            ("/*/**/*/?", "/*/**/*/$1"),
            ("1/?", "1/$1"),
            ("$1$?", "$1$$1"),
            ("a$b$?", "a$b$$1"),
            ("$a$x$a$?", "$a$x$a$$1"),
            ("\"x\"=?", "\"x\"=$1"),
        ] {
            assert_eq!(numbered(sql), expected);
        }
    }

    #[test]
    fn old_literals_have_escapes() {
        let mut out = Vec::new();
        number(br"'\'?'=?", true, &mut out);
        assert_eq!(out, br"'\'?'=$1");
    }

    proptest! {
        #[test]
        fn nothing_but_marks_is_changed(sql in r#"[?'"$/*\-\\eEa1 \n]{0,40}"#, backslashes: bool) {
            let mut out = Vec::new();
            number(sql.as_bytes(), backslashes, &mut out);
            // Reads the output: each mark became a dollar and the next number.
            let (mut rest, mut marks) = (&out[..], 0);
            for byte in sql.bytes() {
                let mark = format!("${}", marks + 1);
                if byte == b'?' && !rest.starts_with(b"?") {
                    prop_assert!(rest.starts_with(mark.as_bytes()), "{}", sql);
                    rest = &rest[mark.len()..];
                    marks += 1;
                } else {
                    prop_assert_eq!(rest.first(), Some(&byte));
                    rest = &rest[1..];
                }
            }
            prop_assert!(rest.is_empty());
        }
    }
}
