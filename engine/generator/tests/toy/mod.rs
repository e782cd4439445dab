//! A toy protocol of lines (`hi`, then `r` answered by `ok`, `big N` or `err CODE`, before which any
//! number of `more` may come), its servers, and trials against them. Each test binary uses a part of it.
#![allow(dead_code, reason = "each test binary uses a part")]

use dyno_core::driver::{
    Cancel, Driver, DriverKind, Progress, Reply, ServerError, Session, Task, Wire, WireProtocol,
};
use dyno_core::error::{Error, Kind as ErrorKind, Result};
use dyno_core::event::{Event, GroupTotal};
use dyno_core::plan::{Plan, Target};
use dyno_core::request::capability::Capability;
use dyno_core::workload::{
    Dialect, Effect, Op, Request, RowSink, Table, Transaction, Workload, WorkloadKind,
};
use dyno_generator::run::Ends;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

pub struct Toy;

pub struct ToyWire {
    greeted: bool,
}

impl Driver for Toy {
    fn session(&self, _session: u32) -> Result<Session> {
        Ok(Session::Wire(Box::new(ToyWire { greeted: false })))
    }
}

impl WireProtocol for ToyWire {
    type Reply = Reply;

    fn connected(&mut self, _secure: bool, _out: &mut Vec<u8>) {}

    fn tls_established(&mut self, _out: &mut Vec<u8>) {}

    fn receive(&mut self, input: &[u8], _out: &mut Vec<u8>) -> Result<(usize, Progress)> {
        let Some(end) = input.iter().position(|&byte| byte == b'\n') else {
            return Ok((0, Progress::More));
        };
        let line = String::from_utf8_lossy(&input[..end]).into_owned();
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["hi"] if !self.greeted => {
                self.greeted = true;
                Ok((end + 1, Progress::Ready))
            }
            ["more", ..] => Ok((end + 1, Progress::More)),
            ["ok"] => Ok((end + 1, Progress::Reply(Reply { rows: 1, ..Reply::default() }))),
            ["big", bytes] => {
                let total = end + 1 + bytes.parse::<usize>().unwrap_or(0);
                if input.len() < total {
                    return Ok((0, Progress::More));
                }
                assert!(input[end + 1..total].iter().all(|&byte| byte == b'x'));
                Ok((total, Progress::Reply(Reply { rows: 2, ..Reply::default() })))
            }
            ["err", code] => {
                let error = ServerError {
                    code: (*code).to_owned(),
                    message: "as asked".to_owned(),
                    retryable: true,
                    rolled_back: true,
                    ..ServerError::default()
                };
                Ok((
                    end + 1,
                    Progress::Reply(Reply { error: Some(error.into()), ..Reply::default() }),
                ))
            }
            _ => Err(Error::new(ErrorKind::Protocol, format!("toy: unknown line {line:?}"))),
        }
    }

    fn cancel(&self) -> Cancel {
        Cancel::Packet(b"cancel\n".to_vec())
    }

    fn quit(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"quit\n");
    }
}

impl Wire for ToyWire {
    fn request(&mut self, _op: &Op, _tx: &Transaction, out: &mut Vec<u8>) {
        out.extend_from_slice(b"r\n");
    }

    fn task(&mut self, task: Task<'_>, out: &mut Vec<u8>) -> bool {
        assert!(matches!(task, Task::Rollback), "it is not loaded");
        self.query("ROLLBACK", out);
        true
    }

    fn query(&mut self, sql: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(sql.as_bytes());
        out.push(b'\n');
    }

    fn bulk(&mut self, _table: &str, _columns: &[&str], _out: &mut Vec<u8>) {}

    fn bulk_data(&mut self, _rows: &[u8], _out: &mut Vec<u8>) {}

    fn bulk_end(&mut self, _out: &mut Vec<u8>) {}

    fn first_row(&self) -> &[Option<String>] {
        &[]
    }
}

pub static TOY: DriverKind = DriverKind {
    name: "toy",
    about: "lines",
    capabilities: Capability::ALL,
    dialect: Dialect::Null,
    options: &[],
    library: || None,
    build: |_: &Target, _: Arc<[Request]>| Ok(Box::new(Toy)),
    clients: None,
    routed: None,
};

pub struct One;

impl Workload for One {
    fn requests(&self) -> Vec<Request> {
        vec![Request::new("read", Effect::Read, "r", vec![])]
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

pub static ONE: WorkloadKind =
    WorkloadKind { name: "one", about: "one read", needs: &[], build: |_| Ok(Box::new(One)) };

/// Behaviour of a server on connection number n: it answers requests until it returns.
pub type Behaviour = fn(connection: usize, lines: &mut Lines) -> std::io::Result<()>;

pub struct Lines {
    pub reader: BufReader<TcpStream>,
    pub cancels: Arc<AtomicUsize>,
    accepted: Arc<AtomicUsize>,
}

impl Lines {
    /// Number of connections that the server has accepted so far.
    pub fn connections(&self) -> usize {
        self.accepted.load(Ordering::Relaxed)
    }
    pub fn say(&mut self, text: &str) -> std::io::Result<()> {
        self.reader.get_mut().write_all(text.as_bytes())
    }
    /// Sends parts of an answer as fast as the client reads them, until the client disconnects.
    pub fn go_on_for_ever(&mut self) -> std::io::Result<()> {
        let lines = format!("more {}\n", "x".repeat(1000)).repeat(100);
        loop {
            self.say(&lines)?;
        }
    }
    /// Waits for a request; an error at the end of the stream.
    pub fn request(&mut self) -> std::io::Result<()> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 || line == "quit\n" {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        if line == "cancel\n" {
            self.cancels.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
    pub fn answer(&mut self, requests: usize) -> std::io::Result<()> {
        for _ in 0..requests {
            self.request()?;
            self.say("ok\n")?;
        }
        Ok(())
    }
}

pub struct Server {
    pub port: u16,
    pub cancels: Arc<AtomicUsize>,
    pub connections: Arc<AtomicUsize>,
    /// Once true, the next connection closes the listener.
    pub closing: Arc<AtomicBool>,
}

pub fn serve(behaviour: Behaviour) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (cancels, closing) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let (counted, closed) = (Arc::clone(&cancels), Arc::clone(&closing));
    let connections = Arc::new(AtomicUsize::new(0));
    let accepted = Arc::clone(&connections);
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            if closed.load(Ordering::Relaxed) {
                return;
            }
            let Ok(stream) = stream else { continue };
            accepted.fetch_add(1, Ordering::Relaxed);
            stream.set_nodelay(true).unwrap();
            let (cancels, accepted) = (Arc::clone(&counted), Arc::clone(&accepted));
            std::thread::spawn(move || {
                let mut lines = Lines { reader: BufReader::new(stream), cancels, accepted };
                // The end of a connection is no failure of the server.
                let _ = behaviour(number, &mut lines);
            });
        }
    });
    Server { port, cancels, connections, closing }
}

pub struct Trial {
    pub result: Result<bool>,
    pub events: Vec<Event>,
    pub hlog: String,
}

impl Trial {
    pub fn total(&self) -> &GroupTotal {
        match self.events.last() {
            Some(Event::End { groups, .. }) => &groups["g"],
            other => panic!("the last event is {other:?}"),
        }
    }
    pub fn outages(&self) -> Vec<(f64, Option<f64>, String)> {
        let outage = |event: &Event| match event {
            Event::Outage { start_s, end_s, cause, .. } => Some((*start_s, *end_s, cause.clone())),
            _ => None,
        };
        self.events.iter().filter_map(outage).collect()
    }
}

pub fn run(
    port: u16,
    patch: serde_json::Value,
    while_running: impl FnOnce(&AtomicBool) + Send,
) -> Trial {
    run_plan(port, patch, serde_json::json!({}), while_running)
}

/// Runs a plan of one group; `patch` changes the group, `plan` the rest.
pub fn run_plan(
    port: u16,
    patch: serde_json::Value,
    plan: serde_json::Value,
    while_running: impl FnOnce(&AtomicBool) + Send,
) -> Trial {
    run_until(port, patch, plan, while_running, &|| false)
}

/// The same, with an early end. The trial calls `enough` first before the measured phase, then once a tick.
pub fn run_until(
    port: u16,
    patch: serde_json::Value,
    plan: serde_json::Value,
    while_running: impl FnOnce(&AtomicBool) + Send,
    enough: &(dyn Fn() -> bool + Sync),
) -> Trial {
    let directory = tempfile::tempdir().unwrap();
    let mut group = serde_json::json!(
        {"name": "g", "target": "t", "workload": "one", "sessions": 3, "deadline_s": 10.0}
    );
    group.as_object_mut().unwrap().extend(patch.as_object().unwrap().clone());
    let mut whole = serde_json::json!({
        "schema_version": 1, "job": "run", "trial": "test", "directory": directory.path(), "seed": 1,
        "targets": {"t": {"driver": "toy", "address": {"tcp": {"host": "127.0.0.1", "port": port}}}},
        "warmup_s": 0.2, "duration_s": 1.0, "interval_s": 0.5, "workers": 2, "groups": [group]
    });
    whole.as_object_mut().unwrap().extend(plan.as_object().unwrap().clone());
    let plan: Plan = serde_json::from_value(whole).unwrap();
    let (events, interrupted) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    let emit = |event: Event| events.lock().unwrap().push(event);
    let result = std::thread::scope(|scope| {
        scope.spawn(|| while_running(&interrupted));
        let ends = Ends { interrupted: &interrupted, enough };
        dyno_generator::run::run(&plan, &[&TOY], &[&ONE], ends, &emit)
    });
    let hlog = std::fs::read_to_string(directory.path().join("latency.hlog")).unwrap_or_default();
    Trial { result, events: events.into_inner().unwrap(), hlog }
}

pub fn quietly(_: &AtomicBool) {}

pub fn uniform(rate_per_s: f64) -> serde_json::Value {
    steps(&[(None, rate_per_s, rate_per_s)])
}

/// Uniform arrivals: length, rate at the beginning, rate at the end of each step.
pub fn steps(steps: &[(Option<f64>, f64, f64)]) -> serde_json::Value {
    let step = |&(for_s, from_per_s, to_per_s): &(Option<f64>, f64, f64)| serde_json::json!({"for_s": for_s, "from_per_s": from_per_s, "to_per_s": to_per_s});
    let steps: Vec<_> = steps.iter().map(step).collect();
    serde_json::json!({"process": "uniform", "steps": steps})
}
