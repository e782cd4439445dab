//! Exact tests of sessions, pacing, retries, deadlines and recording: simulated time, scripted
//! answers, the real worker.

use crate::control::{Control, Lane};
use crate::notice::{Notice, Notices};
use crate::poller::{Poller, Ready, SimulatedPoller};
use crate::recorder::Recorder;
use crate::session::{BACKOFF_MAX_NS, Shape};
use crate::worker::Worker;
use dyno_core::clock::{Clock, SimulatedClock};
use dyno_core::driver::{Driver, Reply, ServerError, Session, Timed};
use dyno_core::error::Result;
use dyno_core::histogram::Histogram;
use dyno_core::workload::{Kind, Op, RowSink, Statement, Table, Transaction, Workload};
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
    fn statements(&self) -> Vec<Statement> {
        let statement = |class, kind| Statement::new(class, kind, "", vec![]);
        vec![
            statement("begin", Kind::BeginWrite),
            statement("write", Kind::Write),
            statement("commit", Kind::Commit),
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

/// One read and nothing around it.
struct One;

impl Workload for One {
    fn statements(&self) -> Vec<Statement> {
        vec![Statement::new("read", Kind::Read, "", vec![])]
    }
    fn fill(&self, _session: u32, _index: u64, tx: &mut Transaction) {
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

/// What a scripted system answers to call number n of a session: the delay and the refusal.
type Script = fn(call: u64, op: &Op, tx: &Transaction) -> (u64, Option<ServerError>);

/// (time of the request in ns, statement) of every request.
type Log = Arc<Mutex<Vec<(u64, u16)>>>;

struct Scripted {
    script: Script,
    log: Log,
}

struct ScriptedSession {
    script: Script,
    log: Log,
    calls: u64,
}

impl Driver for Scripted {
    fn session(&self, _session: u32) -> Result<Session> {
        let log = Arc::clone(&self.log);
        Ok(Session::Timed(Box::new(ScriptedSession { script: self.script, log, calls: 0 })))
    }
}

impl Timed for ScriptedSession {
    fn execute(&mut self, op: &Op, tx: &Transaction, t_s: f64) -> (Duration, Reply) {
        self.log.lock().unwrap().push(((t_s * 1e9).round() as u64, op.statement));
        let (delay_ns, error) = (self.script)(self.calls, op, tx);
        self.calls += 1;
        (Duration::from_nanos(delay_ns), Reply { rows: 1, affected: 0, error: error.map(Box::new) })
    }
}

fn refusal(code: &str, retryable: bool, rolled_back: bool) -> Option<ServerError> {
    Some(ServerError { code: code.into(), message: "scripted".into(), retryable, rolled_back })
}

/// Moves simulated time, and ends the load at a moment.
struct EndingPoller<'a>(SimulatedPoller, &'a Control, u64);

impl Poller for EndingPoller<'_> {
    fn wait(&mut self, now: u64, until: u64, ready: &mut Vec<Ready>) -> std::io::Result<()> {
        if until >= self.2 {
            self.1.stop();
        }
        self.0.wait(now, until.min(self.2), ready)
    }
    fn watch(&mut self, fd: RawFd, token: u64, write: bool, known: bool) -> std::io::Result<()> {
        self.0.watch(fd, token, write, known)
    }
}

struct Setup {
    sessions: u32,
    rate_per_s: Option<f64>,
    deadline_ns: u64,
    retries: u32,
    length_ns: u64,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            sessions: 1,
            rate_per_s: None,
            deadline_ns: 60 * SECOND,
            retries: 10,
            length_ns: SECOND,
        }
    }
}

struct Outcome {
    recorder: Recorder,
    /// Requests, times relative to the start.
    log: Vec<(u64, u16)>,
    codes: BTreeMap<String, u64>,
    notices: Vec<Notice>,
}

impl Outcome {
    fn latency(&self) -> Histogram {
        let mut total = Histogram::default();
        self.recorder.groups[0].latency.add_to(&mut total);
        total
    }
    fn class(&self, class: usize) -> u64 {
        let mut total = Histogram::default();
        self.recorder.groups[0].classes[class].add_to(&mut total);
        total.count()
    }
}

fn simulate(setup: &Setup, workload: &dyn Workload, script: Script) -> Outcome {
    let clock = Rc::new(SimulatedClock::default());
    clock.set_ns(ORIGIN);
    let log = Log::default();
    let driver = Scripted { script, log: Arc::clone(&log) };
    let statements = workload.statements();
    let lanes = [Lane {
        shape: Shape {
            group: 0,
            sessions: setup.sessions,
            period_ns: setup.rate_per_s.map(|rate| 1e9 / rate),
            deadline_ns: setup.deadline_ns,
            retries: setup.retries,
            seed: 42,
            workload,
            kinds: statements.iter().map(|statement| statement.kind).collect(),
            class_of: (0..statements.len() as u8).collect(),
        },
        driver: &driver,
        endpoint: None,
    }];
    let (control, _cancels) = Control::new(1);
    let (notices, told) = Notices::new();
    let recorder = Recorder::new([statements.len()], false);
    let seats: Vec<(usize, u32)> = (0..setup.sessions).map(|number| (0, number)).collect();
    let end_ns = ORIGIN + setup.length_ns;
    control.go(ORIGIN, ORIGIN, end_ns);
    // The end itself is no longer part of it.
    let poller = EndingPoller(SimulatedPoller(Rc::clone(&clock)), &control, end_ns - 1);
    let mut worker =
        Worker::new(&*clock, poller, &control, &lanes, &recorder, &notices, &seats, 64);
    worker.run().unwrap();
    drop(worker);
    assert!(clock.now_ns() <= end_ns);
    let mut codes = BTreeMap::new();
    recorder.groups[0].add_codes_to(&mut codes);
    let log = log.lock().unwrap().clone();
    Outcome { recorder, log, codes, notices: told.try_iter().collect() }
}

#[test]
fn a_closed_loop_sends_the_next_transaction_at_once() {
    let outcome = simulate(&Setup::default(), &One, |_, _, _| (10 * MS, None));
    let group = &outcome.recorder.groups[0];
    // Answers at 10 ms, 20 ms ... 990 ms; the one due at the end is not waited for.
    assert_eq!((group.committed(), group.operations.get(), group.rows.get()), (99, 99, 99));
    assert_eq!(outcome.latency().mean_ns(), 10.0 * MS as f64);
    assert_eq!(group.in_flight_oldest_ns.get(), 10 * MS - 1);
    assert_eq!(outcome.class(0), 99);
    assert_eq!(outcome.log.len(), 100);
}

#[test]
fn a_transaction_lasts_from_its_first_request_to_the_answer_to_its_commit() {
    let outcome = simulate(&Setup::default(), &Three, |_, op, _| match op.statement {
        1 => (30 * MS, None),
        _ => (5 * MS, None),
    });
    let group = &outcome.recorder.groups[0];
    assert_eq!((group.committed(), group.operations.get()), (24, 72));
    assert_eq!(outcome.latency().mean_ns(), 40.0 * MS as f64);
    assert_eq!([0, 1, 2].map(|class| outcome.class(class)), [24, 24, 24]);
    assert_eq!(group.in_flight_oldest_ns.get(), 40 * MS - 1);
}

#[test]
fn a_rate_is_kept_by_all_sessions_together() {
    let setup = Setup { sessions: 4, rate_per_s: Some(100.0), ..Setup::default() };
    let outcome = simulate(&setup, &One, |_, _, _| (MS, None));
    let due: Vec<u64> = (0..100).map(|arrival| arrival * 10 * MS).collect();
    let sent: Vec<u64> = outcome.log.iter().map(|request| request.0).collect();
    assert_eq!(sent, due);
    assert_eq!(outcome.latency().mean_ns(), MS as f64);
}

#[test]
fn a_rate_beyond_all_time_sends_the_first_arrival_only() {
    let setup = Setup { sessions: 3, rate_per_s: Some(1e-12), ..Setup::default() };
    let outcome = simulate(&setup, &One, |_, _, _| (0, None));
    assert_eq!(outcome.recorder.groups[0].committed(), 1);
}

#[test]
fn a_late_session_catches_up_and_latency_is_service_time() {
    let setup = Setup { rate_per_s: Some(100.0), ..Setup::default() };
    // The first transaction takes 95 ms: arrivals 1 to 9 start late, one after the other.
    let outcome = simulate(&setup, &One, |call, _, _| (if call == 0 { 95 * MS } else { MS }, None));
    let sent: Vec<u64> = outcome.log.iter().map(|request| request.0 / MS).collect();
    assert_eq!(&sent[..13], [0, 95, 96, 97, 98, 99, 100, 101, 102, 103, 104, 110, 120]);
    assert_eq!(outcome.log.len(), 100);
    let total = outcome.latency();
    assert_eq!((total.count(), total.quantile_ns(0.5) / MS), (100, 1));
}

#[test]
fn a_retry_is_the_same_transaction_on_the_first_attempts_clock() {
    // The first two writes deadlock; the server has rolled back.
    let outcome = simulate(&Setup::default(), &Three, |call, op, tx| {
        assert!(op.statement != 1 || tx.values.len() == 1);
        (MS, if call == 1 || call == 3 { refusal("1213", true, true) } else { None })
    });
    let group = &outcome.recorder.groups[0];
    assert_eq!(outcome.codes, BTreeMap::from([("1213".to_owned(), 2)]));
    assert_eq!((group.errors.get(), group.retries.get(), group.failed.get()), (2, 2, 0));
    // begin 1 ms, write 1 ms, back off 0.5 to 1 ms; the same, back off 1 to 2 ms; then 3 ms.
    let first_ms = outcome.latency().max_ns() as f64 / MS as f64;
    assert!((8.5..10.1).contains(&first_ms), "{first_ms}");
    // Only what committed counts.
    assert_eq!(outcome.class(0), group.committed());
    assert_eq!(group.operations.get(), 3 * group.committed());
    assert_eq!(outcome.notices.len(), 1, "a code is told once: {:?}", outcome.notices);
}

#[test]
fn retries_back_off_further_each_time_and_end() {
    let setup = Setup { retries: 9, length_ns: 2 * SECOND, ..Setup::default() };
    let outcome = simulate(&setup, &Three, |_, op, _| {
        (MS, if op.statement == 1 { refusal("1213", true, true) } else { None })
    });
    let group = &outcome.recorder.groups[0];
    assert_eq!(group.committed(), 0);
    let begins: Vec<u64> =
        outcome.log.iter().filter(|request| request.1 == 0).map(|request| request.0).collect();
    for (retry, pair) in begins[..10].windows(2).enumerate() {
        let full_ns = (MS << retry).min(BACKOFF_MAX_NS);
        let wait_ns = pair[1] - pair[0] - 2 * MS;
        assert!(wait_ns > full_ns / 2 && wait_ns <= full_ns, "retry {retry}: {wait_ns}");
    }
    // Ten attempts a transaction, the last one without a wait behind it.
    assert_eq!(begins[10] - begins[9], 2 * MS);
    assert_eq!(group.failed.get(), group.errors.get() / 10);
    // Each transaction had nine retries, but for the one that the end cut short.
    let begun = group.retries.get() + group.failed.get();
    assert!((begun..=begun + 1).contains(&(begins.len() as u64)));
}

#[test]
fn an_error_that_is_not_retryable_rolls_back_and_goes_on() {
    // Calls: begin, write (refused), then from the next transaction on all is well.
    let outcome = simulate(&Setup::default(), &Three, |call, _, _| {
        (MS, if call == 1 { refusal("1062", false, false) } else { None })
    });
    let group = &outcome.recorder.groups[0];
    assert_eq!((group.errors.get(), group.retries.get(), group.failed.get()), (1, 0, 1));
    assert_eq!(outcome.codes["1062"], 1);
    // The ROLLBACK is answered at once: the next BEGIN leaves at 2 ms.
    assert_eq!(&outcome.log[..4], [(0, 0), (MS, 1), (2 * MS, 0), (3 * MS, 1)]);
    assert_eq!(outcome.latency().mean_ns(), 3.0 * MS as f64);
}

#[test]
fn a_deadline_counts_at_least_its_age_and_the_session_works_on() {
    let setup = Setup { deadline_ns: 100 * MS, ..Setup::default() };
    // Call 3 of a connection hangs; the connection is given up and a new one begins.
    let outcome = simulate(&setup, &One, |call, _, _| {
        (if call == 3 { 3600 * SECOND } else { 10 * MS }, None)
    });
    let group = &outcome.recorder.groups[0];
    let mut ages = Histogram::default();
    group.error_latency.add_to(&mut ages);
    // Each connection: three answers, then 100 ms of waiting: 130 ms.
    assert_eq!(outcome.codes, BTreeMap::from([("deadline".to_owned(), 7)]));
    assert_eq!((group.failed.get(), group.committed()), (7, 7 * 3 + 3));
    assert_eq!(ages.mean_ns(), 100.0 * MS as f64);
    assert_eq!(outcome.latency().mean_ns(), 10.0 * MS as f64);
    assert_eq!(group.lost.get(), 0);
}

#[test]
fn a_deadline_also_ends_retrying() {
    let setup = Setup { deadline_ns: 50 * MS, retries: u32::MAX, ..Setup::default() };
    let outcome = simulate(&setup, &Three, |_, op, _| {
        (MS, if op.statement == 1 { refusal("40001", true, true) } else { None })
    });
    let group = &outcome.recorder.groups[0];
    assert_eq!(group.committed(), 0);
    assert!(outcome.codes["deadline"] >= 18, "{:?}", outcome.codes);
    assert_eq!(group.failed.get(), outcome.codes["deadline"]);
}

#[test]
fn the_same_seed_repeats_every_moment() {
    let run = || {
        let setup = Setup { sessions: 7, ..Setup::default() };
        simulate(&setup, &Three, |call, _, _| {
            (MS + call % 3, if call % 5 == 1 { refusal("1213", true, false) } else { None })
        })
        .log
    };
    assert_eq!(run(), run());
}
