//! Tests of every driver with blocking calls: sessions, deadlines, the end of the load, refusals.

use dyno_core::driver::{Blocking, Driver, DriverKind, Reply, Session, Task};
use dyno_core::error::{Kind, Result};
use dyno_core::plan::{Address, Target, Tls};
use dyno_core::request::{FileSet, FileVerb};
use dyno_core::workload::{Effect, ParamType, Request, RowSink, Transaction};
use dyno_drivers::DRIVERS;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

const MINUTE: Duration = Duration::from_secs(60);
/// Request numbers in each case.
const READ: u16 = 0;
const WRITE: u16 = 1;
const SLOW: u16 = 2;

/// A driver with data, three requests (a read, a write, and one that takes longer than `late`) and
/// the parameters of each.
struct Case {
    kind: &'static DriverKind,
    address: fn(&Path) -> Address,
    load: fn(&mut dyn Blocking),
    requests: fn() -> Arc<[Request]>,
    params: &'static [i64],
    late: Duration,
}

fn cases() -> Vec<Case> {
    let of = |name: &str| DRIVERS.iter().find(|kind| kind.name == name).expect("it is listed");
    let cases = vec![
        Case {
            kind: of("sqlite"),
            address: |directory| Address::File(directory.join("data.db")),
            load: load_table,
            requests: statements,
            params: &[1],
            late: Duration::from_millis(20),
        },
        Case {
            kind: of("files"),
            address: |directory| Address::File(directory.to_owned()),
            load: |session| assert_eq!(session.create_files(&set(), 1, &mut |_| {}), Ok(65_536)),
            requests: operations,
            params: &[1, 4096],
            // The kernel finishes any operation that it began: only a zero time is certainly too
            // short.
            late: Duration::ZERO,
        },
    ];
    let directory = tempfile::tempdir().expect("a directory");
    for kind in DRIVERS {
        let is_listed = cases.iter().any(|case| case.kind.name == kind.name);
        let mut target = target(kind, Address::File(directory.path().join("none")));
        target.options.insert("create".into(), true.into());
        let built = (kind.build)(&target, [].into()).or_else(|_| {
            target.options.clear();
            (kind.build)(&target, [].into())
        });
        let blocks = built.and_then(|driver| driver.session(0));
        assert_eq!(matches!(blocks, Ok(Session::Blocking(_))), is_listed, "{}", kind.name);
    }
    cases
}

fn set() -> FileSet {
    FileSet { name: "io".into(), files: 2, file_bytes: 32_768 }
}

fn operations() -> Arc<[Request]> {
    let set = Arc::new(set());
    let read = FileVerb::Read { bytes: 4096 };
    Arc::new([
        Request::io("read", &set, read),
        Request::io("write", &set, FileVerb::Write { bytes: 4096 }),
        Request::io("slow", &set, read),
    ])
}

fn statements() -> Arc<[Request]> {
    let one = |class, effect, sql| Request::new(class, effect, sql, vec![ParamType::Int]);
    Arc::new([
        one("read", Effect::Read, "SELECT n FROM t WHERE id = ?"),
        one("write", Effect::Write, "UPDATE t SET n = n + 1 WHERE id = ?"),
        one(
            "slow",
            Effect::Read,
            "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i >= ?) \
             SELECT COUNT(*) FROM r",
        ),
    ])
}

fn load_table(session: &mut dyn Blocking) {
    session.query("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)").expect("DDL");
    let mut fill = |sink: &mut dyn RowSink| {
        for id in 1..=100 {
            sink.int(id);
            sink.int(0);
            sink.end_row();
        }
    };
    assert_eq!(session.bulk("t", &["id", "n"], &mut fill), Ok(100));
}

fn target(kind: &DriverKind, address: Address) -> Target {
    Target {
        driver: kind.name.into(),
        address,
        user: String::new(),
        password: Default::default(),
        database: String::new(),
        protocol: Default::default(),
        tls: Tls::Off,
        tls_extras: Default::default(),
        login: Default::default(),
        session_sql: vec![],
        read_only: false,
        options: Default::default(),
    }
}

impl Case {
    fn target(&self, directory: &Path) -> Target {
        target(self.kind, (self.address)(directory))
    }

    fn driver(&self, directory: &Path) -> Box<dyn Driver> {
        (self.kind.build)(&self.target(directory), (self.requests)()).expect("a driver")
    }

    fn loaded(&self) -> TempDir {
        let directory = tempfile::tempdir().expect("a directory");
        let mut target = self.target(directory.path());
        if self.kind.options.iter().any(|option| option.name == "create") {
            target.options.insert("create".into(), true.into());
        }
        let driver = (self.kind.build)(&target, [].into()).expect("a driver");
        (self.load)(&mut *blocking(driver.session(0)));
        directory
    }

    fn run(&self, session: &mut dyn Blocking, request: u16, remaining: Duration) -> Reply {
        let mut tx = Transaction::default();
        self.params.iter().for_each(|&param| tx.int(param));
        tx.op(request);
        session.execute(&tx.ops[0], &tx, remaining).expect("the session lives")
    }
}

fn blocking(session: Result<Session>) -> Box<dyn Blocking> {
    match session.expect("a session") {
        Session::Blocking(session) => session,
        _ => panic!("it blocks"),
    }
}

fn code(reply: &Reply) -> &str {
    reply.error.as_ref().map_or("", |error| &error.code)
}

#[test]
fn reads_count_rows_and_writes_count_changes() {
    for case in cases() {
        let (name, directory) = (case.kind.name, case.loaded());
        let driver = case.driver(directory.path());
        assert!(driver.in_process(), "{name}");
        let session = &mut *blocking(driver.session(0));
        let (read, write) = (case.run(session, READ, MINUTE), case.run(session, WRITE, MINUTE));
        assert_eq!((read.rows, read.affected, code(&read)), (1, 0, ""), "{name}");
        assert_eq!((write.rows, write.affected, code(&write)), (0, 1, ""), "{name}");
        assert_eq!(
            session.task(Task::Rollback),
            Ok(vec![]),
            "{name}: nothing to roll back is no error"
        );
    }
}

#[test]
fn a_run_makes_nothing_and_says_what_to_do() {
    for case in cases() {
        let directory = tempfile::tempdir().expect("a directory");
        let error = case.driver(directory.path()).session(0).err().expect("nothing is there");
        assert_eq!(error.kind, Kind::Plan, "{error}");
        assert!(error.to_string().contains("load the data first"), "{error}");
        assert_eq!(std::fs::read_dir(directory.path()).expect("it is there").count(), 0);
    }
}

#[test]
fn what_is_late_fails_with_deadline_and_the_session_lives_on() {
    for case in cases() {
        let directory = case.loaded();
        let driver = case.driver(directory.path());
        let session = &mut *blocking(driver.session(0));
        let reply = case.run(session, SLOW, case.late);
        assert_eq!(code(&reply), "deadline", "{}", case.kind.name);
        assert!(reply.error.is_some_and(|error| !error.retryable));
        assert_eq!(session.task(Task::Rollback), Ok(vec![]));
        assert_eq!(code(&case.run(session, READ, MINUTE)), "");
    }
}

#[test]
fn the_end_of_the_load_ends_calls() {
    for case in cases() {
        let directory = case.loaded();
        let driver = case.driver(directory.path());
        let mut session = blocking(driver.session(0));
        std::thread::scope(|scope| {
            let (case, driver) = (&case, &driver);
            let ended = scope
                .spawn(move || while code(&case.run(&mut *session, SLOW, MINUTE)).is_empty() {});
            std::thread::sleep(Duration::from_millis(20));
            driver.stop();
            ended.join().expect("no panic");
        });
    }
}

#[test]
fn sessions_of_many_threads_share_the_data() {
    for case in cases() {
        let directory = case.loaded();
        let driver = case.driver(directory.path());
        std::thread::scope(|scope| {
            for number in 0..4 {
                let (case, driver) = (&case, &driver);
                scope.spawn(move || {
                    let session = &mut *blocking(driver.session(number));
                    for _ in 0..25 {
                        assert_eq!(code(&case.run(session, WRITE, MINUTE)), "");
                        assert_eq!(code(&case.run(session, READ, MINUTE)), "");
                    }
                });
            }
        });
    }
}

#[test]
fn wrong_targets_are_refused_before_anything_is_opened() {
    let directory = tempfile::tempdir().expect("a directory");
    for case in cases() {
        let refused = |change: &dyn Fn(&mut Target)| {
            let mut target = case.target(directory.path());
            change(&mut target);
            let error = (case.kind.build)(&target, (case.requests)()).err().expect("refused");
            assert_eq!(error.kind, Kind::Plan, "{error}");
            assert!(!error.hint.is_empty(), "{error}");
            error.to_string()
        };
        assert!(refused(&|t| t.address = Address::None).contains("needs the path"));
        assert!(refused(&|t| t.tls = Tls::Require).contains("no connection to encrypt"));
        let unknown = refused(&|t| drop(t.options.insert("speed".into(), 1.into())));
        assert!(unknown.contains("no option speed"), "{unknown}");
        for option in case.kind.options {
            assert!(unknown.contains(option.name), "{unknown}");
        }
    }
}
