//! The job `load`: creates each table of each group's workload, fills it in bulk, builds its
//! indexes, and counts its rows; creates a workload's files, and checks their sizes.
//!
//! A table that exists already is an error, and the job never drops anything. Rows are pure functions
//! of (seed, table, row number), so that the content of a table does not depend on the number of
//! threads that loaded it. A data set is complete only after the event `loaded`: a killed job leaves
//! tables without rows, or rows without indexes.
//!
//! On the network, `sessions` threads with a connection each take pieces of work: whole tables,
//! or ranges of rows where there are fewer tables than threads. The thread that loads a table's
//! last piece builds its indexes and counts. In-process systems (sqlite) have one writer.

pub mod client;
mod job;
mod library;
mod network;
mod pieces;
mod progress;
pub mod tsv;

use dyno_core::driver::{DriverKind, Session};
use dyno_core::error::Result;
use dyno_core::event::Event;
use dyno_core::plan::Plan;
use dyno_core::workload::WorkloadKind;
use job::{Job, jobs};
use progress::Report;
use std::collections::BTreeMap;
use std::time::Instant;

/// Loads all tables and files that the plan's groups need. Events: `progress`, at most ten a second, then
/// `loaded`. Several threads call `emit`.
///
/// # Errors
/// `Kind::Plan` for an unknown driver, target, workload or option, for two groups that need
/// different versions of a table, and for a table that exists; `Kind::Server` when the server refuses a
/// statement, or when a table has a wrong number of rows; `Kind::Connection` and
/// `Kind::System` when a connection or a file fails.
pub fn load(
    plan: &Plan,
    drivers: &[&DriverKind],
    workloads: &[&WorkloadKind],
    emit: &(dyn Fn(Event) + Sync),
) -> Result<()> {
    let start = Instant::now();
    let jobs = jobs(plan, drivers, workloads)?;
    let report = Report::new(emit);
    let mut rows = BTreeMap::new();
    for job in &jobs {
        for (name, count) in run(job, &report)? {
            let shown =
                if plan.targets.len() == 1 { name } else { format!("{}.{name}", job.group.target) };
            rows.insert(shown, count);
        }
    }
    emit(Event::Loaded { rows, elapsed_s: start.elapsed().as_secs_f64() });
    Ok(())
}

/// Loads the job's tables and files; returns row counts of tables and bytes of files by name.
fn run(job: &Job, report: &Report) -> Result<BTreeMap<String, u64>> {
    let mut loaded = BTreeMap::new();
    if job.tables.is_empty() && job.files.is_none() {
        return Ok(loaded);
    }
    match job.driver.session(0)? {
        Session::Blocking(mut session) => {
            if let Some(set) = &job.files {
                loaded.insert(
                    set.name.clone(),
                    library::make_files(job, set, &mut *session, report)?,
                );
            }
            library::load(job, session, report)?;
        }
        Session::Wire(_) => network::load(job, report)?,
        // A timed driver has no system that could store rows.
        Session::Timed(_) => {}
    }
    loaded.extend(job.tables.iter().map(|(_, table)| (table.name.clone(), table.rows)));
    Ok(loaded)
}
