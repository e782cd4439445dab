//! Statements in gbk, gb18030, sjis, cp932, big5 or a single-byte character set, built from pieces that the
//! input selects. Quoted text must not appear in fingerprints, distills or workload profiles, wherever the
//! statement is truncated. The first byte selects the character set, the second the truncation.
#![no_main]

use dyno_digest::event::Event;
use dyno_digest::sql::distill::distill;
use dyno_digest::sql::fingerprint::Fingerprinter;
use dyno_digest::sql::language::Language;
use dyno_digest::workload_profile::Shaper;
use libfuzzer_sys::fuzz_target;
use std::cell::RefCell;

/// Ranges of lead bytes and of trail bytes, both inclusive.
type Charset = (&'static [(u8, u8)], &'static [(u8, u8)]);

const CHARSETS: [Charset; 4] = [
    (&[(0x81, 0xfe)], &[(0x40, 0x7e), (0x80, 0xfe)]),
    (&[(0x81, 0x9f), (0xe0, 0xfc)], &[(0x40, 0x7e), (0x80, 0xfc)]),
    (&[(0xa1, 0xf9)], &[(0x40, 0x7e), (0xa1, 0xfe)]),
    (&[(0xa0, 0xff)], &[]),
];

/// Text that occurs only in quotes.
const MARK: &str = "secret";

/// SQL without backslashes and without unclosed quotes.
const CODE: [&str; 16] = [
    " and b = ",
    " and b in (1, ",
    ", ",
    ")",
    " values (",
    "), (",
    " union select ",
    " from ",
    "(",
    " as ",
    " /* it's */ ",
    " -- \"\n",
    ".",
    " 7 ",
    " is null",
    " x",
];

thread_local!(static FINGERPRINTER: RefCell<Fingerprinter> =
    RefCell::new(Fingerprinter::new(Language::Mysql)));

fuzz_target!(|data: &[u8]| {
    let [charset, cut, data @ ..] = data else { return };
    let whole = statement(CHARSETS[usize::from(charset % 4)], data);
    let text = &whole[..whole.len().saturating_sub(usize::from(*cut))];
    let is_utf8 = std::str::from_utf8(text).map_or_else(|e| e.error_len().is_none(), |_| true);
    if is_utf8 {
        return; // and parsed as UTF-8
    }
    FINGERPRINTER.with_borrow_mut(|fingerprinter| {
        let shown = fingerprinter.fingerprint(text);
        assert!(!shown.contains(MARK), "{}\n{shown}", text.escape_ascii());
        assert_eq!(fingerprinter.key(text), fingerprinter.key(text));
    });
    let distilled = distill(text, Language::Mysql).to_string().to_lowercase();
    assert!(!distilled.contains(MARK), "{}\n{distilled}", text.escape_ascii());
    let mut shaper = Shaper::new(Language::Mysql);
    shaper.event(&Event { text, session: Some(1), ..Event::default() });
    let shape = serde_json::to_string(&shaper.finish()).unwrap_or_default();
    assert!(!shape.contains(MARK), "{}\n{shape}", text.escape_ascii());
});

fn statement(charset: Charset, data: &[u8]) -> Vec<u8> {
    let mut text = b"select a from t where a = 1".to_vec();
    let mut data = data.iter().copied();
    while let Some(choice) = data.next() {
        match choice % 8 {
            0..=2 => {
                quoted(if choice & 8 == 0 { b'\'' } else { b'"' }, charset, &mut data, &mut text)
            }
            3 => name(charset, &mut data, &mut text),
            4 => {
                text.push(b' ');
                character(charset, &mut data, &mut text);
                text.extend(b"m ");
            }
            _ => text.extend(CODE[usize::from(choice >> 3) % CODE.len()].as_bytes()),
        }
    }
    text
}

/// Appends a quoted string with content as clients write it.
fn quoted(quote: u8, charset: Charset, data: &mut impl Iterator<Item = u8>, text: &mut Vec<u8>) {
    text.push(quote);
    for _ in 0..data.next().unwrap_or(0) % 8 {
        match data.next().unwrap_or(0) % 8 {
            0 | 1 => text.extend(MARK.as_bytes()),
            2 => text.extend([b'\\', quote]),
            3 => text.extend(b"\\\\"),
            4 => text.extend([quote, quote]),
            5 => text.extend(b", `# -- /*"),
            _ => character(charset, data, text),
        }
    }
    text.extend([quote, b' ']);
}

fn name(charset: Charset, data: &mut impl Iterator<Item = u8>, text: &mut Vec<u8>) {
    text.extend(b" `n");
    for _ in 0..data.next().unwrap_or(0) % 4 {
        character(charset, data, text);
    }
    text.push(b'`');
}

/// Appends a character. Half of the multi-byte ones have a backslash or backtick as their second byte.
fn character((leads, trails): Charset, data: &mut impl Iterator<Item = u8>, text: &mut Vec<u8>) {
    let mut of = |ranges: &[(u8, u8)]| {
        let byte = data.next().unwrap_or(0);
        let (from, to) = ranges[usize::from(byte) % ranges.len()];
        from + byte % (to - from + 1)
    };
    text.push(of(leads));
    if !trails.is_empty() {
        match of(&[(0, 127)]) % 4 {
            0 => text.push(b'\\'),
            1 => text.push(b'`'),
            _ => text.push(of(trails)),
        }
    }
}
