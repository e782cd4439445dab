//! Populating over the network: threads with a connection each take pieces in any order.

use crate::populate::client::Client;
use crate::populate::job::{Job, cannot_create, check_count};
use crate::populate::pieces::{Piece, Pieces};
use crate::populate::progress::{Report, Rows};
use crate::populate::tsv::Tsv;
use crate::transport::endpoint::Endpoint;
use dyno_core::driver::{Session, Task};
use dyno_core::error::{Error, Kind, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Timeout of one answer: building the indexes of a large table may take hours.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(6 * 3600);
/// Rows between two sends: about 100 KB, so that the thread generates the next rows while the kernel's
/// buffer still feeds the server. Larger values leave the server waiting.
const ROWS_A_SEND: u64 = 512;

/// State that the threads of one job share.
struct Shared<'a> {
    job: &'a Job<'a>,
    endpoint: Endpoint,
    pieces: Pieces,
    rows: Vec<Rows>,
    report: &'a Report<'a>,
    /// Set by the first thread that fails.
    failed: AtomicBool,
    error: Mutex<Option<Error>>,
}

/// Creates and fills the job's tables.
pub fn load(job: &Job, report: &Report) -> Result<()> {
    let shared = Shared {
        job,
        endpoint: Endpoint::resolve(&job.target)?,
        pieces: job.pieces(),
        rows: job.tables.iter().map(|_| Rows::default()).collect(),
        report,
        failed: AtomicBool::new(false),
        error: Mutex::new(None),
    };
    create(&shared)?;
    let threads = job.threads.min(shared.pieces.count());
    thread::scope(|scope| {
        for number in 0..threads {
            let shared = &shared;
            let name = format!("load-{number}");
            let work = move || {
                if let Err(error) = work(shared, number as u32)
                    && !shared.failed.swap(true, Ordering::AcqRel)
                {
                    *shared.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
            };
            if let Err(error) = thread::Builder::new().name(name).spawn_scoped(scope, work) {
                shared.failed.store(true, Ordering::Release);
                let what = format!("cannot start loading thread {number} of {threads}: {error}");
                return Err(Error::new(Kind::System, what).hint("give the load fewer sessions"));
            }
        }
        Ok(())
    })?;
    shared.error.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

fn connect<'a>(shared: &'a Shared, number: u32) -> Result<Client<'a>> {
    match shared.job.driver.session(number)? {
        Session::Wire(wire) => Client::connect(&shared.endpoint, wire, STATEMENT_TIMEOUT),
        _ => Err(Error::new(Kind::Plan, "a driver's sessions must all be of one nature")),
    }
}

/// Creates all tables before the first row, so that an existing one is found at once.
fn create(shared: &Shared) -> Result<()> {
    let mut client = connect(shared, 0)?;
    for (_, table) in &shared.job.tables {
        client.run(Task::Create(table)).map_err(|error| cannot_create(table, error))?;
    }
    client.quit();
    Ok(())
}

/// Runs one thread: loads pieces until none are left.
fn work(shared: &Shared, number: u32) -> Result<()> {
    let mut client = connect(shared, number)?;
    while let Some(piece) = shared.pieces.take() {
        fill(shared, &mut client, piece)?;
        if shared.pieces.loaded(piece) {
            finish(shared, &mut client, piece.table)?;
        }
    }
    client.quit();
    Ok(())
}

fn fill(shared: &Shared, client: &mut Client, piece: &Piece) -> Result<()> {
    let (_, table) = &shared.job.tables[piece.table];
    let is_begun = piece.whole && client.run(Task::BeginLoad(table))?;
    let mut next = piece.rows.start;
    let columns: Vec<&str> = table.columns.iter().map(String::as_str).collect();
    let taken = client.bulk(&table.name, &columns, &mut |tsv: &mut Tsv| {
        if shared.failed.load(Ordering::Relaxed) {
            return Err(Error::new(Kind::System, "another loading thread failed"));
        }
        let end = (next + ROWS_A_SEND).min(piece.rows.end);
        let part = Piece { rows: next..end, ..piece.clone() };
        shared.job.rows(&part, tsv);
        shared.report.add(table, &shared.rows[piece.table], end - next);
        next = end;
        Ok(!part.rows.is_empty())
    })?;
    let sent = piece.rows.end - piece.rows.start;
    if taken != sent {
        let what = format!("table {}: the server took {taken} of {sent} rows", table.name);
        return Err(Error::new(Kind::Server, what)
            .hint("rows with the same key were there already: does something else write here?"));
    }
    if is_begun {
        client.run(Task::EndLoad(table))?;
    }
    Ok(())
}

/// Completes a table after its last row: builds indexes and counts the rows.
fn finish(shared: &Shared, client: &mut Client, table: usize) -> Result<()> {
    let (_, table) = &shared.job.tables[table];
    for number in 0..table.finish.len() {
        client.run(Task::Finish(table, number))?;
    }
    client.run(Task::Count(table))?;
    check_count(table, client.first_row().first().and_then(|count| count.as_deref()))
}
