//! The MySQL client for scripts against a private MariaDB and, if installed, a private MySQL 9.

#[allow(dead_code, reason = "shared with the tests of the driver")]
mod mysql_support;
#[path = "mysql_support/script.rs"]
mod script;

use dyno_core::driver::Cancel;
use dyno_core::driver::client::Bind;
use dyno_core::error::Kind;
use dyno_core::plan::{Address, Target};
use mysql_support::{Server, target};
use script::{Row, Script};

type Trial = fn(&Target);

/// All tests, each in a schema of its own.
const TRIALS: &[(&str, Trial)] = &[
    ("queries_are_answered_with_all_their_results", queries_are_answered_with_all_their_results),
    ("procedures_return_several_results_both_ways", procedures_return_several_results_both_ways),
    ("prepared_statements_take_every_kind_of_value", prepared_statements_take_every_kind_of_value),
    (
        "prepared_statements_survive_a_change_of_their_table",
        prepared_statements_survive_a_change_of_their_table,
    ),
    (
        "closed_statements_are_gone_but_not_their_rows",
        closed_statements_are_gone_but_not_their_rows,
    ),
    (
        "refused_preparations_leave_the_connection_usable",
        refused_preparations_leave_the_connection_usable,
    ),
    ("refused_logins_say_what_the_server_said", refused_logins_say_what_the_server_said),
    (
        "binary_values_are_printed_as_the_server_prints_them",
        binary_values_are_printed_as_the_server_prints_them,
    ),
    (
        "long_rows_statements_and_parameters_go_over_packet_borders",
        long_rows_statements_and_parameters_go_over_packet_borders,
    ),
    ("files_of_this_machine_are_not_given_away", files_of_this_machine_are_not_given_away),
    ("a_killed_connection_is_lost", a_killed_connection_is_lost),
];

fn try_all(server: &Server) {
    for compression in ["off", "zlib"] {
        try_with(server, compression);
    }
}

fn try_with(server: &Server, compression: &str) {
    for (name, trial) in TRIALS {
        println!("{name}, compression {compression}");
        let mut root = server.root();
        root.must("DROP DATABASE IF EXISTS dyno");
        root.must("CREATE DATABASE dyno");
        let mut target = target(Address::Unix(server.socket()), "root", "", "dyno");
        target.options.insert("compression".into(), compression.into());
        let on = match compression {
            "zlib" => "ON",
            _ => "OFF",
        };
        let status = Script::open(&target).unwrap().must("SHOW STATUS LIKE 'Compression'");
        assert_eq!(status, [text(&["Compression", on])]);
        trial(&target);
    }
}

#[test]
fn mariadb_does_what_scripts_need() {
    let Some(server) = Server::mariadb("") else { return };
    try_all(&server);
    definitions_that_do_not_change_are_sent_once(&server);
}

#[test]
fn mysql_does_what_scripts_need() {
    let Some(server) = Server::mysql("") else { return };
    try_all(&server);
}

fn text(fields: &[&str]) -> Row {
    fields.iter().map(|field| Some((*field).to_owned())).collect()
}

fn queries_are_answered_with_all_their_results(target: &Target) {
    let mut script = Script::open(target).unwrap();
    script.must("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(100))");
    let answers = script.query("INSERT INTO t VALUES (1,'x'),(2,NULL),(3,'')").unwrap();
    assert_eq!((answers[0].fields, answers[0].affected), (0, 3));
    assert_eq!(
        script.must("SELECT * FROM t ORDER BY a"),
        [text(&["1", "x"]), vec![Some("2".into()), None], text(&["3", ""])]
    );
    assert_eq!(script.row(0, 2), text(&["3", ""]));
    assert_eq!(script.row(0, 0), text(&["1", "x"]));
    let answers = script.query("SELECT 1; DELETE FROM t WHERE a<3; SELECT a, b FROM t").unwrap();
    let seen: Vec<_> = answers.iter().map(|a| (a.fields, a.rows, a.affected)).collect();
    assert_eq!(seen, [(1, 1, 0), (0, 0, 2), (2, 1, 0)]);
    assert_eq!((script.rows(0), script.rows(2)), (vec![text(&["1"])], vec![text(&["3", ""])]));
    let answers = script.query("SELECT 1; SELECT nothing; SELECT 3").unwrap();
    assert_eq!(answers.len(), 2);
    let error = answers[1].error.as_ref().unwrap();
    assert_eq!((error.number, error.state.as_str()), (1054, "42S22"));
    assert!(error.message.contains("nothing"));
    let mut one = target.clone();
    one.options.insert("multi_statements".into(), false.into());
    let answers = Script::open(&one).unwrap().query("SELECT 1; SELECT 2").unwrap();
    assert_eq!(answers[0].error.as_ref().unwrap().number, 1064);
}

fn procedures_return_several_results_both_ways(target: &Target) {
    let mut script = Script::open(target).unwrap();
    script.must("CREATE TABLE t (a INT)");
    script.must(
        "CREATE PROCEDURE p (IN x VARCHAR(255)) BEGIN SELECT 'begin', x; INSERT INTO t VALUES \
         (1); SELECT a, a+1, 'c' FROM t; END",
    );
    let (call, params) = script.prepare("CALL p(?)").unwrap();
    assert_eq!(params, 1);
    for round in 0..6 {
        let answers = match round % 2 {
            0 => script.query("CALL p('foo')"),
            _ => script.execute(call, &[Bind::Text(b"foo")]),
        };
        let fields: Vec<_> = answers.unwrap().iter().map(|answer| answer.fields).collect();
        assert_eq!(fields, [2, 3, 0]);
        assert_eq!(script.rows(0), [text(&["begin", "foo"])]);
        assert_eq!(script.rows(1), vec![text(&["1", "2", "c"]); round + 1]);
    }
}

fn prepared_statements_take_every_kind_of_value(target: &Target) {
    let mut script = Script::open(target).unwrap();
    script.must("CREATE TABLE t (a BIGINT, b DOUBLE, c VARCHAR(100))");
    let (insert, params) = script.prepare("INSERT INTO t VALUES (?, ?, ?)").unwrap();
    assert_eq!(params, 3);
    let awkward = "it's \\ \"x\" \0 \n é";
    let rows: [[Bind<'_>; 3]; 4] = [
        [Bind::Int(i64::MIN), Bind::Double(0.1), Bind::Text(awkward.as_bytes())],
        [Bind::Null, Bind::Null, Bind::Null],
        [Bind::Text(b"7"), Bind::Int(-3), Bind::Double(2.5)],
        [Bind::Int(1), Bind::Double(1e300), Bind::Text(b"")],
    ];
    for values in &rows {
        assert_eq!(script.execute(insert, values).unwrap()[0].affected, 1);
    }
    let want = [
        text(&["-9223372036854775808", "0.1", awkward]),
        vec![None, None, None],
        text(&["7", "-3", "2.5"]),
        text(&["1", "1e300", ""]),
    ];
    assert_eq!(script.must("SELECT * FROM t"), want);
}

fn prepared_statements_survive_a_change_of_their_table(target: &Target) {
    let mut script = Script::open(target).unwrap();
    script.must("CREATE TABLE t (a BIGINT, c VARCHAR(100))");
    script.must("INSERT INTO t VALUES (7, 'seven')");
    let (select, _) = script.prepare("SELECT c, a FROM t WHERE a=?").unwrap();
    for _ in 0..3 {
        script.execute(select, &[Bind::Int(7)]).unwrap();
        assert_eq!(script.rows(0), [text(&["seven", "7"])]);
    }
    script.must("ALTER TABLE t MODIFY a VARCHAR(20)");
    script.execute(select, &[Bind::Int(7)]).unwrap();
    assert_eq!(script.rows(0), [text(&["seven", "7"])]);
    let (all, _) = script.prepare("SELECT * FROM t LIMIT 1").unwrap();
    script.must("ALTER TABLE t ADD d DATE DEFAULT '2026-01-31'");
    script.execute(all, &[]).unwrap();
    assert_eq!(script.row(0, 0).len(), script.client.answers()[0].fields as usize);
}

fn closed_statements_are_gone_but_not_their_rows(target: &Target) {
    let mut script = Script::open(target).unwrap();
    let (first, _) = script.prepare("SELECT 1").unwrap();
    let (second, _) = script.prepare("SELECT 2").unwrap();
    for _ in 0..2 {
        script.execute(first, &[]).unwrap();
    }
    script.close(first);
    script.close(first);
    assert_eq!(script.rows(0), [text(&["1"])]);
    let answers = script.execute(first, &[]).unwrap();
    assert_eq!(answers[0].error.as_ref().unwrap().number, 1243);
    script.execute(second, &[]).unwrap();
    assert_eq!(script.rows(0), [text(&["2"])]);
}

fn refused_preparations_leave_the_connection_usable(target: &Target) {
    let mut script = Script::open(target).unwrap();
    let refused = script.prepare("SELECT nothing").unwrap_err();
    assert_eq!((refused.number, refused.state.as_str()), (1054, "42S22"));
    // Neither server supports a PREPARE inside a prepared statement.
    let refused = script.prepare("PREPARE s FROM 'SELECT 42'").unwrap_err();
    assert_eq!(refused.number, 1295);
    assert_eq!(script.must("SELECT 1"), [text(&["1"])]);
}

fn binary_values_are_printed_as_the_server_prints_them(target: &Target) {
    let mut script = Script::open(target).unwrap();
    script.must(
        "CREATE TABLE v (id INT AUTO_INCREMENT PRIMARY KEY, i1 TINYINT, u1 TINYINT UNSIGNED, \
         i2 SMALLINT, i3 MEDIUMINT, u4 INT UNSIGNED, z INT(7) ZEROFILL, u8 BIGINT UNSIGNED, \
         f FLOAT, d DOUBLE, f2 FLOAT(9,3), d2 DOUBLE(20,4), n DECIMAL(30,10), da DATE, ti TIME, \
         t6 TIME(6), dt DATETIME, d3 DATETIME(3), ts TIMESTAMP(6) NULL, y YEAR, b BLOB, bi \
         BIT(10), e ENUM('x','y'), j JSON)",
    );
    script.must("SET sql_mode=''");
    for values in [
        "-128,255,-32768,-8388608,4294967295,42,18446744073709551615,3.4e38,-1.7e308,-0.5,12.5,\
         -1.5,'0000-00-00','-838:59:59','-00:00:00.5','0000-00-00','2026-01-31 00:00:00.1',\
         '2026-01-31 23:59:59.999999',2155,x'00ff41',b'1000000001','x','{\"a\": 1}'",
        "1,1,1,1,1,1234567,1,0.1,0.1,0,0,0,'2026-12-31','00:00:00','838:59:59','9999-12-31 \
         23:59:59','1000-01-01','1999-12-31 00:00:00',1901,'','0','y','[]'",
        "0,0,0,0,0,0,0,16777216,123456789012345678,1e5,-0.00005,99999999999999999999.9999999999,\
         '1000-01-01','12:00:00.999','12:00:00','2026-01-31 12:00:00','2026-01-31 12:00:00',\
         NULL,0,'x','1','x','null'",
    ] {
        script.must(&format!("INSERT INTO v VALUES (NULL,{values})"));
    }
    let mut seed = 88_172_645_463_325_252_u64;
    for _ in 0..300 {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        let places = (seed % 50) as i32 - 25;
        let wide = (seed >> 11) as f64 * 10f64.powi(places);
        let short = ((seed >> 40) % 10_000) as f64 * 10f64.powi(places);
        script.must(&format!(
            "INSERT INTO v (f,d,f2,d2) VALUES ({wide:e},{wide:e},{:e},{:e}),({short:e},-{short:e},0,0)",
            wide % 1e5,
            wide % 1e14
        ));
    }
    let as_text = script.must("SELECT * FROM v ORDER BY id");
    let (select, _) = script.prepare("SELECT * FROM v ORDER BY id").unwrap();
    for _ in 0..2 {
        script.execute(select, &[]).unwrap();
        for (row, want) in as_text.iter().enumerate() {
            assert_eq!(&script.row(0, row as u64), want);
        }
    }
}

fn long_rows_statements_and_parameters_go_over_packet_borders(target: &Target) {
    let mut script = Script::open(target).unwrap();
    script.must("SET GLOBAL max_allowed_packet=64*1024*1024");
    let mut script = Script::open(target).unwrap();
    for length in [(1 << 24) - 8, 1 << 24] {
        let sql = format!("SELECT 1, REPEAT('x', {length}), 2");
        script.must(&sql);
        let row = script.row(0, 0);
        assert_eq!(row[1].as_ref().unwrap().len(), length);
        assert_eq!((row[0].as_deref(), row[2].as_deref()), (Some("1"), Some("2")));
        let (select, _) = script.prepare("SELECT LENGTH(?), REPEAT('x', ?), 2").unwrap();
        let long = vec![b'y'; length];
        script.execute(select, &[Bind::Text(&long), Bind::Int(length as i64)]).unwrap();
        let row = script.row(0, 0);
        assert_eq!(row[0].as_deref(), Some(length.to_string().as_str()));
        assert_eq!(row[1].as_ref().unwrap().len(), length);
        assert_eq!(row[2].as_deref(), Some("2"));
        script.close(select);
    }
}

fn definitions_that_do_not_change_are_sent_once(server: &Server) {
    let address = Address::Unix(server.socket());
    let mut bytes = vec![];
    for metadata in ["full", "cached"] {
        let mut who = target(address.clone(), "root", "", "");
        who.options.insert("metadata".into(), metadata.into());
        let mut script = Script::open(&who).unwrap();
        let (select, _) = script.prepare("SELECT ? AS a, 2 AS b").unwrap();
        let before = script.received_bytes;
        for _ in 0..10 {
            script.execute(select, &[Bind::Int(1)]).unwrap();
            assert_eq!(script.rows(0), [text(&["1", "2"])]);
        }
        bytes.push(script.received_bytes - before);
    }
    assert!(bytes[1] < bytes[0] / 2, "{bytes:?}");
}

fn files_of_this_machine_are_not_given_away(target: &Target) {
    let mut script = Script::open(target).unwrap();
    script.must("CREATE TABLE t (a TEXT)");
    let answers = script.query("LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t").unwrap();
    let number = answers[0].error.as_ref().unwrap().number;
    assert!([1148, 3948, 4166].contains(&number), "{number}");
    assert_eq!(script.must("SELECT COUNT(*) FROM t"), [text(&["0"])]);
}

fn a_killed_connection_is_lost(target: &Target) {
    let mut script = Script::open(target).unwrap();
    let mut other = Script::open(target).unwrap();
    let Cancel::Statement(kill) = script.client.cancel() else { panic!("no KILL") };
    other.must(&kill);
    let error = script.query("SELECT 1").unwrap_err();
    assert_eq!(error.kind, Kind::Connection, "{error}");
    // The error that MySQL or MariaDB sends before it closes, if any.
    let said = script.client.parting().map(|refused| refused.number);
    assert!(said.is_none_or(|number| [1053, 1927, 3169].contains(&number)), "{said:?}");
}

fn refused_logins_say_what_the_server_said(target: &Target) {
    let wrong = Target { database: "nowhere".into(), ..target.clone() };
    let (error, parting) = Script::refused(&wrong);
    assert_eq!(error.kind, Kind::Authentication, "{error}");
    assert_eq!((parting.number, parting.state.as_str()), (1049, "42000"));
    assert!(parting.message.contains("nowhere"), "{}", parting.message);
}
