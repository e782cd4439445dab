//! Real files in a temporary directory.

use super::*;
use dyno_core::driver::{Blocking, Reply, Task};
use dyno_core::workload::{Command, ParamType, RowSink, Transaction};
use serde_json::json;
use std::path::Path;
use std::time::Instant;
use workload::Effect as Does;

use dyno_core::workload;

const MINUTE: Duration = Duration::from_secs(60);

fn target(file: &Path, options: serde_json::Value, protocol: Protocol) -> Target {
    Target {
        driver: "sqlite".into(),
        address: Address::File(file.to_owned()),
        user: String::new(),
        password: Default::default(),
        database: String::new(),
        protocol,
        tls: Tls::Off,
        tls_extras: dyno_core::plan::TlsExtras::default(),
        login: Default::default(),
        session_sql: vec!["PRAGMA journal_mode = WAL".into(), "PRAGMA synchronous=NORMAL".into()],
        read_only: false,
        options: serde_json::from_value(options).expect("an object"),
    }
}

fn statement(kind: Does, sql: &str, params: &[ParamType]) -> Request {
    Request::new("test", kind, sql, params.to_vec())
}

const BEGIN_READ: u16 = 0;
const BEGIN_WRITE: u16 = 1;
const COMMIT: u16 = 2;
const SELECT: u16 = 3;
const RANGE: u16 = 4;
const UPDATE: u16 = 5;
const INSERT: u16 = 6;
const ENDLESS: u16 = 7;

fn statements() -> Arc<[Request]> {
    use ParamType::{Int, Text};
    Arc::new([
        statement(Does::BeginRead, "", &[]),
        statement(Does::BeginWrite, "", &[]),
        statement(Does::Commit, "", &[]),
        statement(Does::Read, "SELECT name FROM t WHERE id = ?", &[Int]),
        statement(Does::Read, "SELECT * FROM t WHERE id BETWEEN ? AND ?", &[Int, Int]),
        statement(Does::Write, "UPDATE t SET n = n + ? WHERE name = ?", &[Int, Text]),
        statement(Does::Write, "INSERT INTO t (id, n, name) VALUES (?, 0, ?)", &[Int, Text]),
        statement(
            Does::Read,
            "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i > ?) \
             SELECT COUNT(*) FROM r",
            &[Int],
        ),
    ])
}

fn open(target: &Target, statements: Arc<[Request]>) -> Result<Box<dyn Blocking>> {
    let driver = (KIND.build)(target, statements)?;
    assert!(driver.in_process());
    match driver.session(0)? {
        Session::Blocking(session) => Ok(session),
        _ => panic!("sqlite blocks"),
    }
}

/// A file with table `t`, ids 1 to 1000, name `it's N`.
fn loaded(directory: &Path) -> PathBuf {
    let file = directory.join("data.db");
    let creating = target(&file, json!({"create": true}), Protocol::Prepared);
    let mut session = open(&creating, Arc::new([])).expect("a new file");
    session.query("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, name TEXT)").expect("DDL");
    let mut fill = |sink: &mut dyn RowSink| {
        for id in 1..=1000 {
            sink.int(id);
            sink.int(0);
            sink.text(format!("it's {id}").as_bytes());
            sink.end_row();
        }
    };
    assert_eq!(session.bulk("t", &["id", "n", "name"], &mut fill), Ok(1000));
    assert_eq!(
        session.query("SELECT COUNT(*), NULL, MAX(name) FROM t"),
        Ok(vec![Some("1000".into()), None, Some("it's 999".into())])
    );
    file
}

enum P<'a> {
    I(i64),
    T(&'a str),
}
use P::{I, T};

fn run(session: &mut dyn Blocking, statement: u16, params: &[P], remaining: Duration) -> Reply {
    let mut tx = Transaction::default();
    for param in params {
        match param {
            I(n) => tx.int(*n),
            T(text) => tx.text(|arena| arena.extend_from_slice(text.as_bytes())),
        }
    }
    tx.op(statement);
    session.execute(&tx.ops[0], &tx, remaining).expect("the connection lives")
}

fn code(reply: &Reply) -> &str {
    reply.error.as_ref().map_or("", |error| &error.code)
}

fn ok(rows: u64, affected: u64) -> Reply {
    Reply { rows, affected, ..Reply::default() }
}

#[test]
fn both_protocols_read_and_write_the_same() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = loaded(directory.path());
    for protocol in [Protocol::Prepared, Protocol::Text] {
        let s = &mut *open(&target(&file, json!({}), protocol), statements()).expect("a session");
        assert_eq!(run(s, BEGIN_WRITE, &[], MINUTE), ok(0, 0));
        assert_eq!(run(s, SELECT, &[I(7)], MINUTE), ok(1, 0));
        assert_eq!(run(s, SELECT, &[I(-7)], MINUTE), ok(0, 0));
        assert_eq!(run(s, RANGE, &[I(950), I(1050)], MINUTE), ok(51, 0));
        assert_eq!(run(s, UPDATE, &[I(5), T("it's 7")], MINUTE), ok(0, 1));
        assert_eq!(run(s, COMMIT, &[], MINUTE), ok(0, 0));
        // Rolled back, so without effect.
        assert_eq!(run(s, BEGIN_WRITE, &[], MINUTE), ok(0, 0));
        assert_eq!(run(s, UPDATE, &[I(100), T("it's 7")], MINUTE), ok(0, 1));
        s.task(Task::Rollback).expect("a rollback");
        s.task(Task::Rollback).expect("nothing to roll back is no error");
        assert_eq!(run(s, BEGIN_READ, &[], MINUTE), ok(0, 0));
        assert_eq!(run(s, COMMIT, &[], MINUTE), ok(0, 0));
    }
    let s = &mut *open(&target(&file, json!({}), Protocol::Text), statements()).expect("a session");
    assert_eq!(s.query("SELECT SUM(n) FROM t"), Ok(vec![Some("10".into())]));
}

#[test]
fn a_run_never_creates_a_file() {
    let directory = tempfile::tempdir().expect("a directory");
    for name in ["none.db", ":memory:", ""] {
        let file = directory.path().join(name);
        let error = open(&target(&file, json!({}), Protocol::Prepared), statements());
        let error = error.err().expect("an error").to_string();
        assert!(error.contains("no database file") && error.contains("load"), "{error}");
    }
    assert_eq!(std::fs::read_dir(directory.path()).expect("it is there").count(), 0);
}

#[test]
fn a_lock_is_waited_for_and_then_reported() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = loaded(directory.path());
    let patience = |ms| target(&file, json!({"busy_timeout_ms": ms}), Protocol::Prepared);
    let holder = &mut *open(&patience(5000), statements()).expect("a session");
    assert_eq!(run(holder, BEGIN_WRITE, &[], MINUTE), ok(0, 0));

    let hasty = &mut *open(&patience(20), statements()).expect("a session");
    let reply = run(hasty, BEGIN_WRITE, &[], MINUTE);
    assert_eq!(code(&reply), "SQLITE_BUSY");
    assert!(reply.error.is_some_and(|error| error.retryable && !error.rolled_back));

    let patient = &mut *open(&patience(60_000), statements()).expect("a session");
    let start = Instant::now();
    assert_eq!(code(&run(patient, BEGIN_WRITE, &[], Duration::from_millis(30))), "deadline");
    assert!(start.elapsed() >= Duration::from_millis(30));
    assert!(run(patient, SELECT, &[I(1)], MINUTE).error.is_none(), "readers do not wait in WAL");

    // The holder releases the lock while another session waits for it.
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| run(patient, BEGIN_WRITE, &[], MINUTE));
        std::thread::sleep(Duration::from_millis(30));
        assert_eq!(run(holder, COMMIT, &[], MINUTE), ok(0, 0));
        assert_eq!(waiting.join().expect("no panic"), ok(0, 0));
    });
}

#[test]
fn a_deadline_stops_a_statement_and_leaves_the_session_usable() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = loaded(directory.path());
    let s =
        &mut *open(&target(&file, json!({}), Protocol::Prepared), statements()).expect("a session");
    assert_eq!(run(s, BEGIN_READ, &[], MINUTE), ok(0, 0));
    let reply = run(s, ENDLESS, &[I(0)], Duration::from_millis(50));
    assert_eq!(code(&reply), "deadline");
    s.task(Task::Rollback).expect("a rollback");
    assert_eq!(run(s, SELECT, &[I(1)], MINUTE), ok(1, 0));
}

#[test]
fn the_end_of_the_load_stops_statements_and_waits() {
    let directory = tempfile::tempdir().expect("a directory");
    let target = target(&loaded(directory.path()), json!({}), Protocol::Prepared);
    let driver = (KIND.build)(&target, statements()).expect("a driver");
    let session = || match driver.session(0) {
        Ok(Session::Blocking(session)) => session,
        _ => panic!("sqlite blocks"),
    };
    let (mut works, mut holds, mut waits) = (session(), session(), session());
    assert_eq!(run(&mut *holds, BEGIN_WRITE, &[], MINUTE), ok(0, 0));
    std::thread::scope(|scope| {
        let works = scope.spawn(move || run(&mut *works, ENDLESS, &[I(0)], MINUTE));
        let waits = scope.spawn(move || run(&mut *waits, BEGIN_WRITE, &[], MINUTE));
        driver.stop();
        assert_eq!(code(&works.join().expect("no panic")), "SQLITE_INTERRUPT");
        assert_eq!(code(&waits.join().expect("no panic")), "SQLITE_BUSY");
    });
    assert_eq!(holds.task(Task::Rollback), Ok(vec![]));
}

#[test]
fn refusals_are_data() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = loaded(directory.path());
    let s =
        &mut *open(&target(&file, json!({}), Protocol::Prepared), statements()).expect("a session");
    assert_eq!(run(s, BEGIN_WRITE, &[], MINUTE), ok(0, 0));
    let reply = run(s, INSERT, &[I(1), T("again")], MINUTE);
    assert_eq!(code(&reply), "SQLITE_CONSTRAINT");
    let error = reply.error.expect("an error");
    assert!(!error.retryable && !error.rolled_back, "{error:?}");
    assert_eq!(run(s, INSERT, &[I(1001), T("new")], MINUTE), ok(0, 1));
    assert_eq!(run(s, COMMIT, &[], MINUTE), ok(0, 0));
    assert_eq!(s.query("SELECT MAX(id) FROM t"), Ok(vec![Some("1001".into())]));
}

#[test]
fn a_failed_bulk_load_leaves_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = loaded(directory.path());
    let s =
        &mut *open(&target(&file, json!({}), Protocol::Prepared), Arc::new([])).expect("a session");
    let mut fill = |sink: &mut dyn RowSink| {
        for id in [2000, 1, 2001] {
            sink.int(id);
            sink.end_row();
        }
    };
    let error = s.bulk("t", &["id"], &mut fill).expect_err("a duplicate").to_string();
    assert!(error.contains("load table t") && error.contains("SQLITE_CONSTRAINT"), "{error}");
    assert_eq!(s.query("SELECT COUNT(*) FROM t"), Ok(vec![Some("1000".into())]));
    assert_eq!(
        s.bulk("t", &["id"], &mut |sink| {
            sink.int(2000);
            sink.end_row();
        }),
        Ok(1)
    );
}

#[test]
fn writers_on_several_threads_lose_no_update() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = loaded(directory.path());
    let target = target(&file, json!({"busy_timeout_ms": 60_000}), Protocol::Prepared);
    let driver = (KIND.build)(&target, statements()).expect("a driver");
    std::thread::scope(|scope| {
        for number in 0..4 {
            let driver = &driver;
            scope.spawn(move || {
                let Ok(Session::Blocking(mut s)) = driver.session(number) else {
                    panic!("a session")
                };
                for _ in 0..50 {
                    assert_eq!(run(&mut *s, BEGIN_WRITE, &[], MINUTE), ok(0, 0));
                    assert_eq!(run(&mut *s, UPDATE, &[I(1), T("it's 5")], MINUTE), ok(0, 1));
                    assert_eq!(run(&mut *s, COMMIT, &[], MINUTE), ok(0, 0));
                    assert_eq!(run(&mut *s, SELECT, &[I(5)], MINUTE), ok(1, 0));
                }
            });
        }
    });
    let s = &mut *open(&target, statements()).expect("a session");
    assert_eq!(s.query("SELECT n FROM t WHERE id = 5"), Ok(vec![Some("200".into())]));
}

#[test]
fn wrong_targets_are_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = loaded(directory.path());
    let error = |change: &dyn Fn(&mut Target)| {
        let mut target = target(&file, json!({}), Protocol::Prepared);
        change(&mut target);
        open(&target, statements()).err().expect("an error").to_string()
    };
    let junk = directory.path().join("junk.db");
    std::fs::write(&junk, vec![b'x'; 4096]).expect("a file");
    let cases = [
        (error(&|t| t.address = Address::None), "needs the path of a file"),
        (error(&|t| t.tls = Tls::Require), "no connection to encrypt"),
        (error(&|t| drop(t.options.insert("busy".into(), json!(1)))), "no option busy"),
        (error(&|t| drop(t.options.insert("busy_timeout_ms".into(), json!(-1)))), "from 0 to"),
        (error(&|t| t.address = Address::File(junk.clone())), "SQLITE_NOTADB"),
        (error(&|t| t.session_sql.push("PRAGMA journal_mode = warp".into())), "answered wal"),
        (error(&|t| t.session_sql.push("SELEKT 1".into())), "syntax error"),
    ];
    for (message, expected) in cases {
        assert!(message.contains(expected), "{message}");
    }
    let other = directory.path().join("empty.db");
    let mut creating = target(&other, json!({"create": true}), Protocol::Prepared);
    creating.session_sql.clear();
    let error = open(&creating, statements()).err().expect("no table").to_string();
    assert!(error.contains("no such table: t") && error.contains("loaded"), "{error}");
}

#[test]
fn a_guarded_session_reads_and_does_not_write() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = loaded(directory.path());
    let mut target = target(&file, json!({}), Protocol::Prepared);
    target.session_sql.push("PRAGMA query_only = 0".into());
    target.read_only = true;
    let s = &mut *open(&target, statements()).expect("a session");
    assert_eq!(run(s, SELECT, &[I(7)], MINUTE).rows, 1);
    let refused = run(s, UPDATE, &[I(40), T("x")], MINUTE).error.expect("a refusal");
    assert!(refused.code.contains("READONLY"), "{refused:?}");
}

#[test]
fn rows_are_kept_of_statements_that_say_so_and_a_rollback_is_a_statement() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = loaded(directory.path());
    let mut statements = statements().to_vec();
    statements[usize::from(RANGE)].command =
        Command::Sql("SELECT n, NULL, 0.5, name FROM t WHERE id BETWEEN ? AND ?".into());
    statements[usize::from(RANGE)].keeps = true;
    statements.push(statement(Does::Rollback, "", &[]));
    let rollback = statements.len() as u16 - 1;
    for protocol in [Protocol::Prepared, Protocol::Text] {
        let target = target(&file, json!({}), protocol);
        let s = &mut *open(&target, statements.clone().into()).expect("a session");
        assert_eq!(run(s, BEGIN_WRITE, &[], MINUTE), ok(0, 0));
        assert_eq!(run(s, UPDATE, &[I(40), T("it's 7")], MINUTE), ok(0, 1));
        assert_eq!(run(s, rollback, &[], MINUTE), ok(0, 0));
        let reply = run(s, RANGE, &[I(7), I(7)], MINUTE);
        let kept = reply.kept.first().expect("a row");
        assert_eq!((kept.int(0), kept.get(1), kept.decimal(2, 1)), (Some(0), None, Some(5)));
        assert_eq!(kept.text(3), Some("it's 7"));
        assert!(run(s, SELECT, &[I(7)], MINUTE).kept.is_empty());
    }
}
