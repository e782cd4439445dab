//! Assembles row events into the statements that caused them.

use super::event::{Items, Statement};
use super::header::kind;
use super::table::Table;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};

/// A statement whose row events are being read.
#[derive(Debug, Default)]
pub(super) struct RowStatement {
    /// Its text; empty if the log lacks it.
    pub(super) text: Vec<u8>,
    offset: u64,
    pub(super) bytes: u64,
    begin_s: u32,
    /// Verb, table ID, number of rows.
    pub(super) changes: Vec<(Verb, u64, u64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Insert,
    Update,
    Delete,
}

/// Position, size and time of an event.
#[derive(Debug, Clone, Copy)]
pub(super) struct At {
    pub(super) offset: u64,
    /// Size of the event; 0 within a compressed transaction, which counts as a whole.
    pub(super) bytes: u64,
    pub(super) begin_s: u32,
}

impl RowStatement {
    pub(super) fn begin(&mut self, at: At) {
        if self.begin_s == 0 {
            (self.offset, self.begin_s) = (at.offset, at.begin_s);
        }
    }

    pub(super) fn add(&mut self, verb: Verb, table: u64, rows: u64) {
        match self.changes.iter_mut().find(|change| (change.0, change.1) == (verb, table)) {
            Some(change) => change.2 += rows,
            None => self.changes.push((verb, table, rows)),
        }
    }

    pub(super) fn tell(&self, tables: &HashMap<u64, Table>, items: &mut dyn Items) {
        let statement = |text: &[u8], database: &[u8], bytes, rows, items: &mut dyn Items| {
            items.statement(&Statement {
                offset: self.offset,
                bytes,
                text,
                database,
                rows: Some(rows),
                session: None,
                begin_s: self.begin_s,
                took_s: None,
                error: 0,
            });
        };
        if !self.text.is_empty() && !self.changes.is_empty() {
            let rows = self.changes.iter().map(|change| change.2).sum();
            let table = tables.get(&self.changes[0].1);
            let schema = table.map_or(&b""[..], |table| &table.schema);
            return statement(&self.text, schema, self.bytes, rows, items);
        }
        for (place, &(verb, number, rows)) in self.changes.iter().enumerate() {
            let Some(table) = tables.get(&number) else { continue };
            // The bytes belong to the statement: report them once.
            let bytes = if place == 0 { self.bytes } else { 0 };
            statement(&text_of(verb, table), &table.schema, bytes, rows, items);
        }
    }
}

/// Text for a statement that was logged as rows only: its verb and its table.
fn text_of(verb: Verb, table: &Table) -> Vec<u8> {
    let verb = match verb {
        Verb::Insert => &b"insert into "[..],
        Verb::Update => b"update ",
        Verb::Delete => b"delete from ",
    };
    let mut text = verb.to_vec();
    for (before, name) in [(&b"`"[..], &table.schema), (b"`.`", &table.name)] {
        text.extend_from_slice(before);
        for &byte in name {
            text.push(byte);
            if byte == b'`' {
                text.push(byte);
            }
        }
    }
    text.push(b'`');
    text
}

/// Properties of a type of row event.
#[derive(Debug, Clone, Copy)]
pub(super) struct Changes {
    pub(super) verb: Verb,
    pub(super) has_extra: bool,
    pub(super) is_packed: bool,
    pub(super) is_partial: bool,
}

impl Changes {
    pub(super) fn of(kind: u8) -> Option<Self> {
        let of = |first: u8, has_extra, is_packed| Self {
            verb: [Verb::Insert, Verb::Update, Verb::Delete][usize::from(kind - first)],
            has_extra,
            is_packed,
            is_partial: false,
        };
        Some(match kind {
            _ if kind::ROWS_V1.contains(&kind) => of(*kind::ROWS_V1.start(), false, false),
            _ if kind::ROWS_V2.contains(&kind) => of(*kind::ROWS_V2.start(), true, false),
            _ if kind::ROWS_COMPRESSED_V1.contains(&kind) => {
                of(*kind::ROWS_COMPRESSED_V1.start(), false, true)
            }
            _ if kind::ROWS_COMPRESSED_V2.contains(&kind) => {
                of(*kind::ROWS_COMPRESSED_V2.start(), true, true)
            }
            kind::PARTIAL_UPDATE_ROWS => {
                Self { verb: Verb::Update, has_extra: true, is_packed: false, is_partial: true }
            }
            _ => return None,
        })
    }
}

/// Hashes of the keys of one event's rows.
pub(super) struct Keys {
    seed: u64,
    columns: usize,
    /// Whether the log holds the complete key of each row.
    pub(super) are_all: bool,
    pub(super) hashes: Vec<u64>,
}

impl Keys {
    pub(super) fn new(table: &Table) -> Self {
        let mut seed = DefaultHasher::new();
        seed.write(&table.schema);
        seed.write_u8(0);
        seed.write(&table.name);
        Self { seed: seed.finish(), columns: table.key.len(), are_all: true, hashes: vec![] }
    }

    pub(super) fn add(&mut self, key: &[&[u8]]) {
        if key.len() != self.columns {
            self.are_all = false;
            return;
        }
        let mut hash = DefaultHasher::new();
        hash.write_u64(self.seed);
        for value in key {
            hash.write_usize(value.len());
            hash.write(value);
        }
        self.hashes.push(hash.finish());
    }
}
