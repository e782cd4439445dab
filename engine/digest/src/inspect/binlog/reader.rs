//! Reads the events of a binary log in order.

use super::changes::{At, Changes, Keys, RowStatement, Verb};
use super::event::{Items, Statement, Transaction};
use super::gtid;
use super::header::{Description, HEADER, Header, MAGIC, MAGIC_ENCRYPTED, kind};
use super::packed;
use super::query::{Query, Role};
use super::table::{Rows, Table};
use crate::sink::Part;
use dyno_protocol::bytes::Bytes;
use std::collections::HashMap;

/// Reads a log from its start, in parts of any size.
#[derive(Debug, Default)]
pub struct Reader {
    wants_keys: bool,
    description: Option<Description>,
    tables: HashMap<u64, Table>,
    rows: RowStatement,
    /// Data of a later LOAD DATA statement: position of the first event, size of all.
    load: Option<At>,
    transaction: Option<Transaction>,
    /// The transaction is one statement, without an event for its end.
    is_standalone: bool,
    /// The transaction is the start of a two-phase ALTER.
    begins_alter: bool,
    is_encrypted: bool,
    /// The bytes are no event; the reader searches for the next one.
    is_lost: bool,
}

/// Flag of the statement's last row event.
const ENDS_STATEMENT: u64 = 1;

impl Reader {
    /// Creates a reader that also hashes row keys and finds the schemas of statements.
    pub fn with_keys() -> Self {
        Self { wants_keys: true, ..Self::default() }
    }

    /// Product and version of the server that wrote the log; `None` before the format description.
    pub fn server(&self) -> Option<String> {
        self.description.as_ref().map(Description::product)
    }

    /// Reads complete events; returns the number of consumed bytes.
    pub fn read(&mut self, part: Part<'_>, items: &mut dyn Items) -> usize {
        let mut at = 0;
        while at < part.bytes.len() {
            match self.step(&part, at, items) {
                Some(next) => at = next,
                None if part.is_last => {
                    // A wrong length must not swallow the events that follow.
                    let next = resume(&part.bytes[at..], true).0;
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

    /// Reads one event, or skips bytes that are none; returns the position of the next one. `None`: it
    /// needs more bytes.
    fn step(&mut self, part: &Part<'_>, at: usize, items: &mut dyn Items) -> Option<usize> {
        let bytes = &part.bytes[at..];
        let offset = part.offset + at as u64;
        if self.is_encrypted {
            items.not_understood(offset, bytes.len() as u64, "the log is encrypted");
            return Some(part.bytes.len());
        }
        if bytes.starts_with(MAGIC) || bytes.starts_with(MAGIC_ENCRYPTED) {
            let is_encrypted = bytes.starts_with(MAGIC_ENCRYPTED);
            *self = Self { wants_keys: self.wants_keys, is_encrypted, ..Self::default() };
            return Some(at + MAGIC.len());
        }
        if bytes.len() < HEADER {
            return None;
        }
        let Some(header) = Header::read(bytes).filter(|_| !self.is_lost) else {
            let (next, is_found) = resume(bytes, part.is_last);
            self.is_lost = !is_found;
            if next > 0 {
                self.missed();
                items.not_understood(offset, next as u64, "no event of a binary log begins here");
            }
            return (next > 0 || is_found).then_some(at + next);
        };
        let event = bytes.get(..header.size)?;
        let place = At { offset, bytes: header.size as u64, begin_s: header.at_s };
        if let Err(why) = self.event(header.kind, event, place, items) {
            self.missed();
            items.not_understood(offset, header.size as u64, why);
        }
        Some(at + header.size)
    }

    /// Records that an event of the transaction is not understood. Its changes are unknown, and it may
    /// have been the one that tells how the transaction ends.
    fn missed(&mut self) {
        self.is_standalone = false;
        if let Some(transaction) = &mut self.transaction {
            transaction.has_all_keys = false;
        }
    }

    /// Processes a complete event; `Err`: why it is not understood.
    fn event(
        &mut self,
        kind: u8,
        event: &[u8],
        at: At,
        items: &mut dyn Items,
    ) -> Result<(), &'static str> {
        let body = &event[HEADER..];
        if kind == kind::FORMAT_DESCRIPTION {
            // Accepted even with a wrong checksum: no later event is readable without a description.
            self.description = Some(Description::read(body).ok_or(NOT_AS_ITS_TYPE)?);
        }
        let checksum = self.description.as_ref().map_or(0, |d| d.checksum);
        if self.description.as_ref().is_some_and(|description| !description.holds(event)) {
            return Err("an event whose checksum is not that of its bytes");
        }
        match kind {
            kind::FORMAT_DESCRIPTION => Ok(()),
            kind::INCIDENT => Err("the server lost events here, and says so (an incident)"),
            _ => {
                let end = body.len().checked_sub(checksum).ok_or(NOT_AS_ITS_TYPE)?;
                self.plain_event(kind, &body[..end], at, items).ok_or(NOT_AS_ITS_TYPE)
            }
        }
    }

    /// Processes an event; `body` excludes the checksum. `None`: it is malformed.
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
            kind::GTID | kind::ANONYMOUS_GTID | kind::TAGGED_GTID => {
                let is_tagged = kind == kind::TAGGED_GTID;
                let (order, commit_us) =
                    if is_tagged { gtid::mysql_tagged(body)? } else { gtid::mysql(body)? };
                // The transaction is one statement, unless BEGIN follows.
                self.begin(at, true, items);
                let transaction = self.transaction.as_mut()?;
                (transaction.order, transaction.commit_us) = (order, commit_us);
            }
            kind::MARIADB_GTID => {
                let gtid = gtid::mariadb(body)?;
                self.begin(at, gtid.is_standalone, items);
                self.begins_alter = gtid.begins_alter;
                let transaction = self.transaction.as_mut()?;
                (transaction.order, transaction.is_ddl) = (gtid.order, gtid.is_ddl);
            }
            kind::XID | kind::XA_PREPARE => self.commit(items),
            kind::BEGIN_LOAD_QUERY => {
                self.end_rows(items);
                if self.transaction.is_none() {
                    self.begin(at, true, items);
                }
                self.load = Some(at);
            }
            kind::APPEND_BLOCK => self.load.as_mut()?.bytes += at.bytes,
            kind::EXECUTE_LOAD_QUERY => self.execute_load(&Query::read_load(body)?, at, items),
            kind::INCIDENT => return None,
            kind if kind::OLD_LOADS.contains(&kind) || kind::ROWS_V0.contains(&kind) => {
                return None;
            }
            kind::TRANSACTION_PAYLOAD => return self.payload(body, at, items),
            kind::START_ENCRYPTION => self.is_encrypted = true,
            // Row events. Others (rotations, GTID lists, variables, heartbeats) are no statements.
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
        Some((bytes.little(length)?, bytes.0))
    }

    /// Starts a transaction.
    fn begin(&mut self, at: At, is_standalone: bool, items: &mut dyn Items) {
        // A transaction without an end in the log still counts.
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
        (self.is_standalone, self.begins_alter, self.load) = (false, false, None);
        if let Some(mut transaction) = self.transaction.take()
            && transaction.statements > 0
        {
            transaction.keys.sort_unstable();
            transaction.keys.dedup();
            items.transaction(&transaction);
        }
    }

    fn query(&mut self, query: &Query<'_>, at: At, items: &mut dyn Items) {
        let role = query.role();
        match role {
            Role::Begins => self.begin_marked(at, items),
            Role::Ends => self.commit(items),
            // The events at the end of the ALTER count as the statement and the transaction.
            _ if self.begins_alter => self.commit(items),
            _ => self.statement(query, role, at, items),
        }
    }

    /// Starts a transaction with an explicit BEGIN, which ends with an explicit event.
    fn begin_marked(&mut self, at: At, items: &mut dyn Items) {
        if self.transaction.is_none() {
            self.begin(at, false, items);
        }
        self.is_standalone = false;
    }

    /// Processes a LOAD DATA statement, which loads the data events before it. `at`: its own event.
    fn execute_load(&mut self, query: &Query<'_>, at: At, items: &mut dyn Items) {
        let data = self.load.take();
        let at = data.map_or(at, |data| At { bytes: data.bytes + at.bytes, ..data });
        self.statement(query, Role::Writes, at, items);
    }

    fn statement(&mut self, query: &Query<'_>, role: Role, at: At, items: &mut dyn Items) {
        self.end_rows(items);
        if self.transaction.is_none() {
            self.begin(at, true, items);
        }
        let schemas = if self.wants_keys { query.schemas() } else { vec![] };
        if let Some(transaction) = &mut self.transaction {
            transaction.statements += 1;
            transaction.took_s += u64::from(query.took_s);
            transaction.is_ddl |= role == Role::Defines;
            // The end of an XA transaction writes nothing, but must follow its XA PREPARE, whose rows
            // are no longer known.
            transaction.has_all_keys &= role == Role::Marks;
            if !matches!(role, Role::Marks | Role::EndsPrepared) {
                schemas.iter().for_each(|schema| transaction.add_schema(schema));
            }
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
        if self.is_standalone && role != Role::Marks {
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
        let flags = bytes.little(2)?;
        if changes.has_extra {
            let length = usize::try_from(bytes.little(2)?).ok()?;
            bytes.take(length.checked_sub(2)?)?;
        }
        let ends_statement = flags & ENDS_STATEMENT == ENDS_STATEMENT;
        // Some servers end a statement with an empty row event for an unknown table.
        let Some(table) = self.tables.get(&number) else {
            self.rows.bytes += if ends_statement { at.bytes } else { 0 };
            self.end_rows(items);
            return ends_statement.then_some(());
        };
        let is_update = changes.verb == Verb::Update;
        let rows = Rows::read(table, bytes.0, is_update, changes.is_partial)?;
        let has_key = self.wants_keys && !table.key.is_empty();
        let mut keys = Keys::new(table);
        let mut add = |key: &[&[u8]]| {
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
            transaction.has_all_keys &= has_key && keys.are_all;
            transaction.add_keys(&mut keys.hashes);
        }
        self.rows.begin(at);
        self.rows.bytes += at.bytes;
        self.rows.add(changes.verb, number, count);
        if ends_statement {
            self.end_rows(items);
        }
        Some(())
    }

    /// Emits the statement whose row events are complete.
    fn end_rows(&mut self, items: &mut dyn Items) {
        let rows = std::mem::take(&mut self.rows);
        if let Some(transaction) = &mut self.transaction
            && !rows.changes.is_empty()
        {
            transaction.statements += 1;
        }
        rows.tell(&self.tables, items);
        // The log describes tables again for each statement.
        if self.tables.len() > TABLES_MAX {
            self.tables.clear();
        }
    }

    fn end_of_log(&mut self, items: &mut dyn Items) {
        self.commit(items);
    }
}

/// Maximum number of table descriptions that stay after the end of a statement.
const TABLES_MAX: usize = 10_000;

const NOT_AS_ITS_TYPE: &str = "an event that is not as its type says";

/// Finds the next event after invalid bytes: the start of another file, or two consecutive headers.
/// Returns its position and true; or false and the position where the search must continue with more
/// bytes.
fn resume(bytes: &[u8], is_last: bool) -> (usize, bool) {
    for at in 0..bytes.len().saturating_sub(HEADER) {
        let rest = &bytes[at..];
        if rest.starts_with(MAGIC) || rest.starts_with(MAGIC_ENCRYPTED) {
            return (at, true);
        }
        let Some(header) = Header::read(rest).filter(|header| header.size <= RESUME_MAX) else {
            continue;
        };
        match rest.get(header.size..) {
            Some(next) if Header::read(next).is_some() => return (at, true),
            Some([]) if is_last => return (at, true),
            Some(next) if is_last || next.len() >= HEADER => {}
            None if is_last => {}
            _ => return (at, false),
        }
    }
    if is_last { (bytes.len(), true) } else { (bytes.len().saturating_sub(HEADER), false) }
}

/// Longest plausible event in a search for the next event, bytes.
const RESUME_MAX: usize = 1 << 20;
