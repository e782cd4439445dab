//! Bulk loading: LOAD DATA LOCAL, or INSERT statements of many rows where the server refuses it
//! (MySQL 8 and 9 do by default).
//!
//! Rows come as text: columns separated by a tab, rows ended by a line feed; a backslash, tab,
//! line feed, carriage return or zero byte in a value is written `\\`, `\t`, `\n`, `\r`, `\0`, and
//! NULL is `\N`. That is LOAD DATA's default format, and every escape means the same in a string
//! literal, so that INSERTs are made of it without decoding.
//!
//! LOAD DATA LOCAL skips rows with duplicate keys where INSERT refuses them: compare `affected`
//! with the rows sent.
//!
//! Sources: MySQL reference manual, "LOAD DATA Statement"; MySQL protocol, "LOCAL INFILE Request".

use super::codes::Refusal;
use super::flags::command;
use super::packet;
use super::statement::{put_name, put_quoted};
use memchr::memchr;

/// The file name that we offer, and the only one whose request we answer.
pub const INFILE_NAME: &str = "dbdyno";

/// Wanted size of one INSERT, bytes: past this, bigger ones load no faster.
const INSERT_BYTES: usize = 512 << 10;

/// Longest piece of the file in one packet, bytes.
const INFILE_PACKET_BYTES_MAX: usize = 1 << 20;

/// What the server lets be known with `SELECT @@max_allowed_packet`, less some room for the header.
const PACKET_MARGIN_BYTES: usize = 1024;

/// How rows are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// LOAD DATA LOCAL, or INSERT where that is refused.
    Auto,
    /// LOAD DATA LOCAL only.
    Infile,
    /// INSERT only.
    Insert,
}

/// Appends the LOAD DATA statement. Bytes are stored as they come (`binary`): rows are ASCII, or
/// UTF-8 into UTF-8 columns, and a server that looks for characters in them takes a third longer
/// (MariaDB 10.11: 3.7 instead of 2.7 s of CPU for a million rows of oltp). Tab and line feed stand as themselves, since `\t` is no tab
/// where backslashes do not escape.
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

fn put_columns(out: &mut Vec<u8>, columns: &[&str]) {
    for (index, column) in columns.iter().enumerate() {
        out.push(if index == 0 { b'(' } else { b',' });
        put_name(out, column);
    }
    out.push(b')');
}

/// Appends pieces of the file. Returns the sequence number that follows.
pub fn put_infile_data(out: &mut Vec<u8>, seq: u8, rows: &[u8]) -> u8 {
    rows.chunks(INFILE_PACKET_BYTES_MAX).fold(seq, |seq, piece| packet::write(out, seq, piece))
}

/// A bulk load by INSERT statements. They are sent one behind the other without waiting, so that
/// the server never idles; the transport's buffers bound how far they run ahead.
#[derive(Debug)]
pub struct Inserts {
    /// `INSERT INTO t (a,b) VALUES `.
    prefix: Vec<u8>,
    /// Size at which a statement is sent.
    bytes_wanted: usize,
    backslash: bool,
    /// The statement being built, empty or longer than the prefix.
    statement: Vec<u8>,
    /// A row whose end has not come yet.
    partial: Vec<u8>,
    /// Statements sent and not yet answered.
    pub outstanding: u64,
    /// Rows in.
    pub affected: u64,
    /// The first refusal; nothing more is sent after it.
    pub refusal: Option<Box<Refusal>>,
    /// No more rows will come.
    pub ended: bool,
}

impl Inserts {
    /// For one table. `max_allowed_packet` as the server says, if it does.
    pub fn new(table: &str, columns: &[&str], backslash: bool) -> Self {
        let mut prefix = b"INSERT INTO ".to_vec();
        put_name(&mut prefix, table);
        prefix.push(b' ');
        put_columns(&mut prefix, columns);
        prefix.extend_from_slice(b" VALUES ");
        Self {
            prefix,
            bytes_wanted: INSERT_BYTES,
            backslash,
            statement: vec![],
            partial: vec![],
            outstanding: 0,
            affected: 0,
            refusal: None,
            ended: false,
        }
    }

    /// Heeds the server's longest packet.
    pub fn limit(&mut self, max_allowed_packet: usize) {
        let room = max_allowed_packet.saturating_sub(PACKET_MARGIN_BYTES);
        self.bytes_wanted = self.bytes_wanted.min(room);
    }

    /// Takes rows; appends the statements that are full.
    pub fn rows(&mut self, rows: &[u8], out: &mut Vec<u8>) {
        if self.refusal.is_some() {
            return;
        }
        let mut rest = rows;
        while let Some(end) = memchr(b'\n', rest) {
            let line = &rest[..end];
            rest = &rest[end + 1..];
            if self.partial.is_empty() {
                self.row(line, out);
            } else {
                let mut whole = std::mem::take(&mut self.partial);
                whole.extend_from_slice(line);
                self.row(&whole, out);
                whole.clear();
                self.partial = whole;
            }
        }
        self.partial.extend_from_slice(rest);
    }

    /// No more rows: appends the last statement.
    pub fn end(&mut self, out: &mut Vec<u8>) {
        if !self.partial.is_empty() {
            self.rows(b"\n", out);
        }
        self.send(out);
        self.ended = true;
    }

    fn row(&mut self, line: &[u8], out: &mut Vec<u8>) {
        // Quotes are doubled: twice the line is the most that a row can grow to, and the comma.
        let row_bytes_max = 2 * line.len() + 16;
        if self.statement.len() + row_bytes_max > self.bytes_wanted {
            self.send(out);
        }
        if self.statement.is_empty() {
            self.statement.extend_from_slice(&self.prefix);
        } else {
            self.statement.push(b',');
        }
        self.statement.push(b'(');
        let mut rest = line;
        loop {
            let end = memchr(b'\t', rest).unwrap_or(rest.len());
            self.cell(&rest[..end]);
            if end == rest.len() {
                break;
            }
            self.statement.push(b',');
            rest = &rest[end + 1..];
        }
        self.statement.push(b')');
    }

    fn cell(&mut self, cell: &[u8]) {
        if cell == b"\\N" {
            self.statement.extend_from_slice(b"NULL");
        } else if memchr(b'\\', cell).is_none() {
            put_quoted(&mut self.statement, cell, self.backslash);
        } else if self.backslash {
            // Its escapes are the literal's escapes; only quotes want doubling.
            put_quoted(&mut self.statement, cell, false);
        } else {
            put_quoted(&mut self.statement, &unescape(cell), false);
        }
    }

    fn send(&mut self, out: &mut Vec<u8>) {
        if self.statement.is_empty() || self.refusal.is_some() {
            return;
        }
        let at = packet::start(out);
        out.push(command::QUERY);
        out.extend_from_slice(&self.statement);
        packet::finish(out, at, 0);
        self.statement.clear();
        self.outstanding += 1;
    }
}

/// Undoes the row format's escapes.
fn unescape(cell: &[u8]) -> Vec<u8> {
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
    fn nothing_in_nothing_out() {
        let (mut inserts, mut out) = (Inserts::new("t", &["a"], true), vec![]);
        inserts.end(&mut out);
        assert!(out.is_empty() && inserts.ended && inserts.outstanding == 0);
    }

    proptest! {
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
            // "('" may also be found where a value begins with a quote: "(''".
            prop_assert!(rows >= lines.len());
        }
    }
}
