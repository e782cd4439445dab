//! A binary log's events, one after the other.

use super::bytes::Bytes;
use super::event::{Query, Statement, Transaction, mariadb_gtid, mysql_gtid};
use super::header::{Description, HEADER, Header, MAGIC, MAGIC_ENCRYPTED, kind};
use super::packed;
use super::table::{Rows, Table};
use crate::format::Part;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};

/// Takes what a log holds.
pub trait Items {
    /// A statement. Its texts are valid during the call.
    fn statement(&mut self, statement: &Statement<'_>);
    /// A transaction that was committed (or prepared, if it is XA).
    fn transaction(&mut self, transaction: &Transaction);
    /// Bytes that are none, and why.
    fn not_understood(&mut self, offset: u64, bytes: u64, why: &'static str);
}

/// Reads a log from its begin, in as many parts as it comes in.
#[derive(Debug, Default)]
pub struct Reader {
    wants_keys: bool,
    description: Option<Description>,
    tables: HashMap<u64, Table>,
    rows: RowStatement,
    transaction: Option<Transaction>,
    /// The transaction is one statement: nothing says that it ends.
    is_standalone: bool,
    is_encrypted: bool,
}

/// A statement whose rows are coming.
#[derive(Debug, Default)]
struct RowStatement {
    /// Its text, if the log has it.
    text: Vec<u8>,
    offset: u64,
    bytes: u64,
    begin_s: u32,
    /// Verb, table's number, rows.
    changes: Vec<(Verb, u64, u64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Insert,
    Update,
    Delete,
}

/// Where an event stands.
#[derive(Debug, Clone, Copy)]
struct At {
    offset: u64,
    /// 0 within a compressed transaction, which counts once.
    bytes: u64,
    begin_s: u32,
}

/// The statement's last rows (a flag in row events).
const ENDS_STATEMENT: u64 = 1;

impl Reader {
    /// A reader that hashes the keys of rows.
    pub fn with_keys() -> Self {
        Self { wants_keys: true, ..Self::default() }
    }

    /// The server that wrote the log.
    pub fn server(&self) -> Option<String> {
        self.description.as_ref().map(Description::product)
    }

    /// Reads whole events; returns how many bytes it has done with.
    pub fn read(&mut self, part: Part<'_>, items: &mut dyn Items) -> usize {
        let mut at = 0;
        while at < part.bytes.len() {
            match self.step(&part, at, items) {
                Some(next) => at = next,
                None if part.is_last => {
                    // A length that is wrong must not swallow what follows.
                    let left = &part.bytes[at..];
                    let next = resume(left, true).unwrap_or(left.len());
                    let why = "an event that is longer than what is left of the log";
                    items.not_understood(part.offset + at as u64, next as u64, why);
                    at += next;
                }
                None => break,
            }
        }
        if part.is_last {
            self.end_of_log(items);
        }
        at
    }

    /// One event, or what is none; where the next one begins. `None`: more bytes are needed.
    fn step(&mut self, part: &Part<'_>, at: usize, items: &mut dyn Items) -> Option<usize> {
        let bytes = &part.bytes[at..];
        let offset = part.offset + at as u64;
        if bytes.starts_with(MAGIC) || bytes.starts_with(MAGIC_ENCRYPTED) {
            let is_encrypted = bytes.starts_with(MAGIC_ENCRYPTED);
            *self = Self { wants_keys: self.wants_keys, is_encrypted, ..Self::default() };
            return Some(at + MAGIC.len());
        }
        if bytes.len() < HEADER {
            return None;
        }
        if self.is_encrypted {
            items.not_understood(offset, bytes.len() as u64, "the log is encrypted");
            return Some(part.bytes.len());
        }
        let Some(header) = Header::read(bytes) else {
            let next = resume(bytes, part.is_last)?;
            items.not_understood(offset, next as u64, "no event of a binary log begins here");
            return Some(at + next);
        };
        let event = bytes.get(..header.size)?;
        let place = At { offset, bytes: header.size as u64, begin_s: header.at_s };
        if self.event(header.kind, &event[HEADER..], place, items).is_none() {
            items.not_understood(
                offset,
                header.size as u64,
                "an event that is not as its type says",
            );
        }
        Some(at + header.size)
    }

    /// `body` with the checksum, if there is one.
    fn event(&mut self, kind: u8, body: &[u8], at: At, items: &mut dyn Items) -> Option<()> {
        if kind == kind::FORMAT_DESCRIPTION {
            self.description = Some(Description::read(body)?);
            return Some(());
        }
        let checksum = self.description.as_ref().map_or(0, |d| d.checksum);
        let body = body.get(..body.len().checked_sub(checksum)?)?;
        self.plain_event(kind, body, at, items)
    }

    /// `body` without a checksum.
    fn plain_event(&mut self, kind: u8, body: &[u8], at: At, items: &mut dyn Items) -> Option<()> {
        if let Some(transaction) = &mut self.transaction {
            transaction.bytes += at.bytes;
        }
        match kind {
            kind::QUERY => self.query(&Query::read(body)?, at, items),
            kind::QUERY_COMPRESSED => {
                let query = Query::read(body)?;
                let text = packed::mariadb(query.text)?;
                self.query(&Query { text: &text, ..query }, at, items);
            }
            kind::TABLE_MAP => {
                let number = self.table_number(kind, body)?;
                let (number, rest) = (number.0, number.1.get(2..)?);
                self.tables.insert(number, Table::read(rest)?);
                self.rows.begin(at);
            }
            kind::ROWS_QUERY => {
                self.rows.begin(at);
                self.rows.text.extend_from_slice(body.get(1..)?);
            }
            kind::ANNOTATE_ROWS => {
                self.rows.begin(at);
                self.rows.text.extend_from_slice(body);
            }
            kind::GTID | kind::ANONYMOUS_GTID => {
                let (order, commit_us) = mysql_gtid(body)?;
                self.begin(at, false, items);
                let transaction = self.transaction.as_mut()?;
                (transaction.order, transaction.commit_us) = (order, commit_us);
            }
            kind::MARIADB_GTID => {
                let (order, is_standalone, is_ddl) = mariadb_gtid(body)?;
                self.begin(at, is_standalone, items);
                let transaction = self.transaction.as_mut()?;
                (transaction.order, transaction.is_ddl) = (order, is_ddl);
            }
            kind::XID | kind::XA_PREPARE => self.commit(items),
            kind::TRANSACTION_PAYLOAD => return self.payload(body, at, items),
            kind::START_ENCRYPTION => self.is_encrypted = true,
            // Besides: rotations, lists of positions, variables, heartbeats, which are no statements.
            _ => {
                if let Some(changes) = Changes::of(kind) {
                    self.changes(kind, changes, body, at, items)?;
                }
            }
        }
        Some(())
    }

    fn payload(&mut self, body: &[u8], at: At, items: &mut dyn Items) -> Option<()> {
        let unpacked = packed::transaction(body)?;
        let mut rest = &unpacked[..];
        while !rest.is_empty() {
            let header = Header::read(rest)?;
            let (event, behind) = rest.split_at_checked(header.size)?;
            if header.kind == kind::TRANSACTION_PAYLOAD {
                return None;
            }
            let place = At { bytes: 0, begin_s: header.at_s, ..at };
            self.plain_event(header.kind, &event[HEADER..], place, items)?;
            rest = behind;
        }
        Some(())
    }

    fn table_number<'a>(&self, kind: u8, body: &'a [u8]) -> Option<(u64, &'a [u8])> {
        let length = self.description.as_ref().map_or(6, |d| d.table_id(kind));
        let mut bytes = Bytes(body);
        Some((bytes.uint(length)?, bytes.0))
    }

    /// A transaction begins.
    fn begin(&mut self, at: At, is_standalone: bool, items: &mut dyn Items) {
        // A transaction whose end is not in the log is one all the same.
        self.commit(items);
        self.is_standalone = is_standalone;
        self.transaction = Some(Transaction {
            offset: at.offset,
            bytes: at.bytes,
            begin_s: at.begin_s,
            has_all_keys: true,
            ..Transaction::default()
        });
    }

    fn commit(&mut self, items: &mut dyn Items) {
        self.end_rows(items);
        self.is_standalone = false;
        if let Some(mut transaction) = self.transaction.take()
            && transaction.statements > 0
        {
            transaction.keys.sort_unstable();
            transaction.keys.dedup();
            items.transaction(&transaction);
        }
    }

    fn query(&mut self, query: &Query<'_>, at: At, items: &mut dyn Items) {
        let word = |word: &[u8]| query.text.eq_ignore_ascii_case(word);
        if word(b"BEGIN") || starts_with(query.text, b"XA START") {
            if self.transaction.is_none() {
                self.begin(at, false, items);
            }
            return;
        }
        if word(b"COMMIT") || word(b"ROLLBACK") || starts_with(query.text, b"XA END") {
            return self.commit(items);
        }
        self.end_rows(items);
        let opened = self.transaction.is_none();
        if opened {
            self.begin(at, true, items);
        }
        let is_ddl = [&b"CREATE"[..], b"ALTER", b"DROP", b"RENAME", b"TRUNCATE", b"GRANT"];
        let is_ddl = is_ddl.iter().any(|verb| starts_with(query.text, verb));
        if let Some(transaction) = &mut self.transaction {
            transaction.statements += 1;
            transaction.took_s += u64::from(query.took_s);
            transaction.has_all_keys = false;
            transaction.is_ddl |= is_ddl;
            transaction.add_schema(query.database);
        }
        items.statement(&Statement {
            offset: at.offset,
            bytes: at.bytes,
            text: query.text,
            database: query.database,
            rows: None,
            session: Some(query.session),
            begin_s: at.begin_s,
            took_s: Some(query.took_s),
            error: query.error,
        });
        if self.is_standalone || is_ddl {
            self.commit(items);
        }
    }

    fn changes(
        &mut self,
        kind: u8,
        changes: Changes,
        body: &[u8],
        at: At,
        items: &mut dyn Items,
    ) -> Option<()> {
        let (number, rest) = self.table_number(kind, body)?;
        let mut bytes = Bytes(rest);
        let flags = bytes.uint(2)?;
        if changes.has_extra {
            let length = usize::try_from(bytes.uint(2)?).ok()?;
            bytes.take(length.checked_sub(2)?)?;
        }
        self.rows.begin(at);
        self.rows.bytes += at.bytes;
        // Some servers close a statement by an event of no rows for no table.
        let Some(table) = self.tables.get(&number) else {
            self.end_rows(items);
            return (flags & ENDS_STATEMENT == ENDS_STATEMENT).then_some(());
        };
        let is_update = changes.verb == Verb::Update;
        let rows = Rows::read(table, bytes.0, is_update, changes.is_partial)?;
        let has_key = self.wants_keys && !table.key.is_empty();
        let mut keys = Keys::new(table);
        let mut add = |key: &[u8]| {
            if has_key {
                keys.add(key);
            }
        };
        let count = if changes.is_packed {
            let unpacked = packed::mariadb(rows.packed())?;
            rows.unpacked(&unpacked).count(&mut add)?
        } else {
            rows.count(&mut add)?
        };
        if let Some(transaction) = &mut self.transaction {
            transaction.rows += count;
            transaction.add_schema(&table.schema);
            transaction.has_all_keys &= has_key;
            transaction.keys.append(&mut keys.hashes);
        }
        self.rows.add(changes.verb, number, count);
        if flags & ENDS_STATEMENT == ENDS_STATEMENT {
            self.end_rows(items);
        }
        Some(())
    }

    /// Tells of the statement whose rows have come.
    fn end_rows(&mut self, items: &mut dyn Items) {
        let rows = std::mem::take(&mut self.rows);
        if let Some(transaction) = &mut self.transaction
            && !rows.changes.is_empty()
        {
            transaction.statements += 1;
        }
        rows.tell(&self.tables, items);
        // Tables are described anew for each statement.
        if self.tables.len() > TABLES_MAX {
            self.tables.clear();
        }
    }

    fn end_of_log(&mut self, items: &mut dyn Items) {
        self.commit(items);
    }
}

/// Descriptions kept beyond the statement that needed them.
const TABLES_MAX: usize = 10_000;

impl RowStatement {
    fn begin(&mut self, at: At) {
        if self.begin_s == 0 {
            (self.offset, self.begin_s) = (at.offset, at.begin_s);
        }
    }

    fn add(&mut self, verb: Verb, table: u64, rows: u64) {
        match self.changes.iter_mut().find(|change| (change.0, change.1) == (verb, table)) {
            Some(change) => change.2 += rows,
            None => self.changes.push((verb, table, rows)),
        }
    }

    fn tell(&self, tables: &HashMap<u64, Table>, items: &mut dyn Items) {
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
            // The bytes are the statement's: told once.
            let bytes = if place == 0 { self.bytes } else { 0 };
            statement(&text_of(verb, table), &table.schema, bytes, rows, items);
        }
    }
}

/// Verb and table, as a statement that was logged as rows only is called.
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

/// What an event of rows does.
#[derive(Debug, Clone, Copy)]
struct Changes {
    verb: Verb,
    has_extra: bool,
    is_packed: bool,
    is_partial: bool,
}

impl Changes {
    fn of(kind: u8) -> Option<Self> {
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
struct Keys {
    seed: u64,
    columns: usize,
    current: DefaultHasher,
    seen: usize,
    hashes: Vec<u64>,
}

impl Keys {
    fn new(table: &Table) -> Self {
        let mut seed = DefaultHasher::new();
        seed.write(&table.schema);
        seed.write_u8(0);
        seed.write(&table.name);
        let (seed, columns) = (seed.finish(), table.key.len());
        Self { seed, columns, current: DefaultHasher::new(), seen: 0, hashes: vec![] }
    }

    fn add(&mut self, value: &[u8]) {
        if self.seen == 0 {
            self.current = DefaultHasher::new();
            self.current.write_u64(self.seed);
        }
        self.current.write_usize(value.len());
        self.current.write(value);
        self.seen += 1;
        if self.seen == self.columns {
            self.hashes.push(self.current.finish());
            self.seen = 0;
        }
    }
}

fn starts_with(text: &[u8], word: &[u8]) -> bool {
    text.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word))
}

/// Where events go on after bytes that are none: at another file's begin, or where two headers follow
/// each other. `None`: more bytes are needed.
fn resume(bytes: &[u8], is_last: bool) -> Option<usize> {
    let is_begin = |at: usize| {
        let rest = &bytes[at..];
        rest.starts_with(MAGIC)
            || Header::read(rest).is_some_and(|header| {
                rest.get(header.size..)
                    .is_some_and(|next| next.is_empty() && is_last || Header::read(next).is_some())
            })
    };
    match (1..bytes.len().saturating_sub(HEADER)).find(|&at| is_begin(at)) {
        Some(at) => Some(at),
        None if is_last => Some(bytes.len()),
        // What lies at the end may be a begin once there is more of it.
        None => (bytes.len() > RESUME_WINDOW).then(|| bytes.len() - HEADER),
    }
}

/// How far a begin is looked for before the bytes are given up.
const RESUME_WINDOW: usize = 64 << 20;
