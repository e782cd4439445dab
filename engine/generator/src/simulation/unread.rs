//! Tests of the lag: the real worker reads real sockets while time is simulated, and each turn of a
//! session takes a known time.

use super::pipeline::Together;
use super::{MS, ORIGIN, One, SECOND};
use crate::metrics::notice::Notices;
use crate::metrics::thread::ThreadMetrics;
use crate::reactor::control::{Control, GroupTargets, Server};
use crate::reactor::plan::worker::Worker;
use crate::session::GroupConfig;
use crate::transport::endpoint::Endpoint;
use crate::transport::poller::{Poller, Ready};
use dyno_core::clock::Clock;
use dyno_core::driver::{Cancel, Driver, Progress, Reply, Session, Task, Wire, WireProtocol};
use dyno_core::error::Result;
use dyno_core::histogram::{Histogram, bucket_of, range_of};
use dyno_core::workload::{Op, Transaction, Workload};
use std::io::{self, Read, Write};
use std::os::fd::RawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const SESSIONS: u32 = 5;
/// Length of a session's turn, before it sends its next request.
const TURN_NS: u64 = MS / 8;
/// How long the thread sleeps for the first answers of a round.
const ASLEEP_NS: u64 = 16 * MS;

/// Time that the wires advance; shared by `Arc`, since they are `Send`.
#[derive(Clone, Default)]
struct Time(Arc<AtomicU64>);

impl Time {
    fn pass(&self, ns: u64) {
        self.0.fetch_add(ns, Ordering::Relaxed);
    }
}

impl Clock for Time {
    fn now_ns(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A protocol of single bytes: a greeting, a request, an answer.
struct Bytes(Time);

impl Driver for Bytes {
    fn session(&self, _session: u32) -> Result<Session> {
        Ok(Session::Wire(Box::new(Self(self.0.clone()))))
    }
}

impl WireProtocol for Bytes {
    type Reply = Reply;

    fn connected(&mut self, _secure: bool, _out: &mut Vec<u8>) {}

    fn tls_established(&mut self, _out: &mut Vec<u8>) {}

    fn receive(&mut self, input: &[u8], _out: &mut Vec<u8>) -> Result<(usize, Progress)> {
        if input[0] == b'+' {
            return Ok((1, Progress::Ready));
        }
        self.0.pass(TURN_NS);
        Ok((1, Progress::Reply(Reply::default())))
    }

    fn cancel(&self) -> Cancel {
        Cancel::Close
    }

    fn quit(&mut self, _out: &mut Vec<u8>) {}
}

impl Wire for Bytes {
    fn request(&mut self, _op: &Op, _tx: &Transaction, out: &mut Vec<u8>) {
        out.push(b'?');
    }

    fn task(&mut self, _task: Task<'_>, _out: &mut Vec<u8>) -> bool {
        false
    }

    fn query(&mut self, _sql: &str, _out: &mut Vec<u8>) {}

    fn bulk(&mut self, _table: &str, _columns: &[&str], _out: &mut Vec<u8>) {}

    fn bulk_data(&mut self, _rows: &[u8], _out: &mut Vec<u8>) {}

    fn bulk_end(&mut self, _out: &mut Vec<u8>) {}

    fn first_row(&self) -> &[Option<String>] {
        &[]
    }
}

/// The server, driven by the worker's poll: it greets, and then answers each request without delay.
struct AtOnce<'a> {
    time: Time,
    listener: UnixListener,
    /// Sockets by the worker's token.
    peers: Vec<(u64, UnixStream)>,
    control: &'a Control,
    greeted: usize,
    /// Whether the answers of the next round come only when the thread sleeps.
    is_slow: bool,
    rounds: u32,
    /// Number of requests that each session sends at once, and of those answered in a round.
    requests: usize,
    answers: usize,
    /// Answers to each session in the rounds so far.
    answered: usize,
}

impl Poller for AtOnce<'_> {
    fn wait(&mut self, _now: u64, _until: u64, ready: &mut Vec<Ready>) -> io::Result<bool> {
        ready.clear();
        let has_begun = self.control.origin().is_some();
        for (token, peer) in &mut self.peers[if has_begun { 0 } else { self.greeted }..] {
            if has_begun && self.answered.is_multiple_of(self.requests) {
                let read = peer.read(&mut [0; 64])?;
                assert_eq!(read, self.requests, "all in one write, and nothing before its time");
            }
            let answers = b"!".repeat(self.answers);
            peer.write_all(if has_begun { &answers } else { b"+" })?;
            ready.push(Ready { token: *token, readable: true, writable: false, is_closing: false });
        }
        if !has_begun {
            self.greeted = self.peers.len();
            if ready.is_empty() {
                self.control.go(ORIGIN, ORIGIN, u64::MAX);
            }
            return Ok(false);
        }
        self.answered += self.answers;
        self.rounds = self.rounds.checked_sub(1).expect("the load has ended");
        if self.rounds == 0 {
            ready.clear();
            self.control.stop();
        }
        let slept = self.is_slow;
        if slept {
            self.time.pass(ASLEEP_NS);
        }
        self.is_slow = false;
        Ok(slept)
    }

    fn watch(&mut self, _fd: RawFd, token: u64, _writable: bool, known: bool) -> io::Result<()> {
        if !known {
            self.peers.push((token, self.listener.accept()?.0));
        }
        Ok(())
    }
}

/// The lags of `rounds` rounds of answers, and the number of system calls; the thread sleeps before the
/// first round. Sessions of `workload` have `answers` answers a round.
fn lags(rounds: u32, workload: &dyn Workload, answers: usize) -> (Histogram, u64) {
    let time = Time(Arc::new(AtomicU64::new(ORIGIN - SECOND)));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let target = serde_json::json!({"driver": "mysql", "address": {"unix": path}});
    let endpoint = Endpoint::resolve(&serde_json::from_value(target).unwrap()).unwrap();
    let driver = Bytes(time.clone());
    let statements = workload.requests();
    let group_targets = [GroupTargets {
        config: GroupConfig {
            group: 0,
            arrival_source: None,
            replay: None,
            think: None,
            deadline_ns: 60 * SECOND,
            retries: 0,
            seed: 42,
            workload,
            requests: &statements,
            checks_answers: false,
            keeps_rows: false,
            audit: None,
            history: false,
            pipeline: workload.pipeline(),
            pauses: false,
            class_of: vec![0],
            first_kind: None,
        },
        servers: vec![Server { driver: &driver, endpoint: Some(&endpoint) }],
        router: None,
    }];
    let (control, _cancels) = Control::new(1);
    let (notices, _told) = Notices::new();
    let metrics = ThreadMetrics::new([1], false);
    let slots: Vec<(usize, u32)> = (0..SESSIONS).map(|number| (0, number)).collect();
    let poller = AtOnce {
        time: time.clone(),
        listener,
        peers: Vec::new(),
        control: &control,
        greeted: 0,
        is_slow: true,
        rounds: rounds + 1,
        requests: workload.pipeline() as usize,
        answers,
        answered: 0,
    };
    Worker::new(&time, poller, &control, &group_targets, &metrics, &notices, &slots, 64)
        .run()
        .unwrap();
    assert_eq!(metrics.groups[0].committed(), u64::from(SESSIONS * rounds) * answers as u64);
    let mut lags = Histogram::default();
    metrics.lag.add_to(&mut lags);
    (lags, metrics.syscalls.get())
}

#[test]
fn answers_that_came_while_the_thread_slept_have_not_waited() {
    let (lags, _) = lags(1, &One, 1);
    assert_eq!((lags.count(), lags.max_ns()), (u64::from(SESSIONS), 0));
}

#[test]
fn answers_that_came_while_their_batch_was_handled_have_waited_for_the_rest_of_it() {
    // From the second round on each answer is ready as soon as its request is sent, and is read after all
    // sessions had their turn: the first sender waits longest, the last not at all.
    const ROUNDS: u32 = 21;
    let (lags, calls) = lags(ROUNDS, &One, 1);
    // Of each session: an empty login, the greeting, a request and an answer a round, a last request.
    assert_eq!(calls, u64::from(SESSIONS * (2 + 2 * ROUNDS + 1)));
    let batch_ns = u64::from(SESSIONS - 1) * TURN_NS;
    assert_eq!(lags.count(), u64::from(ROUNDS * SESSIONS));
    assert_eq!(lags.max_ns(), range_of(bucket_of(batch_ns)).1);
    let mean_ns = batch_ns as f64 / 2.0 * f64::from(ROUNDS - 1) / f64::from(ROUNDS);
    assert!((lags.mean_ns() / mean_ns - 1.0).abs() < 0.01, "{} of {mean_ns}", lags.mean_ns());
}

#[test]
fn what_is_sent_together_costs_one_write_and_its_answers_one_read() {
    const ROUNDS: u32 = 21;
    let (lags, calls) = lags(ROUNDS, &Together(16), 16);
    assert_eq!(calls, u64::from(SESSIONS * (2 + 2 * ROUNDS + 1)));
    // A read of answers is counted once.
    assert_eq!(lags.count(), u64::from(ROUNDS * SESSIONS));
}

#[test]
fn the_rest_of_the_answers_may_have_waited_while_their_own_session_was_handled() {
    // Two of four answers come while the thread sleeps, the others while all sessions handle those.
    let (lags, _) = lags(2, &Together(4), 2);
    assert_eq!(lags.count(), u64::from(2 * SESSIONS));
    let turns_ns = u64::from(2 * SESSIONS) * TURN_NS;
    assert_eq!(lags.max_ns(), range_of(bucket_of(turns_ns)).1);
    assert_eq!(lags.mean_ns(), turns_ns as f64 / 2.0, "none of the first, the same for all others");
}
