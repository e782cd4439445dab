//! Lengths and characters of texts.

use super::literal::is_document;
use schemars::JsonSchema;
use serde::Serialize;

/// Maximum number of characters in a pattern.
const PATTERN_MAX: usize = 128;

/// Statistics of texts.
#[derive(Default)]
pub struct Texts {
    bytes_least: Option<u64>,
    bytes_greatest: u64,
    bytes_sum: u64,
    pattern: Option<Vec<u8>>,
    has_digits: bool,
    has_letters: bool,
    has_others: bool,
    /// Whether a text contains a character other than hexadecimal digits and dashes.
    has_no_hex: bool,
    /// Number of texts that are not documents.
    plain: u64,
}

/// Lengths and characters of the texts of a parameter.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Text {
    /// Length of the shortest text, bytes.
    pub bytes_least: u64,
    /// Length of the longest text, bytes.
    pub bytes_greatest: u64,
    /// Mean length, bytes.
    pub bytes_mean: f64,
    /// Kind of character by position: `#` a digit, `@` a letter, `*` different or other characters; `-`,
    /// `:`, `.`, `/`, `_` and space if all texts have them there. Null if lengths differ or exceed 128.
    pub pattern: Option<String>,
    /// Kinds of characters that occur: `#` digits, `@` letters, `*` others.
    pub alphabet: String,
    /// Whether all texts consist of hexadecimal digits and dashes, like UUIDs.
    pub is_hex: bool,
    /// Whether all texts are enclosed in braces or brackets, like JSON documents and arrays.
    pub is_document: bool,
}

impl Texts {
    /// Adds a text.
    pub fn add(&mut self, text: &[u8]) {
        let bytes = text.len() as u64;
        self.bytes_least = Some(self.bytes_least.map_or(bytes, |least| least.min(bytes)));
        self.bytes_greatest = self.bytes_greatest.max(bytes);
        self.bytes_sum += bytes;
        self.plain += u64::from(!is_document(text));
        for byte in text {
            match byte {
                b'0'..=b'9' => self.has_digits = true,
                b'a'..=b'z' | b'A'..=b'Z' => self.has_letters = true,
                _ => self.has_others = true,
            }
            self.has_no_hex |= !byte.is_ascii_hexdigit() && *byte != b'-';
        }
        let kinds = text.iter().take(PATTERN_MAX + 1).map(|&byte| kind_of(byte));
        match &mut self.pattern {
            None => self.pattern = Some(kinds.collect()),
            Some(pattern) => {
                for (known, kind) in pattern.iter_mut().zip(kinds) {
                    if *known != kind {
                        *known = b'*';
                    }
                }
            }
        }
    }

    /// Summarises all texts; `count`: number of texts.
    pub fn finish(self, count: u64) -> Text {
        let bytes_least = self.bytes_least.unwrap_or(0);
        let fits = bytes_least == self.bytes_greatest && bytes_least <= PATTERN_MAX as u64;
        let pattern = self.pattern.filter(|_| fits);
        Text {
            bytes_least,
            bytes_greatest: self.bytes_greatest,
            bytes_mean: self.bytes_sum as f64 / count.max(1) as f64,
            pattern: pattern.map(|pattern| String::from_utf8_lossy(&pattern).into_owned()),
            alphabet: [('#', self.has_digits), ('@', self.has_letters), ('*', self.has_others)]
                .iter()
                .filter_map(|&(kind, is_there)| is_there.then_some(kind))
                .collect(),
            is_hex: !self.has_no_hex,
            is_document: self.plain == 0,
        }
    }
}

fn kind_of(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => b'#',
        b'a'..=b'z' | b'A'..=b'Z' => b'@',
        b'-' | b':' | b'.' | b'/' | b'_' | b' ' => byte,
        _ => b'*',
    }
}
