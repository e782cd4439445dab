//! Rows as tab-separated text: the default format of both `COPY ... FROM STDIN` and `LOAD DATA`.
//!
//! Sources: PostgreSQL manual, "COPY", text format; MySQL manual, "LOAD DATA", field and line
//! handling. Both read the same five escapes.

use dyno_core::workload::{RowSink, put_decimal};

/// Appends rows to a buffer that the caller empties and reuses.
#[derive(Debug, Default)]
pub struct Tsv {
    /// Rows written since the caller last emptied it.
    pub bytes: Vec<u8>,
    inside_row: bool,
}

impl Tsv {
    /// An empty sink with room for `capacity` bytes.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { bytes: Vec::with_capacity(capacity), inside_row: false }
    }

    #[inline]
    fn separate(&mut self) {
        if self.inside_row {
            self.bytes.push(b'\t');
        }
        self.inside_row = true;
    }
}

impl RowSink for Tsv {
    #[inline]
    fn int(&mut self, value: i64) {
        self.separate();
        self.bytes.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    }

    #[inline]
    fn text(&mut self, value: &[u8]) {
        self.separate();
        // One pass without branches, which the compiler vectorizes. A false positive, for a harmless
        // control character, only costs the slower copy.
        if value.iter().fold(false, |found, &b| found | (b < 0x0E) | (b == b'\\')) {
            escape(value, &mut self.bytes);
        } else {
            self.bytes.extend_from_slice(value);
        }
    }

    #[inline]
    fn null(&mut self) {
        self.separate();
        self.bytes.extend_from_slice(b"\\N");
    }

    #[inline]
    fn decimal(&mut self, unscaled: i64, scale: u8) {
        self.separate();
        put_decimal(unscaled, scale, &mut self.bytes);
    }

    #[inline]
    fn end_row(&mut self) {
        self.bytes.push(b'\n');
        self.inside_row = false;
    }
}

fn escape(value: &[u8], out: &mut Vec<u8>) {
    for &byte in value {
        let letter = match byte {
            b'\\' => b'\\',
            b'\t' => b't',
            b'\n' => b'n',
            b'\r' => b'r',
            // PostgreSQL allows no zero byte in text and will report it; MySQL reads `\0`.
            0 => b'0',
            _ => {
                out.push(byte);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', letter]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_separated_and_escaped() {
        let mut tsv = Tsv::default();
        for (id, text) in [(1, &b"plain"[..]), (-20, b"a\tb\nc\\d\r\0e\x0bf"), (0, b"")] {
            tsv.int(id);
            tsv.text(text);
            tsv.end_row();
        }
        tsv.null();
        tsv.decimal(-105, 2);
        tsv.double(1.5e300);
        tsv.end_row();
        let big = 1.5e300.to_string();
        let rows = format!("1\tplain\n-20\ta\\tb\\nc\\\\d\\r\\0e\x0bf\n0\t\n\\N\t-1.05\t{big}\n");
        assert_eq!(String::from_utf8_lossy(&tsv.bytes), rows);
    }
}
