//! Populating through an in-process library, with one writer and one transaction a table; and files.

use crate::populate::job::{Job, cannot_create, check_count};
use crate::populate::pieces::Piece;
use crate::populate::progress::{Report, Rows};
use dyno_core::driver::{Blocking, Task};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::workload::FileSet;

/// Rows between two reports of progress.
const ROWS_A_STEP: u64 = 4096;

/// Creates the set's files; returns their total size in bytes.
pub fn make_files(
    job: &Job,
    set: &FileSet,
    session: &mut dyn Blocking,
    report: &Report,
) -> Result<u64> {
    let (mut told, wanted) = (0, set.file_bytes * u64::from(set.files));
    let held = session.create_files(set, job.seed, &mut |more| {
        told += more;
        report.files(set, told);
    })?;
    if held != wanted {
        let what = format!("files {}: they hold {held} bytes, not {wanted}", set.name);
        return Err(Error::new(Kind::System, what).hint("something else writes to this directory"));
    }
    Ok(held)
}

/// Creates and fills the job's tables.
pub fn load(job: &Job, mut session: Box<dyn Blocking>, report: &Report) -> Result<()> {
    for (_, table) in &job.tables {
        session.task(Task::Create(table)).map_err(|error| cannot_create(table, error))?;
    }
    for (index, (_, table)) in job.tables.iter().enumerate() {
        let rows = Rows::default();
        let columns: Vec<&str> = table.columns.iter().map(String::as_str).collect();
        let taken = session.bulk(&table.name, &columns, &mut |sink| {
            for start in (0..table.rows).step_by(ROWS_A_STEP as usize) {
                let end = (start + ROWS_A_STEP).min(table.rows);
                job.rows(&Piece { table: index, rows: start..end, whole: false }, sink);
                report.add(table, &rows, end - start);
            }
        })?;
        if taken != table.rows {
            let what = format!("table {}: {taken} of {} rows went in", table.name, table.rows);
            return Err(Error::new(Kind::Server, what));
        }
        for number in 0..table.finish.len() {
            session.task(Task::Finish(table, number))?;
        }
        let counted = session.task(Task::Count(table))?;
        check_count(table, counted.first().and_then(|count| count.as_deref()))?;
    }
    Ok(())
}
