//! One trial from plan to last event: build, connect, warm up, measure, stop. Reads like the table
//! of contents of this crate.

use crate::blocking::BlockingWorker;
use crate::control::{Control, Lane};
use crate::endpoint::Endpoint;
use crate::example::{CLASSES_MAX, Classes, classes, examples};
use crate::hlog::Hlog;
use crate::notice::Notices;
use crate::poller::Epoll;
use crate::recorder::Recorder;
use crate::report::{Names, Reporter, TICK_NS};
use crate::session::Shape;
use crate::worker::Worker;
use crate::{cancel, check, machine};
use dyno_core::clock::{Clock, MonotonicClock};
use dyno_core::driver::{Driver, DriverKind, Session};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::event::Event;
use dyno_core::plan::{Group, Plan, SCHEMA_VERSION};
use dyno_core::workload::{Order, Statement, Workload, WorkloadKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, Scope};
use std::time::Duration;

/// Sessions that may be connecting at the same time: below any server's usual backlog.
const CONNECTS_MAX: usize = 64;
/// With nobody connected for this long, the start waits no longer.
const START_PATIENCE_NS: u64 = 30_000_000_000;
/// Longest sleep of the reporter: bounds how late a signal is noticed.
const SLEEP_MAX: Duration = Duration::from_millis(10);
/// Files that a blocking session may hold: SQLite has the database, its log or journal, a temporary
/// one, and for a moment the directory.
const FILES_A_SESSION: usize = 4;
/// A session's stack; drivers need little, and thousands must fit.
const STACK_BYTES: usize = 512 * 1024;

/// How a group's sessions are driven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nature {
    Network,
    Thread { in_process: bool },
}

/// A group's parts, built and owned for the whole trial.
struct Built {
    workload: Box<dyn Workload>,
    driver: Box<dyn Driver>,
    statements: Arc<[Statement]>,
    endpoint: Option<Endpoint>,
    nature: Nature,
    classes: Classes,
}

/// Runs a trial. `interrupted` ends it early when it becomes true; the result says whether it did.
///
/// # Errors
/// Before the load begins: an impossible plan, a system that cannot be reached, a machine that
/// refuses. Afterwards troubles are events, and everything measured is reported.
pub fn run(
    plan: &Plan,
    drivers: &[&DriverKind],
    workloads: &[&WorkloadKind],
    interrupted: &AtomicBool,
    emit: &(dyn Fn(Event) + Sync),
) -> Result<bool> {
    check::run(plan)?;
    machine::pin(&plan.cpus)?;
    let mut classes_left = CLASSES_MAX;
    let built = plan
        .groups
        .iter()
        .map(|group| build(plan, group, drivers, workloads, &mut classes_left))
        .collect::<Result<Vec<Built>>>()?;
    let (network, threads) = seats(plan, &built);
    let descriptors = network.len() + FILES_A_SESSION * threads.len();
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
    tell_examples(plan, &built, drivers, emit);
    let lanes = lanes(plan, &built);
    let mut parts = vec![Vec::new(); workers];
    for (place, seat) in network.into_iter().enumerate() {
        parts[place % workers].push(seat);
    }
    let recorders = recorders(&built, &parts, &threads);
    let trial =
        Trial { plan, built: &built, lanes: &lanes, recorders: &recorders, interrupted, emit };
    trial.drive(&parts, &threads)
}

fn build(
    plan: &Plan,
    group: &Group,
    drivers: &[&DriverKind],
    workloads: &[&WorkloadKind],
    classes_left: &mut usize,
) -> Result<Built> {
    let inside =
        |error: Error| Error { what: format!("groups.{}: {}", group.name, error.what), ..error };
    let target = &plan.targets[&group.target];
    let driver_kind = drivers.iter().find(|kind| kind.name == target.driver).ok_or_else(|| {
        let known: Vec<&str> = drivers.iter().map(|kind| kind.name).collect();
        Error::new(
            Kind::Plan,
            format!("targets.{}: there is no driver {}", group.target, target.driver),
        )
        .hint(format!("this engine has {}", known.join(", ")))
    })?;
    let workload_kind =
        workloads.iter().find(|kind| kind.name == group.workload).ok_or_else(|| {
            let known: Vec<&str> = workloads.iter().map(|kind| kind.name).collect();
            inside(
                Error::new(Kind::Plan, format!("there is no workload {}", group.workload))
                    .hint(format!("this engine has {}", known.join(", "))),
            )
        })?;
    let workload = (workload_kind.build)(&Order {
        options: &group.options,
        dialect: driver_kind.dialect,
        seed: plan.seed,
        sessions: group.sessions,
    })
    .map_err(inside)?;
    let statements: Arc<[Statement]> = workload.statements().into();
    let driver = (driver_kind.build)(target, Arc::clone(&statements)).map_err(inside)?;
    let (endpoint, nature) = match driver.session(0).map_err(inside)? {
        Session::Wire(_) => (Some(Endpoint::resolve(target).map_err(inside)?), Nature::Network),
        Session::Timed(_) => (None, Nature::Network),
        Session::Blocking(_) => (None, Nature::Thread { in_process: driver.in_process() }),
    };
    let classes = classes(&statements, classes_left);
    Ok(Built { workload, driver, statements, endpoint, nature, classes })
}

fn tell_examples(
    plan: &Plan,
    built: &[Built],
    drivers: &[&DriverKind],
    emit: &(dyn Fn(Event) + Sync),
) {
    for (group, parts) in plan.groups.iter().zip(built) {
        let driver = &plan.targets[&group.target].driver;
        let Some(kind) = drivers.iter().find(|kind| kind.name == driver) else { continue };
        for (class, sql) in examples(&*parts.workload, &parts.statements, kind.dialect) {
            emit(Event::Statement { group: group.name.clone(), class, sql });
        }
    }
}

fn lanes<'a>(plan: &Plan, built: &'a [Built]) -> Vec<Lane<'a>> {
    let lane = |(number, (group, parts)): (usize, (&Group, &'a Built))| Lane {
        shape: Shape {
            group: number,
            sessions: group.sessions,
            period_ns: group.arrivals.as_ref().map(|a| 1e9 / a.steps[0].from_per_s),
            deadline_ns: (group.deadline_s * 1e9) as u64,
            retries: group.retries,
            seed: plan.seed,
            workload: &*parts.workload,
            kinds: parts.statements.iter().map(|statement| statement.kind).collect(),
            class_of: parts.classes.of.clone(),
        },
        driver: &*parts.driver,
        endpoint: parts.endpoint.as_ref(),
    };
    plan.groups.iter().zip(built).enumerate().map(lane).collect()
}

type Seats = Vec<(usize, u32)>;

/// Sessions (group, number) for network workers, and those with a thread each.
fn seats(plan: &Plan, built: &[Built]) -> (Seats, Seats) {
    let all = plan.groups.iter().enumerate();
    let all = all.flat_map(|(group, g)| (0..g.sessions).map(move |number| (group, number)));
    all.partition(|&(group, _)| built[group].nature == Nature::Network)
}

fn worker_count(plan: &Plan, sessions: usize) -> usize {
    let wanted = match (plan.workers as usize, plan.cpus.len()) {
        (0, 0) => machine::cpus_usable(),
        (0, cpus) => cpus,
        (workers, _) => workers,
    };
    wanted.min(sessions)
}

/// One for each load thread: network workers first.
fn recorders(built: &[Built], parts: &[Seats], threads: &Seats) -> Vec<Recorder> {
    let recorder = |serves: &dyn Fn(usize) -> bool, in_process: bool| {
        let classes = built.iter().enumerate();
        let classes = classes.map(|(g, b)| if serves(g) { b.classes.names.len() } else { 0 });
        Recorder::new(classes, in_process)
    };
    let network = parts
        .iter()
        .map(|seats| recorder(&|group| seats.iter().any(|seat| seat.0 == group), false));
    let threads = threads.iter().map(|&(group, _)| {
        recorder(&|g| g == group, built[group].nature == Nature::Thread { in_process: true })
    });
    network.chain(threads).collect()
}

/// A trial with everything built.
struct Trial<'a> {
    plan: &'a Plan,
    built: &'a [Built],
    lanes: &'a [Lane<'a>],
    recorders: &'a [Recorder],
    interrupted: &'a AtomicBool,
    emit: &'a (dyn Fn(Event) + Sync),
}

impl Trial<'_> {
    fn drive(&self, parts: &[Seats], threads: &Seats) -> Result<bool> {
        let clock = MonotonicClock;
        let (control, cancels) = Control::new(self.plan.groups.len());
        let (notices, told) = Notices::new();
        let load_ended = AtomicBool::new(false);
        let names: Vec<Names> = self
            .plan
            .groups
            .iter()
            .zip(self.built)
            .map(|(group, built)| Names {
                group: group.name.clone(),
                classes: built.classes.names.clone(),
            })
            .collect();
        std::thread::scope(|scope| {
            // Whatever happens below, the threads must be told to end, or the scope waits for ever.
            let _stop = StopOnDrop(&control, &load_ended);
            let (lanes, ended) = (self.lanes, &load_ended);
            let canceller = Builder::new().name("cancel".to_owned());
            canceller
                .spawn_scoped(scope, move || cancel::serve(lanes, &cancels, ended))
                .map_err(no_thread)?;
            let connecting_ns = clock.now_ns();
            let handles = self.spawn(scope, parts, threads, &control, &notices)?;
            self.wait_for_sessions(&control, connecting_ns)?;
            let origin_ns = clock.now_ns();
            let measure_ns = origin_ns + (self.plan.warmup_s * 1e9) as u64;
            let end_ns = measure_ns + (self.plan.duration_s * 1e9) as u64;
            let start_unix_s = machine::unix_s();
            let mut reporter =
                Reporter::new(&names, self.recorders, &told, self.emit, (origin_ns, measure_ns));
            reporter.log_to(Hlog::create(&self.plan.directory.join("latency.hlog"), start_unix_s));
            control.go(origin_ns, measure_ns, end_ns);
            if !self.interrupted.load(Ordering::Relaxed) {
                (self.emit)(Event::Ready {
                    connect_s: (origin_ns - connecting_ns) as f64 / 1e9,
                    measure_unix_s: start_unix_s + self.plan.warmup_s,
                });
                self.warn_of_missing(&control);
            }
            let interval_ns = (self.plan.interval_s * 1e9) as u64;
            let mut finished = true;
            if measure_ns > origin_ns {
                finished = self.report(&mut reporter, origin_ns, measure_ns, interval_ns);
            }
            if finished {
                reporter.begin_measuring();
                finished = self.report(&mut reporter, measure_ns, end_ns, interval_ns);
            }
            let closing = reporter.close();
            control.stop();
            self.built.iter().for_each(|built| built.driver.stop());
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
            reporter.finish(&closing, notices.dropped(), !finished);
            failure.map_or(Ok(!finished), Err)
        })
    }

    fn spawn<'scope, 'env>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        parts: &'env [Seats],
        threads: &'env Seats,
        control: &'env Control,
        notices: &'env Notices,
    ) -> Result<Vec<std::thread::ScopedJoinHandle<'scope, Result<()>>>> {
        let mut handles = Vec::with_capacity(self.recorders.len());
        let (network, own) = self.recorders.split_at(parts.len());
        for (number, (seats, recorder)) in parts.iter().zip(network).enumerate() {
            let connects_max = CONNECTS_MAX.div_ceil(parts.len());
            let work = move || {
                recorder.enter();
                machine::wait_precisely();
                let poller = Epoll::new(seats.len()).map_err(|error| {
                    Error::new(Kind::System, format!("the system has no epoll left: {error}"))
                })?;
                let clock = MonotonicClock;
                Worker::new(
                    &clock,
                    poller,
                    control,
                    self.lanes,
                    recorder,
                    notices,
                    seats,
                    connects_max,
                )
                .run()
                // The others must not measure on without this thread's sessions.
                .inspect_err(|error| {
                    control.gates.iter().for_each(|gate| gate.failed(error.clone()));
                    control.stop();
                })
            };
            let thread = Builder::new().name(format!("load-{number}"));
            handles.push(thread.spawn_scoped(scope, work).map_err(no_thread)?);
        }
        for (&(group, number), recorder) in threads.iter().zip(own) {
            let lane = &self.lanes[group];
            let work = move || {
                recorder.enter();
                machine::wait_precisely();
                let clock = &MonotonicClock;
                BlockingWorker { clock, control, lane, recorder, notices, number }.run();
                Ok(())
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
                || self.interrupted.load(Ordering::Relaxed)
                || control.is_stopped()
            {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        if self.interrupted.load(Ordering::Relaxed) {
            return Ok(());
        }
        for (group, gate) in self.plan.groups.iter().zip(&control.gates) {
            if gate.progress().0 == 0 {
                let error = gate.failure().unwrap_or_else(|| {
                    Error::new(Kind::Connection, "no session could connect in time")
                        .hint("the server hangs: look into its error log")
                });
                let what =
                    format!("trial {}: group {}: {}", self.plan.trial, group.name, error.what);
                return Err(Error { what, ..error });
            }
        }
        Ok(())
    }

    fn warn_of_missing(&self, control: &Control) {
        for (group, gate) in self.plan.groups.iter().zip(&control.gates) {
            let missing = group.sessions - gate.progress().0.min(group.sessions);
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

    /// Ticks and intervals of one phase; false when interrupted, after a last, shorter interval.
    fn report<W: std::io::Write>(
        &self,
        reporter: &mut Reporter<'_, W>,
        start_ns: u64,
        end_ns: u64,
        interval_ns: u64,
    ) -> bool {
        let clock = MonotonicClock;
        let mut interval_start_ns = start_ns;
        while interval_start_ns < end_ns {
            // A rest shorter than half a tick belongs to the last interval.
            let mut interval_end_ns = interval_start_ns + interval_ns;
            if interval_end_ns + TICK_NS / 2 > end_ns {
                interval_end_ns = end_ns;
            }
            let mut tick_ns = interval_start_ns + TICK_NS;
            while tick_ns + TICK_NS / 2 <= interval_end_ns {
                if !self.sleep_until(tick_ns) {
                    reporter.interval(clock.now_ns(), true);
                    return false;
                }
                reporter.tick(clock.now_ns());
                tick_ns += TICK_NS;
            }
            let finished = self.sleep_until(interval_end_ns);
            reporter.interval(clock.now_ns(), !finished || interval_end_ns == end_ns);
            if !finished {
                return false;
            }
            interval_start_ns = interval_end_ns;
        }
        true
    }

    fn sleep_until(&self, until_ns: u64) -> bool {
        loop {
            if self.interrupted.load(Ordering::Relaxed) {
                return false;
            }
            let left = Duration::from_nanos(until_ns.saturating_sub(MonotonicClock.now_ns()));
            if left.is_zero() {
                return true;
            }
            std::thread::sleep(left.min(SLEEP_MAX));
        }
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
