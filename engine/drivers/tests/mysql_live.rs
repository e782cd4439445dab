//! The MySQL driver against a private MariaDB and, if installed, a private MySQL 9.

#[path = "mysql_live/loading.rs"]
mod loading;
mod mysql_support;
#[path = "mysql_live/only_mysql.rs"]
mod only_mysql;

use dyno_core::driver::{Cancel, Progress};
use dyno_core::error::Kind as ErrorKind;
use dyno_core::plan::{Address, Protocol, Target};
use dyno_core::workload::{Effect, ParamType, Request, Transaction};
use mysql_support::{Connection, Server, target};

fn statement(class: &'static str, effect: Effect, sql: &str, params: &[ParamType]) -> Request {
    Request::new(class, effect, sql, params.to_vec())
}

const BEGIN: u16 = 0;
const COMMIT: u16 = 1;
const POINT: u16 = 2;
const INSERT: u16 = 3;
const UPDATE: u16 = 4;
const RANGE: u16 = 5;

fn statements() -> Vec<Request> {
    use ParamType::{BigInt, Int, Text};
    vec![
        statement("begin", Effect::BeginWrite, "", &[]),
        statement("commit", Effect::Commit, "", &[]),
        statement("point", Effect::Read, "SELECT c FROM t WHERE id=?", &[Int]),
        statement(
            "insert",
            Effect::Write,
            "INSERT INTO t (id,k,c) VALUES (?,?,?)",
            &[Int, BigInt, Text],
        ),
        statement("update", Effect::Write, "UPDATE t SET k=k+1 WHERE id=?", &[Int]),
        statement(
            "range",
            Effect::Read,
            "SELECT id,c FROM t WHERE id BETWEEN ? AND ?",
            &[Int, Int],
        ),
    ]
}

fn one(statement: u16, fill: impl FnOnce(&mut Transaction)) -> Transaction {
    let mut tx = Transaction::default();
    fill(&mut tx);
    tx.op(statement);
    tx
}

/// A server with schema `dyno`, table `t` and an account for each authentication method.
fn server(settings: &str) -> Option<Server> {
    let server = Server::mariadb(settings)?;
    let mut root = server.root();
    root.must("CREATE DATABASE dyno");
    root.must(
        "CREATE TABLE dyno.t (id INT PRIMARY KEY, k BIGINT, c VARCHAR(200)) CHARACTER SET utf8mb4",
    );
    root.must("INSTALL SONAME 'auth_ed25519'");
    for (user, how) in [
        ("native", "mysql_native_password USING PASSWORD('secret')"),
        ("signed", "ed25519 USING PASSWORD('secret')"),
    ] {
        root.must(&format!("CREATE USER {user}@'127.0.0.1' IDENTIFIED VIA {how}"));
        root.must(&format!("GRANT ALL ON dyno.* TO {user}@'127.0.0.1'"));
    }
    Some(server)
}

fn native(server: &Server, protocol: Protocol) -> Target {
    Target { protocol, ..target(server.tcp(), "native", "secret", "dyno") }
}

#[test]
fn every_way_to_log_in() {
    let Some(server) = server("") else { return };
    for user in ["native", "signed"] {
        let who = target(server.tcp(), user, "secret", "dyno");
        let mut connection = Connection::open(&who, &[]).unwrap();
        let current = connection.value("SELECT CURRENT_USER()");
        assert_eq!(current.as_deref(), Some(format!("{user}@127.0.0.1").as_str()));
        assert_eq!(connection.value("SELECT DATABASE()").as_deref(), Some("dyno"));

        let wrong = target(server.tcp(), user, "wrong", "dyno");
        let refused = Connection::open(&wrong, &[]).err().unwrap();
        assert_eq!(refused.kind, ErrorKind::Authentication);
        assert!(refused.what.contains("1045"), "{refused}");
        assert!(!refused.to_string().contains("wrong"), "{refused}");
    }
    let unknown = target(server.tcp(), "native", "secret", "nowhere");
    let refused = Connection::open(&unknown, &[]).err().unwrap();
    assert!(refused.what.contains("10"), "{refused}");
    let socket = target(Address::Unix(server.socket()), "root", "", "dyno");
    let mut root = Connection::open(&socket, &[]).unwrap();
    assert_eq!(root.value("SELECT 6*7").as_deref(), Some("42"));
}

#[test]
fn text_and_prepared_do_the_same() {
    let Some(server) = server("") else { return };
    let awkward = "it's \\ \"x\" \0 \n é 🎈";
    for (round, protocol) in [Protocol::Prepared, Protocol::Text].into_iter().enumerate() {
        for sql_mode in ["", "NO_BACKSLASH_ESCAPES"] {
            let mut who = native(&server, protocol);
            who.session_sql = vec![format!("SET sql_mode='{sql_mode}'"), "SELECT 1".into()];
            let mut connection = Connection::open(&who, &statements()).unwrap();
            connection.must("DELETE FROM t");
            for id in 1..=3 {
                let tx = one(INSERT, |tx| {
                    tx.int(id);
                    tx.int(-id << 40);
                    tx.text(|arena| arena.extend_from_slice(awkward.as_bytes()));
                });
                let reply = connection.request(&tx.ops[0], &tx).unwrap();
                assert_eq!((reply.error, reply.affected), (None, 1), "round {round}");
            }
            let tx = one(POINT, |tx| tx.int(2));
            for _ in 0..3 {
                let reply = connection.request(&tx.ops[0], &tx).unwrap();
                assert_eq!((reply.error, reply.rows), (None, 1));
            }
            let tx = one(POINT, |tx| tx.int(99));
            assert_eq!(connection.request(&tx.ops[0], &tx).unwrap().rows, 0);
            let tx = one(RANGE, |tx| {
                tx.int(1);
                tx.int(3);
            });
            assert_eq!(connection.request(&tx.ops[0], &tx).unwrap().rows, 3);
            assert_eq!(connection.value("SELECT c FROM t WHERE id=3").as_deref(), Some(awkward));
            let k = connection.value("SELECT k FROM t WHERE id=3").unwrap();
            assert_eq!(k, (-3i64 << 40).to_string());
        }
    }
}

#[test]
fn cached_metadata_saves_bytes_and_survives_a_change_of_the_table() {
    let Some(server) = server("") else { return };
    let mut bytes = vec![];
    for metadata in ["full", "cached"] {
        let mut who = native(&server, Protocol::Prepared);
        who.options.insert("metadata".into(), metadata.into());
        let mut connection = Connection::open(&who, &statements()).unwrap();
        connection.must("REPLACE INTO t VALUES (1, 1, 'c')");
        let tx = one(POINT, |tx| tx.int(1));
        let before = connection.received_bytes;
        for _ in 0..10 {
            assert_eq!(connection.request(&tx.ops[0], &tx).unwrap().rows, 1);
        }
        bytes.push(connection.received_bytes - before);
        connection.must("ALTER TABLE t MODIFY c VARCHAR(150) CHARACTER SET latin1");
        assert_eq!(connection.request(&tx.ops[0], &tx).unwrap().rows, 1);
        assert_eq!(connection.request(&tx.ops[0], &tx).unwrap().rows, 1);
        connection.must("ALTER TABLE t MODIFY c VARCHAR(200) CHARACTER SET utf8mb4");
        assert_eq!(connection.request(&tx.ops[0], &tx).unwrap().rows, 1);
    }
    assert!(bytes[1] * 2 < bytes[0], "{bytes:?}");
}

#[test]
fn refusals_are_data() {
    let Some(server) = server("") else { return };
    for protocol in [Protocol::Prepared, Protocol::Text] {
        let mut connection = Connection::open(&native(&server, protocol), &statements()).unwrap();
        connection.must("REPLACE INTO t VALUES (1, 1, 'c')");
        let tx = one(INSERT, |tx| {
            tx.int(1);
            tx.int(1);
            tx.text(|arena| arena.push(b'c'));
        });
        let error = connection.request(&tx.ops[0], &tx).unwrap().error.unwrap();
        assert_eq!(
            (error.code.as_str(), error.retryable, error.rolled_back),
            ("1062", false, false)
        );
        assert!(error.message.contains("Duplicate"), "{}", error.message);
        let error = connection.query("SELEKT").unwrap().error.unwrap();
        assert_eq!(error.code, "1064");
        assert_eq!(connection.value("SELECT 1").as_deref(), Some("1"));
    }
    let missing =
        [statement("gone", Effect::Read, "SELECT * FROM gone WHERE id=?", &[ParamType::Int])];
    let error = Connection::open(&native(&server, Protocol::Prepared), &missing).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Server);
    assert!(error.what.contains("1146") && error.what.contains("gone"), "{error}");
    let mut who = native(&server, Protocol::Prepared);
    who.session_sql = vec!["SET no_such_thing=1".into()];
    let error = Connection::open(&who, &[]).err().unwrap();
    assert!(error.what.contains("1193") && error.what.contains("no_such_thing"), "{error}");
}

#[test]
fn a_deadlock_is_retryable_and_rolled_back() {
    let Some(server) = server("") else { return };
    let who = native(&server, Protocol::Prepared);
    let mut left = Connection::open(&who, &statements()).unwrap();
    let mut right = Connection::open(&who, &statements()).unwrap();
    left.must("INSERT INTO t VALUES (1,0,''),(2,0,'')");
    let (begin, commit) = (one(BEGIN, |_| {}), one(COMMIT, |_| {}));
    let update = |id| one(UPDATE, |tx: &mut Transaction| tx.int(id));
    for (connection, id) in [(&mut left, 1), (&mut right, 2)] {
        assert_eq!(connection.request(&begin.ops[0], &begin).unwrap().error, None);
        assert_eq!(connection.request(&update(id).ops[0], &update(id)).unwrap().affected, 1);
    }
    left.send(&update(2).ops[0], &update(2)).unwrap();
    let right_reply = right.request(&update(1).ops[0], &update(1)).unwrap();
    if right_reply.error.is_none() {
        // The other one was the victim, or gets the lock after this commit.
        assert_eq!(right.request(&commit.ops[0], &commit).unwrap().error, None);
    } else {
        right.must("ROLLBACK");
    }
    let Progress::Reply(left_reply) = left.wait().unwrap() else { panic!("no reply") };
    let victims: Vec<_> = [left_reply.error, right_reply.error].into_iter().flatten().collect();
    assert_eq!(victims.len(), 1, "{victims:?}");
    assert_eq!(victims[0].code, "1213");
    assert!(victims[0].retryable && victims[0].rolled_back);
}

#[test]
fn a_lock_wait_timeout_leaves_the_transaction_open() {
    let Some(server) = server("") else { return };
    let mut who = native(&server, Protocol::Text);
    who.session_sql = vec!["SET innodb_lock_wait_timeout=1".into()];
    let mut left = Connection::open(&who, &statements()).unwrap();
    let mut right = Connection::open(&who, &statements()).unwrap();
    left.must("INSERT INTO t VALUES (1,0,''),(2,0,'')");
    left.must("BEGIN");
    left.must("UPDATE t SET k=1 WHERE id=1");
    right.must("BEGIN");
    right.must("UPDATE t SET k=1 WHERE id=2");
    let error = right.query("UPDATE t SET k=2 WHERE id=1").unwrap().error.unwrap();
    assert_eq!((error.code.as_str(), error.retryable, error.rolled_back), ("1205", true, false));
    assert_eq!(right.value("SELECT k FROM t WHERE id=2").as_deref(), Some("1"));
}

#[test]
fn a_file_that_was_not_offered_is_not_sent() {
    let Some(server) = server("") else { return };
    let mut connection = Connection::open(&native(&server, Protocol::Prepared), &[]).unwrap();
    let error = connection.query("LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t").unwrap_err();
    assert_eq!(error.kind, ErrorKind::Protocol);
}

#[test]
fn cancel_kills_the_connection() {
    let Some(server) = server("") else { return };
    let mut connection = Connection::open(&native(&server, Protocol::Prepared), &[]).unwrap();
    let Cancel::Statement(kill) = connection.wire.cancel() else { panic!("no statement") };
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| match connection.query("SELECT SLEEP(20)") {
            Ok(reply) => reply.error.map(|error| error.code),
            Err(error) => Some(format!("{:?}", error.kind)),
        });
        let mut root = server.root();
        let running =
            "SELECT COUNT(*) FROM information_schema.processlist WHERE info='SELECT SLEEP(20)'";
        while root.value(running).as_deref() != Some("1") {
            std::thread::yield_now();
        }
        root.must(&kill);
        let end = sleeper.join().unwrap();
        assert!(["1317", "Connection"].contains(&end.unwrap().as_str()));
        let id = kill.strip_prefix("KILL ").unwrap();
        let alive = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id={id}");
        while root.value(&alive).as_deref() != Some("0") {
            std::thread::yield_now();
        }
    });
}

#[test]
fn rows_and_statements_longer_than_a_packet() {
    let Some(server) = server("max_allowed_packet=64M") else { return };
    for protocol in [Protocol::Prepared, Protocol::Text] {
        let list = [
            statement("length", Effect::Read, "SELECT LENGTH(?)", &[ParamType::Text]),
            statement(
                "echo",
                Effect::Read,
                "SELECT REPEAT('x', ?) UNION ALL SELECT 'y'",
                &[ParamType::Int],
            ),
        ];
        let mut connection = Connection::open(&native(&server, protocol), &list).unwrap();
        for length in [(1 << 24) - 30, (1 << 24) - 1, 1 << 24, (1 << 25) + 5] {
            let tx = one(0, |tx| tx.text(|arena| arena.resize(length, b'x')));
            let reply = connection.request(&tx.ops[0], &tx).unwrap();
            assert_eq!((reply.error, reply.rows), (None, 1), "{length}");
            let tx = one(1, |tx| tx.int(length as i64));
            let reply = connection.request(&tx.ops[0], &tx).unwrap();
            assert_eq!((reply.error, reply.rows), (None, 2), "{length}");
        }
        let long = connection.value("SELECT REPEAT('x', 1000000)").unwrap();
        assert_eq!(long.len(), 1_000_000);
        assert_eq!(connection.value("SELECT REPEAT('x', 16777300)"), None, "counted, not kept");
    }
}

#[test]
fn procedures_answer_with_several_results() {
    let Some(server) = server("") else { return };
    let mut root = server.root();
    root.must("CREATE PROCEDURE dyno.p() BEGIN SELECT 1 UNION SELECT 2; SELECT 3; INSERT INTO dyno.t VALUES (1,1,''); END");
    let list = [statement("call", Effect::Write, "CALL p()", &[])];
    for protocol in [Protocol::Prepared, Protocol::Text] {
        let mut connection = Connection::open(&native(&server, protocol), &list).unwrap();
        connection.must("TRUNCATE t");
        let tx = one(0, |_| {});
        let reply = connection.request(&tx.ops[0], &tx).unwrap();
        assert_eq!((reply.error, reply.rows, reply.affected), (None, 3, 1));
        assert_eq!(connection.value("SELECT COUNT(*) FROM t").as_deref(), Some("1"));
    }
}
