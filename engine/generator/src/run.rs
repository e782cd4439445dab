//! One trial from plan to last event: build, connect, warm up, measure, drain, stop.

use crate::audit::history::HISTORY;
use crate::audit::log::{Form, Log, LogFile, OUTCOMES};
use crate::machine;
use crate::metrics::hlog::Hlog;
use crate::metrics::notice::Notices;
use crate::metrics::thread::ThreadMetrics;
use crate::reactor::blocking::BlockingWorker;
use crate::reactor::cancel;
use crate::reactor::control::{Control, GroupTargets};
use crate::reactor::plan::worker::Worker;
use crate::report::open_loop::Ending;
use crate::report::watch::{Times, Watch};
use crate::report::{Ended, Names, Reporter};
use crate::setup::build::{
    Built, SessionNumbers, build, group_targets, metrics, slots, tell_examples, worker_count,
};
use crate::setup::check;
use crate::transport::poller::Epoll;
use dyno_core::clock::{Clock, MonotonicClock};
use dyno_core::driver::DriverKind;
use dyno_core::error::{Error, Kind, Result};
use dyno_core::event::Event;
use dyno_core::plan::{Plan, SCHEMA_VERSION};
use dyno_core::workload::WorkloadKind;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, Scope};
use std::time::Duration;

/// Sessions that may be connecting at the same time: below the usual listen backlog of servers.
const CONNECTS_MAX: usize = 64;
/// The start stops waiting after this long without a connected session.
const START_PATIENCE_NS: u64 = 30_000_000_000;
/// Interval at which the reporter checks whether the backlogs are empty.
const DRAIN_LOOK_NS: u64 = 2_000_000;
/// Files that a blocking session may have open: SQLite has the database, its log or journal, a temporary
/// file, and briefly the directory; and there is `audit.log`.
const FILES_A_SESSION: usize = 5;
/// A session's stack size: drivers need little, and thousands of stacks must fit.
const STACK_BYTES: usize = 512 * 1024;

/// Events that end a trial early.
#[derive(Clone, Copy)]
pub struct Ends<'a> {
    /// When it becomes true, the trial ends immediately.
    pub interrupted: &'a AtomicBool,
    /// Whether a request to end the measured phase has come since the last call: the phase then ends with
    /// the interval, and the trial ends normally. Requests before the measured phase are ignored.
    pub enough: &'a (dyn Fn() -> bool + Sync),
}

/// Runs a trial; the result is whether it was interrupted.
///
/// # Errors
/// Before the load begins: an impossible plan, an unreachable system, a refused system resource.
/// Afterwards failures are events, and the reporter reports everything measured.
pub fn run(
    plan: &Plan,
    drivers: &[&DriverKind],
    workloads: &[&WorkloadKind],
    ends: Ends<'_>,
    emit: &(dyn Fn(Event) + Sync),
) -> Result<bool> {
    check::run(plan)?;
    machine::pin(&plan.cpus)?;
    let built = build(plan, drivers, workloads)?;
    let (network, threads) = slots(plan, &built);
    let connections: usize = network.iter().map(|&(group, _)| built[group].connections()).sum();
    let descriptors = connections + FILES_A_SESSION * threads.len();
    machine::allow_descriptors((network.len() + threads.len()) as u64, descriptors as u64)?;
    let workers = worker_count(plan, network.len());
    emit(Event::Start {
        schema_version: SCHEMA_VERSION,
        engine_version: env!("CARGO_PKG_VERSION").to_owned(),
        trial: plan.trial.clone(),
        pid: std::process::id(),
        workers: (workers + threads.len()) as u32,
        cpus: plan.cpus.clone(),
        clock_read_ns: MonotonicClock.read_cost_ns(),
    });
    tell_examples(plan, &built, emit);
    let remarks = built.iter().filter_map(Built::replay).flat_map(|play| play.recording.remarks());
    remarks.for_each(|message| emit(Event::Warning { message }));
    let group_targets = group_targets(plan, &built);
    let mut parts = vec![Vec::new(); workers];
    for (place, slot) in network.into_iter().enumerate() {
        parts[place % workers].push(slot);
    }
    let metrics = metrics(&built, &parts, &threads);
    let trial =
        Trial { plan, built: &built, group_targets: &group_targets, metrics: &metrics, ends, emit };
    trial.drive(&parts, &threads)
}

/// A trial with everything built.
struct Trial<'a> {
    plan: &'a Plan,
    built: &'a [Built],
    group_targets: &'a [GroupTargets<'a>],
    metrics: &'a [ThreadMetrics],
    ends: Ends<'a>,
    emit: &'a (dyn Fn(Event) + Sync),
}

impl Trial<'_> {
    fn drive(&self, parts: &[SessionNumbers], threads: &SessionNumbers) -> Result<bool> {
        let clock = MonotonicClock;
        let (control, cancels) = Control::new(self.plan.groups.len());
        let audit = self.log_form().map(|form| LogFile::create(&self.plan.directory, form));
        let audit = audit.transpose()?;
        let (notices, told) = Notices::new();
        let load_ended = AtomicBool::new(false);
        let names: Vec<Names<'_>> = self
            .plan
            .groups
            .iter()
            .zip(self.built)
            .map(|(group, built)| Names {
                group: group.name.clone(),
                classes: built.classes.names.clone(),
                kinds: built.kinds.clone(),
                due: built.due(),
            })
            .collect();
        std::thread::scope(|scope| {
            // Whatever happens below, the threads must be stopped, or the scope waits for ever.
            let _stop = StopOnDrop(&control, &load_ended);
            let (group_targets, ended) = (self.group_targets, &load_ended);
            let canceller = Builder::new().name("cancel".to_owned());
            canceller
                .spawn_scoped(scope, move || cancel::serve(group_targets, &cancels, ended))
                .map_err(no_thread)?;
            let connecting_ns = clock.now_ns();
            let handles =
                self.spawn(scope, parts, threads, (&control, &notices, audit.as_ref()))?;
            self.wait_for_sessions(&control, connecting_ns)?;
            let origin_ns = clock.now_ns();
            let measure_ns = origin_ns + (self.plan.warmup_s * 1e9) as u64;
            let end_ns = measure_ns + (self.plan.duration_s * 1e9) as u64;
            let start_unix_s = machine::unix_s();
            let intakes = || self.built.iter().filter_map(|built| built.arrival_source.as_ref());
            intakes().for_each(|arrival_source| arrival_source.open(measure_ns, end_ns));
            let playbacks = || self.built.iter().filter_map(Built::replay);
            playbacks().for_each(|replay| replay.open(origin_ns, measure_ns, end_ns));
            let drain_s = if self.is_open() { self.plan.drain_s } else { 0.0 };
            let drain_ns = (drain_s * 1e9) as u64;
            let mut reporter =
                Reporter::new(&names, self.metrics, &told, self.emit, (origin_ns, measure_ns));
            reporter.log_to(Hlog::create(&self.plan.directory.join("latency.hlog"), start_unix_s));
            audit.as_ref().map_or(Ok(()), |file| file.begin(measure_ns))?;
            control.go(origin_ns, measure_ns, end_ns + drain_ns);
            if !self.is_interrupted() {
                (self.emit)(Event::Ready {
                    connect_s: (origin_ns - connecting_ns) as f64 / 1e9,
                    measure_unix_s: start_unix_s + self.plan.warmup_s,
                });
                self.warn_of_missing(&control);
            }
            let interval_ns = (self.plan.interval_s * 1e9) as u64;
            let times = Times { origin_ns, measure_ns, end_ns, interval_ns };
            let is_interrupted = || self.is_interrupted();
            let is_over = || self.is_over();
            let enough = self.ends.enough;
            let watch = Watch { is_interrupted: &is_interrupted, enough, is_over: &is_over };
            let (ended, end_ns) = watch.phases(&mut reporter, times, |end_ns| {
                intakes().for_each(|arrival_source| arrival_source.end_at(end_ns));
                playbacks().for_each(|replay| replay.end_at(end_ns));
                control.end_by(end_ns + drain_ns);
            });
            let finished = ended != Ended::Interrupted;
            self.warn_of_cut();
            let closing = reporter.close(ended);
            if finished {
                drain(&watch, &mut reporter, end_ns + drain_ns);
            }
            control.stop();
            let backends = self.built.iter().flat_map(|built| &built.backends);
            backends.for_each(|backend| backend.driver.stop());
            let stopped_ns = clock.now_ns();
            let mut failure = None;
            for handle in handles {
                match handle.join() {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => failure = Some(error),
                    Err(_) => {
                        failure = Some(Error::new(Kind::System, "a load thread failed").hint(
                            "this is a defect of dyno-engine: please report it with the plan",
                        ));
                    }
                }
            }
            load_ended.store(true, Ordering::Release);
            let ending = if finished {
                Ending { end_ns, stopped_ns: stopped_ns.max(end_ns) }
            } else {
                // Arrivals that fell due while the threads were ending may have begun.
                let now_ns = clock.now_ns();
                Ending { end_ns: now_ns.min(end_ns), stopped_ns: now_ns }
            };
            reporter.finish(&closing, ending, notices.dropped());
            failure.map_or(Ok(!finished), Err)
        })
    }

    /// What the audit's log holds, if there is an audit.
    fn log_form(&self) -> Option<Form> {
        let has = |one: fn(&Built) -> bool| self.built.iter().any(one);
        let outcomes = has(|built| built.audit.is_some()).then_some(OUTCOMES);
        outcomes.or_else(|| has(|built| built.history).then_some(HISTORY))
    }

    fn spawn<'scope, 'env>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        parts: &'env [SessionNumbers],
        threads: &'env SessionNumbers,
        (control, notices, audit): (&'env Control, &'env Notices, Option<&'env LogFile>),
    ) -> Result<Vec<std::thread::ScopedJoinHandle<'scope, Result<()>>>> {
        let mut handles = Vec::with_capacity(self.metrics.len());
        let (network, own) = self.metrics.split_at(parts.len());
        // Otherwise another thread or the server may need the CPU time that spinning wastes.
        let has_own_cpu = self.metrics.len() <= self.plan.cpus.len();
        let only_answers_wake = !self.is_open();
        for (number, (slots, metrics)) in parts.iter().zip(network).enumerate() {
            let connects_max = CONNECTS_MAX.div_ceil(parts.len());
            let log = audit.map(LogFile::writer).transpose()?;
            let work = move || {
                metrics.enter();
                machine::wait_precisely();
                if only_answers_wake {
                    machine::let_servers_go_first();
                }
                let poller = Epoll::new(slots.len()).map_err(|error| {
                    Error::new(Kind::System, format!("the system has no epoll left: {error}"))
                })?;
                let clock = MonotonicClock;
                Worker::new(
                    &clock,
                    poller,
                    control,
                    self.group_targets,
                    metrics,
                    notices,
                    slots,
                    connects_max,
                )
                .audits(log.as_ref())
                .spins(has_own_cpu)
                .run()
                .and_then(|()| log.as_ref().map_or(Ok(()), Log::close))
                // The other threads must not continue to measure without this thread's sessions.
                .inspect_err(|error| {
                    control.gates.iter().for_each(|gate| gate.failed(error.clone()));
                    control.stop();
                })
            };
            let thread = Builder::new().name(format!("load-{number}"));
            handles.push(thread.spawn_scoped(scope, work).map_err(no_thread)?);
        }
        for (&(group, number), metrics) in threads.iter().zip(own) {
            let targets = &self.group_targets[group];
            let log = audit.map(LogFile::writer).transpose()?;
            let work = move || {
                metrics.enter();
                machine::wait_precisely();
                let clock = &MonotonicClock;
                let audit = log.as_ref();
                BlockingWorker { clock, control, targets, metrics, notices, audit, number }.run();
                audit.map_or(Ok(()), Log::close)
            };
            let thread = Builder::new().name(format!("session-{number}")).stack_size(STACK_BYTES);
            handles.push(thread.spawn_scoped(scope, work).map_err(no_thread)?);
        }
        Ok(handles)
    }

    /// Waits until every session is connected or has failed often enough.
    fn wait_for_sessions(&self, control: &Control, started_ns: u64) -> Result<()> {
        let clock = MonotonicClock;
        let (mut last_connected, mut last_progress_ns) = (0, started_ns);
        loop {
            let progress: Vec<(u32, u32)> =
                control.gates.iter().map(|gate| gate.progress()).collect();
            let sessions = self.plan.groups.iter().map(|group| group.sessions);
            if progress.iter().zip(sessions).all(|(&(_, settled), sessions)| settled >= sessions) {
                break;
            }
            let connected: u32 = progress.iter().map(|progress| progress.0).sum();
            let now_ns = clock.now_ns();
            if connected > last_connected {
                (last_connected, last_progress_ns) = (connected, now_ns);
            }
            if now_ns - last_progress_ns > START_PATIENCE_NS
                || self.is_interrupted()
                || control.is_stopped()
            {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        if self.is_interrupted() {
            return Ok(());
        }
        for (group, gate) in self.plan.groups.iter().zip(&control.gates) {
            if gate.progress().0 == 0 {
                let error = gate.failure().unwrap_or_else(|| {
                    Error::new(Kind::Connection, "no session could connect in time")
                        .hint("the server hangs: look into its error log")
                });
                let what = format!("group {}: {}", group.name, error.what);
                return Err(Error { what, ..error });
            }
        }
        Ok(())
    }

    fn warn_of_missing(&self, control: &Control) {
        for (group, gate) in self.plan.groups.iter().zip(&control.gates) {
            let here = gate.progress().0 + gate.spare();
            let missing = group.sessions - here.min(group.sessions);
            if missing > 0 {
                let cause = gate.failure().map_or_else(String::new, |error| format!(": {error}"));
                let message = format!(
                    "{missing} of {} sessions of group {} could not connect{cause}",
                    group.sessions, group.name
                );
                (self.emit)(Event::Warning { message });
            }
        }
    }

    /// Warns of replays at full speed that did not reach their end.
    fn warn_of_cut(&self) {
        for (group, built) in self.plan.groups.iter().zip(self.built) {
            let replay = built.replay().filter(|play| !play.recording.is_paced());
            let Some(replay) = replay.filter(|play| !play.is_over(group.sessions)) else {
                continue;
            };
            let (left, all) = (replay.unclaimed(), replay.recording.sessions());
            let message = format!(
                "replay: the time was over before the recording: {left} of {all} sessions had not \
                 begun, and others had not ended; give a longer `duration`"
            );
            (self.emit)(Event::Warning { message });
        }
    }

    /// Whether any group is an open loop.
    fn is_open(&self) -> bool {
        self.built.iter().any(|built| built.due().is_some())
    }

    /// Whether nothing is left to do: all groups replay at full speed and have reached the end of their
    /// recordings.
    fn is_over(&self) -> bool {
        let mut groups = self.plan.groups.iter().zip(self.built);
        groups.all(|(group, built)| {
            built.due().is_none()
                && built.replay().is_some_and(|replay| replay.is_over(group.sessions))
        })
    }

    fn is_interrupted(&self) -> bool {
        self.ends.interrupted.load(Ordering::Relaxed)
    }
}

/// Lets the load threads process the backlogs of open loops until none is left, until `until_ns`, or
/// until a signal. Closed loops continue uncounted, so that arrivals due under their load are also
/// served under it.
pub fn drain<W: Write>(watch: &Watch<'_>, reporter: &mut Reporter<'_, W>, until_ns: u64) {
    while MonotonicClock.now_ns() < until_ns && !reporter.is_drained() {
        if !watch.sleep_until(until_ns.min(MonotonicClock.now_ns() + DRAIN_LOOK_NS)) {
            break;
        }
        reporter.tell_notices();
    }
}

struct StopOnDrop<'a>(&'a Control, &'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.stop();
        self.1.store(true, Ordering::Release);
    }
}

fn no_thread(error: std::io::Error) -> Error {
    Error::new(Kind::System, format!("cannot start a load thread: {error}"))
        .hint("raise `ulimit -u` or the container's pids limit, or use fewer sessions")
}
