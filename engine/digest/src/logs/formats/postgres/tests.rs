//! Tests on whole logs of the three forms, as a server of version 15 writes them.

use crate::event::{Kind, Measure};
use crate::logs::format::{Format, FormatKind, Settings, read_as_stream, read_in_parts};
use crate::logs::formats::FORMATS;
use crate::sink::{Kept, Owned};
use proptest::prelude::*;

mod hosters;
mod wrapped;

/// Interleaved messages of two sessions, with all statements that take several messages.
const LINES: &str = "\
2026-11-22 06:40:00.000 CET [9] LOG:  starting PostgreSQL 15.18 (Debian 15.18-0) on x86_64, 64-bit
2026-11-22 06:40:00.001 CET [9] LOG:  parameter \"log_min_duration_statement\" changed to \"5ms\"
2026-11-22 06:40:00.500 CET [7] [unknown]@[unknown] 00000 LOG:  connection received: host=::1 port=5
2026-11-22 06:40:00.501 CET [7] me@shop 00000 LOG:  connection authorized: user=me database=shop
2026-11-22 06:40:01.000 CET [7] me@shop 00000 LOG:  statement: select 1
2026-11-22 06:40:01.001 CET [8] you@shop 00000 LOG:  duration: 2.500 ms  statement: select *
\t  from t
\t\twhere a = 'x'
2026-11-22 06:40:01.002 CET [7] me@shop 00000 LOG:  duration: 1.250 ms
2026-11-22 06:40:01.100 CET [7] me@shop 00000 LOG:  statement: select 1/0
2026-11-22 06:40:01.101 CET [7] me@shop 22012 ERROR:  division by zero
2026-11-22 06:40:01.101 CET [7] me@shop 22012 STATEMENT:  select 1/0
2026-11-22 06:40:01.200 CET [8] you@shop 00000 LOG:  duration: 0.400 ms  parse S_1: select $1
2026-11-22 06:40:01.201 CET [8] you@shop 00000 LOG:  duration: 0.300 ms  bind S_1: select $1
2026-11-22 06:40:01.201 CET [8] you@shop 00000 DETAIL:  parameters: $1 = 'a''b'
2026-11-22 06:40:01.202 CET [9] LOG:  checkpoint starting: time
2026-11-22 06:40:01.203 CET [8] you@shop 00000 LOG:  duration: 0.200 ms  execute S_1: select $1
2026-11-22 06:40:01.203 CET [8] you@shop 00000 DETAIL:  parameters: $1 = 'a''b'
2026-11-22 06:40:01.204 CET [8] you@shop 00000 LOG:  duration: 0.150 ms  plan:
\tQuery Text: select $1
\tResult  (cost=0.00..0.01 rows=1 width=4)
2026-11-22 06:40:01.300 CET [7] me@shop 00000 LOG:  duration: 7.000 ms  plan:
\tQuery Text: select count(*) from t
\tAggregate  (cost=1.00..2.00 rows=1 width=8) (actual time=0.1..0.2 rows=1 loops=1)
2026-11-22 06:40:01.301 CET [7] me@shop 00000 LOG:  temporary file: path \"x\", size 4096
2026-11-22 06:40:01.301 CET [7] me@shop 00000 STATEMENT:  select count(*) from t
2026-11-22 06:40:01.302 CET [7] me@shop 00000 LOG:  process 7 still waiting for ShareLock on x after 100.000 ms
2026-11-22 06:40:01.302 CET [7] me@shop 00000 LOG:  process 7 acquired ShareLock on x after 150.000 ms
2026-11-22 06:40:01.303 CET [7] me@shop 00000 LOG:  duration: 8.000 ms  statement: select count(*) from t
2026-11-22 06:40:01.400 CET [7] me@shop 42P01 ERROR:  relation \"u\" does not exist at character 15
2026-11-22 06:40:01.400 CET [7] me@shop 42P01 STATEMENT:  select * from
\tu
2026-11-22 06:40:01.500 CET [8] you@shop 00000 LOG:  duration: 3.000 ms
2026-11-22 06:40:01.501 CET [8] you@shop 57P01 FATAL:  terminating connection due to administrator command
2026-11-22 06:40:01.600 CET [7] me@shop 00000 LOG:  statement: select 2
2026-11-22 06:40:01.700 CET [7] me@shop 00000 LOG:  disconnection: session time: 0:00:01.199 user=me
2026-11-22 06:40:01.800 CET [11] they@shop 00000 LOG:  statement: select 3
";

const CSV: &str = "\
2026-11-22 06:40:01.389 CET,,,9,,6b028031.9,1,,2026-11-22 06:40:01 CET,,0,LOG,00000,\"starting PostgreSQL 15.18 (Debian) on x86_64\",,,,,,,,,\"\",\"postmaster\",,0
2026-11-22 06:40:01.621 CET,\"me\",\"shop\",7,\"127.0.0.1:56042\",6b028031.7,4,\"BIND\",2026-11-22 06:40:01 CET,3/42,0,LOG,00000,\"duration: 0.266 ms  bind P_0: select \"\"a\"\" from t where a = $1;\",\"parameters: $1 = '80'\",,,,,,,,\"pgbench\",\"client backend\",,-69
2026-11-22 06:40:01.622 CET,\"me\",\"shop\",7,\"127.0.0.1:56042\",6b028031.7,5,\"SELECT\",2026-11-22 06:40:01 CET,3/42,0,LOG,00000,\"duration: 0.430 ms  execute P_0: select \"\"a\"\" from t where a = $1;\",\"parameters: $1 = '80'\",,,,,,,,\"pgbench\",\"client backend\",,-69
2026-11-22 06:40:01.700 CET,\"me\",\"shop\",7,\"[local]\",6b028031.7,6,\"SELECT\",2026-11-22 06:40:01 CET,3/43,0,LOG,00000,\"duration: 1.000 ms  statement: select 1,
2026-11-22 06:40:01.700 CET,
'x'\",,,,,,,,,\"psql\"
2026-11-22 06:40:01.800 CET,\"me\",\"shop\",7,\"[local]\",6b028031.7,7,\"SELECT\",2026-11-22 06:40:01 CET,3/44,0,ERROR,22012,\"division by zero\",,,,,,\"select 1/0\",,,\"psql\",\"client backend\"
";

const JSON: &str = concat!(
    r#"{"timestamp":"2026-11-22 06:40:01.389 CET","pid":9,"session_id":"6b028031.9","line_num":1,"session_start":"2026-11-22 06:40:01 CET","txid":0,"error_severity":"LOG","message":"starting PostgreSQL 15.18 (Debian)","backend_type":"postmaster","query_id":0}"#,
    "\n",
    r#"{"timestamp":"2026-11-22 06:40:01.569 CET","user":"me","dbname":"shop","pid":7,"remote_host":"[local]","session_id":"6b028031.7","line_num":8,"error_severity":"LOG","message":"duration: 1.000 ms  statement: select \"a\",\n\t'\\'","application_name":"psql","backend_type":"client backend","query_id":-8441}"#,
    "\n",
    r#"{"timestamp":"2026-11-22 06:40:01.600 CET","user":"me","dbname":"shop","pid":7,"remote_host":"127.0.0.1","remote_port":5,"session_id":"6b028031.7","line_num":9,"error_severity":"ERROR","state_code":"22012","message":"division by zero","statement":"select 1/0","application_name":"psql"}"#,
    "\n",
);

fn kind(name: &str) -> &'static FormatKind {
    FORMATS.iter().find(|kind| kind.name == name).expect("a format")
}

fn open(name: &str, log: &str) -> Box<dyn Format> {
    (kind(name).open)(&Settings::default(), log.as_bytes()).expect("opens")
}

fn read(name: &str, log: &str) -> Kept {
    read_in_parts(&*open(name, log), log.as_bytes(), &[])
}

/// An event as text: kind, microseconds, user@database, statement, error.
fn brief(owned: &Owned) -> String {
    let Owned { event, text, user, database, error, .. } = owned;
    let us = event.duration_ns.map_or("-".into(), |ns| (ns / 1000).to_string());
    format!("{:?} {us} {user}@{database} {text} {error}", event.kind)
}

fn briefs(kept: &Kept) -> Vec<String> {
    kept.events.iter().map(|owned| brief(owned).trim_end().to_owned()).collect()
}

#[test]
fn messages_of_one_statement_become_one_event() {
    let kept = read("postgres-stderr", LINES);
    assert_eq!(kept.not_understood, []);
    assert_eq!(
        briefs(&kept),
        [
            "Command - me@shop connect",
            "Statement 2500 you@shop select *\n  from t\n\twhere a = 'x'",
            "Statement 1250 me@shop select 1",
            "Statement - me@shop select 1/0 22012",
            "Prepare 400 you@shop select $1",
            "Statement 200 you@shop select $1",
            "Statement 8000 me@shop select count(*) from t",
            "Statement - me@shop select * from\nu 42P01",
            "Command 3000 you@shop duration",
            "Command - you@shop FATAL 57P01",
            "Statement - me@shop select 2",
            "Command - me@shop quit",
            "Statement - they@shop select 3",
        ]
    );
    let get = |index: usize, measure| kept.events[index].event.numbers.get(measure);
    assert_eq!(kept.events[5].parameters, "$1 = 'a''b'");
    assert_eq!(get(5, Measure::PlanTime), Some(300_000));
    assert_eq!(get(6, Measure::TmpBytes), Some(4096));
    assert_eq!(get(6, Measure::LockTime), Some(150_000_000));
    assert_eq!(get(6, Measure::RowsSent), Some(1));
    assert_eq!(get(7, Measure::TmpBytes), None);
    assert_eq!(kept.events[1].event.session, Some(8));
    assert_eq!(kept.events[1].event.end_ns, Some(1_795_326_001_001_000_000));
}

#[test]
fn facts_have_server_prefix_and_threshold() {
    let format = open("postgres-stderr", LINES);
    let mut context = crate::logs::format::Context::default();
    let part = crate::sink::Part { bytes: LINES.as_bytes(), offset: 0, is_last: true };
    format.read(part, &mut context, &mut Kept::default());
    let facts = format.facts(&context);
    assert_eq!(facts.server.as_deref(), Some("PostgreSQL 15.18"));
    assert_eq!(facts.threshold_ns, Some(5_000_000));
    assert_eq!(facts.line_prefix.as_deref(), Some("%m [%p] %q%u@%d %e "));
}

#[test]
fn csvlog_has_quotes_and_line_feeds_in_its_columns() {
    let kept = read("postgres-csv", CSV);
    assert_eq!(kept.not_understood, []);
    assert_eq!(
        briefs(&kept),
        [
            "Statement 430 me@shop select \"a\" from t where a = $1;",
            "Statement 1000 me@shop select 1,\n2026-11-22 06:40:01.700 CET,\n'x'",
            "Statement - me@shop select 1/0 22012",
        ]
    );
    assert_eq!(kept.events[0].host, "127.0.0.1");
    assert_eq!(kept.events[0].parameters, "$1 = '80'");
    assert_eq!(kept.events[1].host, "[local]");
}

#[test]
fn jsonlog_has_escapes() {
    let kept = read("postgres-json", JSON);
    assert_eq!(kept.not_understood, []);
    let expected =
        ["Statement 1000 me@shop select \"a\",\n\t'\\'", "Statement - me@shop select 1/0 22012"];
    assert_eq!(briefs(&kept), expected);
    assert_eq!(kept.events[1].host, "127.0.0.1");
}

#[test]
fn records_that_are_torn_cost_no_others() {
    let torn = CSV.find("bind P_0").expect("there");
    let log = format!(
        "{}\n{}",
        &CSV[..torn],
        &CSV[CSV.find("2026-11-22 06:40:01.700").expect("there")..]
    );
    let kept = read("postgres-csv", &log);
    assert_eq!(kept.not_understood.len(), 1);
    let log = format!("\0\0rubbish\n{log}");
    let kept = read("postgres-csv", &log);
    assert_eq!(kept.events.len() + kept.not_understood.len(), 4, "{kept:?}");
    let log = format!("{}{JSON}", &JSON[..300]);
    let kept = read("postgres-json", &log);
    assert_eq!((kept.events.len(), kept.not_understood.len()), (2, 1));
}

#[test]
fn lines_that_are_none_of_the_log_are_counted() {
    let log = LINES.replace(
        "2026-11-22 06:40:01.202",
        "cp: no space left\ncp: again\n2026-11-22 06:40:01.202",
    );
    let kept = read("postgres-stderr", &log);
    assert_eq!(kept.not_understood.len(), 1);
    assert_eq!(kept.not_understood[0].1, 28);
    assert_eq!(kept.events.len(), 13);
    // Parts of another session's message between, as without the logging collector.
    let log = "LOG:  x\n";
    assert_eq!(read("postgres-stderr", log).events.len(), 0);
    let log = LINES.replace("[7] me@shop 22012 STATEMENT", "[6] me@shop 22012 STATEMENT");
    assert_eq!(read("postgres-stderr", &log).not_understood.len(), 1);
}

#[test]
fn localised_logs_are_read() {
    let log = "2026-11-22 06:40:01 CET [7] LOG:  Dauer: 1.000 ms  Anweisung: SELECT 1\n\
               2026-11-22 06:40:01 CET [7] FEHLER:  Division durch Null\n\
               2026-11-22 06:40:01 CET [7] ANWEISUNG:  SELECT 1/0\n\
               2026-11-22 06:40:01 CET [7] LOG:  kesto: 1.000 ms  lause: SELECT 1\n";
    let kept = read("postgres-stderr", log);
    assert_eq!(briefs(&kept), ["Statement 1000 @ SELECT 1", "Statement - @ SELECT 1/0 ERROR"]);
    assert_eq!(kept.not_understood.len(), 1);
}

#[test]
fn without_a_process_nothing_is_joined() {
    let log = "LOG:  statement: select 1\nLOG:  duration: 1.000 ms\n";
    let kept = read("postgres-stderr", log);
    assert_eq!(briefs(&kept), ["Statement - @ select 1", "Command 1000 @ duration"]);
}

#[test]
fn zones_that_are_not_known_are_counted_unless_told() {
    let log = "2026-11-22 06:40:01 CST [7] LOG:  duration: 1.000 ms  statement: SELECT 1\n";
    let kept = read("postgres-stderr", log);
    assert_eq!((kept.events[0].event.end_ns, kept.not_understood.len()), (None, 1));
    let settings = Settings { utc_offset_s: -6 * 3600, ..Settings::default() };
    let format = (kind("postgres-stderr").open)(&settings, log.as_bytes()).expect("opens");
    let kept = read_in_parts(&*format, log.as_bytes(), &[]);
    assert_eq!(kept.events[0].event.end_ns, Some(1_795_351_201_000_000_000));
}

#[test]
fn numbers_and_years_without_bounds_are_kept_within_theirs() {
    let time = "2026-11-22 06:40:01 UTC [7] LOG:  ";
    let most = u64::MAX;
    let log = [
        &format!("{time}temporary file: path \"x\", size {most}\n").repeat(2),
        &format!("{time}process 7 acquired Lock on x after 999999999999999.999 ms\n").repeat(2),
        &format!("{time}duration: 999999999999999.999 ms  statement: SELECT 1\n"),
        "9999-12-31 23:59:59 UTC [7] LOG:  duration: 1.000 ms  statement: SELECT 2\n",
    ]
    .concat();
    let kept = read("postgres-stderr", &log);
    assert_eq!(kept.events.len(), 1);
    let event = &kept.events[0].event;
    assert_eq!(event.duration_ns, Some(most));
    assert_eq!(event.numbers.get(Measure::TmpBytes), Some(most));
    assert_eq!(event.numbers.get(Measure::LockTime), Some(most));
    assert_eq!(kept.not_understood.len(), 1, "the year is none of a log");
}

#[test]
fn formats_are_told_apart_by_content() {
    for (name, log) in [("postgres-stderr", LINES), ("postgres-csv", CSV), ("postgres-json", JSON)]
    {
        let found: Vec<&str> = FORMATS
            .iter()
            .filter(|kind| (kind.detect)(log.as_bytes()))
            .map(|kind| kind.name)
            .collect();
        assert_eq!(found, [name]);
    }
    for kind in FORMATS.iter().filter(|kind| kind.name.starts_with("postgres")) {
        let other = "# Time: 2026-11-22T05:40:01.000000Z\n# User@Host: me[me] @ localhost []  Id: 7\n\
                     # Query_time: 0.1  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 1\nSELECT 1;\n";
        let mongo =
            "{\"t\":{\"$date\":\"2026-11-22T05:40:00.000+00:00\"},\"s\":\"I\",\"msg\":\"x\"}\n";
        for log in ["", "\n\n", other, mongo, "\0\u{1}binlog", "hello: world  x\n"] {
            assert!(!(kind.detect)(log.as_bytes()), "{} takes {log:?}", kind.name);
        }
    }
}

#[test]
fn a_prefix_may_be_given() {
    let settings = Settings { line_prefix: Some("%u <%d> ".into()), ..Settings::default() };
    let log = "me <shop> LOG:  duration: 1.000 ms  statement: SELECT 1\n";
    let format = (kind("postgres-stderr").open)(&settings, b"").expect("opens");
    let kept = read_in_parts(&*format, log.as_bytes(), &[]);
    assert_eq!(briefs(&kept), ["Statement 1000 me@shop SELECT 1"]);
    let none = (kind("postgres-stderr").open)(&Settings::default(), b"?? LOG hello\n").err();
    assert!(none.expect("no prefix").hint.contains("--line-prefix"));
    assert_eq!(kept.events[0].event.kind, Kind::Statement);
}

#[test]
fn locks_are_waited_for_by_the_statement_that_the_message_names() {
    let wait = "2025-11-22 04:42:07.500 UTC [200] LOG:  process 200 acquired ShareLock on x after 2000.081 ms
2025-11-22 04:42:07.500 UTC [200] STATEMENT:  update t set a = 5\n";
    let still = wait.replace("acquired", "still waiting for").replace("2000.081", "1000.081");
    let done = |at: &str, ms: &str, text: &str| {
        format!("2025-11-22 {at} UTC [200] LOG:  duration: {ms} ms  statement: {text}\n")
    };
    let update = "update t set a = 5";
    let same = done("04:42:07.501", "2001.000", update);
    let other = done("05:59:08.200", "1300.000", "select count(*) from big");
    let later = done("05:59:08.200", "1300.000", update);
    let waited = |log: &str| {
        let kept = read("postgres-stderr", log);
        kept.events.iter().map(|e| e.event.numbers.get(Measure::LockTime)).collect::<Vec<_>>()
    };
    assert_eq!(waited(&format!("{still}{wait}{same}")), [Some(2_000_081_000)]);
    assert_eq!(waited(&format!("{wait}{wait}{same}{same}")), [Some(4_000_162_000), None]);
    assert_eq!(waited(&format!("{still}{wait}{other}")), [None]);
    assert_eq!(waited(&format!("{still}{other}")), [None]);
    // The same statement, but the wait belongs to an earlier call that was below the threshold.
    assert_eq!(waited(&format!("{still}{wait}{later}")), [None]);
    let nameless = wait.split_inclusive('\n').next().unwrap();
    assert_eq!(waited(&format!("{nameless}{same}")), [Some(2_000_081_000)]);
    assert_eq!(waited(&format!("{nameless}{other}")), [None]);
}

/// Damage to a log: (offset, new bytes, number of bytes replaced, bytes of a piece in which it is read).
type Damage = (usize, [u8; 4], usize, usize);

fn damage() -> impl Strategy<Value = Damage> {
    (0..3000_usize, any::<[u8; 4]>(), 0..80_usize, 1..5000_usize)
}

/// A damaged log read in pieces gives the same events and the same number of bytes not understood.
fn is_read_to_its_end(
    name: &str,
    log: &str,
    (at, bytes, remove, piece): Damage,
) -> Result<(), TestCaseError> {
    let mut spoilt = log.as_bytes().to_vec();
    let at = at.min(spoilt.len());
    let end = (at + remove).min(spoilt.len());
    spoilt.splice(at..end, bytes);
    let format = open(name, log);
    let kept = read_as_stream(&*format, &spoilt, piece);
    let whole = read_as_stream(&*format, &spoilt, spoilt.len());
    prop_assert_eq!(&kept.events, &whole.events);
    let sum = |kept: &Kept| kept.not_understood.iter().map(|piece| piece.1).sum::<u64>();
    prop_assert_eq!(sum(&kept), sum(&whole));
    Ok(())
}

proptest! {
    #[test]
    fn pieces_make_no_difference(piece in 1_usize..2500) {
        for (name, log) in [("postgres-stderr", LINES), ("postgres-csv", CSV), ("postgres-json", JSON)] {
            let format = open(name, log);
            let kept = read_as_stream(&*format, log.as_bytes(), piece);
            prop_assert_eq!(&kept.events, &read(name, log).events);
            prop_assert_eq!(kept.not_understood, vec![]);
        }
    }

    #[test]
    fn spoilt_logs_are_read_to_their_end(damage in damage()) {
        for (name, log) in [("postgres-stderr", LINES), ("postgres-csv", CSV), ("postgres-json", JSON)] {
            is_read_to_its_end(name, log, damage)?;
        }
    }

    #[test]
    fn rubbish_is_read_to_its_end(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        for (name, log) in [("postgres-stderr", LINES), ("postgres-csv", CSV), ("postgres-json", JSON)] {
            let kept = read_as_stream(&*open(name, log), &bytes, 100);
            prop_assert_eq!(kept.events.len(), 0);
            let bytes_told: u64 = kept.not_understood.iter().map(|piece| piece.1).sum();
            prop_assert_eq!(bytes_told, bytes.len() as u64);
            let _ = (kind(name).detect)(&bytes);
        }
    }
}
