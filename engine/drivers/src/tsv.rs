//! Reads rows in the text format of `LOAD DATA` and `COPY`, for systems with another load format:
//! cells between tabs, `\\N` for NULL, five escapes.

use memchr::memchr;

/// Passes each complete row of `rows` to `row`; `partial` buffers an incomplete row until the next
/// call.
pub(crate) fn each_row(partial: &mut Vec<u8>, rows: &[u8], mut row: impl FnMut(&[u8])) {
    let mut rest = rows;
    while let Some(end) = memchr(b'\n', rest) {
        let line = &rest[..end];
        rest = &rest[end + 1..];
        if partial.is_empty() {
            row(line);
        } else {
            partial.extend_from_slice(line);
            row(partial);
            partial.clear();
        }
    }
    partial.extend_from_slice(rest);
}

/// Decodes the escapes of the row format.
pub(crate) fn unescape(cell: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(cell.len());
    let mut bytes = cell.iter();
    while let Some(byte) = bytes.next() {
        text.push(match byte {
            b'\\' => match bytes.next() {
                Some(b't') => b'\t',
                Some(b'n') => b'\n',
                Some(b'r') => b'\r',
                Some(b'0') => 0,
                Some(other) => *other,
                None => b'\\',
            },
            other => *other,
        });
    }
    text
}
