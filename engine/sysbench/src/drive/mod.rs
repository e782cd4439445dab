//! Runs the sessions of a script: load threads that each drive many sessions, the common start, the
//! end, and the watchdog.
//!
//! A script may never return. The run then abandons its load thread with all that the thread uses:
//! so threads borrow nothing from the caller, and every wait for a thread has a time limit.

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
use dyno_core::driver::client::Clients;
use dyno_core::error::Result;
use dyno_generator::machine;
use dyno_generator::transport::endpoint::Endpoint;
use progress::Observer;
use shared::Shared;
use std::sync::Arc;
use std::time::Duration;
use waiting::Waiting;

/// A server that sessions connect to.
pub struct Server {
    /// Creates the client side of the protocol for each connection.
    pub clients: Clients,
    /// The server's address; none for an in-process library.
    pub endpoint: Option<Endpoint>,
}

/// The times of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Duration of the warm-up, before the measured time.
    pub warmup: Duration,
    /// Duration of the measured time; none: until the events end.
    pub length: Option<Duration>,
    /// How long after the measured time an event may continue; then its statements are cancelled and
    /// its connections closed.
    pub grace: Duration,
    /// How long after the measured time the watchdog first probes the servers: if none answers, the
    /// run ends without further waiting. [`Duration::MAX`]: never.
    pub ask_after: Duration,
    /// Time limit for all sessions to begin.
    pub start_max: Duration,
}

/// The configuration of a run.
#[derive(Clone)]
pub struct Drive {
    /// The program of the sessions. `Run` has a common start and an end; in commands each session
    /// starts and ends by itself.
    pub program: Program,
    /// The number of sessions.
    pub sessions: u32,
    /// Whether a load thread drives many sessions; otherwise each session has a thread, as blocking
    /// libraries require.
    pub shares_threads: bool,
    /// The number of load threads, from [`threads_for`](Self::threads_for).
    pub threads: usize,
    /// The servers, indexed by [`Wired::server`](crate::connection::Wired::server).
    pub servers: Arc<[Server]>,
    /// Tallies for `sessions` sessions and `threads` threads.
    pub tallies: Arc<Tallies>,
    /// Decides when events begin.
    pub pace: Arc<Pace>,
    /// Creates the scripts of each load thread.
    pub make: Arc<MakeScripts>,
    /// The times of the run; for [`Program::Run`] only.
    pub times: Times,
    /// The CPUs that load threads may use; empty: those that this process may use.
    pub cpus: Vec<u32>,
}

impl Drive {
    /// Returns the number of load threads for `sessions` sessions: `asked`, or if that is 0, a number
    /// that depends on `cpus`. In a run, servers on this machine get their share of the CPUs; a command
    /// may need more CPU time than the servers do.
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
    /// The grace period has ended before all sessions had.
    Forced {
        /// The number of sessions that had not ended.
        unfinished: u32,
    },
    /// Not all sessions have begun in time.
    NotStarted {
        /// The number of sessions that had not begun.
        missing: u32,
    },
    /// Sessions have failed; the observer received the messages.
    Failed,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// How the run ended.
    pub how: Ending,
    /// The measured time: from its origin to the end of the last session, on the run's clock.
    pub measured: (u64, u64),
    /// Sessions that moved to threads of their own because their scripts block.
    pub moved: u32,
    /// Abandoned threads, whose scripts do not return. The process may exit all the same.
    pub abandoned: u32,
}

/// File descriptors per session: a connection, or a library's database with its log or journal.
const FILES_A_SESSION: u64 = 4;

/// Runs all sessions until they end, or until the run gives up on them. Calls `observer` on this
/// thread. Failures of scripts go to the observer and result in [`Ending::Failed`]; the tallies keep
/// the counts up to then.
///
/// # Errors
/// Before any session begins: the system refuses CPUs, descriptors or threads.
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
