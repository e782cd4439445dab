//! The job `run` of a script: one trial from its `init` to the last event of the stream.
//!
//! A separate thread waits for the load; this thread reports, as for any other workload.

use super::only_group;
use super::order::Order;
use crate::command::call::Kinds;
use crate::drive::progress::{Observer, Progress};
use crate::drive::{self, Drive, Ended as LoadEnded, Ending as LoadEnding, Times as LoadTimes};
use crate::pace::Pace;
use crate::session::Program;
use crate::tally::{Tallies, Trial};
use dyno_core::clock::{Clock, MonotonicClock};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::event::Event;
use dyno_core::plan::{Group, Plan, SCHEMA_VERSION};
use dyno_generator::machine;
use dyno_generator::metrics::hlog::Hlog;
use dyno_generator::metrics::notice::{Notice, Notices};
use dyno_generator::pacing::arrivals::Stream;
use dyno_generator::pacing::due_count::DueCount;
use dyno_generator::report::open_loop::Ending;
use dyno_generator::report::watch::{Times, Watch};
use dyno_generator::report::{Ended, Names, Reporter};
use dyno_generator::run::{Ends, drain};
use dyno_generator::setup::check;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Time limit for sessions to begin: a longer time means that the system hangs.
const START_MAX: Duration = Duration::from_secs(30);
/// Time limit for an event after the measured phase; then its statements are cancelled.
const GRACE: Duration = Duration::from_secs(5);
/// Interval between checks for a signal while no report is due.
const LOOK: Duration = Duration::from_millis(10);

/// Runs a trial; the result says whether it was interrupted.
///
/// # Errors
/// An error in the plan or the script; a failure of sessions; sessions that end before the end of the
/// measured time.
pub fn run(plan: &Plan, kinds: Kinds, ends: Ends<'_>, emit: &dyn Fn(Event)) -> Result<bool> {
    check::run(plan)?;
    let group = only_group(plan)?;
    check_group(group)?;
    machine::pin(&plan.cpus)?;
    let mut order = Order::of(plan, group, kinds, "run", group.sessions)?;
    if let Some(obstacle) = order.script.obstacle() {
        return Err(Error::new(Kind::Plan, obstacle).hint("a trial runs its event()"));
    }
    order.script.call("init").map_err(failed)?;
    let threads = order.threads(&Program::Run, group.sessions, plan);
    emit(Event::Start {
        schema_version: SCHEMA_VERSION,
        engine_version: env!("CARGO_PKG_VERSION").to_owned(),
        trial: plan.trial.clone(),
        pid: std::process::id(),
        workers: threads as u32,
        cpus: plan.cpus.clone(),
        clock_read_ns: MonotonicClock.read_cost_ns(),
    });
    let (notices, told) = Notices::new();
    let load = Load::start(drive(plan, group, &order, threads, notices))?;
    let interrupted = report(plan, group, &load, &told, ends, emit)?;
    order.script.call("done").map_err(failed)?;
    Ok(interrupted)
}

/// What other workloads know and scripts do not.
fn check_group(group: &Group) -> Result<()> {
    let refuse = |what: &str, hint: &str| {
        let what = format!("groups.{}.{what}", group.name);
        Err(Error::new(Kind::Plan, what).hint(hint))
    };
    if group.think.is_some() {
        return refuse("think: a script pauses by itself", "remove it");
    }
    Ok(())
}

fn drive(plan: &Plan, group: &Group, order: &Order, threads: usize, notices: Notices) -> Drive {
    let in_process = !order.shares_threads;
    let tallies = Tallies::new(group.sessions as usize, threads).for_trial(in_process, notices);
    Drive {
        make: order.script.workers(&Program::Run, threads),
        program: Program::Run,
        sessions: group.sessions,
        shares_threads: order.shares_threads,
        threads,
        servers: Arc::clone(&order.servers),
        tallies: Arc::new(tallies),
        pace: Arc::new(pace(plan, group)),
        times: LoadTimes {
            warmup: Duration::from_secs_f64(plan.warmup_s),
            // The reporter says when: threads that ended before it looks would take their CPU times
            // with them.
            length: None,
            grace: GRACE,
            ask_after: Duration::MAX,
            start_max: START_MAX,
        },
        cpus: plan.cpus.clone(),
    }
}

/// Creates the pace: at full speed, or by due times.
fn pace(plan: &Plan, group: &Group) -> Pace {
    match &group.arrivals {
        // The script is the only group of its trial.
        Some(arrivals) => {
            let stream = Stream::new(arrivals, plan.seed, 0, plan.warmup_s);
            Pace::trial(stream, (plan.duration_s * 1e9) as u64)
        }
        None => Pace::new(0, None, plan.warmup_s),
    }
}

/// The load; another thread waits for it.
struct Load {
    drive: Drive,
    started: Receiver<Progress>,
    is_over: Arc<AtomicBool>,
    failure: Arc<Mutex<Option<String>>>,
    thread: Mutex<Option<JoinHandle<Result<LoadEnded>>>>,
}

impl Load {
    fn start(drive: Drive) -> Result<Self> {
        let (sender, started) = channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let failure = Arc::default();
        let mut told = Told { started: sender, failure: Arc::clone(&failure) };
        let (carried, over) = (drive.clone(), Arc::clone(&is_over));
        let work = move || {
            let ended = drive::run(&carried, &mut told);
            over.store(true, Ordering::Release);
            ended
        };
        let thread = Builder::new()
            .name("wait".to_owned())
            .spawn(work)
            .map_err(|error| Error::new(Kind::System, format!("cannot start a thread: {error}")))?;
        Ok(Self { drive, started, is_over, failure, thread: Mutex::new(Some(thread)) })
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Waits for the begin of the load and returns its time; none: it will not begin.
    fn wait_for_start(&self, interrupted: &AtomicBool) -> Option<Progress> {
        loop {
            if let Ok(at) = self.started.recv_timeout(LOOK) {
                return Some(at);
            }
            if self.is_over() {
                return self.started.try_recv().ok();
            }
            if interrupted.load(Ordering::Relaxed) {
                return None;
            }
        }
    }

    /// Stops new events and waits for those in progress. Returns the result of the load.
    fn end(&self) -> Result<LoadEnded> {
        self.drive.pace.stop();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let defect = || Error::new(Kind::System, "the thread that waits for the load failed");
        let ended = thread.ok_or_else(defect)?.join().map_err(|_| defect())??;
        match self.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(message) => Err(failed(message)),
            None => Ok(ended),
        }
    }
}

/// Forwards the begin of the load, and the first failure.
struct Told {
    started: Sender<Progress>,
    failure: Arc<Mutex<Option<String>>>,
}

impl Observer for Told {
    fn started(&mut self, at: &Progress) {
        // The receiver may have ended already.
        let _ = self.started.send(*at);
    }

    fn failed(&mut self, _number: u32, message: &str) {
        let mut first = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| message.to_owned());
    }
}

/// The stream of the trial; whether it was interrupted.
fn report(
    plan: &Plan,
    group: &Group,
    load: &Load,
    told: &Receiver<Notice>,
    ends: Ends<'_>,
    emit: &dyn Fn(Event),
) -> Result<bool> {
    let connecting_ns = MonotonicClock.now_ns();
    let Some(Trial { metrics, notices }) = &load.drive.tallies.trial else { return Ok(false) };
    let Some(at) = load.wait_for_start(ends.interrupted) else {
        let ended = load.end()?;
        return match ended.how {
            LoadEnding::NotStarted { missing } if !ends.interrupted.load(Ordering::Relaxed) => {
                let what = format!("{missing} of {} sessions did not begin", group.sessions);
                Err(Error::new(Kind::Connection, what)
                    .hint("the server hangs, or thread_init does: look into its error log"))
            }
            _ => Ok(true),
        };
    };
    let since_start_s = (MonotonicClock.now_ns() - at.started_ns) as f64 / 1e9;
    let start_unix_s = machine::unix_s() - since_start_s;
    let arrival_source = load.drive.pace.arrival_source();
    let due = arrival_source.map(DueCount::Drawn);
    let names = [Names { group: group.name.clone(), classes: Vec::new(), kinds: Vec::new(), due }];
    let mut reporter = Reporter::new(&names, metrics, told, emit, (at.started_ns, at.origin_ns));
    reporter.log_to(Hlog::create(&plan.directory.join("latency.hlog"), start_unix_s));
    emit(Event::Ready {
        connect_s: at.started_ns.saturating_sub(connecting_ns) as f64 / 1e9,
        measure_unix_s: start_unix_s + plan.warmup_s,
    });
    let is_interrupted = || ends.interrupted.load(Ordering::Relaxed) || load.is_over();
    let is_over = || false;
    let watch = Watch { is_interrupted: &is_interrupted, enough: ends.enough, is_over: &is_over };
    let times = Times {
        origin_ns: at.started_ns,
        measure_ns: at.origin_ns,
        end_ns: at.origin_ns + (plan.duration_s * 1e9) as u64,
        interval_ns: (plan.interval_s * 1e9) as u64,
    };
    let (ended, end_ns) = watch.phases(&mut reporter, times, |end_ns| {
        arrival_source.inspect(|arrival_source| arrival_source.end_at(end_ns));
    });
    let closing = reporter.close(ended);
    if arrival_source.is_some() && ended != Ended::Interrupted {
        drain(&watch, &mut reporter, end_ns + (plan.drain_s * 1e9) as u64);
    }
    let at_end = load.end()?;
    let is_interrupted = ends.interrupted.load(Ordering::Relaxed);
    if ended == Ended::Interrupted && !is_interrupted {
        let after_s = (at_end.measured.1.saturating_sub(at.started_ns)) as f64 / 1e9;
        let what = format!("all sessions of the script have ended after {after_s:.1} s");
        return Err(Error::new(Kind::Plan, what)
            .hint("a trial needs events until its time is over: event() must not return a value"));
    }
    if arrival_source.is_some() && at_end.abandoned > 0 {
        let what = format!("{} load threads hang in the script or a library", at_end.abandoned);
        return Err(Error::new(Kind::Server, what)
            .hint("with a rate a trial tells what became of each event: shorten what blocks"));
    }
    if let LoadEnding::Forced { unfinished } = at_end.how {
        let message = format!(
            "{unfinished} sessions had an event under way {} s after the end: it was cancelled",
            GRACE.as_secs()
        );
        emit(Event::Warning { message });
    }
    let now_ns = MonotonicClock.now_ns();
    let end_ns = if ended == Ended::Interrupted { end_ns.min(now_ns) } else { end_ns };
    let ending = Ending { end_ns, stopped_ns: now_ns.max(end_ns) };
    reporter.finish(&closing, ending, notices.dropped());
    Ok(ended == Ended::Interrupted)
}

fn failed(message: impl std::fmt::Display) -> Error {
    Error::new(Kind::Server, format!("the script failed: {message}"))
        .hint("mysql-ignore-errors and the like say after which errors an event begins again")
}
