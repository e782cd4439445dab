//! Converts a store's rows from tab-separated text to pipelined writes.

use super::commands::{Command, key_prefix};
use crate::tsv::{self, unescape};
use dyno_core::request::Store;
use dyno_protocol::resp;
use memchr::memchr;
use std::borrow::Cow;

/// A load in progress.
#[derive(Debug)]
pub(super) struct Rows {
    insert: Command,
    /// Number of fields in the server's reply for a new record.
    fields: i64,
    /// An incomplete row.
    partial: Vec<u8>,
    /// Commands without a reply so far.
    pub outstanding: u64,
    /// Rows that the server reported as new.
    pub taken: u64,
}

impl Rows {
    /// For a store called `table`; the first column is the key.
    pub fn new(prefix: &str, table: &str, columns: &[&str]) -> Self {
        let (key, fields) = columns.split_first().unwrap_or((&"", &[]));
        let fields: Vec<String> = fields.iter().map(|&field| field.to_owned()).collect();
        let store = Store { name: table.to_owned(), key: (*key).to_owned(), fields };
        Self {
            fields: store.fields.len() as i64,
            insert: Command::insert(&store, key_prefix(prefix, table)),
            partial: Vec::new(),
            outstanding: 0,
            taken: 0,
        }
    }

    /// Consumes rows; appends their writes.
    pub fn put(&mut self, rows: &[u8], out: &mut Vec<u8>) {
        let mut partial = std::mem::take(&mut self.partial);
        tsv::each_row(&mut partial, rows, |line| self.row(line, out));
        self.partial = partial;
    }

    /// Ends the rows: appends a final command, so that there is a reply even without rows.
    pub fn end(&mut self, out: &mut Vec<u8>) {
        if !self.partial.is_empty() {
            self.put(b"\n", out);
        }
        resp::command(&[b"PING"], out);
        self.outstanding += 1;
    }

    fn row(&mut self, line: &[u8], out: &mut Vec<u8>) {
        let cells: Vec<Cow<'_, [u8]>> = line.split(|&byte| byte == b'\t').map(cell).collect();
        self.insert.put(|number| cells.get(number).map_or(&[][..], |cell| cell), out);
        self.outstanding += 1;
    }

    /// Handles the reply to one write: the number of new fields, or none if a string existed.
    pub fn answered(&mut self, new: Option<i64>) {
        self.outstanding = self.outstanding.saturating_sub(1);
        let is_new = new.is_some_and(|new| self.fields == 1 || new == self.fields);
        self.taken += u64::from(is_new);
    }
}

/// A cell's bytes; empty for NULL.
fn cell(cell: &[u8]) -> Cow<'_, [u8]> {
    match cell {
        b"\\N" => Cow::Borrowed(&[]),
        _ if memchr(b'\\', cell).is_none() => Cow::Borrowed(cell),
        _ => Cow::Owned(unescape(cell)),
    }
}
