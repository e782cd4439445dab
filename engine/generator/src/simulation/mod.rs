//! Exact tests of sessions, arrivals, retries, deadlines and metrics: the real worker in simulated time
//! with scripted answers. This file is the harness.

mod audit;
mod closed;
mod history;
mod open;
mod pipeline;
mod replay;
mod staged;
mod unread;

use crate::audit::history::HISTORY;
use crate::audit::log::{LogFile, OUTCOMES};
use crate::audit::workload::Carrier;
use crate::metrics::group::GroupMetrics;
use crate::metrics::notice::{Notice, Notices};
use crate::metrics::thread::ThreadMetrics;
use crate::metrics::totals::Totals;
use crate::pacing::arrival_source::ArrivalSource;
use crate::pacing::arrivals::Stream;
use crate::pacing::due_count::DueCount;
use crate::pacing::replay::{Replay, ReplayState};
use crate::pacing::think_time::ThinkTime;
use crate::reactor::control::{Control, GroupTargets, Server};
use crate::reactor::plan::worker::Worker;
use crate::reactor::turn::closing::Closing;
use crate::report::open_loop::{Ending, OpenHistograms, OpenLoop};
use crate::session::GroupConfig;
use crate::transport::poller::{Poller, Ready, SimulatedPoller};
use dyno_core::clock::{Clock, SimulatedClock};
use dyno_core::driver::{Driver, Reply, ServerError, Session, Timed};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::event::OpenTotal;
use dyno_core::histogram::Histogram;
use dyno_core::plan::{Arrivals, Think as ThinkPlan};
use dyno_core::workload::rows::Rows;
use dyno_core::workload::{Effect, Op, Request, RowSink, Table, Transaction, Value, Workload};
use std::collections::BTreeMap;
use std::os::fd::RawFd;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
/// Simulated time begins here, since 0 means "not begun".
const ORIGIN: u64 = 5 * SECOND;

/// BEGIN, a write, COMMIT; the write's parameter is the transaction's number.
struct Three;

impl Workload for Three {
    fn requests(&self) -> Vec<Request> {
        let statement = |class, kind| Request::new(class, kind, "", vec![]);
        vec![
            statement("begin", Effect::BeginWrite),
            statement("write", Effect::Write),
            statement("commit", Effect::Commit),
        ]
    }
    fn fill(&self, _session: u32, index: u64, tx: &mut Transaction) {
        tx.op(0);
        tx.int(index as i64);
        tx.op(1);
        tx.op(2);
    }
    fn changes_data(&self) -> bool {
        true
    }
    fn tables(&self) -> Vec<Table> {
        vec![]
    }
    fn rows(&self, _: usize, _: std::ops::Range<u64>, _: &mut dyn RowSink) {}
}

/// One read without a transaction; its parameters are the numbers of session and transaction.
struct One;

impl Workload for One {
    fn requests(&self) -> Vec<Request> {
        vec![Request::new("read", Effect::Read, "", vec![])]
    }
    fn fill(&self, session: u32, index: u64, tx: &mut Transaction) {
        tx.int(i64::from(session));
        tx.int(index as i64);
        tx.op(0);
    }
    fn changes_data(&self) -> bool {
        false
    }
    fn tables(&self) -> Vec<Table> {
        vec![]
    }
    fn rows(&self, _: usize, _: std::ops::Range<u64>, _: &mut dyn RowSink) {}
}

/// Answer of a scripted system to a call: the delay in ns, and the refusal if there is one.
type Script = fn(call: Call<'_>) -> (u64, Option<ServerError>);
/// The same, with the rows of a statement that keeps them.
type Answers = fn(call: Call<'_>) -> (u64, Option<ServerError>, Rows);

/// Script of the simulated system.
#[derive(Clone, Copy)]
enum Plot {
    Script(Script),
    Answers(Answers),
}

impl Plot {
    fn answer(self, call: Call<'_>) -> (u64, Option<ServerError>, Rows) {
        match self {
            Self::Answers(answers) => answers(call),
            Self::Script(script) => {
                let (delay_ns, error) = script(call);
                (delay_ns, error, Rows::default())
            }
        }
    }
}

/// Call `number` of a connection, at `at_ns` since the start of the measured phase.
#[derive(Clone, Copy)]
struct Call<'a> {
    number: u64,
    at_ns: i64,
    op: &'a Op,
    tx: &'a Transaction,
}

impl Call<'_> {
    /// Parameter `place` of the operation.
    fn value(&self, place: usize) -> i64 {
        match self.tx.values_of(self.op)[place] {
            Value::Int(value) => value,
            ref other => panic!("no number: {other:?}"),
        }
    }
}

/// A request that was sent.
#[derive(Debug, Clone, PartialEq)]
struct Sent {
    at_ns: i64,
    request: u16,
    values: Vec<Value>,
}

type Log = Arc<Mutex<Vec<Sent>>>;

struct Scripted {
    plot: Plot,
    log: Log,
}

struct ScriptedSession {
    plot: Plot,
    log: Log,
    calls: u64,
}

impl Driver for Scripted {
    fn session(&self, _session: u32) -> Result<Session> {
        let log = Arc::clone(&self.log);
        Ok(Session::Timed(Box::new(ScriptedSession { plot: self.plot, log, calls: 0 })))
    }
}

impl Timed for ScriptedSession {
    fn execute(&mut self, op: &Op, tx: &Transaction, t_s: f64) -> (Duration, Reply) {
        let at_ns = (t_s * 1e9).round() as i64;
        let values = tx.values_of(op).to_vec();
        self.log.lock().unwrap().push(Sent { at_ns, request: op.request, values });
        let (delay_ns, error, kept) = self.plot.answer(Call { number: self.calls, at_ns, op, tx });
        self.calls += 1;
        let error = error.map(Box::new);
        (Duration::from_nanos(delay_ns), Reply { rows: 1, affected: 0, error, kept })
    }
}

fn refusal(code: &str, retryable: bool, rolled_back: bool) -> Option<ServerError> {
    let (code, message) = (code.into(), "scripted".into());
    Some(ServerError { code, message, retryable, rolled_back, ..ServerError::default() })
}

/// Advances simulated time; pauses at one time, and ends the load at another.
struct EndingPoller<'a> {
    time: SimulatedPoller,
    control: &'a Control,
    pauses: Vec<u64>,
    end_ns: u64,
}

impl Poller for EndingPoller<'_> {
    fn wait(&mut self, now: u64, until: u64, ready: &mut Vec<Ready>) -> std::io::Result<bool> {
        if let Some(pause_ns) = self.pauses.last().copied().filter(|&at_ns| until >= at_ns) {
            self.pauses.pop();
            self.time.wait(now, pause_ns, ready)?;
            return Err(std::io::Error::other("a pause"));
        }
        if until >= self.end_ns {
            self.control.stop();
        }
        self.time.wait(now, until.min(self.end_ns), ready)
    }
    fn watch(&mut self, fd: RawFd, token: u64, write: bool, known: bool) -> std::io::Result<()> {
        self.time.watch(fd, token, write, known)
    }
}

struct Setup {
    sessions: u32,
    arrivals: Option<Arrivals>,
    think: Option<ThinkPlan>,
    deadline_ns: u64,
    retries: u32,
    warmup_ns: u64,
    length_ns: u64,
    /// Length of an open loop's drain, whether or not anything is left.
    drain_ns: u64,
    /// Time of the request to end the measured phase, and the resulting end.
    enough: Option<(u64, u64)>,
    /// Time at which sessions lose their connections (since the start), and their numbers.
    lost: Option<(u64, std::ops::Range<u32>)>,
    /// Which operations carry identities.
    audit: Option<Carrier>,
    /// Whether the history is recorded, in the place of outcomes.
    history: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            sessions: 1,
            arrivals: None,
            think: None,
            deadline_ns: 60 * SECOND,
            retries: 10,
            warmup_ns: 0,
            length_ns: SECOND,
            drain_ns: 0,
            enough: None,
            lost: None,
            audit: None,
            history: false,
        }
    }
}

struct Outcome {
    /// Metrics of the only worker.
    metrics: [ThreadMetrics; 1],
    /// Requests, times relative to the start of the measured phase.
    log: Vec<Sent>,
    codes: BTreeMap<String, u64>,
    notices: Vec<Notice>,
    /// Results of an open loop.
    open: Option<(OpenTotal, OpenHistograms)>,
    /// Bytes of the audit's log, without its first record.
    audit: Vec<u8>,
}

impl Outcome {
    fn group(&self) -> &GroupMetrics {
        &self.metrics[0].groups[0]
    }
    fn latency(&self) -> Histogram {
        let mut total = Histogram::default();
        self.group().latency.add_to(&mut total);
        total
    }
    fn censored(&self) -> Histogram {
        let mut total = Histogram::default();
        self.group().censored.add_to(&mut total);
        total
    }
    fn class(&self, class: usize) -> u64 {
        let mut total = Histogram::default();
        self.group().classes[class].add_to(&mut total);
        total.count()
    }
    /// (time, statement) of each request.
    fn sent(&self) -> Vec<(u64, u16)> {
        self.log.iter().map(|request| (request.at_ns as u64, request.request)).collect()
    }
}

fn simulate(setup: &Setup, workload: &dyn Workload, script: Script) -> Outcome {
    play(setup, workload, Plot::Script(script))
}

fn simulate_answering(setup: &Setup, workload: &dyn Workload, answers: Answers) -> Outcome {
    play(setup, workload, Plot::Answers(answers))
}

fn play(setup: &Setup, workload: &dyn Workload, plot: Plot) -> Outcome {
    let clock = Rc::new(SimulatedClock::default());
    clock.set_ns(ORIGIN);
    let requests = Log::default();
    let driver = Scripted { plot, log: Arc::clone(&requests) };
    let statements = workload.requests();
    let measure_ns = ORIGIN + setup.warmup_ns;
    let planned_ns = measure_ns + setup.length_ns;
    let end_ns = setup.enough.map_or(planned_ns, |(_, length_ns)| measure_ns + length_ns);
    let stop_ns = end_ns + setup.drain_ns;
    let warmup_s = setup.warmup_ns as f64 / 1e9;
    let arrival_source =
        setup.arrivals.as_ref().map(|plan| ArrivalSource::new(Stream::new(plan, 42, 0, warmup_s)));
    let stage = ReplayState::default();
    let recording = workload.recording();
    let replay = recording.map(|recording| Replay { recording, stage: &stage });
    let due = arrival_source
        .as_ref()
        .map(DueCount::Drawn)
        .or_else(|| replay.filter(|replay| replay.recording.is_paced()).map(DueCount::Recorded));
    let group_targets = [GroupTargets {
        config: GroupConfig {
            group: 0,
            arrival_source: arrival_source.as_ref(),
            replay,
            think: setup.think.as_ref().map(|plan| ThinkTime::new(plan, 42)),
            deadline_ns: setup.deadline_ns,
            retries: setup.retries,
            seed: 42,
            workload,
            requests: &statements,
            checks_answers: statements.iter().any(|statement| statement.expect.is_some()),
            keeps_rows: statements.iter().any(|statement| statement.keeps),
            audit: setup.audit,
            history: setup.history,
            pipeline: workload.pipeline(),
            pauses: workload.pauses(),
            class_of: (0..statements.len() as u8).collect(),
            first_kind: (!workload.kinds().is_empty()).then_some(statements.len()),
        },
        servers: vec![Server { driver: &driver, endpoint: None }],
        router: None,
    }];
    let (control, _cancels) = Control::new(1);
    let (notices, told) = Notices::new();
    let metrics = [ThreadMetrics::new([statements.len() + workload.kinds().len()], false)];
    let slots: Vec<(usize, u32)> = (0..setup.sessions).map(|number| (0, number)).collect();
    if let Some(arrival_source) = &arrival_source {
        arrival_source.open(measure_ns, planned_ns);
    }
    replay.iter().for_each(|replay| replay.open(ORIGIN, measure_ns, planned_ns));
    let mut open = due.map(|due| OpenLoop::new(0, due, &metrics));
    control.go(ORIGIN, measure_ns, stop_ns);
    let enough_ns = setup.enough.map(|(at_ns, _)| measure_ns + at_ns);
    let lost_ns = setup.lost.as_ref().map(|(at_ns, _)| measure_ns + at_ns);
    let poller = EndingPoller {
        time: SimulatedPoller(Rc::clone(&clock)),
        control: &control,
        // The load excludes the end itself.
        pauses: [Some(end_ns - 1), enough_ns, lost_ns].into_iter().flatten().collect(),
        end_ns: stop_ns - 1,
    };
    let directory = tempfile::tempdir().unwrap();
    let form = if setup.history { HISTORY } else { OUTCOMES };
    let log = LogFile::create(directory.path(), form).unwrap().writer().unwrap();
    let mut worker =
        Worker::new(&*clock, poller, &control, &group_targets, &metrics[0], &notices, &slots, 64)
            .audits(Some(&log));
    let mut at_end = None;
    while worker.run().is_err() {
        if clock.now_ns() == end_ns - 1 {
            at_end = Some(Totals::read(&metrics, 1, end_ns, &[]));
            if let Some(open) = &mut open {
                open.tick(end_ns);
            }
        } else if Some(clock.now_ns()) == enough_ns {
            arrival_source.iter().for_each(|arrival_source| arrival_source.end_at(end_ns));
        } else if let Some((_, lost)) = &setup.lost {
            lost.clone().for_each(|slot| {
                let error = Error::new(Kind::Connection, "connection lost");
                worker.connection_lost(slot, error);
            });
        }
    }
    drop(worker);
    assert!(clock.now_ns() <= stop_ns);
    let mut codes = BTreeMap::new();
    metrics[0].groups[0].add_codes_to(&mut codes);
    let ending = Ending { end_ns, stopped_ns: stop_ns };
    let open = open.map(|mut open| open.total(&at_end.unwrap().groups[0], ending));
    if let Some((total, _)) = &open {
        let ended = metrics[0].groups[0].open.ended();
        assert_eq!(total.due, ended + total.left, "each arrival is in one place: {total:?}");
    }
    let requests = requests.lock().unwrap().clone();
    log.close().unwrap();
    let audit = std::fs::read(directory.path().join(form.name)).unwrap();
    let notices = told.try_iter().collect();
    Outcome { metrics, log: requests, codes, notices, open, audit }
}
