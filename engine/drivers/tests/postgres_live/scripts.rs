//! The client for scripts against a real, private server.

use crate::postgres_support::cluster::{Cluster, shared};
use crate::postgres_support::script::Script;
use crate::wait_for;
use dyno_core::driver::client::{Answer, Bind};
use dyno_core::error::Kind as ErrorKind;
use dyno_core::plan::{Secret, Target};

fn connect(cluster: &Cluster) -> Script {
    Script::connect(&cluster.local("postgres")).expect("logs in")
}

fn text(value: &str) -> Option<String> {
    Some(value.to_owned())
}

fn state(answers: &[Answer]) -> &str {
    let last = answers.last().expect("an answer");
    last.error.as_ref().map_or("", |error| &error.state)
}

#[test]
fn scripts_log_in_by_every_method() {
    let Some(cluster) = shared() else { return };
    for user in ["trust_user", "md5_user", "scram_user"] {
        let session_sql = vec!["SET work_mem = '9MB'".into(), "SELECT 1".into()];
        let target = Target { session_sql, ..cluster.tcp(user) };
        let mut script = Script::connect(&target).expect(user);
        assert_eq!(script.rows("SELECT current_user"), [[text(user)]]);
        assert_eq!(script.rows("SHOW work_mem"), [[text("9MB")]]);
        script.quit();
    }
    let wrong = Target { password: Secret("wrong".into()), ..cluster.tcp("scram_user") };
    let error = Script::connect(&wrong).err().expect("refused");
    assert_eq!(error.kind, ErrorKind::Authentication);
}

#[test]
fn scripts_get_all_results_of_a_text() {
    let Some(cluster) = shared() else { return };
    let mut script = connect(&cluster);
    let all = "CREATE TEMP TABLE several (a int, b text);
        INSERT INTO several VALUES (1, 'é'), (2, NULL); -- ? ;
        SELECT * FROM several ORDER BY a; UPDATE several SET b = ''; SELECT b FROM several;
        SELECT a FROM several WHERE a > 9";
    let got: Vec<_> = script.query(all).iter().map(|a| (a.fields, a.rows, a.affected)).collect();
    assert_eq!(got, [(0, 0, 0), (0, 0, 2), (2, 2, 0), (0, 0, 2), (1, 2, 0), (1, 0, 0)]);
    assert_eq!(script.rows_of(2), [[text("1"), text("é")], [text("2"), None]]);
    assert_eq!(script.rows_of(4), [[text("")], [text("")]]);
    let returning = script.query("DELETE FROM several RETURNING a");
    assert_eq!((returning[0].fields, returning[0].rows, returning[0].affected), (1, 2, 2));
    for nothing in ["", ";", "-- nothing"] {
        assert_eq!(script.query(nothing), [Answer::default()], "{nothing}");
    }
    let got = script.query("SELECT 1; SELECT 1/0; SELECT 2");
    assert_eq!((got.len(), got[0].rows, state(got)), (2, 1, "22012"));
    // A result that fails half way has no rows.
    let got = script.query("SELECT 1/(2000-n) FROM generate_series(1, 3000) AS s(n)");
    assert_eq!((got.len(), got[0].rows, state(got)), (1, 0, "22012"));
    script.quit();
}

#[test]
fn scripts_prepare_with_marks_of_any_type() {
    let Some(cluster) = shared() else { return };
    let mut script = connect(&cluster);
    script.query(
        "CREATE TEMP TABLE kinds (i int, b bigint, n numeric(9,2), d float8, t text, c char(10),
         day date, o bool)",
    );
    let insert = "INSERT INTO kinds /* ? */ VALUES (?, ?, ?, ?, ?, ?, ?, ?) -- '?'";
    let (insert, parameters) = script.prepare(insert).expect("prepares");
    assert_eq!(parameters, 8);
    let all = [
        Bind::Int(7),
        Bind::Int(i64::MIN),
        Bind::Double(1.25),
        Bind::Double(1e-300),
        Bind::Text("it's \\ é?".as_bytes()),
        Bind::Text(b"0123456789"),
        Bind::Text(b"2020-02-29"),
        Bind::Int(1),
    ];
    let one = Answer { affected: 1, ..Answer::default() };
    assert_eq!(script.execute(insert, &all), one);
    let (i, third) = (Bind::Double(8.0), Bind::Double(1.0 / 3.0));
    let rest = [Bind::Null, Bind::Null, third, Bind::Null, Bind::Null, Bind::Null, Bind::Null];
    assert_eq!(script.execute(insert, &[&[i][..], &rest].concat()), one);
    let row = ["7", "-9223372036854775808", "1.25", "1e-300", "it's \\ é?", "0123456789"];
    let row: Vec<_> = row.into_iter().chain(["2020-02-29", "t"]).map(text).collect();
    assert_eq!(script.rows("SELECT * FROM kinds WHERE i = 7"), [row]);
    let (select, _) = script.prepare("SELECT d FROM kinds WHERE i IN (?, ?)").expect("prepares");
    let got = script.execute(select, &[Bind::Int(8), Bind::Int(9)]);
    assert_eq!((got.fields, got.rows, got.affected), (1, 1, 0));
    let shown = script.rows_of(0)[0][0].clone().expect("a value");
    assert_eq!(shown.parse::<f64>(), Ok(1.0 / 3.0));
    let none = script.execute(select, &[Bind::Null, Bind::Int(1 << 20)]);
    assert_eq!((none.fields, none.rows), (1, 0));
    for (values, expected) in [
        (&[Bind::Int(1 << 40), Bind::Null][..], "22003"),
        (&[Bind::Text(b"a\0b"), Bind::Null], "22021"),
        (&[Bind::Text(b"x"), Bind::Null], "22P02"),
        (&[Bind::Null], "08P01"),
    ] {
        let got = script.execute(select, values);
        assert_eq!(state(&[got]), expected);
    }
    script.close(select);
    let ended = script.execute(select, &[Bind::Null, Bind::Null]);
    assert_eq!(state(&[ended]), "26000");
    script.close(select);
    let (own, parameters) = script.prepare("SELECT $2::int, $1::text").expect("prepares");
    assert_eq!((own, parameters), (select, 2), "the number is used again");
    script.execute(own, &[Bind::Text(b"one"), Bind::Int(2)]);
    assert_eq!(script.rows_of(0), [[text("2"), text("one")]]);
    script.quit();
}

#[test]
fn scripts_see_why_a_statement_cannot_be_prepared() {
    let Some(cluster) = shared() else { return };
    let mut script = connect(&cluster);
    let message = script.prepare("SELECT *\n FROM missing WHERE a = ?").unwrap_err();
    let expected = "ERROR:  relation \"missing\" does not exist\n\
                    LINE 2:  FROM missing WHERE a = $1\n              ^\n";
    assert_eq!(message, expected);
    // The type is ambiguous; the connection remains usable.
    assert!(script.prepare("SELECT ? + ?").unwrap_err().starts_with("ERROR:  operator is not"));
    assert!(script.prepare("SELECT 1; SELECT 2").unwrap_err().contains("multiple commands"));
    assert_eq!(script.prepare("SELECT ?::int + 1"), Ok((0, 1)));
    assert_eq!(script.prepare(""), Ok((1, 0)));
    assert_eq!(script.execute(1, &[]), Answer::default());
    script.quit();
}

#[test]
fn scripts_keep_the_connection_after_a_failed_statement() {
    let Some(cluster) = shared() else { return };
    let mut script = connect(&cluster);
    script.query("CREATE TEMP TABLE failing (a int PRIMARY KEY CHECK (a < 10))");
    let (insert, _) = script.prepare("INSERT INTO failing VALUES (?)").expect("prepares");
    script.query("BEGIN");
    assert_eq!(script.execute(insert, &[Bind::Int(1)]).affected, 1);
    let double = script.execute(insert, &[Bind::Int(1)]);
    let error = double.error.expect("refused");
    assert_eq!(error.state, "23505");
    assert_eq!(error.message, "duplicate key value violates unique constraint \"failing_pkey\"");
    assert_eq!(state(script.query("SELECT 1")), "25P02");
    let in_vain = script.execute(insert, &[Bind::Int(2)]);
    assert_eq!(state(&[in_vain]), "25P02");
    // Closing a statement still works.
    script.close(insert);
    assert_eq!(script.query("ROLLBACK"), [Answer::default()]);
    assert_eq!(script.rows("SELECT count(*) FROM failing"), [[text("0")]]);
    assert_eq!(state(script.query("INSERT INTO failing VALUES (11)")), "23514");
    script.query("DO $$ BEGIN RAISE NOTICE 'not ? an answer'; END $$");
    assert_eq!(script.client.answers(), [Answer::default()]);
    script.quit();
}

#[test]
fn scripts_cannot_copy() {
    let Some(cluster) = shared() else { return };
    let mut script = connect(&cluster);
    script.query("CREATE TEMP TABLE copied AS SELECT 1 AS a");
    assert_eq!(state(script.query("COPY copied FROM STDIN")), "57014");
    let (copy, _) = script.prepare("COPY copied FROM STDIN").expect("prepares");
    let got = script.execute(copy, &[]);
    assert_eq!(state(&[got]), "57014");
    assert_eq!(script.query("COPY copied TO STDOUT"), [Answer::default()]);
    assert_eq!(script.rows("SELECT * FROM copied"), [[text("1")]]);
    script.quit();
}

#[test]
fn scripts_keep_large_results() {
    let Some(cluster) = shared() else { return };
    let mut script = connect(&cluster);
    let rows = script.rows("SELECT n, repeat('x', n) FROM generate_series(1, 2000) AS s(n)");
    assert_eq!(rows.len(), 2000);
    assert!(rows.iter().enumerate().all(|(index, row)| {
        row[0].as_deref() == Some(&*(index + 1).to_string())
            && row[1].as_ref().map(String::len) == Some(index + 1)
    }));
    let one = script.rows("SELECT repeat('y', 30000000)");
    assert_eq!(one[0][0].as_ref().map(String::len), Some(30_000_000));
    script.quit();
}

#[test]
fn scripts_can_be_cancelled_and_thrown_out() {
    let Some(cluster) = shared() else { return };
    let mut script = connect(&cluster);
    let backend = script.rows("SELECT pg_backend_pid()")[0][0].clone().expect("a number");
    script.start(|client, out| client.query(b"SELECT pg_sleep(60)", out));
    let mut other = connect(&cluster);
    let sleeps =
        format!("SELECT 1 FROM pg_stat_activity WHERE pid = {backend} AND wait_event = 'PgSleep'");
    wait_for(|| !other.rows(&sleeps).is_empty());
    script.cancel();
    assert_eq!(state(script.answers().expect("still there")), "57014");
    script.start(|client, out| client.query(b"SELECT pg_sleep(60)", out));
    connect(&cluster).rows(&format!("SELECT pg_terminate_backend({backend})"));
    let error = script.answers().expect_err("thrown out");
    assert_eq!(error.kind, ErrorKind::Connection);
    assert!(error.what.contains("57P01"), "{error}");
}
