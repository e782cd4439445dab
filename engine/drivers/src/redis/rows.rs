//! A store's rows, which come as text with tabs between their cells, as writes that are pipelined.

use super::commands::{Command, key_prefix};
use crate::tsv::{self, unescape};
use dyno_core::request::Store;
use dyno_protocol::resp;
use memchr::memchr;
use std::borrow::Cow;

/// A load under way.
#[derive(Debug)]
pub(super) struct Rows {
    insert: Command,
    /// What the server says of a record that was not there before: how many fields it has.
    fields: i64,
    /// A row whose end has not come.
    partial: Vec<u8>,
    /// Commands that the server has not answered.
    pub outstanding: u64,
    /// Rows that it says are new.
    pub taken: u64,
}

impl Rows {
    /// Of a store called `table`; the first column is the key.
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

    /// Takes rows; appends their writes.
    pub fn put(&mut self, rows: &[u8], out: &mut Vec<u8>) {
        let mut partial = std::mem::take(&mut self.partial);
        tsv::each_row(&mut partial, rows, |line| self.row(line, out));
        self.partial = partial;
    }

    /// No more rows: appends a command behind them, which is answered even if there were none.
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

    /// The server has answered one of them: fields that are new, or nothing where a string was there.
    pub fn answered(&mut self, new: Option<i64>) {
        self.outstanding = self.outstanding.saturating_sub(1);
        let is_new = new.is_some_and(|new| self.fields == 1 || new == self.fields);
        self.taken += u64::from(is_new);
    }
}

/// A cell's bytes; of nothing, nothing.
fn cell(cell: &[u8]) -> Cow<'_, [u8]> {
    match cell {
        b"\\N" => Cow::Borrowed(&[]),
        _ if memchr(b'\\', cell).is_none() => Cow::Borrowed(cell),
        _ => Cow::Owned(unescape(cell)),
    }
}
