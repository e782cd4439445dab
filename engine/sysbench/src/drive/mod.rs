//! Runs the sessions of a script: load threads that wait for many of them at once, the common
//! start, the end, and the watchdog.
//!
//! Load threads are left behind, with what they use, when a script never returns: nothing here is
//! borrowed from the caller, and nobody waits for a thread without a limit.

mod cancel;
mod load_thread;
pub mod progress;
mod session_slot;
mod shared;
#[cfg(test)]
mod simulation;
mod threads;
mod waiting;
mod worker;

use crate::pace::Pace;
use crate::session::{MakeScripts, Program};
use crate::tally::Tallies;
use dyno_core::client::Clients;
use dyno_core::error::Result;
use dyno_generator::machine;
use dyno_generator::transport::endpoint::Endpoint;
use progress::Observer;
use shared::Shared;
use std::sync::Arc;
use std::time::Duration;
use waiting::Waiting;

/// A server that sessions talk to.
pub struct Server {
    /// Makes connections' protocol sides.
    pub clients: Clients,
    /// Where it listens; none for a library.
    pub endpoint: Option<Endpoint>,
}

/// The times of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Before the measured time.
    pub warmup: Duration,
    /// The measured time; none: as long as there are events.
    pub length: Option<Duration>,
    /// How long after the measured time an event may go on; then its statements are cancelled and
    /// its connections closed.
    pub grace: Duration,
    /// How long after the measured time servers are first asked whether they answer anything: if none
    /// does, nothing is waited for. [`Duration::MAX`]: never.
    pub ask_after: Duration,
    /// How long the sessions may take to begin.
    pub start_max: Duration,
}

/// What to drive.
#[derive(Clone)]
pub struct Drive {
    /// What the sessions do: `Run` starts them together; commands have neither a common start nor an
    /// end but their own.
    pub program: Program,
    /// How many.
    pub sessions: u32,
    /// Whether a load thread drives many sessions; otherwise each has a thread, as what blocks needs.
    pub shares_threads: bool,
    /// On how many threads: what [`threads_for`](Self::threads_for) says.
    pub threads: usize,
    /// [`Wired::server`](crate::connection::Wired::server) says which of them.
    pub servers: Arc<[Server]>,
    /// For `sessions` sessions and so many threads.
    pub tallies: Arc<Tallies>,
    /// When events begin.
    pub pace: Arc<Pace>,
    /// Makes the scripts of each load thread.
    pub make: Arc<MakeScripts>,
    /// For `Run`.
    pub times: Times,
    /// Where load threads may run; none: wherever this process may.
    pub cpus: Vec<u32>,
}

impl Drive {
    /// How many load threads drive so many sessions: as many as are `asked` for, 0 chooses, on
    /// `cpus`. In a run servers on this machine get their share of the CPUs; a command may have more
    /// to do than they.
    pub fn threads_for(
        program: &Program,
        sessions: u32,
        shares_threads: bool,
        (asked, cpus): (u32, &[u32]),
        servers: &[Server],
    ) -> usize {
        if !shares_threads {
            return sessions as usize;
        }
        if asked > 0 {
            return asked.min(sessions) as usize;
        }
        let endpoints = servers.iter().filter_map(|server| server.endpoint.as_ref());
        let beside_servers = endpoints.into_iter().any(Endpoint::is_loopback);
        let beside_servers = beside_servers && *program == Program::Run;
        machine::load_threads(cpus, beside_servers, sessions as usize)
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Every session has ended by itself.
    Done,
    /// The grace is over: so many sessions had not ended.
    Forced {
        /// Their number.
        unfinished: u32,
    },
    /// Not all sessions have begun in time: so many have not.
    NotStarted {
        /// Their number.
        missing: u32,
    },
    /// Sessions have failed; the observer was told why.
    Failed,
}

/// What became of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// How.
    pub how: Ending,
    /// The measured time: from its origin to the end of the last session, on the run's clock.
    pub measured: (u64, u64),
    /// Sessions that have moved to threads of their own, since their scripts block.
    pub moved: u32,
    /// Threads left behind, whose scripts do not return. The process may end all the same.
    pub abandoned: u32,
}

/// Files that a session may hold: a connection, or a library's database with its log or journal.
const FILES_A_SESSION: u64 = 4;

/// Runs all sessions to their end, or until nobody waits for them any more. `observer` is called on
/// this thread. Failures of scripts are its affair and [`Ending::Failed`]; what the sessions have
/// counted until then stands in the tallies.
///
/// # Errors
/// Before any session begins: what the machine refuses.
pub fn run(drive: &Drive, observer: &mut dyn Observer) -> Result<Ended> {
    let threads = drive.threads;
    machine::pin(&drive.cpus)?;
    let sessions = u64::from(drive.sessions);
    machine::allow_descriptors(sessions, sessions * FILES_A_SESSION)
        .or_else(|_| machine::allow_descriptors(sessions, sessions))?;
    let shared = Arc::new(Shared::new(drive, threads));
    threads::start(drive, threads, &shared)?;
    Ok(Waiting::new(drive, &shared, observer).run())
}
