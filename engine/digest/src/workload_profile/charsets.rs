//! Tests with statements of clients in gbk, gb18030, sjis, cp932 or big5, whose characters may end in a
//! backslash or a backtick. Quoted text must not appear in fingerprints, verbs, tables or workload
//! profiles.

use super::Shaper;
use crate::event::Event;
use crate::sql::distill::distill;
use crate::sql::fingerprint::Fingerprinter;
use crate::sql::language::Language;
use proptest::prelude::*;

/// Ranges of lead bytes and of trail bytes, inclusive.
type Charset = (&'static [(u8, u8)], &'static [(u8, u8)]);

const GBK: Charset = (&[(0x81, 0xfe)], &[(0x40, 0x7e), (0x80, 0xfe)]);
const SJIS: Charset = (&[(0x81, 0x9f), (0xe0, 0xfc)], &[(0x40, 0x7e), (0x80, 0xfc)]);
const BIG5: Charset = (&[(0xa1, 0xf9)], &[(0x40, 0x7e), (0xa1, 0xfe)]);
const LATIN1: Charset = (&[(0xc0, 0xff)], &[]);

/// Text that is in literals only. Profiles contain the least and the greatest number, so 7777 may appear.
const MARKS: [&str; 2] = ["secret", "7777"];

/// The workload profile of a log with this statement, as JSON.
fn workload(statement: &[u8], language: Language) -> String {
    let mut shaper = Shaper::new(language);
    shaper.event(&Event { text: statement, session: Some(1), ..Event::default() });
    serde_json::to_string(&shaper.finish()).unwrap_or_default()
}

fn mysql(statement: &[u8]) -> String {
    Fingerprinter::new(Language::Mysql).fingerprint(statement)
}

fn shows_mark(statement: &[u8], language: Language) -> Option<String> {
    let mut fingerprinter = Fingerprinter::new(language);
    let shown = [
        fingerprinter.fingerprint(statement),
        distill(statement, language).to_string(),
        workload(statement, language).replace(MARKS[1], ""),
    ];
    let key = fingerprinter.key(statement);
    assert_eq!(key, fingerprinter.key(statement));
    let shows = |text: &String| MARKS.iter().any(|mark| text.to_lowercase().contains(mark));
    shown.into_iter().find(shows)
}

#[test]
fn a_character_that_ends_in_a_backslash_hides_no_quote() {
    // One character directly after the quote, from each character set.
    for character in [&b"\x95\x5c"[..], b"\xb9\x5c", b"\xa5\x5c", b"\x83\x5c"] {
        for quote in ['\'', '"'] {
            let (before, behind) = ("insert into t (a, b) values (", ", 7777)");
            let secret = format!("{quote}, {quote}secret{quote}{behind}");
            let mut statement = format!("{before}{quote}").into_bytes();
            statement.extend(character);
            statement.extend(secret.as_bytes());
            assert_eq!(shows_mark(&statement, Language::Mysql), None);
            assert_eq!(mysql(&statement), "insert into t(a, b) values(?+)");
        }
    }
    let escaped = b"select a from t where b = E'\x95\x5c' and c = 'secret' and d = 1";
    assert_eq!(shows_mark(escaped, Language::Postgres), None);
}

#[test]
fn a_reading_that_no_server_takes_is_none() {
    for (statement, expected) in [
        // gbk: read as latin1, a backslash would be outside strings.
        (
            &b"select a from t where b = '\xb9\x5c' and c = 'x\xb9\x5c' and d in (1, 2)"[..],
            "select a from t where b = ? and c = ? and d in(?+)",
        ),
        // latin1: read as gbk.
        (b"update t set a = '\xe9\\'\\\\x\\n' where b = 5", "update t set a = ? where b = ?"),
        // Read as gbk, the name would extend to the next backtick.
        (
            b"select `qualit\xe9` from t where `\xe9` = 5 and b = 'x'",
            "select `qualit\\xe9` from t where `\\xe9` = ? and b = ?",
        ),
        // Bytes of an image, as clients escape them.
        (
            b"update t set a = _binary '\x89PNG\\r\\n\x1a\\n\\0\\0\xff\\'\xd8\\\\\\0\x01' where b = 5",
            "update t set a = ? where b = ?",
        ),
    ] {
        assert_eq!(mysql(statement), expected);
    }
}

#[test]
fn of_readings_that_differ_to_the_end_all_is_a_literal() {
    let either = b"select a from t where b = '\xb9\\' and c = 'secret' and d = 'x'";
    assert_eq!(mysql(either), "select a from t where b = ?");
    assert_eq!(mysql(b"select `a\xe9` from t"), "select ?");
}

#[test]
fn utf8_is_read_as_utf8() {
    let name = "select '中\\' x', `名`, '\u{95}\\\\', 名 from t where b = 5";
    assert_eq!(mysql(name.as_bytes()), "select ?, `名`, ?, 名 from t where b = ?");
    // Truncated within the last character.
    let cut = "select '中\\' x', '中".as_bytes();
    let cut = &cut[..cut.len() - 1];
    assert!(std::str::from_utf8(cut).is_err());
    assert_eq!(mysql(cut), "select ?, ?");
}

#[test]
fn what_looks_like_utf8_but_is_none_is_read_in_all_character_sets() {
    // In gbk a character ends in the backslash.
    for characters in
        [&b"\xc0\xaf\xe4\xb8\xad"[..], b"\xed\xa1\x81", b"\xf7\xa1\xa1\xa1\xe4\xb8\xad"]
    {
        let mut statement = b"select a from t where b = '".to_vec();
        statement.extend(characters);
        statement.extend(b"\\' and c = 'secret' and d = 7777");
        assert_eq!(shows_mark(&statement, Language::Mysql), None, "{}", statement.escape_ascii());
    }
}

#[test]
fn names_without_their_end_show_in_no_workload() {
    let cut = b"select a from t where a = 1 `n\xe2\x81\x87``'secret\xf7\x85";
    assert_eq!(shows_mark(cut, Language::Mysql), None);
    for language in [Language::Mysql, Language::Postgres] {
        let quote = if language == Language::Mysql { "`" } else { "\"" };
        let cut = format!("select a from t where b = 5 and {quote}{}secret", quote.repeat(2));
        assert_eq!(shows_mark(cut.as_bytes(), language), None);
    }
}

/// A character of a character set: any, or one that ends in a backslash or a backtick.
fn character((leads, trails): Charset, random: u64) -> Vec<u8> {
    let of = |ranges: &[(u8, u8)], random: u64| {
        let (from, to) = ranges[random as usize % ranges.len()];
        from + (random >> 8) as u8 % (to - from + 1)
    };
    let lead = of(leads, random);
    match (random >> 32) % 4 {
        _ if trails.is_empty() => vec![lead],
        0 => vec![lead, b'\\'],
        1 => vec![lead, b'`'],
        _ => vec![lead, of(trails, random >> 16)],
    }
}

/// Pieces of statements; `~` is a placeholder for characters.
const PIECES: &[&str] = &[
    " and b = '~'",
    " and b='~secret~'",
    " and c = \"~secret\"",
    " and b like 'secret~%'",
    " and d = 7777",
    " and b in ('~', 'secret~', 7777)",
    " and b in ('secret', now(), '~')",
    " and (b, c) in (('~', 1), (2, \"secret~\"))",
    " and e = '~\\'secret~\\\\'",
    " and e = '~''secret'",
    " and `~` = 'secret'",
    " and `a~b`.`c~` = '~'",
    " and b = _latin1'~secret'",
    " /* it's ~ secret */",
    " -- ~ secret\n",
    " and x = 'a`secret~'",
    " and n~m = 'secret'",
    " union select `~`, 'secret~' from `~t` where 1 = 1",
    " and f('~', \"~\", '\\'secret')",
    " and b = '' and c = '~'",
];

fn statement(charset: Charset, pieces: &[(usize, u64)]) -> Vec<u8> {
    let mut all = b"select a from `t` where a = 1".to_vec();
    for &(piece, random) in pieces {
        let mut random = random;
        for byte in PIECES[piece % PIECES.len()].bytes() {
            if byte != b'~' {
                all.push(byte);
                continue;
            }
            for _ in 0..=random % 3 {
                random = random.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29) | 1;
                all.extend(character(charset, random));
            }
        }
    }
    all
}

/// Whether the text is UTF-8 by chance, and is therefore read as UTF-8.
fn is_utf8(text: &[u8]) -> bool {
    std::str::from_utf8(text).map_or_else(|error| error.error_len().is_none(), |_| true)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn nothing_in_quotes_shows_whatever_the_character_set(
        charset in prop::sample::select(vec![GBK, SJIS, BIG5, LATIN1]),
        pieces in prop::collection::vec((0..PIECES.len(), any::<u64>()), 1..7),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let whole = statement(charset, &pieces);
        let text = &whole[..cut.map_or(whole.len(), |cut| cut.index(whole.len()))];
        let shown = if is_utf8(text) { None } else { shows_mark(text, Language::Mysql) };
        prop_assert!(shown.is_none(), "{}\n{}", text.escape_ascii(), shown.unwrap_or_default());
    }

    #[test]
    fn keys_are_those_of_the_text_whatever_the_character_set(
        charset in prop::sample::select(vec![GBK, SJIS, BIG5, LATIN1]),
        pieces in prop::collection::vec((0..PIECES.len(), any::<[u64; 4]>()), 1..5),
    ) {
        let mut fingerprinter = Fingerprinter::new(Language::Mysql);
        for form in 0..4 {
            let pieces: Vec<_> = pieces.iter().map(|(piece, random)| (*piece, random[form])).collect();
            let text = statement(charset, &pieces);
            prop_assert_eq!(fingerprinter.key(&text), fingerprinter.key_of_text(&text), "{}", text.escape_ascii());
        }
    }
}
