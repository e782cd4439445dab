//! Populating through a `Wire` and real sockets on a toy server: a request is a line (`q SQL`,
//! `b TABLE`, `e`) or `d LENGTH` followed by bytes; an answer is `ok N`, `row N`, `go` or `err`.

use dyno_core::driver::{
    Cancel, Driver, DriverKind, Progress, Reply, ServerError, Session, Task, Wire, WireProtocol,
};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::event::Event;
use dyno_core::plan::{Plan, Target};
use dyno_core::request::capability::Capability;
use dyno_core::workload::{Dialect, Op, Request, Transaction};
use dyno_generator::populate::load;
use dyno_workloads::WORKLOADS;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

#[derive(Default)]
struct ToyWire {
    row: Vec<Option<String>>,
}

impl WireProtocol for ToyWire {
    type Reply = Reply;

    fn connected(&mut self, _secure: bool, out: &mut Vec<u8>) {
        out.extend_from_slice(b"q hello\n");
    }

    fn tls_established(&mut self, _out: &mut Vec<u8>) {}

    fn receive(&mut self, input: &[u8], _out: &mut Vec<u8>) -> Result<(usize, Progress)> {
        let Some(end) = input.iter().position(|&b| b == b'\n') else {
            return Ok((0, Progress::More));
        };
        let line = String::from_utf8_lossy(&input[..end]).into_owned();
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        let mut reply = Reply::default();
        let event = match word {
            "hello" => Progress::Ready,
            "go" => Progress::WantData,
            "ok" => {
                reply.affected = rest.parse().unwrap_or(0);
                Progress::Reply(reply)
            }
            "row" => {
                self.row = vec![Some(rest.into())];
                Progress::Reply(reply)
            }
            _ => {
                let message = rest.to_owned();
                reply.error = Some(Box::new(ServerError {
                    code: "7".into(),
                    message,
                    ..ServerError::default()
                }));
                Progress::Reply(reply)
            }
        };
        Ok((end + 1, event))
    }

    fn cancel(&self) -> Cancel {
        Cancel::Close
    }

    fn quit(&mut self, _out: &mut Vec<u8>) {}
}

impl Wire for ToyWire {
    fn request(&mut self, _op: &Op, _tx: &Transaction, _out: &mut Vec<u8>) {}

    fn task(&mut self, task: Task<'_>, out: &mut Vec<u8>) -> bool {
        match task {
            Task::Create(table) => self.query(&table.create, out),
            Task::Finish(table, number) => self.query(&table.finish[number], out),
            Task::Count(table) => self.query(&format!("SELECT COUNT(*) FROM {}", table.name), out),
            Task::Rollback | Task::BeginLoad(_) | Task::EndLoad(_) => return false,
        }
        true
    }

    fn query(&mut self, sql: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("q {sql}\n").as_bytes());
    }

    fn bulk(&mut self, table: &str, _columns: &[&str], out: &mut Vec<u8>) {
        out.extend_from_slice(format!("b {table}\n").as_bytes());
    }

    fn bulk_data(&mut self, rows: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(format!("d {}\n", rows.len()).as_bytes());
        out.extend_from_slice(rows);
    }

    fn bulk_end(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"e\n");
    }

    fn first_row(&self) -> &[Option<String>] {
        &self.row
    }
}

struct Toy;

impl Driver for Toy {
    fn session(&self, _session: u32) -> Result<Session> {
        Ok(Session::Wire(Box::new(ToyWire::default())))
    }
}

static TOY: DriverKind = DriverKind {
    name: "toy",
    about: "a test",
    options: &[],
    capabilities: Capability::ALL,
    dialect: Dialect::Mysql,
    library: || None,
    build: |_: &Target, _: Arc<[Request]>| Ok(Box::new(Toy)),
    clients: None,
    routed: None,
};

/// Content of the server and its faults.
#[derive(Default)]
struct Store {
    rows: BTreeMap<String, Vec<String>>,
    statements: Vec<String>,
    /// Prefix of statements that the server refuses.
    refuse: &'static str,
    /// Whether it refuses rows after the first piece of data.
    refuse_rows: bool,
    /// Rows of each bulk load that it drops silently.
    lose: usize,
}

fn serve(stream: TcpStream, store: &Mutex<Store>) -> std::io::Result<()> {
    let mut out = stream.try_clone()?;
    let mut input = BufReader::new(stream);
    let (mut table, mut data) = (String::new(), Vec::new());
    loop {
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let (word, rest) = line.trim_end().split_once(' ').unwrap_or((line.trim_end(), ""));
        let mut store = store.lock().expect("no panic");
        let answer = match word {
            "q" if rest == "hello" => "hello".into(),
            "q" if !store.refuse.is_empty() && rest.starts_with(store.refuse) => {
                "err table already exists".into()
            }
            "q" => {
                store.statements.push(rest.into());
                match rest.strip_prefix("SELECT COUNT(*) FROM ") {
                    Some(name) => format!("row {}", store.rows.get(name).map_or(0, Vec::len)),
                    None => "ok 0".into(),
                }
            }
            "b" => {
                table = rest.into();
                "go".into()
            }
            "d" => {
                let mut piece = vec![0; rest.parse().expect("a length")];
                input.read_exact(&mut piece)?;
                data.extend(piece);
                if !store.refuse_rows {
                    continue;
                }
                "err disk full".into()
            }
            _ => {
                let text = String::from_utf8(std::mem::take(&mut data)).expect("ASCII");
                let lines: Vec<String> = text.lines().map(str::to_owned).collect();
                let count = lines.len();
                let kept = count - store.lose;
                store.rows.entry(table.clone()).or_default().extend(lines.into_iter().take(kept));
                format!("ok {count}")
            }
        };
        writeln!(out, "{answer}")?;
    }
}

/// Populates a toy server that starts as `store`; returns the events and its content afterwards.
fn run(store: Store, sessions: u32, options: serde_json::Value) -> (Result<Vec<Event>>, Store) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let store = Arc::new(Mutex::new(store));
    let shared = Arc::clone(&store);
    // Ends with the process: it owns only a port of the kernel's choice.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let store = Arc::clone(&shared);
            std::thread::spawn(move || serve(stream, &store));
        }
    });
    let plan: Plan = serde_json::from_value(json!({
        "schema_version": 1, "job": "load", "trial": "test", "directory": "unused", "seed": 1,
        "targets": {"db": {"driver": "toy", "address": {"tcp": {"host": "127.0.0.1", "port": port}}}},
        "groups": [{"name": "g", "target": "db", "workload": "oltp", "sessions": sessions,
                    "options": options}],
    }))
    .expect("a plan");
    let events = Mutex::new(Vec::new());
    let emit = |event| events.lock().expect("no panic").push(event);
    let outcome = load(&plan, &[&TOY], WORKLOADS, &emit);
    let store = std::mem::take(&mut *store.lock().expect("no panic"));
    (outcome.map(|()| events.into_inner().expect("no panic")), store)
}

fn failure(store: Store) -> Error {
    run(store, 2, json!({"tables": 2, "rows": 3000})).0.expect_err("an error")
}

#[test]
fn one_table_is_split_over_threads_and_holds_the_same_rows() {
    let options = json!({"rows": 10_007});
    let (events, split) = run(Store::default(), 4, options.clone());
    let last = events.expect("a load").pop();
    assert!(matches!(last, Some(Event::Loaded { rows, .. }) if rows["sbtest1"] == 10_007));
    let (_, whole) = run(Store::default(), 1, options);
    let sorted = |store: &Store| {
        let mut rows = store.rows["sbtest1"].clone();
        rows.sort();
        rows
    };
    assert_eq!(sorted(&split), sorted(&whole));
    let words: Vec<_> = split.statements.iter().map(|sql| &sql[..12]).collect();
    assert_eq!(words, ["CREATE TABLE", "CREATE INDEX", "SELECT COUNT"]);
}

#[test]
fn many_tables_are_all_there_once() {
    let (events, store) = run(Store::default(), 3, json!({"tables": 7, "rows": 600}));
    events.expect("a load");
    assert_eq!(store.rows.len(), 7);
    assert!(store.rows.values().all(|rows| rows.len() == 600));
    let indexes = store.statements.iter().filter(|sql| sql.starts_with("CREATE INDEX")).count();
    assert_eq!(indexes, 7);
}

#[test]
fn what_the_server_refuses_ends_the_load() {
    let error = failure(Store { refuse: "CREATE TABLE sbtest2", ..Store::default() });
    assert_eq!((error.kind, error.what.as_str()), (Kind::Plan, "table sbtest2 exists already"));
    let error = failure(Store { refuse_rows: true, ..Store::default() });
    assert_eq!(error.kind, Kind::Server);
    assert!(error.what.contains("disk full (7)") && error.what.contains("sbtest"), "{error}");
    let error = failure(Store { refuse: "CREATE INDEX", ..Store::default() });
    assert!(error.what.contains("CREATE INDEX k_"), "{error}");
}

#[test]
fn rows_that_went_missing_are_found_out() {
    let error = failure(Store { lose: 1, ..Store::default() });
    assert_eq!(error.kind, Kind::Server);
    assert!(error.what.contains("holds 2999 rows, not 3000"), "{error}");
}
