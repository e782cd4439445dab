//! Replaces numbers and hashes in names: `wp_17_posts` and `wp_18_posts` become `wp_?_posts`.
//!
//! The input is text without literals (fingerprints, names of tables), so that every digit is part of a
//! name. Names of functions stay: `md5(a)` does not become `md?(a)`.

use crate::sql::token::bytes::{is_space, word_end};

/// Minimum length of a hash, hexadecimal digits.
const HASH_MIN: usize = 8;
/// Minimum length of a part of a hash directly after another, as in UUIDs, hexadecimal digits.
const HASH_PART_MIN: usize = 4;
/// Words that a table follows, also if its columns follow in brackets.
const BEFORE_TABLES: &[&[u8]] = &[
    b"into",
    b"table",
    b"insert",
    b"replace",
    b"ignore",
    b"exists",
    b"references",
    b"copy",
    b"with",
    b"analyze",
    b"vacuum",
];

/// Writes `text` into `out`, with `?` for each number and each hash within a name. Clears `out` first.
pub fn merge_names(text: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let mut writer = Writer { out, is_behind_hash: false };
    let (mut at, mut before_table) = (0, false);
    while at < text.len() {
        let end = word_end(text, at);
        if end == at {
            writer.other(text[at]);
            before_table &= is_space(text[at]) || matches!(text[at], b'.' | b'`' | b'"');
            at += 1;
            continue;
        }
        let word = &text[at..end];
        // `\x9f`, which represents a byte that is not UTF-8.
        let is_byte = at.checked_sub(1).is_some_and(|before| text[before] == b'\\');
        let is_function = text.get(end) == Some(&b'(') && !before_table;
        if is_byte || is_function {
            writer.out.extend_from_slice(word);
        } else {
            writer.word(word);
        }
        let is_qualifier = before_table && text.get(end) == Some(&b'.');
        before_table = is_qualifier || BEFORE_TABLES.contains(&word);
        at = end;
    }
}

/// Like [`merge_names`], for a string.
pub fn merged_names(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    merge_names(text.as_bytes(), &mut out);
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

struct Writer<'a> {
    out: &'a mut Vec<u8>,
    /// The last output is a hash, or a hash and a `-` or `_`.
    is_behind_hash: bool,
}

impl Writer<'_> {
    fn other(&mut self, byte: u8) {
        self.out.push(byte);
        self.is_behind_hash &= byte == b'-';
    }

    /// Writes a word part by part; `_` and `$` separate the parts.
    fn word(&mut self, word: &[u8]) {
        for part in word.split_inclusive(|byte| matches!(byte, b'_' | b'$')) {
            let (part, mark) = match part.split_last() {
                Some((mark @ (b'_' | b'$'), part)) => (part, Some(*mark)),
                _ => (part, None),
            };
            self.part(part);
            self.out.extend(mark);
        }
    }

    fn part(&mut self, part: &[u8]) {
        let hash = hash_begin(part, self.is_behind_hash);
        self.is_behind_hash = hash < part.len() || part.is_empty() && self.is_behind_hash;
        let mut is_number = false;
        for &byte in &part[..hash] {
            if !byte.is_ascii_digit() {
                self.out.push(byte);
            } else if !is_number {
                self.out.push(b'?');
            }
            is_number = byte.is_ascii_digit();
        }
        if hash < part.len() {
            self.out.push(b'?');
        }
    }
}

/// Offset of the hash at the end of a part of a name; the length of the part if there is none. A hash has
/// a letter after a digit: `d00000001` is a number.
fn hash_begin(part: &[u8], is_behind_hash: bool) -> usize {
    let is_hex = |byte: &u8| byte.is_ascii_hexdigit();
    let begin = part.iter().rposition(|byte| !is_hex(byte)).map_or(0, |last| last + 1);
    let hash = &part[begin..];
    let digits = hash.iter().skip_while(|byte| !byte.is_ascii_digit());
    let is_mixed = digits.clone().any(u8::is_ascii_alphabetic);
    let is_hash = is_mixed && hash.len() >= HASH_MIN
        || is_behind_hash && begin == 0 && hash.len() >= HASH_PART_MIN;
    if is_hash { begin } else { part.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_hashes_in_names_are_placeholders() {
        for (text, expected) in [
            ("select a from wp_17_posts where b = ?", "select a from wp_?_posts where b = ?"),
            ("select c from sbtest1", "select c from sbtest?"),
            ("select a from `order-17-items`", "select a from `order-?-items`"),
            ("drop table tmp_3fa9c0de", "drop table tmp_?"),
            ("drop table tmp3fa9c0de_x", "drop table tmp?_x"),
            ("drop table a_d00000001", "drop table a_d?"),
            ("drop table `3fa9c0de-12ab-4abc-bead-0123456789ab`", "drop table `?-?-?-?-?`"),
            ("drop table t_3fa9c0de_12ab_facade", "drop table t_?_?_?"),
            ("select t1.c2 from shop_2020.t1", "select t?.c? from shop_?.t?"),
            ("insert into t1(a1, b) values(?+)", "insert into t?(a?, b) values(?+)"),
            ("insert into shop.t1(a) values(?+)", "insert into shop.t?(a) values(?+)"),
            ("insert into `s`.`t1`(a) values(?+)", "insert into `s`.`t?`(a) values(?+)"),
            ("{\"find\":\"users_17\"}", "{\"find\":\"users_?\"}"),
        ] {
            assert_eq!(merged_names(text), expected);
        }
    }

    #[test]
    fn functions_bytes_and_names_without_numbers_stay() {
        for text in [
            "select md5(a), sha2(b, ?) from t where c in(?+) limit ? offset ?",
            "select face, deadbeef, accede from decade",
            "select `qualit\\xe9` from t",
            "select größe from `名前`",
            "",
        ] {
            assert_eq!(merged_names(text), text);
        }
    }
}
