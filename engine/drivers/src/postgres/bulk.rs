//! Bulk load: `COPY table (columns) FROM STDIN` in text format (tab-separated, `\t` `\n` `\\`
//! escaped, `\N` for NULL), framed as CopyData.
//!
//! A table that the same transaction truncated is loaded with `FREEZE`: other sessions cannot see
//! it before the commit, and no first reader must write hint bits, nor vacuum visit every page,
//! during a measurement.
//!
//! Source: PostgreSQL documentation, `COPY`, "File Formats"; protocol chapter "COPY Operations".

use super::messages;

/// Maximum size of a CopyData, bytes. The server buffers each one whole, so larger ones would cost
/// memory, and the overhead is already below 0.001 %.
const FRAME_BYTES_MAX: usize = 1 << 20;

/// Appends the query that begins the load.
pub(super) fn copy(table: &str, columns: &[&str], frozen: bool, out: &mut Vec<u8>) {
    messages::message(b'Q', out, |out| {
        out.extend_from_slice(b"COPY ");
        identifier(table, out);
        for (index, column) in columns.iter().enumerate() {
            out.extend_from_slice(if index == 0 { b" (" } else { b", " });
            identifier(column, out);
        }
        if !columns.is_empty() {
            out.push(b')');
        }
        out.extend_from_slice(b" FROM STDIN");
        out.extend_from_slice(if frozen { b" (FREEZE)\0" } else { b"\0" });
    });
}

/// Appends `rows` as CopyData. Rows may be split anywhere: the server concatenates the frames.
pub(super) fn data(rows: &[u8], out: &mut Vec<u8>) {
    out.reserve(rows.len() + 5 * rows.len().div_ceil(FRAME_BYTES_MAX));
    for frame in rows.chunks(FRAME_BYTES_MAX) {
        messages::message(b'd', out, |out| out.extend_from_slice(frame));
    }
}

fn identifier(name: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(quoted(name).as_bytes());
}

/// A name, also with a schema and a dot, as it is stored: plain ones fold to small letters, as in
/// the workload's `CREATE TABLE`, others stay as they are. Words of SQL can be names in quotes only.
pub(super) fn quoted(name: &str) -> String {
    let quote = |part: &str| format!("\"{}\"", part.replace('"', "\"\""));
    if !is_plain(name) {
        return quote(name);
    }
    let parts: Vec<String> =
        name.split('.').map(|part| quote(&part.to_ascii_lowercase())).collect();
    parts.join(".")
}

fn is_plain(name: &str) -> bool {
    name.split('.').all(|part| {
        let mut chars = part.chars();
        chars.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_and_plain_ones_folded() {
        let mut out = Vec::new();
        copy("public.Sbtest1", &["order", "odd \"name"], false, &mut out);
        assert_eq!(
            &out[5..],
            b"COPY \"public\".\"sbtest1\" (\"order\", \"odd \"\"name\") FROM STDIN\0"
        );
        assert_eq!(out[..5], [b'Q', 0, 0, 0, out.len() as u8 - 1]);
    }

    #[test]
    fn a_table_that_is_new_gets_frozen_rows() {
        let mut out = Vec::new();
        copy("t", &[], true, &mut out);
        assert_eq!(&out[5..], b"COPY \"t\" FROM STDIN (FREEZE)\0");
    }

    #[test]
    fn frames_hold_all_rows_and_are_bounded() {
        let rows: Vec<u8> = (0..3_000_000_u32).map(|i| i as u8).collect();
        let mut out = Vec::new();
        data(&rows, &mut out);
        let mut glued = Vec::new();
        let mut rest = &out[..];
        while !rest.is_empty() {
            let (tag, size) = dyno_protocol::postgres::frames::header(rest).unwrap().unwrap();
            assert_eq!(tag, b'd');
            assert!(size <= FRAME_BYTES_MAX + 5);
            glued.extend_from_slice(&rest[5..size]);
            rest = &rest[size..];
        }
        assert_eq!(glued, rows);
        let before = out.len();
        data(&[], &mut out);
        assert_eq!(out.len(), before, "no empty frame");
    }
}
