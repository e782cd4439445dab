//! A binary log's events, one after the other.

use super::changes::{At, Changes, Keys, RowStatement, Verb};
use super::event::{Query, Statement, Transaction, mariadb_gtid, mysql_gtid};
use super::header::{Description, HEADER, Header, MAGIC, MAGIC_ENCRYPTED, kind};
use super::packed;
use super::table::{Rows, Table};
use crate::bytes::Bytes;
use crate::format::Part;
use std::collections::HashMap;

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
    /// What follows is no event; where events go on is looked for.
    is_lost: bool,
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

    /// One event, or what is none; where the next one begins. `None`: more bytes are needed.
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
                items.not_understood(offset, next as u64, "no event of a binary log begins here");
            }
            return (next > 0 || is_found).then_some(at + next);
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
        Some((bytes.little(length)?, bytes.0))
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
        let flags = bytes.little(2)?;
        if changes.has_extra {
            let length = usize::try_from(bytes.little(2)?).ok()?;
            bytes.take(length.checked_sub(2)?)?;
        }
        let ends_statement = flags & ENDS_STATEMENT == ENDS_STATEMENT;
        // Some servers close a statement by an event of no rows for no table.
        let Some(table) = self.tables.get(&number) else {
            self.rows.bytes += if ends_statement { at.bytes } else { 0 };
            self.end_rows(items);
            return ends_statement.then_some(());
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

fn starts_with(text: &[u8], word: &[u8]) -> bool {
    text.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word))
}

/// Where events go on after bytes that are none: at another file's begin, or where two headers follow
/// each other. Otherwise (false) they do not go on before there, and more bytes must tell where.
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

/// Longer events are not taken for where a log goes on.
const RESUME_MAX: usize = 1 << 20;
