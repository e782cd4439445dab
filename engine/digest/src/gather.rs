//! What is made of events in the log's order: the shape of a workload, and what parallel replication
//! could bring.

use crate::binlog::{self, Items, Statement, Transaction};
use crate::digest::{Request, open};
use crate::distill::distill;
use crate::event::{Event, Kind, Language};
use crate::format::Part;
use crate::formats::with_event;
use crate::in_turn::{Takes, in_turn, read_log};
use crate::parallel::{Curve, Schemas, Simulation};
use crate::parts::Parts;
use crate::shape::{Shape, Shaper};
use dyno_core::Result;
use dyno_core::error::{Error, Kind as ErrorKind};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// What a workload is made of.
///
/// # Errors
/// A log that cannot be read, logs of several languages, logs without a statement.
pub fn shape(request: &Request, stop: &'static AtomicBool) -> Result<Shape> {
    let mut shaping = Shaping { shaper: None, language: Language::Mysql };
    in_turn(request, stop, &mut shaping)?;
    let shape = shaping.shaper.map(Shaper::finish);
    shape.filter(|shape| !shape.statements.is_empty()).ok_or_else(|| {
        Error::new(ErrorKind::Plan, "there is no statement in these logs")
            .hint("look at their digest: is everything filtered out?")
    })
}

struct Shaping {
    shaper: Option<Shaper>,
    language: Language,
}

impl Takes for Shaping {
    fn log(&mut self, language: Language) -> Result<()> {
        if self.shaper.is_some() && self.language != language {
            let what = "logs of several languages make no workload";
            return Err(Error::new(ErrorKind::Plan, what).hint("give those of one system"));
        }
        self.language = language;
        self.shaper.get_or_insert_with(|| Shaper::new(language));
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>) {
        if let Some(shaper) = &mut self.shaper {
            shaper.event(event);
        }
    }
}

/// What parallel replication could bring.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Parallelism {
    /// By schema, from what writes took; absent if the log has no times, or no writes.
    pub schemas: Option<Schemas>,
    /// Transactions of binary logs; 0: there are none, and no curves.
    pub transactions: u64,
    /// Share of them whose rows all have known keys.
    pub keyed_share: f64,
    /// What a transaction's cost is taken from: `bytes` of the log.
    pub cost: String,
    /// Speed-up by number of workers.
    pub curves: Vec<Curve>,
}

/// What parallel replication could bring: from the times of writes by schema, and, of binary logs, from
/// their transactions.
///
/// # Errors
/// As [`in_turn`].
pub fn parallelism(request: &Request, stop: &'static AtomicBool) -> Result<Parallelism> {
    let mut found =
        Transactions { request, writes: Writes::default(), simulation: Simulation::default() };
    for (path, source) in request.logs.iter().zip(open(request, stop)?) {
        let mut parts = Parts::new(source, path, stop);
        if parts.head()?.starts_with(binlog::MAGIC) {
            found.writes.log(Language::Mysql)?;
            found.read(&mut parts)?;
        } else {
            read_log(request, path, &mut parts, stop, &mut found.writes)?;
        }
    }
    Ok(Parallelism {
        schemas: Schemas::of(&found.writes.by_schema),
        transactions: found.simulation.len() as u64,
        keyed_share: found.simulation.keyed_share(),
        cost: "bytes".to_owned(),
        curves: found.simulation.curves(),
    })
}

/// Writes and nanoseconds by schema.
#[derive(Default)]
struct Writes {
    language: Option<Language>,
    by_schema: BTreeMap<Vec<u8>, (u64, u64)>,
}

/// Verbs of statements that a replica carries out.
const WRITES: [&str; 11] = [
    "INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD", "CREATE", "ALTER", "DROP", "TRUNCATE",
    "MERGE", "RENAME",
];

impl Takes for Writes {
    fn log(&mut self, language: Language) -> Result<()> {
        self.language = Some(language);
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>) {
        let (Kind::Statement, Some(language)) = (event.kind, self.language) else { return };
        let distilled = distill(event.text, language);
        let verb = distilled.verb.split(' ').next().unwrap_or("");
        if !WRITES.contains(&verb) {
            return;
        }
        // A table's own schema says more than the session's.
        let own = distilled.tables.first().and_then(|table| table.split_once('.'));
        let schema = own.map_or(event.database, |(schema, _)| schema.as_bytes());
        let sums = self.by_schema.entry(schema.to_vec()).or_default();
        sums.0 += 1;
        sums.1 += event.duration_ns.unwrap_or(0);
    }
}

/// What binary logs hold, read once: statements as writes, transactions for the simulation.
struct Transactions<'a> {
    request: &'a Request,
    writes: Writes,
    simulation: Simulation,
}

/// How much of a binary log is read at a time, bytes.
const BINLOG_PART: usize = 4 << 20;

impl Transactions<'_> {
    fn read(&mut self, parts: &mut Parts<'_>) -> Result<()> {
        let mut reader = binlog::Reader::with_keys();
        let mut size = BINLOG_PART;
        while !parts.has_ended() {
            parts.allow(u32::MAX);
            while let Some((bytes, offset, is_last)) = parts.more(size)? {
                let done = reader.read(Part { bytes: &bytes, offset, is_last }, self);
                size = if done == 0 { size.saturating_mul(2) } else { BINLOG_PART };
                parts.done(bytes, done);
            }
        }
        Ok(())
    }
}

impl Items for Transactions<'_> {
    fn statement(&mut self, statement: &Statement<'_>) {
        with_event(statement, &mut |event| {
            if self.request.taking.filter.passes(event) {
                self.writes.event(event);
            }
        });
    }

    fn transaction(&mut self, transaction: &Transaction) {
        self.simulation.add(transaction, transaction.bytes);
    }

    fn not_understood(&mut self, _: u64, _: u64, _: &'static str) {}
}
