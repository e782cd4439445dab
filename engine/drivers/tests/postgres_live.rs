//! The PostgreSQL driver against a real, private server.

mod postgres_support;
#[path = "postgres_live/scripts.rs"]
mod scripts;

use dyno_core::driver::Task;
use dyno_core::error::Kind as ErrorKind;
use dyno_core::plan::{Protocol, Secret, Target, Tls};
use dyno_core::workload::{Effect, ParamType, Request, Table};
use postgres_support::client::{Client, refusal};
use postgres_support::cluster::shared;
use std::time::{Duration, Instant};

fn statement(class: &'static str, effect: Effect, sql: &str, params: &[ParamType]) -> Request {
    Request::new(class, effect, sql, params.to_vec())
}

#[test]
fn logs_in_by_every_method() {
    let Some(cluster) = shared() else { return };
    for user in ["trust_user", "md5_user", "scram_user"] {
        let mut client = Client::connect(&cluster.tcp(user), &[]).expect(user);
        assert_eq!(client.value("SELECT current_user").as_deref(), Some(user));
        client.quit();
    }
    let mut named = cluster.local("clear_user");
    named.login.cleartext_password = true;
    let mut client = Client::connect(&named, &[]).expect("socket is secure");
    assert_eq!(client.value("SHOW application_name").as_deref(), Some("dbdyno"));
    assert_eq!(client.value("SHOW client_encoding").as_deref(), Some("UTF8"));
}

#[test]
fn refused_logins_say_why() {
    let Some(cluster) = shared() else { return };
    let fails = |target: Target| match Client::connect(&target, &[]) {
        Ok(_) => panic!("{target:?} logged in"),
        Err(error) => error,
    };
    for target in [cluster.tcp("clear_user"), cluster.local("clear_user")] {
        let error = fails(target);
        assert_eq!(error.kind, ErrorKind::Authentication);
        assert!(error.what.contains("clear text"), "{error}");
        assert!(error.hint.contains("cleartext_password"), "{error}");
    }
    for user in ["md5_user", "scram_user"] {
        let error = fails(Target { password: Secret("wrong".into()), ..cluster.tcp(user) });
        assert_eq!(error.kind, ErrorKind::Authentication, "{error}");
        assert!(error.what.contains("28P01") && !error.to_string().contains("wrong"), "{error}");
    }
    let error = fails(cluster.tcp("nobody"));
    assert!(error.what.contains("28000") && error.hint.contains("pg_hba.conf"), "{error}");
    let error = fails(Target { database: "nowhere".into(), ..cluster.tcp("trust_user") });
    assert_eq!(error.kind, ErrorKind::Plan);
    assert!(error.what.contains("3D000"), "{error}");
    let error = fails(cluster.tcp("limited_user"));
    assert_eq!(error.kind, ErrorKind::Connection);
    assert!(error.what.contains("53300") && error.hint.contains("max_connections"), "{error}");
    let session_sql = vec!["SET work_mem = '8MB'".into(), "SET no_such_thing = 1".into()];
    let error = fails(Target { session_sql, ..cluster.tcp("trust_user") });
    assert!(error.what.contains("`SET no_such_thing = 1`"), "{error}");
}

#[test]
fn statements_mean_the_same_in_both_protocols() {
    let Some(cluster) = shared() else { return };
    for (protocol, table) in [(Protocol::Prepared, "same_p"), (Protocol::Text, "same_t")] {
        cluster.admin().run(&format!(
            "CREATE TABLE {table} (id integer PRIMARY KEY, big bigint, c char(20), t text)"
        ));
        let all = [ParamType::Int, ParamType::BigInt, ParamType::Text, ParamType::Text];
        let statements = [
            statement(
                "insert",
                Effect::Write,
                &format!("INSERT INTO {table} VALUES (?,?,?,?)"),
                &all,
            ),
            statement(
                "select",
                Effect::Read,
                &format!("SELECT c FROM {table} WHERE id BETWEEN ? AND ?"),
                &[ParamType::Int, ParamType::Int],
            ),
            statement(
                "update",
                Effect::Write,
                &format!("UPDATE {table} SET big=big-?"),
                &[ParamType::BigInt],
            ),
            statement(
                "delete",
                Effect::Write,
                &format!("DELETE FROM {table} WHERE t=?"),
                &[ParamType::Text],
            ),
            statement("no_params", Effect::Read, &format!("SELECT * FROM {table}"), &[]),
        ];
        let session_sql = vec!["SET work_mem = '8MB'".into()];
        let target = Target { protocol, session_sql, ..cluster.local("postgres") };
        let mut client = Client::connect(&target, &statements).expect("prepares");
        assert_eq!(client.value("SHOW work_mem").as_deref(), Some("8MB"));
        let odd = r"it's \ 'naïve' -- \\";
        for (id, big) in [(1, i64::MIN), (2, -7), (3, i64::MAX)] {
            let reply = client.execute(0, |tx| {
                tx.int(id);
                tx.int(big);
                tx.text(|text| text.extend_from_slice(b"abc"));
                tx.text(|text| text.extend_from_slice(odd.as_bytes()));
            });
            assert_eq!((reply.affected, reply.rows, reply.error), (1, 0, None));
        }
        let sum = client.value(&format!("SELECT sum(big) FROM {table} WHERE t = $${odd}$$"));
        assert_eq!(sum.as_deref(), Some("-8"));
        let range = client.execute(1, |tx| {
            tx.int(2);
            tx.int(9);
        });
        assert_eq!((range.rows, range.affected, range.error), (2, 0, None));
        assert_eq!(client.execute(4, |_| ()).rows, 3);
        // `big-?` with -1 becomes `big--1` unless the literal is parenthesized; the result is too
        // large for one row.
        let error = refusal(client.execute(2, |tx| tx.int(-1)));
        assert_eq!(
            (error.code.as_str(), error.retryable, error.rolled_back),
            ("22003", false, true)
        );
        client.run(&format!("UPDATE {table} SET big = 0"));
        assert_eq!(client.execute(2, |tx| tx.int(-5)).affected, 3);
        assert_eq!(client.value(&format!("SELECT sum(big) FROM {table}")).as_deref(), Some("15"));
        let nul = refusal(client.execute(3, |tx| tx.text(|text| text.extend_from_slice(b"a\0b"))));
        assert_eq!(nul.code, "22021");
        let deleted = client.execute(3, |tx| tx.text(|t| t.extend_from_slice(odd.as_bytes())));
        assert_eq!(deleted.affected, 3);
        let too_large = client.execute(1, |tx| {
            tx.int(1 << 40);
            tx.int(1 << 40);
        });
        match protocol {
            Protocol::Prepared => assert_eq!(refusal(too_large).code, "22P03"),
            Protocol::Text => assert_eq!((too_large.rows, too_large.error), (0, None)),
        }
        client.quit();
    }
}

#[test]
fn backslashes_survive_without_standard_conforming_strings() {
    let Some(cluster) = shared() else { return };
    let echo =
        [statement("echo", Effect::Write, "INSERT INTO slashes VALUES (?)", &[ParamType::Text])];
    cluster.admin().run("CREATE TABLE slashes (t text)");
    let session_sql = vec!["SET standard_conforming_strings = off".into()];
    let target = Target { protocol: Protocol::Text, session_sql, ..cluster.local("postgres") };
    let mut client = Client::connect(&target, &echo).expect("connects");
    let odd = br"\' or \\ 'x";
    assert_eq!(client.execute(0, |tx| tx.text(|text| text.extend_from_slice(odd))).error, None);
    let stored = client.value("SELECT t FROM slashes");
    assert_eq!(stored.as_deref(), Some(r"\' or \\ 'x"));
}

fn transaction_statements() -> Vec<Request> {
    vec![
        statement("begin", Effect::BeginWrite, "", &[]),
        statement("insert", Effect::Write, "INSERT INTO pairs VALUES (?, 0)", &[ParamType::Int]),
        statement(
            "update",
            Effect::Write,
            "UPDATE pairs SET n = n + 1 WHERE id = ?",
            &[ParamType::Int],
        ),
        statement("commit", Effect::Commit, "", &[]),
    ]
}

/// One test for all uses of the table `pairs`.
#[test]
fn transactions_fail_as_they_should() {
    let Some(cluster) = shared() else { return };
    let mut admin = cluster.admin();
    admin.run("CREATE TABLE pairs (id integer PRIMARY KEY, n integer)");
    admin.run("INSERT INTO pairs VALUES (1, 0), (2, 0)");
    let connect = || {
        Client::connect(&cluster.tcp("trust_user"), &transaction_statements()).expect("connects")
    };
    let (mut one, mut two) = (connect(), connect());

    // A unique violation leaves a failed transaction, whose COMMIT commits nothing.
    assert_eq!(one.execute(0, |_| ()).error, None);
    assert_eq!(one.execute(2, |tx| tx.int(1)).affected, 1);
    let error = refusal(one.execute(1, |tx| tx.int(1)));
    assert_eq!((error.code.as_str(), error.retryable, error.rolled_back), ("23505", false, false));
    assert!(error.message.contains("pairs_pkey"), "{}", error.message);
    assert_eq!(refusal(one.execute(2, |tx| tx.int(1))).code, "25P02");
    let error = refusal(one.execute(3, |_| ()));
    assert_eq!((error.code.as_str(), error.rolled_back), ("25P02", true));
    assert_eq!(admin.value("SELECT n FROM pairs WHERE id = 1").as_deref(), Some("0"));

    // A deadlock: each session holds a row and waits for the other's; the server chooses a victim.
    for (client, id) in [(&mut one, 1), (&mut two, 2)] {
        client.execute(0, |_| ());
        assert_eq!(client.execute(2, |tx| tx.int(id)).affected, 1);
    }
    let other = std::thread::spawn(move || {
        let reply = two.execute(2, |tx| tx.int(1));
        two.run("ROLLBACK");
        reply
    });
    let mine = one.execute(2, |tx| tx.int(2));
    one.run("ROLLBACK");
    let errors: Vec<_> =
        [mine, other.join().expect("joins")].into_iter().filter_map(|reply| reply.error).collect();
    assert_eq!(errors.len(), 1, "one victim");
    assert_eq!(errors[0].code, "40P01");
    assert!(errors[0].retryable && !errors[0].rolled_back);

    // A transaction that succeeds.
    one.execute(0, |_| ());
    assert_eq!(one.execute(1, |tx| tx.int(3)).affected, 1);
    assert_eq!(one.execute(3, |_| ()).error, None);
    assert_eq!(admin.value("SELECT count(*) FROM pairs").as_deref(), Some("3"));
}

#[test]
fn a_missing_table_is_named_when_preparing() {
    let Some(cluster) = shared() else { return };
    let statements = [
        statement("good", Effect::Read, "SELECT ?", &[ParamType::Int]),
        statement("bad", Effect::Read, "SELECT * FROM not_there", &[]),
    ];
    let Err(error) = Client::connect(&cluster.local("postgres"), &statements) else {
        panic!("prepared")
    };
    assert_eq!(error.kind, ErrorKind::Server);
    assert!(error.what.contains("`bad` (SELECT * FROM not_there)"), "{error}");
    assert!(error.what.contains("42P01") && error.hint.contains("load"), "{error}");
}

#[test]
fn copy_loads_and_counts() {
    let Some(cluster) = shared() else { return };
    let mut client = Client::connect(&cluster.tcp("trust_user"), &[]).expect("connects");
    client.run("CREATE TABLE bulk (id integer, t text)");
    let mut rows = Vec::new();
    for id in 0..100_000 {
        rows.extend_from_slice(format!("{id}\ta\\tb\\nc\\\\d é {id}\n").as_bytes());
    }
    for piece in [64 << 10, 3 << 20] {
        let reply = client.copy("bulk", &["id", "t"], &rows, piece);
        assert_eq!((reply.affected, reply.rows, reply.error), (100_000, 0, None));
    }
    let good = "SELECT count(*) FROM bulk WHERE t = E'a\\tb\\nc\\\\d é ' || id";
    assert_eq!(client.value(good).as_deref(), Some("200000"));
    let error = refusal(client.copy("bulk", &["id", "t"], b"1\tx\nnumber\ty\n", 5));
    assert_eq!(error.code, "22P02");
    let error = refusal(client.copy("not_there", &["id"], b"1\n", 5));
    assert_eq!(error.code, "42P01");
    let reply = client.query("COPY bulk FROM STDIN").expect("given up, not hung");
    assert_eq!(refusal(reply).code, "57014");
    assert_eq!(client.run("COPY bulk TO STDOUT").affected, 0);
    assert_eq!(client.value("SELECT count(*) FROM bulk").as_deref(), Some("200000"));
}

#[test]
fn a_table_emptied_in_the_same_transaction_is_filled_with_frozen_rows() {
    let Some(cluster) = shared() else { return };
    let mut admin = cluster.admin();
    let mut client = Client::connect(&cluster.tcp("trust_user"), &[]).expect("connects");
    client.run("CREATE TABLE cold (id integer)");
    client.run("INSERT INTO cold VALUES (1)");
    // Of the new rows, an older snapshot sees only frozen ones.
    admin.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
    admin.run("SELECT 1");
    let cold = Table {
        name: "cold".into(),
        columns: vec!["id".into()],
        create: String::new(),
        finish: vec![],
        rows: 2,
    };
    client.carry_out(Task::BeginLoad(&cold));
    assert_eq!(client.copy("cold", &["id"], b"7\n8\n", 64).error, None);
    client.carry_out(Task::EndLoad(&cold));
    assert_eq!(admin.value("SELECT count(*) FROM cold").as_deref(), Some("2"));
    admin.run("COMMIT");
    // Outside that transaction no row may be frozen, and the server would refuse it.
    client.run("TRUNCATE cold");
    assert_eq!(client.copy("cold", &["id"], b"9\n", 64).affected, 1);
    client.carry_out(Task::BeginLoad(&cold));
    client.carry_out(Task::Rollback);
    assert_eq!(client.copy("cold", &["id"], b"9\n", 64).affected, 1);
    assert_eq!(client.value("SELECT sum(id) FROM cold").as_deref(), Some("18"));
}

#[test]
fn many_rows_of_many_sizes_are_counted() {
    let Some(cluster) = shared() else { return };
    let sql = "SELECT repeat('x', i * i % 100000) FROM generate_series(1, ?) AS i";
    let statements = [statement("rows", Effect::Read, sql, &[ParamType::Int])];
    let mut client = Client::connect(&cluster.tcp("trust_user"), &statements).expect("connects");
    assert_eq!(client.execute(0, |tx| tx.int(1000)).rows, 1000);
    assert_eq!(client.run("SELECT repeat('x', 3000000)").rows, 1);
}

#[test]
fn statements_are_cancelled() {
    let Some(cluster) = shared() else { return };
    for target in [cluster.tcp("trust_user"), cluster.local("postgres")] {
        let mut client = Client::connect(&target, &[]).expect("connects");
        let backend = client.value("SELECT pg_backend_pid()").expect("a pid");
        client.start("SELECT pg_sleep(50)");
        let mut admin = cluster.admin();
        let sleeping = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE pid = {backend} AND wait_event = 'PgSleep'"
        );
        wait_for(|| admin.value(&sleeping).as_deref() == Some("1"));
        client.cancel();
        let error = refusal(client.reply().expect("replies"));
        assert_eq!((error.code.as_str(), error.retryable), ("57014", false));
        assert_eq!(client.value("SELECT 1").as_deref(), Some("1"), "the session lives on");
    }
}

#[test]
fn an_ended_connection_is_an_error_with_a_cause() {
    let Some(cluster) = shared() else { return };
    let mut client = Client::connect(&cluster.tcp("trust_user"), &[]).expect("connects");
    let backend = client.value("SELECT pg_backend_pid()").expect("a pid");
    client.start("SELECT pg_sleep(50)");
    cluster.admin().run(&format!("SELECT pg_terminate_backend({backend})"));
    let error = client.reply().expect_err("ended");
    assert_eq!(error.kind, ErrorKind::Connection);
    assert!(error.what.contains("57P01") && error.hint.contains("administrator"), "{error}");
}

#[test]
fn notices_and_notifications_are_skipped() {
    let Some(cluster) = shared() else { return };
    let mut client = Client::connect(&cluster.local("postgres"), &[]).expect("connects");
    client.run("LISTEN here");
    client.run("DO $$ BEGIN RAISE NOTICE 'a notice'; END $$");
    cluster.admin().run("NOTIFY here, 'payload'");
    for _ in 0..3 {
        client.run("SET TimeZone = 'UTC'");
        assert_eq!(client.value("SELECT 1; SELECT 2 WHERE false").as_deref(), Some("1"));
    }
}

#[test]
fn tls_as_the_plan_says() {
    let Some(cluster) = shared() else { return };
    let connect = |user: &str, tls: Tls| Client::connect(&Target { tls, ..cluster.tcp(user) }, &[]);
    let encrypted = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    let mut plain = connect("scram_user", Tls::Prefer).expect("prefer goes on without");
    assert_eq!(plain.value(encrypted).as_deref(), Some("f"));
    let Err(error) = connect("scram_user", Tls::Require) else { panic!("connected") };
    assert!(error.hint.contains("ssl = on"), "{error}");

    let mut admin = cluster.admin();
    admin.run("ALTER SYSTEM SET ssl = on");
    admin.run("SELECT pg_reload_conf()");
    wait_for(|| connect("trust_user", Tls::Require).is_ok());
    for tls in [Tls::Prefer, Tls::Require] {
        let mut client = connect("scram_user", tls).expect("connects");
        assert_eq!(client.value(encrypted).as_deref(), Some("t"));
        client.run("SELECT 1");
    }
    // A cleartext password is safe over TLS.
    let mut named = cluster.tcp("clear_user");
    named.login.cleartext_password = true;
    for (tls, is_sent) in [(Tls::Require, true), (Tls::Prefer, true), (Tls::Off, false)] {
        let target = Target { tls, ..named.clone() };
        assert_eq!(Client::connect(&target, &[]).is_ok(), is_sent);
    }
}

fn wait_for(mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(120);
    while !condition() {
        assert!(Instant::now() < end, "waited too long");
        std::thread::sleep(Duration::from_millis(10));
    }
}
