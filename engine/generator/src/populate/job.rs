//! The tables that one group needs on its target, checked against other groups.

use crate::populate::pieces::{Piece, Pieces};
use dyno_core::driver::DriverKind;
use dyno_core::driver::needs;
use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::{Group, Plan, Target};
use dyno_core::workload::{FileSet, Order, Table, Workload, WorkloadKind};
use std::sync::Arc;

/// Most threads that load one group: further ones would only queue in the server.
const THREADS_MAX: u32 = 256;

/// The tables and files that one group needs.
pub(crate) struct Job<'a> {
    pub group: &'a Group,
    pub target: Target,
    pub driver: Box<dyn dyno_core::driver::Driver>,
    pub workload: Box<dyn Workload>,
    /// Tables with their numbers in the workload.
    pub tables: Vec<(usize, Table)>,
    pub files: Option<FileSet>,
    pub seed: u64,
    pub threads: usize,
}

/// Creates the jobs of a plan: only the first of the groups that share a table loads it.
pub(crate) fn jobs<'a>(
    plan: &'a Plan,
    drivers: &[&DriverKind],
    workloads: &[&WorkloadKind],
) -> Result<Vec<Job<'a>>> {
    let mut jobs: Vec<Job<'a>> = Vec::new();
    for group in &plan.groups {
        let mut job = job(plan, group, drivers, workloads)?;
        let others = || jobs.iter().filter(|other| other.group.target == group.target);
        let mut first_wanted = Vec::new();
        for (number, table) in std::mem::take(&mut job.tables) {
            let same = others()
                .flat_map(|other| other.tables.iter().map(move |t| (&other.group.name, &t.1)))
                .find(|(_, other)| other.name == table.name);
            match same {
                None => first_wanted.push((number, table)),
                Some((_, other)) if *other == table => {}
                Some((other, _)) => {
                    let table = format!("table {}", table.name);
                    return Err(contradiction(&group.name, other, &table));
                }
            }
        }
        if let Some(set) = &job.files {
            let same = |other: &&Job| other.files.as_ref().is_some_and(|f| f.name == set.name);
            match others().find(same) {
                None => {}
                Some(other) if other.files == job.files => job.files = None,
                Some(other) => {
                    let files = format!("files {}", set.name);
                    return Err(contradiction(&group.name, &other.group.name, &files));
                }
            }
        }
        job.tables = first_wanted;
        jobs.push(job);
    }
    Ok(jobs)
}

fn contradiction(group: &str, other: &str, data: &str) -> Error {
    let what = format!("groups {other} and {group} want {data} with other contents");
    Error::new(Kind::Plan, what).hint("give both the same rows, sizes and table options")
}

fn job<'a>(
    plan: &Plan,
    group: &'a Group,
    drivers: &[&DriverKind],
    workloads: &[&WorkloadKind],
) -> Result<Job<'a>> {
    let target = plan
        .targets
        .get(&group.target)
        .ok_or_else(|| unknown("target", &group.target, plan.targets.keys().map(String::as_str)))?;
    let kind = drivers
        .iter()
        .find(|kind| kind.name == target.driver)
        .ok_or_else(|| unknown("driver", &target.driver, drivers.iter().map(|kind| kind.name)))?;
    let workload = workloads.iter().find(|kind| kind.name == group.workload).ok_or_else(|| {
        unknown("workload", &group.workload, workloads.iter().map(|kind| kind.name))
    })?;
    let order = Order {
        options: &group.options,
        dialect: kind.dialect,
        seed: plan.seed,
        sessions: group.sessions,
    };
    let fits = needs::check(kind, workload, &[], 1);
    let built = fits.and_then(|()| (workload.build)(&order));
    let workload = built.map_err(|error| in_group(error, &group.name))?;
    let target = loading(kind, target);
    Ok(Job {
        group,
        driver: (kind.build)(&target, Arc::new([]))?,
        target,
        tables: workload.tables().into_iter().enumerate().collect(),
        files: workload.files(),
        seed: plan.seed,
        workload,
        threads: group.sessions.clamp(1, THREADS_MAX) as usize,
    })
}

/// The target with settings for loading.
fn loading(kind: &DriverKind, target: &Target) -> Target {
    let mut target = target.clone();
    if kind.options.iter().any(|option| option.name == "create") {
        target.options.insert("create".into(), true.into());
    }
    // Not for MySQL: `unique_checks = 0, foreign_key_checks = 0`, as dumps have it. It makes MariaDB
    // 10.11 sort rows through a file into an empty table: 6.0 s of its CPU for a million rows that
    // come in order, against 2.7 s.
    target
}

fn in_group(mut error: Error, group: &str) -> Error {
    error.what = format!("group {group}: {}", error.what);
    error
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Error {
    let known: Vec<_> = known.collect();
    Error::new(Kind::Plan, format!("there is no {what} called {name}"))
        .hint(format!("known are {}", known.join(", ")))
}

impl Job<'_> {
    /// The tables, divided for the job's threads.
    pub(crate) fn pieces(&self) -> Pieces {
        let tables: Vec<_> =
            self.tables.iter().map(|(_, table)| (table.rows, table.columns.len())).collect();
        Pieces::new(&tables, self.threads)
    }

    /// Writes a piece's rows into `sink`.
    pub(crate) fn rows(&self, piece: &Piece, sink: &mut dyn dyno_core::workload::RowSink) {
        let (number, _) = self.tables[piece.table];
        self.workload.rows(number, piece.rows.clone(), sink);
    }
}

/// Converts a refusal of `CREATE TABLE`, with a hint if the table exists already.
pub(crate) fn cannot_create(table: &Table, error: Error) -> Error {
    // SQLite has messages only; servers may use the user's language, so their codes count.
    if ["already exists", "(1050)", "(42P07)"].iter().any(|sign| error.what.contains(sign)) {
        return Error::new(Kind::Plan, format!("table {} exists already", table.name)).hint(
            "nothing was touched: dbdyno drops no table; load into an empty schema, or drop the \
             table yourself if you do not need it",
        );
    }
    error
}

/// Compares the number of rows counted with the expected one.
pub(crate) fn check_count(table: &Table, counted: Option<&str>) -> Result<()> {
    let counted: Option<u64> = counted.and_then(|text| text.parse().ok());
    if counted == Some(table.rows) {
        return Ok(());
    }
    let found = counted.map_or_else(|| "an unreadable number of".into(), |n| n.to_string());
    let what = format!("table {} holds {found} rows, not {}", table.name, table.rows);
    Err(Error::new(Kind::Server, what)
        .hint("something else writes to this schema, or the server dropped rows: see its log"))
}
