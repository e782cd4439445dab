//! Starts load threads. They are never joined, since a script may never return; each thread reports
//! its own end.

use super::Drive;
use super::session_slot::{SESSIONS_MAX, SessionSlot};
use super::shared::Shared;
use super::worker::Worker;
use crate::session::{Baggage, MakeScripts};
use dyno_core::clock::MonotonicClock;
use dyno_core::error::{Error, Kind, Result};
use dyno_generator::machine;
use dyno_generator::transport::poller::Epoll;
use std::sync::Arc;
use std::thread::Builder;

/// The maximum number of connections being opened at the same time, over all threads: below the usual
/// listen backlog of servers.
const CONNECTS_MAX: usize = 64;
/// The stack size of a load thread; scripts have their own stacks.
const STACK_BYTES: usize = 1024 * 1024;

/// Starts all load threads of `drive`; session n runs on thread n modulo their number.
///
/// # Errors
/// [`Kind::Plan`] for more sessions than threads can drive, [`Kind::System`] when the system refuses
/// another thread; threads that have started are stopped.
pub(crate) fn start(drive: &Drive, threads: usize, shared: &Arc<Shared>) -> Result<()> {
    if (drive.sessions as usize).div_ceil(threads) > SESSIONS_MAX {
        return Err(Error::new(Kind::Plan, "too many sessions").hint(format!(
            "a load thread carries {SESSIONS_MAX}: use fewer sessions or more CPUs"
        )));
    }
    let crew = Crew {
        shared: Arc::clone(shared),
        make: Arc::clone(&drive.make),
        sessions: drive.sessions,
        threads,
        only_answers_wake: drive.shares_threads && !drive.pace.has_rate(),
    };
    for thread in 0..threads {
        crew.start(thread, None).inspect_err(|_| shared.cut())?;
    }
    Ok(())
}

/// The data that each load thread needs.
#[derive(Clone)]
struct Crew {
    shared: Arc<Shared>,
    make: Arc<MakeScripts>,
    sessions: u32,
    /// The number of threads that share the sessions; higher numbers are threads with one session.
    threads: usize,
    /// The sessions share threads, and no rate makes them wait for a due time.
    only_answers_wake: bool,
}

impl Crew {
    /// Starts a thread, for its share of the sessions or for one session that has moved.
    fn start(&self, thread: usize, moved: Option<(u32, Baggage)>) -> Result<()> {
        let crew = self.clone();
        let work = move || {
            let ends = EndsThread(Arc::clone(&crew.shared), thread as u32);
            machine::wait_precisely();
            if crew.only_answers_wake && moved.is_none() {
                machine::let_servers_go_first();
            }
            ends.0.metrics(thread).inspect(|metrics| metrics.enter());
            if let Err(error) = crew.work(thread, moved) {
                ends.0.failed(thread as u32, error.to_string());
            }
        };
        let builder = Builder::new().name(format!("load-{thread}")).stack_size(STACK_BYTES);
        builder.spawn(work).map(drop).map_err(|error| {
            Error::new(Kind::System, format!("cannot start load thread {thread}: {error}"))
                .hint("raise `ulimit -u` or the container's pids limit, or use fewer sessions")
        })
    }

    fn work(&self, thread: usize, moved: Option<(u32, Baggage)>) -> Result<()> {
        let slots: Vec<_> = match moved {
            Some((number, baggage)) => {
                vec![SessionSlot::new(self.shared.moved_session(number, baggage)).arrived()]
            }
            None => (thread as u32..self.sessions)
                .step_by(self.threads)
                .map(|number| SessionSlot::new(self.shared.session(number, thread)))
                .collect(),
        };
        let poller = Epoll::new(slots.len()).map_err(|error| {
            Error::new(Kind::System, format!("the system has no epoll left: {error}"))
                .hint("raise `ulimit -n`, or use fewer sessions")
        })?;
        let scripts = (self.make)(thread)?;
        let crew = self.clone();
        let move_out = move |number, baggage| crew.move_out(number, baggage);
        let connects_max = CONNECTS_MAX.div_ceil(self.threads);
        Worker::new(
            (&MonotonicClock, poller),
            &self.shared,
            (scripts, &move_out),
            (thread, slots),
            connects_max,
        )
        .run()
    }

    /// Starts a thread for one session, which the calling thread has released.
    fn move_out(&self, number: u32, baggage: Baggage) -> Result<()> {
        self.shared.session_moves();
        self.start(self.threads + number as usize, Some((number, baggage)))
            .inspect_err(|_| self.shared.thread_ended())
    }
}

/// Reports the end of its thread when dropped, also after a panic.
struct EndsThread(Arc<Shared>, u32);

impl Drop for EndsThread {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let what = "a load thread failed: this is a defect of dyno-engine, please report it";
            self.0.failed(self.1, what.to_owned());
        }
        self.0.thread_ended();
    }
}
