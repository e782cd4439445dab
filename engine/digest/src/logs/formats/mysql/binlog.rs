//! `mysql-binlog`: the binary log of MySQL and MariaDB, and relay logs. A statement-based event yields
//! its statement; row events yield the statement if the log has its text
//! (`binlog_rows_query_log_events`, `binlog_annotate_row_events`), otherwise verb and table. Timestamps
//! are whole seconds, and only statement-based events have a duration.

use crate::event::{Event, Kind, Measure, Numbers};
use crate::facts::Facts;
use crate::inspect::binlog::{
    Header, Items, MAGIC, MAGIC_ENCRYPTED, Reader, Statement, Transaction,
};
use crate::logs::format::{Context, Format, FormatKind};
use crate::sink::{Part, Sink};
use crate::sql::language::Language;

/// The entry of [`FORMATS`](crate::logs::formats::FORMATS).
pub const MYSQL_BINLOG: FormatKind = FormatKind {
    name: "mysql-binlog",
    about: "binary and relay logs of MySQL and MariaDB, by statement or row",
    is_seen_live: true,
    detect,
    open: |_, _| Ok(Box::new(Binlog)),
};

fn detect(head: &[u8]) -> bool {
    head.starts_with(MAGIC_ENCRYPTED)
        || head
            .strip_prefix(MAGIC)
            .is_some_and(|rest| rest.is_empty() || Header::read(rest).is_some())
}

struct Binlog;

impl Format for Binlog {
    fn language(&self) -> Language {
        Language::Mysql
    }

    fn read(&self, part: Part<'_>, context: &mut Context, sink: &mut dyn Sink) -> usize {
        let state = context.state.get_or_insert_with(|| Box::new(Reader::default()));
        let Some(reader) = state.downcast_mut::<Reader>() else { return 0 };
        let read = reader.read(part, &mut Told { sink });
        context.facts = Facts { server: reader.server(), ..Facts::default() };
        read
    }
}

/// Passes statements on as events.
struct Told<'a> {
    sink: &'a mut dyn Sink,
}

impl Items for Told<'_> {
    fn statement(&mut self, statement: &Statement<'_>) {
        with_event(statement, &mut |event| self.sink.event(event));
    }

    fn transaction(&mut self, _: &Transaction) {}

    fn not_understood(&mut self, offset: u64, bytes: u64, why: &'static str) {
        self.sink.not_understood(offset, bytes, why);
    }
}

/// Calls `take` with an event made of a statement.
pub fn with_event(statement: &Statement<'_>, take: &mut dyn FnMut(&Event<'_>)) {
    let mut numbers = Numbers::default();
    if let Some(rows) = statement.rows {
        numbers.set(Measure::RowsAffected, rows);
    }
    let error = if statement.error == 0 { String::new() } else { statement.error.to_string() };
    let end_s = i64::from(statement.begin_s) + i64::from(statement.took_s.unwrap_or(0));
    take(&Event {
        offset: statement.offset,
        bytes: statement.bytes,
        kind: Kind::Statement,
        end_ns: Some(end_s * 1_000_000_000),
        duration_ns: statement.took_s.map(|s| u64::from(s) * 1_000_000_000),
        text: statement.text,
        database: statement.database,
        session: statement.session,
        error: error.as_bytes(),
        numbers,
        ..Event::default()
    });
}
