//! Converts the statement texts of servers' statistics to the form of logs, so that a class has the
//! same fingerprint and ID from both sources.
//!
//! MySQL and MariaDB (`DIGEST_TEXT`) put all names into backticks and a space between all tokens. They
//! write `(...)` for a list of literals, `?, ...` for several in a row, and `/* , ... */` for repeated rows.
//! PostgreSQL (`pg_stat_statements`) stores the text with `$1` for literals, which needs no conversion.
//!
//! Some information is lost: backticks that logs have around names that need none; the number of
//! literals in `f(...)` and `?, ...` (two are assumed); the rest of truncated texts.
//!
//! Sources: MySQL manual, "Performance Schema Statement Digests and Sampling"; MariaDB's page on
//! `events_statements_summary_by_digest`; both servers' output.

use crate::sql::language::Language;

/// Reserved words of MySQL that are likely names of columns and tables. Such names need backticks.
const RESERVED: [&str; 60] = [
    "add",
    "all",
    "analyze",
    "and",
    "as",
    "asc",
    "before",
    "between",
    "both",
    "by",
    "call",
    "case",
    "change",
    "character",
    "check",
    "column",
    "condition",
    "convert",
    "create",
    "cross",
    "cube",
    "databases",
    "default",
    "delete",
    "desc",
    "describe",
    "distinct",
    "div",
    "drop",
    "each",
    "else",
    "exists",
    "explain",
    "false",
    "float",
    "for",
    "from",
    "function",
    "group",
    "groups",
    "having",
    "in",
    "index",
    "interval",
    "into",
    "is",
    "join",
    "key",
    "keys",
    "lead",
    "left",
    "like",
    "limit",
    "lock",
    "match",
    "order",
    "range",
    "rank",
    "values",
    "where",
];

/// Returns a statement as a log of the same server would contain it, except for its literals.
pub fn plain(text: &[u8], language: Language) -> Vec<u8> {
    if language != Language::Mysql {
        return text.to_vec();
    }
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let rest = &text[at..];
        if byte == b'`' {
            let end = quoted_end(rest);
            put_name(&rest[..end], &mut out);
            at += end;
        } else if rest.starts_with(b"...") {
            let is_alone = out.trim_ascii_end().ends_with(b"(");
            out.extend_from_slice(if is_alone { b"?, ?" } else { b"?" });
            at += 3;
        } else if let Some(behind) = rest.strip_prefix(b"/* , ... */") {
            at = text.len() - behind.len();
        } else {
            out.push(byte);
            at += 1;
        }
    }
    out
}

/// The end of a name in backticks.
fn quoted_end(text: &[u8]) -> usize {
    let mut at = 1;
    while at < text.len() {
        match (text[at], text.get(at + 1)) {
            (b'`', Some(b'`')) => at += 2,
            (b'`', _) => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// Writes a name, without its backticks if it needs none.
fn put_name(quoted: &[u8], out: &mut Vec<u8>) {
    let name = quoted.strip_prefix(b"`").and_then(|rest| rest.strip_suffix(b"`"));
    let is_plain = |name: &[u8]| {
        let starts = name.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_');
        let is_word = name.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$'));
        starts && is_word && !RESERVED.iter().any(|word| name.eq_ignore_ascii_case(word.as_bytes()))
    };
    out.extend_from_slice(name.filter(|name| is_plain(name)).unwrap_or(quoted));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::fingerprint::Fingerprinter;
    use proptest::prelude::*;

    /// Asserts that both texts have the same fingerprint.
    fn is_same(language: Language, log: &str, server: &str) {
        let mut fingerprinter = Fingerprinter::new(language);
        let of_server = fingerprinter.fingerprint(&plain(server.as_bytes(), language));
        assert_eq!(fingerprinter.fingerprint(log.as_bytes()), of_server, "{server}");
    }

    #[test]
    fn what_mysql_keeps_is_the_class_of_the_log() {
        for (log, server) in [
            (
                "SELECT c FROM shop.sbtest1 WHERE id=5 AND `key` = 'x' LIMIT 5, 10",
                "SELECT `c` FROM `shop` . `sbtest1` WHERE `id` = ? AND `key` = ? LIMIT ?, ...",
            ),
            (
                "select count(*), 1, 2 from t where a in (1,2,3) and b = -5",
                "SELECT COUNT ( * ) , ?, ... FROM `t` WHERE `a` IN (...) AND `b` = ?",
            ),
            (
                "insert into t1_2020 (a,b) values (1,'x'),(2,'y')",
                "INSERT INTO `t1_2020` ( `a` , `b` ) VALUES (...) /* , ... */",
            ),
            (
                "select * from t where (a,b) in ((1,2),(3,4))",
                "SELECT * FROM `t` WHERE ( `a` , `b` ) IN ( (...) /* , ... */ )",
            ),
            (
                "select a from `order-items` where f(1, 2) > 3",
                "SELECT `a` FROM `order-items` WHERE `f` (...) > ?",
            ),
        ] {
            is_same(Language::Mysql, log, server);
        }
    }

    #[test]
    fn what_postgres_keeps_is_the_class_of_the_log() {
        for (log, server) in [
            (
                "SELECT c FROM t WHERE id = 5 AND n IN (1, 2)",
                "SELECT c FROM t WHERE id = $1 AND n IN ($2, $3)",
            ),
            ("SELECT c FROM t WHERE n IN (1, 2, 3)", "SELECT c FROM t WHERE n IN ($1 /*, ... */)"),
            ("INSERT INTO t VALUES (1, 'x')", "INSERT INTO t VALUES ($1, $2)"),
            ("SELECT now() - interval '1 day' LIMIT 3", "SELECT now() - interval $1 LIMIT $2"),
        ] {
            is_same(Language::Postgres, log, server);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken(text in "[a-z`.,()?/* ]{0,40}") {
            let once = plain(text.as_bytes(), Language::Mysql);
            prop_assert!(once.len() <= text.len() + text.len() / 3 + 1);
            prop_assert_eq!(plain(text.as_bytes(), Language::Postgres), text.as_bytes());
        }
    }
}
