//! Whole trials over real sockets against servers that behave, die, hang, and talk rubbish: a toy
//! protocol of lines (`hi`, then `r` answered by `ok`, `big N` or `err CODE`) stands for all.

use dyno_core::driver::{Cancel, Driver, DriverKind, Progress, Reply, ServerError, Session, Wire};
use dyno_core::error::{Error, Kind as ErrorKind, Result};
use dyno_core::event::{Event, GroupTotal, Phase};
use dyno_core::plan::{Plan, Target};
use dyno_core::workload::{
    Dialect, Kind, Op, RowSink, Statement, Table, Transaction, Workload, WorkloadKind,
};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

struct Toy;

struct ToyWire {
    greeted: bool,
}

impl Driver for Toy {
    fn session(&self, _session: u32) -> Result<Session> {
        Ok(Session::Wire(Box::new(ToyWire { greeted: false })))
    }
}

impl Wire for ToyWire {
    fn connected(&mut self, _secure: bool, _out: &mut Vec<u8>) {}
    fn tls_established(&mut self, _out: &mut Vec<u8>) {}
    fn request(&mut self, _op: &Op, _tx: &Transaction, out: &mut Vec<u8>) {
        out.extend_from_slice(b"r\n");
    }
    fn query(&mut self, sql: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(sql.as_bytes());
        out.push(b'\n');
    }
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
                };
                Ok((
                    end + 1,
                    Progress::Reply(Reply { error: Some(error.into()), ..Reply::default() }),
                ))
            }
            _ => Err(Error::new(ErrorKind::Protocol, format!("toy: unknown line {line:?}"))),
        }
    }
    fn bulk(&mut self, _table: &str, _columns: &[&str], _out: &mut Vec<u8>) {}
    fn bulk_data(&mut self, _rows: &[u8], _out: &mut Vec<u8>) {}
    fn bulk_end(&mut self, _out: &mut Vec<u8>) {}
    fn cancel(&self) -> Cancel {
        Cancel::Packet(b"cancel\n".to_vec())
    }
    fn quit(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"quit\n");
    }
    fn first_row(&self) -> &[Option<String>] {
        &[]
    }
}

static TOY: DriverKind = DriverKind {
    name: "toy",
    about: "lines",
    dialect: Dialect::Null,
    options: &[],
    library: || None,
    build: |_: &Target, _: Arc<[Statement]>| Ok(Box::new(Toy)),
};

struct One;

impl Workload for One {
    fn statements(&self) -> Vec<Statement> {
        vec![Statement::new("read", Kind::Read, "r", vec![])]
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

static ONE: WorkloadKind =
    WorkloadKind { name: "one", about: "one read", build: |_| Ok(Box::new(One)) };

/// What a server does with connection number n: answers requests until it returns.
type Behaviour = fn(connection: usize, lines: &mut Lines) -> std::io::Result<()>;

struct Lines {
    reader: BufReader<TcpStream>,
    cancels: Arc<AtomicUsize>,
}

impl Lines {
    fn say(&mut self, text: &str) -> std::io::Result<()> {
        self.reader.get_mut().write_all(text.as_bytes())
    }
    /// Waits for a request; an error at the end of the stream.
    fn request(&mut self) -> std::io::Result<()> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 || line == "quit\n" {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        if line == "cancel\n" {
            self.cancels.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
    fn answer(&mut self, requests: usize) -> std::io::Result<()> {
        for _ in 0..requests {
            self.request()?;
            self.say("ok\n")?;
        }
        Ok(())
    }
}

struct Server {
    port: u16,
    cancels: Arc<AtomicUsize>,
    connections: Arc<AtomicUsize>,
    /// Once true, the next connection closes the listener.
    closing: Arc<AtomicBool>,
}

fn serve(behaviour: Behaviour) -> Server {
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
            let cancels = Arc::clone(&counted);
            std::thread::spawn(move || {
                let mut lines = Lines { reader: BufReader::new(stream), cancels };
                // The end of a conversation is no failure of the server.
                let _ = behaviour(number, &mut lines);
            });
        }
    });
    Server { port, cancels, connections, closing }
}

struct Trial {
    result: Result<bool>,
    events: Vec<Event>,
    hlog: String,
}

impl Trial {
    fn total(&self) -> &GroupTotal {
        match self.events.last() {
            Some(Event::End { groups, .. }) => &groups["g"],
            other => panic!("the last event is {other:?}"),
        }
    }
    fn outages(&self) -> Vec<(f64, Option<f64>, String)> {
        let outage = |event: &Event| match event {
            Event::Outage { start_s, end_s, cause, .. } => Some((*start_s, *end_s, cause.clone())),
            _ => None,
        };
        self.events.iter().filter_map(outage).collect()
    }
}

fn run(
    port: u16,
    patch: serde_json::Value,
    while_running: impl FnOnce(&AtomicBool) + Send,
) -> Trial {
    run_plan(port, patch, serde_json::json!({}), while_running)
}

/// Runs a plan of one group; `patch` changes the group, `plan` the rest.
fn run_plan(
    port: u16,
    patch: serde_json::Value,
    plan: serde_json::Value,
    while_running: impl FnOnce(&AtomicBool) + Send,
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
        dyno_load::run::run(&plan, &[&TOY], &[&ONE], &interrupted, &emit)
    });
    let hlog = std::fs::read_to_string(directory.path().join("latency.hlog")).unwrap_or_default();
    Trial { result, events: events.into_inner().unwrap(), hlog }
}

fn quietly(_: &AtomicBool) {}

#[test]
fn what_is_counted_adds_up() {
    let server = serve(|_, lines| {
        lines.say("hi\n")?;
        lines.answer(usize::MAX)
    });
    let trial = run(server.port, serde_json::json!({}), quietly);
    assert_eq!(trial.result, Ok(false));
    let total = trial.total();
    let (mut transactions, mut operations, mut ticks) = (0, 0, 0);
    for event in &trial.events {
        if let Event::Interval { phase: Phase::Measure, groups, .. } = event {
            transactions += groups["g"].transactions;
            operations += groups["g"].operations;
            ticks += groups["g"].ticks.iter().map(|&tick| u64::from(tick)).sum::<u64>();
        }
    }
    assert!(total.transactions > 0 && total.errors.is_empty() && trial.outages().is_empty());
    assert_eq!((transactions, ticks), (total.transactions, total.transactions));
    assert_eq!(operations, total.operations);
    assert_eq!(total.latency.as_ref().unwrap().count, total.transactions);
    let tags: Vec<&str> =
        trial.hlog.lines().filter_map(|l| l.strip_prefix("Tag=")?.split(',').next()).collect();
    assert_eq!(tags, ["g/!warmup", "g", "g", "g/read", "g/!errors", "!lag"]);
    let Some(Event::End { generator, measured_s, .. }) = trial.events.last() else { panic!() };
    assert!(generator.lag.is_some() && generator.polls > 0 && *measured_s > 0.0);
    assert!(matches!(trial.events[0], Event::Start { .. }));
    assert!(trial.events.iter().any(|event| matches!(event, Event::Ready { .. })));
}

#[test]
fn a_server_that_closes_costs_outages_with_an_end() {
    let server = serve(|_, lines| {
        lines.say("hi\n")?;
        lines.answer(50)
    });
    let trial = run(server.port, serde_json::json!({}), quietly);
    assert_eq!(trial.result, Ok(false));
    let outages = trial.outages();
    assert!(!outages.is_empty());
    assert!(outages.iter().any(|(start_s, end_s, cause)| {
        end_s.is_some_and(|end_s| end_s >= *start_s) && cause.contains("clos")
    }));
    assert!(trial.total().transactions > 0 && trial.total().errors["lost"] > 0);
}

#[test]
fn a_server_that_talks_rubbish_costs_outages_that_say_so() {
    let server = serve(|_, lines| {
        lines.say("hi\n")?;
        lines.answer(20)?;
        lines.request()?;
        lines.say("\u{1}gibberish\n")
    });
    let trial = run(server.port, serde_json::json!({}), quietly);
    assert_eq!(trial.result, Ok(false));
    assert!(trial.outages().iter().any(|outage| outage.2.contains("unknown line")));
    assert!(trial.total().transactions > 0);
}

fn uniform(rate_per_s: f64) -> serde_json::Value {
    steps(&[(None, rate_per_s, rate_per_s)])
}

/// Uniform arrivals: length, rate at the beginning, rate at the end of each step.
fn steps(steps: &[(Option<f64>, f64, f64)]) -> serde_json::Value {
    let step = |&(for_s, from_per_s, to_per_s): &(Option<f64>, f64, f64)| serde_json::json!({"for_s": for_s, "from_per_s": from_per_s, "to_per_s": to_per_s});
    let steps: Vec<_> = steps.iter().map(step).collect();
    serde_json::json!({"process": "uniform", "steps": steps})
}

#[test]
fn a_server_that_answers_unasked_is_not_believed() {
    let server = serve(|_, lines| {
        lines.say("hi\n")?;
        lines.request()?;
        lines.say("ok\nok\nok\nok\n")?;
        lines.answer(usize::MAX)
    });
    let trial = run(server.port, serde_json::json!({"arrivals": uniform(30.0)}), quietly);
    assert_eq!(trial.result, Ok(false));
    assert!(trial.outages().iter().any(|outage| outage.2.contains("without being asked")));
}

#[test]
fn a_server_that_hangs_meets_the_deadline_and_is_told_to_cancel() {
    let server = serve(|_, lines| {
        lines.say("hi\n")?;
        lines.answer(10)?;
        lines.request()?;
        std::thread::sleep(Duration::from_secs(30));
        Ok(())
    });
    let trial = run(server.port, serde_json::json!({"deadline_s": 0.1}), quietly);
    assert_eq!(trial.result, Ok(false));
    let total = trial.total();
    assert!(total.errors["deadline"] > 0 && total.failed >= total.errors["deadline"]);
    assert!(total.error_latency.as_ref().unwrap().mean_ns >= 99e6);
    assert!(total.transactions > 0);
    assert!(server.cancels.load(Ordering::Relaxed) > 0);
}

#[test]
fn a_server_that_is_gone_for_good_costs_outages_without_an_end() {
    // Sessions are closed in the middle of the trial by answering with the end of the stream.
    static GONE: AtomicBool = AtomicBool::new(false);
    let fragile = serve(|_, lines| {
        if GONE.load(Ordering::Relaxed) {
            return Ok(());
        }
        lines.say("hi\n")?;
        while !GONE.load(Ordering::Relaxed) {
            lines.answer(1)?;
        }
        Ok(())
    });
    let closing = Arc::clone(&fragile.closing);
    let port = fragile.port;
    let trial = run(port, serde_json::json!({}), move |_| {
        std::thread::sleep(Duration::from_millis(600));
        closing.store(true, Ordering::Relaxed);
        GONE.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(("127.0.0.1", port));
    });
    assert_eq!(trial.result, Ok(false));
    let open = trial.outages().iter().filter(|outage| outage.1.is_none()).count();
    assert_eq!(open, 3, "{:?}", trial.outages());
    assert!(trial.total().transactions > 0);
    let lost = |event: &Event| match event {
        Event::Interval { groups, .. } => Some(groups["g"].lost),
        _ => None,
    };
    assert_eq!(trial.events.iter().filter_map(lost).next_back(), Some(3));
}

#[test]
fn a_server_that_is_not_there_fails_the_trial_and_is_named() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let trial = run(port, serde_json::json!({}), quietly);
    let error = trial.result.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Connection);
    assert!(error.what.contains(&format!("127.0.0.1:{port}")), "{error}");
    assert!(error.what.contains("refused") && error.what.contains("trial test"), "{error}");
}

#[test]
fn a_server_that_admits_only_some_sessions_is_a_warning() {
    let server = serve(|connection, lines| {
        if connection != 0 {
            return Ok(());
        }
        lines.say("hi\n")?;
        lines.answer(usize::MAX)
    });
    let trial = run(server.port, serde_json::json!({}), quietly);
    assert_eq!(trial.result, Ok(false));
    let warned =
        |event: &Event| matches!(event, Event::Warning { message } if message.contains("2 of 3"));
    assert!(trial.events.iter().any(warned), "{:?}", trial.events);
    assert!(trial.total().transactions > 0);
    assert_eq!(trial.outages().len(), 2);
}

#[test]
fn answers_in_pieces_and_larger_than_any_buffer_are_whole() {
    let server = serve(|connection, lines| {
        lines.say("hi\n")?;
        loop {
            lines.request()?;
            if connection % 2 == 0 {
                for byte in ["o", "k", "\n"] {
                    lines.say(byte)?;
                }
            } else {
                lines.say("big 300000\n")?;
                lines.say(&"x".repeat(300_000))?;
            }
        }
    });
    let trial = run(server.port, serde_json::json!({}), quietly);
    assert_eq!(trial.result, Ok(false));
    assert!(trial.outages().is_empty(), "{:?}", trial.outages());
    assert!(trial.total().rows > trial.total().transactions, "both kinds of answers came");
}

#[test]
fn retryable_errors_are_counted_by_code() {
    let server = serve(|_, lines| {
        lines.say("hi\n")?;
        loop {
            lines.answer(3)?;
            lines.request()?;
            lines.say("err 1213\n")?;
        }
    });
    let trial = run(server.port, serde_json::json!({}), quietly);
    let total = trial.total();
    assert!(total.errors["1213"] > 0 && total.retries > 0);
    assert_eq!((total.errors.len(), total.failed), (1, 0));
    let told = trial.events.iter().filter(|event| matches!(event, Event::Error { .. })).count();
    assert_eq!(told, 1);
}

#[test]
fn an_interruption_keeps_what_was_measured() {
    let server = serve(|_, lines| {
        lines.say("hi\n")?;
        lines.answer(usize::MAX)
    });
    let trial = run(server.port, serde_json::json!({}), |interrupted| {
        std::thread::sleep(Duration::from_millis(700));
        interrupted.store(true, Ordering::Relaxed);
    });
    assert_eq!(trial.result, Ok(true));
    let Some(Event::End { interrupted, measured_s, .. }) = trial.events.last() else { panic!() };
    assert!(*interrupted && *measured_s > 0.0 && *measured_s < 1.0);
    assert!(trial.total().transactions > 0);
    assert!(trial.hlog.contains("Tag=g/read,"));
}

#[test]
fn a_plan_that_cannot_be_carried_out_is_refused_by_name() {
    for (patch, word) in [
        (serde_json::json!({"target": "nowhere"}), "nowhere"),
        (serde_json::json!({"workload": "tpcx"}), "tpcx"),
        (serde_json::json!({"sessions": 0}), "sessions"),
        (serde_json::json!({"arrivals": uniform(-1.0)}), "arrivals"),
        (serde_json::json!({"arrivals": steps(&[])}), "steps"),
        (serde_json::json!({"arrivals": steps(&[(None, 1.0, 1.0), (None, 1.0, 1.0)])}), "steps[0]"),
        (serde_json::json!({"arrivals": steps(&[(None, 1.0, 2.0)])}), "without for_s"),
        (serde_json::json!({"arrivals": steps(&[(Some(0.0), 1.0, 2.0)])}), "for_s"),
        (serde_json::json!({"arrivals": steps(&[(None, 0.0, 0.0)])}), "all rates"),
        (serde_json::json!({"arrivals": uniform(1e8)}), "arrivals.steps[0]"),
        (serde_json::json!({"think": {"mean_s": 0.0, "distribution": "constant"}}), "think"),
        (
            serde_json::json!({
                "arrivals": uniform(1.0), "think": {"mean_s": 1.0, "distribution": "constant"}
            }),
            "both arrivals and think",
        ),
        (serde_json::json!({"also_targets": ["elsewhere"]}), "elsewhere"),
        (serde_json::json!({"deadline_s": 0.0}), "deadline_s"),
        (serde_json::json!({"name": "a b"}), "a b"),
    ] {
        let error = run(1, patch, quietly).result.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Plan);
        assert!(error.what.contains(word), "{error}");
    }
}

/// What a trial says of its open loop.
fn open(total: &GroupTotal) -> &dyno_core::event::OpenTotal {
    total.open.as_ref().expect("an open loop")
}

#[test]
fn an_open_loop_at_a_rate_that_the_server_holds_begins_all_that_is_due() {
    let server = serve(|_, lines| {
        lines.say("hi\n")?;
        lines.answer(usize::MAX)
    });
    let trial = run(server.port, serde_json::json!({"arrivals": uniform(200.0)}), quietly);
    assert_eq!(trial.result, Ok(false));
    let total = trial.total();
    let open = open(total);
    assert_eq!((open.due, open.left, open.failed), (200, 0, 0));
    assert_eq!(open.response.as_ref().unwrap().count, 200);
    assert_eq!(open.response_at_least_ns, None);
    assert!(trial.hlog.contains("Tag=g/!response,") && trial.hlog.contains("Tag=g/!dispatch,"));
    let due: u64 = trial.events.iter().filter_map(interval_due).sum();
    assert!((due as i64 - 200).abs() <= 20, "intervals tell of {due} arrivals");
}

fn interval_due(event: &Event) -> Option<u64> {
    match event {
        Event::Interval { phase: Phase::Measure, groups, .. } => {
            Some(groups["g"].open.as_ref()?.due)
        }
        _ => None,
    }
}

#[test]
fn an_open_loop_that_no_server_holds_ends_on_time_with_its_backlog_counted() {
    let server = serve(|_, lines| {
        lines.say("hi\n")?;
        lines.answer(usize::MAX)
    });
    let patch = serde_json::json!({"arrivals": {"process": "poisson", "steps": [
        {"for_s": null, "from_per_s": 1e7, "to_per_s": 1e7},
    ]}});
    let begun = std::time::Instant::now();
    let trial = run_plan(server.port, patch, serde_json::json!({"drain_s": 0.3}), quietly);
    assert_eq!(trial.result, Ok(false));
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let total = trial.total();
    let open = open(total);
    assert!(open.due > 9_900_000 && open.due < 10_100_000, "{}", open.due);
    assert!(open.backlog_end + open.begun >= open.due);
    assert!(open.left > 0 && open.drain_s >= 0.3);
    assert_eq!(open.response.as_ref().unwrap().count + open.failed, open.due);
    let least_ns = open.response_at_least_ns.unwrap();
    assert!(least_ns as f64 >= open.drain_s * 1e9 * 0.99, "{least_ns}");
}

#[test]
fn sessions_are_dealt_over_the_targets_of_their_group() {
    let count: Behaviour = |_, lines| {
        lines.say("hi\n")?;
        lines.answer(usize::MAX)
    };
    let servers = [serve(count), serve(count)];
    let target = |server: &Server| {
        serde_json::json!({
            "driver": "toy", "address": {"tcp": {"host": "127.0.0.1", "port": server.port}}
        })
    };
    let plan = serde_json::json!({"targets": {"t": target(&servers[0]), "u": target(&servers[1])}});
    let group = serde_json::json!({"sessions": 5, "also_targets": ["u"]});
    let trial = run_plan(servers[0].port, group, plan, quietly);
    assert_eq!(trial.result, Ok(false));
    let connections = servers.map(|server| server.connections.load(Ordering::Relaxed));
    assert_eq!(connections, [3, 2]);
}

#[test]
fn a_group_speaks_one_protocol_and_a_drain_has_a_length() {
    let other = serde_json::json!({"driver": "other", "address": "none"});
    let toy = serde_json::json!({"driver": "toy", "address": "none"});
    let plan = serde_json::json!({"targets": {"t": toy, "u": other}});
    let group = serde_json::json!({"also_targets": ["u"]});
    let error = run_plan(1, group, plan, quietly).result.unwrap_err();
    assert!(error.what.contains("also_targets") && error.what.contains("other"), "{error}");
    let plan = serde_json::json!({"drain_s": -1.0});
    let error = run_plan(1, serde_json::json!({}), plan, quietly).result.unwrap_err();
    assert!(error.what.contains("drain_s"), "{error}");
}
