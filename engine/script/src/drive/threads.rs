//! Load threads: started, and left to themselves. Nobody joins them, since a script may never
//! return; each says when it has ended.

use super::Drive;
use super::seat::SESSIONS_MAX;
use super::shared::Shared;
use super::worker::Worker;
use crate::session::MakeScripts;
use dyno_core::clock::MonotonicClock;
use dyno_core::error::{Error, Kind, Result};
use dyno_load::machine;
use dyno_load::poller::Epoll;
use std::sync::Arc;
use std::thread::Builder;

/// Connections that may be under way at the same time, of all threads: below any server's usual
/// backlog.
const CONNECTS_MAX: usize = 64;
/// A load thread's stack: scripts have their own.
const STACK_BYTES: usize = 1024 * 1024;

/// Starts all load threads of `drive`; session n belongs to thread n modulo their number.
///
/// # Errors
/// [`Kind::Plan`] for more sessions than threads can carry, [`Kind::System`] when there can be no
/// more threads; those that were started are told to end.
pub(crate) fn start(drive: &Drive, threads: usize, shared: &Arc<Shared>) -> Result<()> {
    if (drive.sessions as usize).div_ceil(threads) > SESSIONS_MAX {
        return Err(Error::new(Kind::Plan, "too many sessions").hint(format!(
            "a load thread carries {SESSIONS_MAX}: use fewer sessions or more CPUs"
        )));
    }
    for thread in 0..threads {
        let (shared, make) = (Arc::clone(shared), Arc::clone(&drive.make));
        let sessions = drive.sessions;
        let numbers = move || (thread as u32..sessions).step_by(threads);
        let connects_max = CONNECTS_MAX.div_ceil(threads);
        let on_failure = Arc::clone(&shared);
        let work = move || {
            let ends = EndsThread(shared, thread as u32);
            machine::wait_precisely();
            let outcome = work(&ends.0, &*make, thread, numbers(), connects_max);
            if let Err(error) = outcome {
                ends.0.failed(thread as u32, error.to_string());
            }
        };
        let builder = Builder::new().name(format!("load-{thread}")).stack_size(STACK_BYTES);
        builder.spawn(work).map_err(|error| {
            on_failure.cut();
            Error::new(Kind::System, format!("cannot start load thread {thread}: {error}"))
                .hint("raise `ulimit -u` or the container's pids limit, or use fewer sessions")
        })?;
    }
    Ok(())
}

fn work(
    shared: &Shared,
    make: &MakeScripts,
    thread: usize,
    numbers: impl ExactSizeIterator<Item = u32>,
    connects_max: usize,
) -> Result<()> {
    let poller = Epoll::new(numbers.len()).map_err(|error| {
        Error::new(Kind::System, format!("the system has no epoll left: {error}"))
            .hint("raise `ulimit -n`, or use fewer sessions")
    })?;
    let scripts = make(thread)?;
    Worker::new((&MonotonicClock, poller), shared, scripts, thread, numbers, connects_max).run()
}

/// Says that its thread has ended, however it did.
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
