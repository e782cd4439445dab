//! Rows in the text format of `LOAD DATA` and `COPY`, for systems that take them in another: cells
//! between tabs, `\\N` for nothing, five escapes.

/// Undoes the row format's escapes.
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
