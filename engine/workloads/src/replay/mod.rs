//! `replay`: replays recorded sessions. Each session sends its statements in their order, at the times of
//! the replay file or as fast as answers arrive.
//!
//! Options:
//!
//! - `trace`: a replay file from `digest --trace`,
//! - `speed`: a factor, or `"max"`,
//! - `writes`: whether statements are sent that are not known to be reads,
//! - `databases`: `"target"` (sessions stay in the target's database) or `"log"` (those of the file).
//!
//! Without `writes`, all statements that are not known to be harmless are skipped and counted. In
//! addition, the server executes the sessions' transactions as read-only, so that functions that write
//! fail. The replay file is memory-mapped; memory use grows with the number of sessions, not of
//! statements.

mod scan;
#[cfg(test)]
mod tests;

use crate::options::Reader;
use dyno_core::error::{Error, Kind as ErrorKind, Result};
use dyno_core::request::capability::Capability;
use dyno_core::trace::{Event, Index, Language, Place};
use dyno_core::workload::recording::{Cue, Recording};
use dyno_core::workload::{
    Dialect, Effect, Order, Request, RowSink, Table, Transaction, Workload, WorkloadKind,
};
use memmap2::Mmap;
use scan::Scan;
use std::fs::File;
use std::ops::Range;

/// Entry in [`crate::WORKLOADS`].
pub static KIND: WorkloadKind = WorkloadKind {
    name: NAME,
    about: "recorded sessions: the statements of a trace in each session's order, at its times or at once",
    needs: &[Capability::Sql],
    build,
};

const NAME: &str = "replay";
const SPEED_MIN: f64 = 0.001;
const SPEED_MAX: f64 = 1000.0;

fn build(order: &Order<'_>) -> Result<Box<dyn Workload>> {
    Ok(Box::new(Replay::new(order)?))
}

struct Replay {
    trace: Mmap,
    index: Index,
    dialect: Dialect,
    /// Factor on the recorded pace; `None` sends as fast as answers arrive.
    speed: Option<f64>,
    writes: bool,
    /// Per origin in the replay file, the index into `databases`.
    database_of: Vec<u32>,
    databases: Vec<String>,
    scan: Scan,
}

impl Replay {
    fn new(order: &Order<'_>) -> Result<Self> {
        let mut options = Reader::new(NAME, order.options);
        let path = options.text("trace")?;
        let allowed = |speed| (SPEED_MIN..=SPEED_MAX).contains(&speed);
        let speed = options.number_or("max", "speed", 1.0, allowed, "from 0.001 to 1000")?;
        let writes = options.flag("writes", false)?;
        let databases = options.word("databases", "target", &["target", "log"])?;
        options.finish()?;
        if path.is_empty() {
            return Err(options
                .wrong("trace", "there is none")
                .hint("name a file that `dyno digest LOG --trace FILE` wrote"));
        }
        let (trace, index) = open(path)
            .map_err(|error| Error { what: format!("{path}: {}", error.what), ..error })?;
        check_language(path, index.language, order.dialect)?;
        let mut replay = Self {
            trace,
            index,
            dialect: order.dialect,
            speed,
            writes,
            database_of: Vec::new(),
            databases: vec![String::new()],
            scan: Scan::default(),
        };
        replay.name_databases(databases == "log");
        replay.scan = Scan::of(&replay);
        if replay.scan.sessions.is_empty() {
            let what = format!("{path}: it has no statement that may be sent");
            return Err(Error::new(ErrorKind::Plan, what)
                .hint("without `writes` only what is shown to be a read is sent"));
        }
        Ok(replay)
    }

    /// Numbers the databases. An unknown database is number 0, the target's own.
    fn name_databases(&mut self, as_logged: bool) {
        for origin in &self.index.meta.origins {
            let name = if as_logged { &*origin.database } else { "" };
            let known = self.databases.iter().position(|each| each == name);
            let number = known.unwrap_or_else(|| {
                self.databases.push(name.to_owned());
                self.databases.len() - 1
            });
            self.database_of.push(number as u32);
        }
    }

    /// Whether a statement is sent.
    fn plays(&self, event: &Event<'_>) -> bool {
        let is_text = self.dialect != Dialect::Postgres || !event.text.contains(&0);
        is_text && (self.writes || event.effect.is_harmless())
    }

    fn cue(&self, event: &Event<'_>) -> Cue {
        let since_ns = event.begin_ns.abs_diff(self.index.meta.begin_ns);
        Cue {
            due_ns: self.speed.map_or(0, |speed| (since_ns as f64 / speed) as u64),
            database: self.database_of[event.origin as usize],
        }
    }
}

/// Maps the replay file and validates all of it.
fn open(path: &str) -> Result<(Mmap, Index)> {
    let cannot = |error: std::io::Error| {
        Error::new(ErrorKind::Plan, format!("cannot read the trace: {error}"))
            .hint("`dyno digest LOG --trace FILE` makes one of a log")
    };
    let file = File::open(path).map_err(cannot)?;
    if file.metadata().map_err(cannot)?.len() == 0 {
        return Index::read(&[]).map(|_| unreachable!("nothing is no trace"));
    }
    // SAFETY: the map is only read, and no process writes to a finished trace: digest writes it
    // under another name and renames it. Truncating a trace during its replay ends the process.
    let map = unsafe { Mmap::map(&file) }.map_err(cannot)?;
    let index = Index::read(&map)?;
    Ok((map, index))
}

fn check_language(path: &str, language: Language, dialect: Dialect) -> Result<()> {
    match (language, dialect) {
        (_, Dialect::Null)
        | (Language::Mysql, Dialect::Mysql)
        | (Language::Postgres, Dialect::Postgres) => Ok(()),
        _ => {
            let of = match language {
                Language::Mysql => "MySQL or MariaDB",
                Language::Postgres => "PostgreSQL",
            };
            let what = format!("{path} is a trace of {of}, and the target is another system");
            Err(Error::new(ErrorKind::Plan, what)
                .hint("statements are sent as they stand: play them on the same kind of server"))
        }
    }
}

impl Recording for Replay {
    fn sessions(&self) -> u32 {
        self.scan.sessions.len() as u32
    }

    fn is_paced(&self) -> bool {
        self.speed.is_some()
    }

    fn databases(&self) -> &[String] {
        &self.databases
    }

    fn only_reads(&self) -> bool {
        !self.writes
    }

    fn switch(&self, database: &str) -> Option<String> {
        // A PostgreSQL connection cannot change its database.
        (self.dialect == Dialect::Mysql && !database.is_empty())
            .then(|| format!("USE `{}`", database.replace('`', "``")))
    }

    fn opens(&self, session: u32) -> Cue {
        self.scan.sessions[session as usize].opens
    }

    fn begin(&self, session: u32) -> Place {
        self.index.begin(self.scan.sessions[session as usize].number)
    }

    fn next(&self, session: u32, place: &mut Place, tx: Option<&mut Transaction>) -> Option<Cue> {
        let number = self.scan.sessions[session as usize].number;
        loop {
            let event = self.index.next(&self.trace, number, place)?;
            if !self.plays(&event) {
                continue;
            }
            if let Some(tx) = tx {
                tx.text(|text| text.extend_from_slice(event.text));
                tx.op(self.scan.statement_of(event.class));
            }
            return Some(self.cue(&event));
        }
    }

    fn remarks(&self) -> Vec<String> {
        self.scan.remarks(&self.index.meta)
    }
}

impl Workload for Replay {
    fn requests(&self) -> Vec<Request> {
        let verbatim = |class: &String| Request::new(class.clone(), Effect::Verbatim, "", vec![]);
        self.scan.classes.iter().map(verbatim).collect()
    }

    /// Appends nothing, since sessions replay the [recording](Self::recording).
    fn fill(&self, _session: u32, _index: u64, _tx: &mut Transaction) {}

    fn recording(&self) -> Option<&dyn Recording> {
        Some(self)
    }

    fn changes_data(&self) -> bool {
        self.writes
    }

    fn tables(&self) -> Vec<Table> {
        vec![]
    }

    fn rows(&self, _table: usize, _rows: Range<u64>, _sink: &mut dyn RowSink) {}
}
