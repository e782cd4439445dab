//! What MySQL does in its own way, where MariaDB does not: caching_sha2_password, `local_infile` off.

use crate::loading::rows;
use crate::mysql_support::{Connection, Server, target};
use crate::{BEGIN, COMMIT, INSERT, POINT, UPDATE, one, statements};
use dyno_core::driver::Progress;
use dyno_core::error::Kind as ErrorKind;
use dyno_core::plan::{Protocol, Target, Tls};

/// A MySQL with schema `dyno`, table `t` and account `ann`.
fn mysql(settings: &str) -> Option<Server> {
    let server = Server::mysql(settings)?;
    let mut root = server.root();
    root.must("CREATE DATABASE dyno");
    root.must("CREATE TABLE dyno.t (id INT PRIMARY KEY, k BIGINT, c VARCHAR(200))");
    root.must("CREATE USER ann@'127.0.0.1' IDENTIFIED WITH caching_sha2_password BY 'secret'");
    root.must("CREATE USER nobody@'127.0.0.1' IDENTIFIED WITH caching_sha2_password BY ''");
    for user in ["ann", "nobody"] {
        root.must(&format!("GRANT ALL ON dyno.* TO {user}@'127.0.0.1'"));
    }
    Some(server)
}

#[test]
fn mysql_caching_sha2_over_a_plain_connection_and_from_its_cache() {
    let Some(server) = mysql("") else { return };
    let who = target(server.tcp(), "ann", "secret", "dyno");
    let strict = Target { login: Default::default(), ..who.clone() };
    let refused = Connection::open(&strict, &[]).err().unwrap();
    assert_eq!(refused.kind, ErrorKind::Authentication);
    assert!(refused.hint.contains("server_public_key"), "{refused}");
    // The first login sends the password encrypted with the server's key; the others use the
    // server's cache.
    for who in [&who, &who, &strict] {
        let mut connection = Connection::open(who, &[]).unwrap();
        let current = connection.value("SELECT CURRENT_USER()");
        assert_eq!(current.as_deref(), Some("ann@127.0.0.1"));
    }
    server.root().must("FLUSH PRIVILEGES");
    for password in ["wrong", ""] {
        let wrong = target(server.tcp(), "ann", password, "dyno");
        let refused = Connection::open(&wrong, &[]).err().unwrap();
        assert_eq!(refused.kind, ErrorKind::Authentication);
        assert!(refused.what.contains("1045"), "{refused}");
    }
    let empty = target(server.tcp(), "nobody", "", "dyno");
    assert_eq!(Connection::open(&empty, &[]).unwrap().value("SELECT 1").as_deref(), Some("1"));
    let mut insists = who.clone();
    insists.tls = Tls::Require;
    // The server offers TLS, which this loop does not support; the driver must request it.
    assert_eq!(Connection::first_progress(&insists), Progress::StartTls);
}

#[test]
fn mysql_runs_the_same_statements() {
    let Some(server) = mysql("") else { return };
    for protocol in [Protocol::Prepared, Protocol::Text] {
        let who = Target { protocol, ..target(server.tcp(), "ann", "secret", "dyno") };
        let mut connection = Connection::open(&who, &statements()).unwrap();
        connection.must("DELETE FROM t");
        let (begin, commit) = (one(BEGIN, |_| {}), one(COMMIT, |_| {}));
        let insert = one(INSERT, |tx| {
            tx.int(1);
            tx.int(1 << 40);
            tx.text(|arena| arena.extend_from_slice("it's \\ 🎈".as_bytes()));
        });
        let update = one(UPDATE, |tx| tx.int(1));
        for tx in [&begin, &insert, &update, &commit] {
            assert_eq!(connection.request(&tx.ops[0], tx).unwrap().error, None);
        }
        let point = one(POINT, |tx| tx.int(1));
        for _ in 0..3 {
            assert_eq!(connection.request(&point.ops[0], &point).unwrap().rows, 1);
        }
        let stored = connection.value("SELECT CONCAT(k,c) FROM t");
        assert_eq!(stored.as_deref(), Some("1099511627777it's \\ 🎈"));
        let duplicate = connection.request(&insert.ops[0], &insert).unwrap().error.unwrap();
        assert_eq!(duplicate.code, "1062");
    }
}

#[test]
fn mysql_is_loaded_with_and_without_local_infile() {
    let Some(server) = mysql("") else { return };
    for infile in ["OFF", "ON"] {
        server.root().must(&format!("SET GLOBAL local_infile={infile}"));
        let who = target(server.tcp(), "ann", "secret", "dyno");
        let mut connection = Connection::open(&who, &[]).unwrap();
        connection.must("TRUNCATE t");
        let text = rows(20_000);
        let pieces: Vec<&[u8]> = text.chunks(65_537).collect();
        let reply = connection.load("t", &["id", "k", "c"], &pieces).unwrap();
        assert_eq!((reply.error, reply.affected), (None, 20_000), "local_infile={infile}");
        let c = connection.value("SELECT c FROM t WHERE id=7");
        assert_eq!(c.as_deref(), Some("it's 7\tb\\ é"), "local_infile={infile}");
    }
    let mut strict = target(server.tcp(), "ann", "secret", "dyno");
    strict.options.insert("bulk".into(), "infile".into());
    server.root().must("SET GLOBAL local_infile=OFF");
    let mut connection = Connection::open(&strict, &[]).unwrap();
    let error = connection.load("t", &["id"], &[b"1\n"]).unwrap().error.unwrap();
    assert_eq!(error.code, "3948");
}
