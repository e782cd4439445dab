//! The client for scripts, on temporary files.

use super::build;
use dyno_core::Result;
use dyno_core::driver::ServerError;
use dyno_core::driver::client::{Answer, Bind, Library, Nature};
use dyno_core::error::{Error, Kind};
use dyno_core::plan::{Address, Target, Tls};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(600);

fn target(path: &Path) -> Target {
    Target {
        driver: "sqlite".into(),
        address: Address::File(path.to_owned()),
        user: String::new(),
        password: Default::default(),
        database: String::new(),
        protocol: Default::default(),
        tls: Tls::Off,
        tls_extras: dyno_core::plan::TlsExtras::default(),
        login: Default::default(),
        session_sql: Vec::new(),
        read_only: false,
        options: Default::default(),
    }
}

fn open(target: &Target) -> Result<Box<dyn Library>> {
    match build(target)?()? {
        Nature::Blocking(library) => Ok(library),
        Nature::Wire(_) => panic!("sqlite is a library"),
    }
}

/// A connection to a file that does not exist yet.
fn fresh() -> (Box<dyn Library>, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let library = open(&target(&directory.path().join("a.db"))).unwrap();
    (library, directory)
}

fn query(library: &mut dyn Library, sql: &str) -> Vec<Answer> {
    library.query(sql.as_bytes(), LONG).unwrap();
    library.answers().to_vec()
}

fn refused(library: &mut dyn Library, sql: &str) -> ServerError {
    let answers = query(library, sql);
    *answers.last().unwrap().error.clone().expect("refused")
}

fn rows(library: &dyn Library, answer: usize) -> Vec<Vec<Option<String>>> {
    let row = |row| {
        let mut values = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        library.fetch(answer, row, &mut |value| values.push(value.map(text))).unwrap();
        values
    };
    (0..library.answers()[answer].rows).map(row).collect()
}

fn text(value: &str) -> Option<String> {
    Some(value.to_owned())
}

fn prepare(library: &mut dyn Library, sql: &str) -> (u32, u16) {
    library.prepare(sql.as_bytes()).unwrap();
    assert_eq!(library.answers(), [Answer::default()], "{sql}");
    library.prepared()
}

fn execute(library: &mut dyn Library, statement: u32, values: &[Bind<'_>]) -> Answer {
    library.execute(statement, values, LONG).unwrap();
    assert_eq!(library.answers().len(), 1);
    library.answers()[0].clone()
}

#[test]
fn a_text_of_several_statements_is_several_results() {
    let (mut library, _directory) = fresh();
    let all = "CREATE TABLE t (a INTEGER, b); -- a comment ;
        INSERT INTO t VALUES (1, 'é'), (2, NULL), (3, 0.5); SELECT * FROM t; ;
        UPDATE t SET b = 1.0 WHERE a > 1; SELECT b FROM t WHERE a > 9; PRAGMA user_version";
    let got = query(&mut *library, all);
    let got: Vec<_> =
        got.iter().map(|answer| (answer.fields, answer.rows, answer.affected)).collect();
    assert_eq!(got, [(0, 0, 0), (0, 0, 3), (2, 3, 0), (0, 0, 2), (1, 0, 0), (1, 1, 0)]);
    let expected = [[text("1"), text("é")], [text("2"), None], [text("3"), text("0.5")]];
    assert_eq!(rows(&*library, 2), expected);
    assert_eq!(rows(&*library, 5), [[text("0")]]);
    let returning = query(&mut *library, "DELETE FROM t RETURNING b, a");
    assert_eq!((returning[0].fields, returning[0].rows, returning[0].affected), (2, 3, 3));
    assert_eq!(rows(&*library, 0)[1], [text("1.0"), text("2")]);
    for nothing in ["", " ; -- nothing"] {
        assert_eq!(query(&mut *library, nothing), [Answer::default()]);
    }
    assert!(library.fetch(0, 0, &mut |_| ()).is_err());
}

#[test]
fn a_refusal_ends_the_text_and_says_its_number() {
    let (mut library, _directory) = fresh();
    let got = query(&mut *library, "CREATE TABLE t (a UNIQUE); SELECT * FROM none; DROP TABLE t");
    assert_eq!(got.len(), 2);
    let error = got[1].error.as_deref().unwrap();
    assert_eq!((error.number, error.state.as_str()), (1, ""));
    assert!(error.message.contains("no such table: none"), "{}", error.message);
    assert_eq!(query(&mut *library, "INSERT INTO t VALUES (1)")[0].affected, 1);
    assert_eq!(refused(&mut *library, "INSERT INTO t VALUES (2), (1)").number, 19);
    assert_eq!(query(&mut *library, "SELECT * FROM t")[0].rows, 1);
    library.query(b"SELECT '\xff'", LONG).unwrap();
    assert!(library.answers()[0].error.is_some(), "SQLite's text is UTF-8");
}

#[test]
fn statements_are_prepared_executed_and_ended() {
    let (mut library, _directory) = fresh();
    query(&mut *library, "CREATE TABLE t (a INTEGER, b REAL, c TEXT, d)");
    let (insert, parameters) = prepare(&mut *library, "INSERT INTO t VALUES (?, ?, ?, ?)");
    assert_eq!((insert, parameters), (0, 4));
    let values = [Bind::Int(i64::MIN), Bind::Double(1.0 / 3.0), Bind::Text(b"it's"), Bind::Null];
    let one = Answer { affected: 1, ..Answer::default() };
    assert_eq!(execute(&mut *library, insert, &values), one);
    let values = [Bind::Text(b"7"), Bind::Int(2), Bind::Text(b""), Bind::Text(b"x")];
    assert_eq!(execute(&mut *library, insert, &values), one);
    let (select, _) = prepare(&mut *library, "SELECT * FROM t WHERE a = ?");
    let got = execute(&mut *library, select, &[Bind::Int(7)]);
    assert_eq!((got.fields, got.rows, got.affected), (4, 1, 0));
    assert_eq!(rows(&*library, 0), [[text("7"), text("2.0"), text(""), text("x")]]);
    execute(&mut *library, select, &[Bind::Int(i64::MIN)]);
    let third = (1.0_f64 / 3.0).to_string();
    assert_eq!(rows(&*library, 0)[0][1..], [Some(third), text("it's"), None]);
    assert_eq!(execute(&mut *library, select, &[Bind::Int(8)]).fields, 4);
    // The client follows a change of the schema.
    query(&mut *library, "ALTER TABLE t ADD COLUMN e DEFAULT 5");
    let got = execute(&mut *library, select, &[Bind::Int(7)]);
    assert_eq!((got.fields, rows(&*library, 0)[0].len()), (5, 5));
    for values in [&[][..], &[Bind::Int(7), Bind::Int(7)]] {
        let error = execute(&mut *library, select, values).error.unwrap();
        assert_eq!(error.number, 25);
        assert!(error.message.contains("1 parameters"), "{}", error.message);
    }
    library.close(select);
    library.close(select);
    assert_eq!(execute(&mut *library, select, &[Bind::Int(7)]).error.unwrap().number, 21);
    assert_eq!(prepare(&mut *library, "SELECT 1"), (select, 0));
    for sql in ["", "SELECT", "SELECT 1; SELECT 2"] {
        library.prepare(sql.as_bytes()).unwrap();
        assert!(library.answers()[0].error.is_some(), "{sql}");
    }
}

#[test]
fn another_connections_lock_is_waited_for() {
    let (mut library, directory) = fresh();
    query(&mut *library, "CREATE TABLE t (a); BEGIN IMMEDIATE");
    let mut target = target(&directory.path().join("a.db"));
    target.options.insert("busy_timeout_ms".into(), 0.into());
    let mut hasty = open(&target).unwrap();
    assert_eq!(refused(&mut *hasty, "INSERT INTO t VALUES (1)").number, 5);
    target.options.insert("busy_timeout_ms".into(), 600_000.into());
    let mut patient = open(&target).unwrap();
    // The call's deadline ends the wait too.
    patient.query(b"INSERT INTO t VALUES (1)", Duration::from_millis(30)).unwrap();
    let error = patient.answers()[0].error.clone().unwrap();
    assert_eq!((error.number, error.message.as_str()), (5, "the statement's time was over"));
    let (insert, _) = prepare(&mut *patient, "INSERT INTO t VALUES (?)");
    let (begun, begins) = mpsc::channel();
    let waiting = std::thread::spawn(move || {
        begun.send(()).unwrap();
        execute(&mut *patient, insert, &[Bind::Int(2)])
    });
    begins.recv().unwrap();
    std::thread::sleep(Duration::from_millis(50));
    assert!(!waiting.is_finished());
    query(&mut *library, "COMMIT");
    assert_eq!(waiting.join().unwrap().affected, 1);
    assert_eq!(query(&mut *library, "SELECT * FROM t")[0].rows, 1);
}

#[test]
fn who_has_read_and_cannot_write_is_refused_at_once() {
    let (mut library, directory) = fresh();
    query(&mut *library, "CREATE TABLE t (a); BEGIN; SELECT * FROM t");
    let mut target = target(&directory.path().join("a.db"));
    target.options.insert("busy_timeout_ms".into(), 600_000.into());
    let mut other = open(&target).unwrap();
    query(&mut *other, "BEGIN; SELECT * FROM t");
    query(&mut *library, "INSERT INTO t VALUES (1)");
    // It fails at once rather than wait ten minutes: the first cannot commit before the second
    // ends.
    assert_eq!(refused(&mut *other, "INSERT INTO t VALUES (2)").number, 5);
    query(&mut *other, "ROLLBACK");
    assert_eq!(query(&mut *library, "COMMIT")[0].error, None);
    assert_eq!(query(&mut *other, "INSERT INTO t VALUES (2)")[0].affected, 1);
}

#[test]
fn work_ends_with_its_time() {
    let (mut library, _directory) = fresh();
    let endless =
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT count(*) FROM n";
    library.query(endless.as_bytes(), Duration::from_millis(20)).unwrap();
    let error = library.answers()[0].error.clone().unwrap();
    assert_eq!((error.number, error.message.as_str()), (9, "the statement's time was over"));
    assert_eq!(query(&mut *library, "SELECT 1")[0].rows, 1, "and no later one's");
}

#[test]
fn targets_say_how_a_file_is_opened() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let fails = |change: &dyn Fn(&mut Target)| -> Error {
        let mut target = target(&path);
        change(&mut target);
        open(&target).err().expect("refused")
    };
    let error = fails(&|target| drop(target.options.insert("create".into(), false.into())));
    assert_eq!(error.kind, Kind::System, "{error}");
    assert!(!path.exists());
    assert!(fails(&|target| target.address = Address::None).what.contains("path of a file"));
    let error = fails(&|target| drop(target.options.insert("pool".into(), 1.into())));
    assert!(error.what.contains("pool"), "{error}");
    let mut good = target(&path);
    good.session_sql = vec!["PRAGMA journal_mode=WAL".into(), "PRAGMA cache_size=77".into()];
    let mut library = open(&good).unwrap();
    query(&mut *library, "PRAGMA journal_mode; PRAGMA cache_size");
    assert_eq!((&rows(&*library, 0)[0][0], &rows(&*library, 1)[0][0]), (&text("wal"), &text("77")));
    good.read_only = true;
    let mut guarded = open(&good).unwrap();
    let refused = query(&mut *guarded, "CREATE TABLE new (id)")[0].error.clone().unwrap();
    assert_eq!(refused.number, 8, "{refused:?}");
    let wrong = |sql: &str| fails(&|target| target.session_sql = vec![sql.into()]);
    assert!(wrong("nonsense").what.contains("`nonsense`"));
    assert!(wrong("PRAGMA journal_mode=SIDEWAYS").what.contains("answered wal"));
    std::fs::write(
        directory.path().join("b.db"),
        "no database at all, but longer than a header".repeat(9),
    )
    .unwrap();
    let mut none = open(&target(&directory.path().join("b.db"))).unwrap();
    let error = none.query(b"SELECT * FROM t", LONG).unwrap_err();
    assert_eq!(error.kind, Kind::Plan);
    assert!(error.what.contains("b.db"), "{error}");
}
