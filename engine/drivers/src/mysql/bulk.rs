//! Bulk loading: a prepared INSERT executed for arrays of rows where the server supports it
//! (MariaDB); else LOAD DATA LOCAL; or multi-row INSERT statements where the server refuses that
//! (as MySQL 8 and 9 do by default).
//!
//! Rows arrive as text: columns separated by a tab, rows ended by a line feed; a backslash, tab,
//! line feed, carriage return or zero byte in a value is written `\\`, `\t`, `
//! `, `\r`, `\0`, and NULL is `\N`. That is LOAD DATA's default format. Each escape has the same
//! meaning in a string literal, so that INSERTs need no decoding.
//!
//! LOAD DATA LOCAL skips rows with duplicate keys, which INSERT refuses: compare `affected` with
//! the rows sent. The arrays of one load are one transaction, as is LOAD DATA; text INSERTs commit
//! one by one.
//!
//! Sources: MySQL reference manual, "LOAD DATA Request"; MySQL protocol, "LOCAL INFILE Request";
//! MariaDB knowledge base, "COM_STMT_BULK_EXECUTE".

use super::flags::{command, field_type};
use super::packet;
use super::statements::{put_name, put_quoted};
use crate::tsv::{self, unescape};
use dyno_core::driver::ServerError;
use memchr::memchr;

/// The offered file name, and the only one that the client serves.
pub const INFILE_NAME: &str = "dbdyno";

/// Target size of one INSERT, bytes: larger ones load no faster.
const INSERT_BYTES: usize = 512 << 10;

/// Target size of one array of rows, bytes.
const ARRAY_BYTES: usize = 256 << 10;

/// Flag of an array: it includes the parameters' types.
const SEND_TYPES: u16 = 128;

/// Indicator before a value; `INDICATOR_NULL` replaces a NULL value.
const INDICATOR_NONE: u8 = 0;
const INDICATOR_NULL: u8 = 1;

/// Maximum overhead of a value in an array, bytes: its indicator and its length.
const ARRAY_VALUE_BYTES: usize = 10;

/// Maximum data of the file in one packet, bytes.
const INFILE_PACKET_BYTES_MAX: usize = 1 << 20;

/// Margin below the server's `@@max_allowed_packet` for the header, bytes.
const PACKET_MARGIN_BYTES: usize = 1024;

/// The method of loading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Arrays where the server supports them, else LOAD DATA LOCAL, or INSERT where that is
    /// refused.
    Auto,
    /// Arrays of rows for a prepared INSERT only (MariaDB).
    Array,
    /// LOAD DATA LOCAL only.
    Infile,
    /// INSERT only.
    Insert,
}

/// Appends the LOAD DATA statement. Bytes are stored unchanged (`binary`): rows are ASCII, or UTF-8
/// for UTF-8 columns, and a server that decodes characters takes a third longer (MariaDB 10.11: 3.7
/// instead of 2.7 s of CPU for a million rows of oltp). Tab and line feed are written as raw bytes,
/// since `\t` is no tab without backslash escapes.
pub fn put_load_data(out: &mut Vec<u8>, table: &str, columns: &[&str], backslash: bool) {
    let at = packet::start(out);
    out.push(command::QUERY);
    out.extend_from_slice(b"LOAD DATA LOCAL INFILE '");
    out.extend_from_slice(INFILE_NAME.as_bytes());
    out.extend_from_slice(b"' INTO TABLE ");
    put_name(out, table);
    out.extend_from_slice(b" CHARACTER SET binary FIELDS TERMINATED BY '\t' ESCAPED BY ");
    put_quoted(out, b"\\", backslash);
    out.extend_from_slice(b" LINES TERMINATED BY '\n' ");
    put_columns(out, columns);
    packet::finish(out, at, 0);
}

/// Appends the request that prepares an INSERT of one row.
pub fn put_prepare_insert(out: &mut Vec<u8>, table: &str, columns: &[&str]) {
    let at = packet::start(out);
    out.push(command::STMT_PREPARE);
    put_insert(out, table, columns);
    for index in 0..columns.len() {
        out.extend_from_slice(if index == 0 { b"(?" } else { b",?" });
    }
    out.push(b')');
    packet::finish(out, at, 0);
}

fn put_insert(out: &mut Vec<u8>, table: &str, columns: &[&str]) {
    out.extend_from_slice(b"INSERT INTO ");
    put_name(out, table);
    out.push(b' ');
    put_columns(out, columns);
    out.extend_from_slice(b" VALUES ");
}

fn put_columns(out: &mut Vec<u8>, columns: &[&str]) {
    for (index, column) in columns.iter().enumerate() {
        out.push(if index == 0 { b'(' } else { b',' });
        put_name(out, column);
    }
    out.push(b')');
}

/// Appends packets of the file. Returns the next sequence number.
pub fn put_infile_data(out: &mut Vec<u8>, seq: u8, rows: &[u8]) -> u8 {
    rows.chunks(INFILE_PACKET_BYTES_MAX).fold(seq, |seq, piece| packet::write(out, seq, piece))
}

/// The encoding of rows.
#[derive(Debug)]
enum Form {
    /// INSERT statements as text.
    Text { backslash: bool },
    /// Executions of a prepared INSERT with this many columns.
    Array { columns: usize },
}

/// A bulk load by INSERT statements, as text or prepared. Statements are pipelined, so that the
/// server never idles; the transport's buffers limit the number in flight.
#[derive(Debug)]
pub struct Inserts {
    /// The prefix of every request, including its command: `INSERT INTO t (a,b) VALUES `, or
    /// statement id, flags and types.
    prefix: Vec<u8>,
    /// Size at which a statement is sent, bytes.
    bytes_wanted: usize,
    form: Form,
    /// The prepared statement, if any.
    pub statement_id: Option<u32>,
    /// Whether the load is one transaction, which this module begins and ends.
    pub transaction: bool,
    /// The request under construction: empty, or longer than the prefix.
    statement: Vec<u8>,
    /// An incomplete row.
    partial: Vec<u8>,
    /// Statements sent and not yet answered.
    pub outstanding: u64,
    /// Rows inserted.
    pub affected: u64,
    /// The first error; no statement is sent after it.
    pub refusal: Option<Box<ServerError>>,
    /// No more rows follow.
    pub ended: bool,
}

impl Inserts {
    /// For one table, by text INSERTs.
    pub fn new(table: &str, columns: &[&str], backslash: bool) -> Self {
        let mut prefix = vec![command::QUERY];
        put_insert(&mut prefix, table, columns);
        Self::with(Form::Text { backslash }, prefix, INSERT_BYTES)
    }

    /// For the table of the INSERT that was prepared as `statement_id`.
    pub fn prepared(statement_id: u32, columns: usize) -> Self {
        let mut prefix = vec![command::STMT_BULK_EXECUTE];
        prefix.extend_from_slice(&statement_id.to_le_bytes());
        prefix.extend_from_slice(&SEND_TYPES.to_le_bytes());
        // Numbers are sent as digits too: rows do not tell which columns are numbers. The type is
        // bytes, since character strings cost the server more (MariaDB 10.11: 4.8 instead of 3.6 s
        // of CPU for a million rows of oltp).
        (0..columns).for_each(|_| prefix.extend_from_slice(&[field_type::BLOB, 0]));
        let mut inserts = Self::with(Form::Array { columns }, prefix, ARRAY_BYTES);
        inserts.statement_id = Some(statement_id);
        inserts
    }

    fn with(form: Form, prefix: Vec<u8>, bytes_wanted: usize) -> Self {
        Self {
            prefix,
            bytes_wanted,
            form,
            statement_id: None,
            transaction: false,
            statement: vec![],
            partial: vec![],
            outstanding: 0,
            affected: 0,
            refusal: None,
            ended: false,
        }
    }

    /// Applies the server's maximum packet length, bytes.
    pub fn limit(&mut self, max_allowed_packet: usize) {
        let room = max_allowed_packet.saturating_sub(PACKET_MARGIN_BYTES);
        self.bytes_wanted = self.bytes_wanted.min(room);
    }

    /// Consumes rows; appends the statements that are full.
    pub fn rows(&mut self, rows: &[u8], out: &mut Vec<u8>) {
        if self.refusal.is_some() {
            return;
        }
        let mut partial = std::mem::take(&mut self.partial);
        tsv::each_row(&mut partial, rows, |line| self.row(line, out));
        self.partial = partial;
    }

    /// Ends the rows: appends the last statement.
    pub fn end(&mut self, out: &mut Vec<u8>) {
        if !self.partial.is_empty() {
            self.rows(b"\n", out);
        }
        self.send(out);
        self.ended = true;
    }

    fn row(&mut self, line: &[u8], out: &mut Vec<u8>) {
        let row_bytes_max = match self.form {
            // Quotes are doubled, so a row at most doubles, plus the comma.
            Form::Text { .. } => 2 * line.len() + 16,
            Form::Array { columns } => line.len() + ARRAY_VALUE_BYTES * columns,
        };
        if self.statement.len() + row_bytes_max > self.bytes_wanted {
            self.send(out);
        }
        let first = self.statement.is_empty();
        if first {
            self.statement.extend_from_slice(&self.prefix);
        }
        match self.form {
            Form::Text { backslash } => self.text_row(first, line, backslash),
            Form::Array { .. } => self.array_row(line),
        }
    }

    fn array_row(&mut self, line: &[u8]) {
        let escapes = memchr(b'\\', line).is_some();
        let mut rest = line;
        loop {
            let end = memchr(b'\t', rest).unwrap_or(rest.len());
            let cell = &rest[..end];
            if !escapes {
                self.statement.push(INDICATOR_NONE);
                packet::put_lenenc_bytes(&mut self.statement, cell);
            } else if cell == b"\\N" {
                self.statement.push(INDICATOR_NULL);
            } else {
                self.statement.push(INDICATOR_NONE);
                packet::put_lenenc_bytes(&mut self.statement, &unescape(cell));
            }
            if end == rest.len() {
                break;
            }
            rest = &rest[end + 1..];
        }
    }

    fn text_row(&mut self, first: bool, line: &[u8], backslash: bool) {
        if !first {
            self.statement.push(b',');
        }
        self.statement.push(b'(');
        let mut rest = line;
        loop {
            let end = memchr(b'\t', rest).unwrap_or(rest.len());
            self.cell(&rest[..end], backslash);
            if end == rest.len() {
                break;
            }
            self.statement.push(b',');
            rest = &rest[end + 1..];
        }
        self.statement.push(b')');
    }

    fn cell(&mut self, cell: &[u8], backslash: bool) {
        if cell == b"\\N" {
            self.statement.extend_from_slice(b"NULL");
        } else if memchr(b'\\', cell).is_none() {
            put_quoted(&mut self.statement, cell, backslash);
        } else if backslash {
            // The cell's escapes are valid in the literal; only quotes must be doubled.
            put_quoted(&mut self.statement, cell, false);
        } else {
            put_quoted(&mut self.statement, &unescape(cell), false);
        }
    }

    fn send(&mut self, out: &mut Vec<u8>) {
        if self.statement.is_empty() || self.refusal.is_some() {
            return;
        }
        packet::write(out, 0, &self.statement);
        self.statement.clear();
        self.outstanding += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn statements(out: &[u8]) -> Vec<String> {
        let mut rest = out;
        let mut all = vec![];
        while let Some((length, seq)) = packet::header(rest) {
            assert_eq!((seq, rest[4]), (0, command::QUERY));
            all.push(String::from_utf8_lossy(&rest[5..4 + length]).into_owned());
            rest = &rest[4 + length..];
        }
        assert!(rest.is_empty());
        all
    }

    #[test]
    fn load_data_names_table_and_columns() {
        let mut out = vec![];
        put_load_data(&mut out, "t", &["a", "b"], true);
        assert_eq!(
            statements(&out)[0],
            "LOAD DATA LOCAL INFILE 'dbdyno' INTO TABLE `t` CHARACTER SET binary \
             FIELDS TERMINATED BY '\t' ESCAPED BY '\\\\' LINES TERMINATED BY '\n' (`a`,`b`)"
        );
    }

    #[test]
    fn rows_become_inserts_wherever_they_are_cut() {
        let rows = b"1\tit's\n2\ta\\tb\\\\\n3\t\\N\n";
        for cut in 0..=rows.len() {
            let (mut inserts, mut out) = (Inserts::new("t", &["a", "b"], true), vec![]);
            inserts.rows(&rows[..cut], &mut out);
            inserts.rows(&rows[cut..], &mut out);
            assert!(out.is_empty());
            inserts.end(&mut out);
            assert_eq!(
                statements(&out),
                ["INSERT INTO `t` (`a`,`b`) VALUES ('1','it''s'),('2','a\\tb\\\\'),('3',NULL)"]
            );
            assert_eq!(inserts.outstanding, 1);
        }
    }

    #[test]
    fn literals_without_backslash_escapes_hold_the_bytes_themselves() {
        let (mut inserts, mut out) = (Inserts::new("t", &["a"], false), vec![]);
        inserts.rows(b"a\\tb\\\\\n", &mut out);
        inserts.end(&mut out);
        assert_eq!(statements(&out), ["INSERT INTO `t` (`a`) VALUES ('a\tb\\')"]);
    }

    #[test]
    fn rows_become_arrays_wherever_they_are_cut() {
        let rows = b"1\tit's\n2\ta\\tb\\\\\\0\n3\t\\N\n\t\n";
        for cut in 0..=rows.len() {
            let (mut inserts, mut out) = (Inserts::prepared(0x0102, 2), vec![]);
            inserts.rows(&rows[..cut], &mut out);
            inserts.rows(&rows[cut..], &mut out);
            assert!(out.is_empty());
            inserts.end(&mut out);
            let mut want = b"\xfa\x02\x01\0\0\x80\0\xfc\0\xfc\0".to_vec();
            want.extend_from_slice(b"\0\x011\0\x04it's");
            want.extend_from_slice(b"\0\x012\0\x05a\tb\\\0");
            want.extend_from_slice(b"\0\x013\x01");
            want.extend_from_slice(b"\0\0\0\0");
            assert_eq!(packet::header(&out), Some((want.len(), 0)));
            assert_eq!(&out[4..], want);
            assert_eq!(inserts.outstanding, 1);
        }
    }

    #[test]
    fn an_insert_of_one_row_is_prepared() {
        let mut out = vec![];
        put_prepare_insert(&mut out, "t", &["a", "b"]);
        assert_eq!(&out[4..], b"\x16INSERT INTO `t` (`a`,`b`) VALUES (?,?)");
    }

    #[test]
    fn nothing_in_nothing_out() {
        let (mut inserts, mut out) = (Inserts::new("t", &["a"], true), vec![]);
        inserts.end(&mut out);
        assert!(out.is_empty() && inserts.ended && inserts.outstanding == 0);
    }

    proptest! {
        #[test]
        fn arrays_hold_all_rows_and_no_packet_outgrows_the_server(
            cells in prop::collection::vec("[a-z\\x00-\\x1f]{0,300}", 0..40),
        ) {
            let (mut inserts, mut out) = (Inserts::prepared(1, 1), vec![]);
            inserts.limit(1024 + 400);
            for cell in &cells {
                let escaped = cell.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n");
                inserts.rows(escaped.as_bytes(), &mut out);
                inserts.rows(b"\n", &mut out);
            }
            inserts.end(&mut out);
            let (mut rest, mut seen, mut packets) = (&out[..], vec![], 0);
            while let Some((length, _)) = packet::header(rest) {
                // A single row may exceed the target: 300 bytes, all escaped.
                prop_assert!(length <= 700);
                packets += 1;
                let mut fields = dyno_protocol::bytes::Bytes(&rest[4 + 9..4 + length]);
                while let Some(indicator) = fields.byte() {
                    prop_assert_eq!(indicator, INDICATOR_NONE);
                    seen.push(fields.nullable().unwrap().unwrap().to_vec());
                }
                rest = &rest[4 + length..];
            }
            prop_assert_eq!(packets, inserts.outstanding);
            let want: Vec<_> = cells.iter().map(|cell| cell.as_bytes().to_vec()).collect();
            prop_assert_eq!(seen, want);
        }

        #[test]
        fn no_statement_outgrows_the_server(lines in prop::collection::vec("[a-z']{0,60}", 0..40)) {
            let (mut inserts, mut out) = (Inserts::new("t", &["a"], true), vec![]);
            inserts.limit(1024 + 300);
            for line in &lines {
                inserts.rows(line.as_bytes(), &mut out);
                inserts.rows(b"\n", &mut out);
            }
            inserts.end(&mut out);
            let all = statements(&out);
            prop_assert_eq!(all.len() as u64, inserts.outstanding);
            prop_assert!(all.iter().all(|statement| statement.len() < 300));
            let rows: usize = all.iter().map(|s| s.matches("('").count()).sum();
            // "('" also occurs where a value begins with a quote: "(''".
            prop_assert!(rows >= lines.len());
        }
    }
}
