//! Estimates the speed-up of parallel replication from logs.

use crate::aggregate::tally::Tally;
use crate::document::SCHEMA_VERSION;
use crate::event::weight;
use crate::event::{Event, Kind};
use crate::facts::Facts;
use crate::filter::Filter;
use crate::inspect::binlog::{self, Items, Statement, Transaction};
use crate::logs::formats::mysql::binlog::with_event;
use crate::parallelism::{Cost, Curve, Schemas, Simulation};
use crate::request::{Request, Watcher};
use crate::sequential::{EventConsumer, Log, Logs, each_log};
use crate::sink::Part;
use crate::sql::distill::distill;
use crate::sql::language::Language;
use dyno_core::Result;
use dyno_core::error::{Error, Kind as ErrorKind};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// Estimated speed-up of parallel replication.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Parallelism {
    /// Version of the document layout; readers reject later versions.
    pub schema_version: u32,
    /// Version of the engine that wrote the document.
    pub engine_version: String,
    /// The logs.
    #[serde(flatten)]
    pub logs: Logs,
    /// Upper bound by schema; null if there are no writes or their costs are unknown.
    pub schemas: Option<Schemas>,
    /// Number of transactions in binary logs; 0: none, and no curves.
    pub transactions: u64,
    /// Share of the transactions whose rows all have known keys, 0 to 1.
    pub keyed_share: f64,
    /// Size of the history of changed rows, which finds transactions without a common row, in rows.
    pub history_rows: u64,
    /// Number of times that the history was full and cleared; later transactions then wait for all earlier
    /// ones.
    pub histories_cleared: u64,
    /// Share of the statements in binary logs that were logged as text, 0 to 1; their bytes are a poor
    /// measure of their cost.
    pub text_share: f64,
    /// Unit of the cost of transactions.
    pub cost: Cost,
    /// Speed-up by number of workers, for each rule.
    pub curves: Vec<Curve>,
}

/// Estimates the speed-up of parallel replication from the durations of writes by schema (binary logs: from
/// the bytes of transactions) and, for binary logs, from the order of their transactions.
///
/// # Errors
/// As [`read_sequentially`](crate::sequential::read_sequentially); logs of systems other than MySQL and
/// MariaDB.
pub fn derive(
    request: &Request,
    stop: &'static AtomicBool,
    watcher: &mut dyn Watcher,
) -> Result<Parallelism> {
    let mut timed = Writes::default();
    let mut found = Transactions::default();
    let logs = each_log(request, stop, watcher, &mut |log| {
        if log.chunks.head()?.starts_with(binlog::MAGIC) {
            "mysql-binlog".clone_into(&mut log.input.format);
            found.read(log)
        } else {
            log.read(&mut timed)
        }
    })?;
    let by_time = Schemas::of(Cost::Seconds, &timed.by_schema);
    Ok(Parallelism {
        schema_version: SCHEMA_VERSION,
        engine_version: env!("CARGO_PKG_VERSION").to_owned(),
        logs,
        schemas: by_time.or_else(|| Schemas::of(Cost::Bytes, &found.by_schema)),
        transactions: found.simulation.len() as u64,
        keyed_share: found.simulation.keyed_share(),
        history_rows: binlog::KEYS_MAX as u64,
        histories_cleared: found.simulation.histories_cleared(),
        text_share: found.as_text as f64 / (found.statements as f64).max(1.0),
        cost: Cost::Bytes,
        curves: found.simulation.curves(),
    })
}

/// By schema: number and cost of the writes.
type BySchema = BTreeMap<Vec<u8>, (u64, u64)>;

/// Writes of logs with durations.
#[derive(Default)]
struct Writes {
    by_schema: BySchema,
}

/// Verbs of statements that a replica executes.
const WRITES: [&str; 14] = [
    "INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD", "CREATE", "ALTER", "DROP", "TRUNCATE",
    "MERGE", "RENAME", "OPTIMIZE", "REPAIR", "ANALYZE",
];

impl EventConsumer for Writes {
    fn log(&mut self, language: Language) -> Result<()> {
        if language != Language::Mysql {
            let what = "parallel replication is worked out for MySQL and MariaDB only";
            let hint = "give a slow log, or binary logs, of one of them";
            return Err(Error::new(ErrorKind::Plan, what).hint(hint));
        }
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>) {
        if event.kind != Kind::Statement {
            return;
        }
        let distilled = distill(event.text, Language::Mysql);
        let verb = distilled.verb.split(' ').next().unwrap_or("");
        if !WRITES.contains(&verb) {
            return;
        }
        // The schema of a qualified name takes precedence over the default schema.
        let own = distilled.tables.first().and_then(|table| table.split_once('.'));
        let schema = own.map_or(event.database, |(schema, _)| schema.as_bytes());
        let stands_for = u64::from(weight(event));
        let sums = self.by_schema.entry(schema.to_vec()).or_default();
        sums.0 += stands_for;
        sums.1 += event.duration_ns.unwrap_or(0).saturating_mul(stands_for);
    }
}

/// The contents of binary logs.
#[derive(Default)]
struct Transactions {
    by_schema: BySchema,
    simulation: Simulation,
    statements: u64,
    /// Number of statements that were logged as text.
    as_text: u64,
    /// Whether any statement of the transaction passed the filters, so that the transaction counts.
    has_passed: bool,
}

/// Size of a read from a binary log, bytes.
const BINLOG_PART: usize = 4 << 20;

impl Transactions {
    fn read(&mut self, log: &mut Log<'_>) -> Result<()> {
        let mut reader = binlog::Reader::with_keys();
        let mut size = BINLOG_PART;
        while log.goes_on() {
            while let Some((bytes, offset, is_last)) = log.chunks.more(size)? {
                let (filter, tally) = (&log.request.taking.filter, &mut log.tally);
                let mut items = Binlog { all: self, filter, tally };
                let done = reader.read(Part { bytes: &bytes, offset, is_last }, &mut items);
                size = if done == 0 { size.saturating_mul(2) } else { BINLOG_PART };
                log.chunks.done(bytes, done);
            }
        }
        log.chunks.tell(0, Facts { server: reader.server(), ..Facts::default() });
        Ok(())
    }
}

/// Receives the contents of one binary log.
struct Binlog<'a> {
    all: &'a mut Transactions,
    filter: &'a Filter,
    tally: &'a mut Tally,
}

impl Items for Binlog<'_> {
    fn statement(&mut self, statement: &Statement<'_>) {
        with_event(statement, &mut |event| {
            if self.tally.passes(self.filter, event) {
                self.all.statements += 1;
                self.all.as_text += u64::from(statement.rows.is_none());
                self.all.has_passed = true;
            }
        });
    }

    fn transaction(&mut self, transaction: &Transaction) {
        if !std::mem::take(&mut self.all.has_passed) {
            return;
        }
        self.all.simulation.add(transaction, transaction.bytes);
        let schemas = transaction.schemas.len().max(1) as u64;
        for schema in &transaction.schemas {
            let sums = self.all.by_schema.entry(schema.clone()).or_default();
            sums.0 += 1;
            // Divide the bytes of a transaction among its schemas.
            sums.1 += transaction.bytes / schemas;
        }
    }

    fn not_understood(&mut self, offset: u64, bytes: u64, why: &'static str) {
        self.tally.not_understood(offset, bytes, why);
    }
}

#[cfg(test)]
mod tests;
