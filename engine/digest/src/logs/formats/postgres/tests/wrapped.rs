//! Tests on logs that syslog or a cloud's log service relayed.

use super::*;

/// The log as syslog writes it: one line each, with or without a number.
fn sent(log: &str, wrap: impl Fn(&str, u64, u64, &str) -> String) -> String {
    let (mut numbers, mut pid, mut line_number) = ([0_u64; 20], 0, 0);
    let mut sent = String::new();
    for line in log.lines() {
        let of = |line: &str| line[line.find('[')? + 1..line.find(']')?].parse().ok();
        let begins = ["LOG:  ", "ERROR:  ", "FATAL:  "].iter().any(|word| line.contains(word));
        if begins && !line.starts_with('\t') {
            pid = of(line).unwrap();
            numbers[pid] += 1;
            line_number = 0;
        }
        line_number += 1;
        sent += &wrap(&pid.to_string(), numbers[pid], line_number, line);
        sent.push('\n');
    }
    sent
}

fn rfc3164(pid: &str, number: u64, line: u64, text: &str) -> String {
    let text = text.replace('\t', "#011");
    format!("Nov 22 06:40:01 db1 postgres[{pid}]: [{number}-{line}] {text}")
}

fn rfc5424(pid: &str, number: u64, line: u64, text: &str) -> String {
    format!("<134>1 2026-11-22T06:40:01.5+01:00 db1 postgres {pid} - - [{number}-{line}] {text}")
}

fn sorted(kept: &Kept) -> Vec<String> {
    let mut briefs = briefs(kept);
    briefs.sort_unstable();
    briefs
}

#[test]
fn messages_by_syslog_are_those_of_the_log_itself() {
    let expected = read("postgres-stderr", LINES);
    for wrap in [rfc3164, rfc5424] {
        let log = sent(LINES, wrap);
        assert!((kind("postgres-syslog").detect)(log.as_bytes()));
        let kept = read("postgres-syslog", &log);
        assert_eq!(kept.not_understood, []);
        assert_eq!(sorted(&kept), sorted(&expected));
        let times = |kept: &Kept| {
            let mut times: Vec<_> = kept.events.iter().map(|e| e.event.end_ns).collect();
            times.sort_unstable();
            times
        };
        assert_eq!(times(&kept), times(&expected), "by the prefix");
        for piece in [1, 50, 333, 5000] {
            let cut = read_as_stream(&*open("postgres-syslog", &log), log.as_bytes(), piece);
            assert_eq!((&cut.events, &cut.not_understood), (&kept.events, &kept.not_understood));
        }
    }
}

#[test]
fn lines_of_processes_between_each_other_are_put_together() {
    let log = "\
<134>Nov 22 06:40:01 db1 postgres[7]: [4-1] app@shop LOG:  duration: 2.500 ms  statement: select *
<134>Nov 22 06:40:01 db1 postgres[8]: [9-1] me@shop ERROR:  division by zero
<134>Nov 22 06:40:01 db1 postgres[7]: [4-2] #011from t where a =
<134>Nov 22 06:40:01 db1 postgres[8]: [9-2] me@shop STATEMENT:  select 1/
<134>Nov 22 06:40:01 db1 cron[5]: (root) CMD (true)
<134>Nov 22 06:40:02 db1 postgres[7]: [4-3]  '#011x'
<134>Nov 22 06:40:02 db1 postgres[8]: [9-3] #0110
<134>Nov 22 06:40:02 db1 postgres[9]: [3-2] #011where the begin is missing
";
    let kept = read("postgres-syslog", log);
    let facts = open("postgres-syslog", log).facts(&crate::logs::format::Context::default());
    assert_eq!(facts.line_prefix.as_deref(), Some("%u@%d "));
    assert_eq!(
        briefs(&kept),
        [
            "Statement 2500 app@shop select *\nfrom t where a = '\tx'",
            "Statement - me@shop select 1/\n0 ERROR",
        ]
    );
    let sessions: Vec<_> = kept.events.iter().map(|event| event.event.session).collect();
    assert_eq!(sessions, [Some(7), Some(8)]);
    assert!(kept.events.iter().all(|event| event.event.end_ns.is_some()), "by syslog's time");
    let at = |text: &str| {
        let at = log[..log.find(text).unwrap()].rfind('\n').unwrap() + 1;
        (at as u64, log[at..].find('\n').unwrap() as u64 + 1)
    };
    let [cron, missing] = [at("(root)"), at("where the")];
    assert_eq!(
        kept.not_understood,
        [
            (cron.0, cron.1, "a line of another program"),
            (missing.0, missing.1, "a line of a message whose begin is not there"),
        ]
    );
}

#[test]
fn lines_without_numbers_are_of_the_message_of_their_process() {
    let log = "\
2026-11-22T05:40:01.250Z db1 postgresql-15[7]: user=app,db=shop LOG:  duration: 2.500 ms  statement: select *
2026-11-22T05:40:01.250Z db1 postgresql-15[7]: #011from t
2026-11-22T05:40:01.350Z db1 postgresql-15[7]: user=app,db=shop LOG:  duration: 1.000 ms  statement: select 2
";
    let kept = read("postgres-syslog", log);
    assert_eq!(kept.not_understood, []);
    let expected = ["Statement 2500 app@shop select *\nfrom t", "Statement 1000 app@shop select 2"];
    assert_eq!(briefs(&kept), expected);
    assert_eq!(kept.events[0].event.end_ns, Some(1_795_326_001_250_000_000));
}

#[test]
fn a_message_is_told_when_enough_others_follow() {
    let line = |pid: usize, number: usize| {
        let text = format!("LOG:  duration: 1.000 ms  statement: select {number}");
        format!("Nov 22 06:40:01 db1 postgres[{pid}]: [{number}-1] {text}\n")
    };
    let log: String = (0..1000).map(|number| line(number % 300, number)).collect();
    let format = open("postgres-syslog", &log);
    let mut context = crate::logs::format::Context::default();
    let mut kept = Kept::default();
    let part = crate::sink::Part { bytes: log.as_bytes(), offset: 0, is_last: false };
    format.read(part, &mut context, &mut kept);
    assert!(kept.events.len() >= 930, "{}", kept.events.len());
    assert_eq!(read("postgres-syslog", &log).events.len(), 1000);
}

/// Offset and length of each whole line of `log` that contains one of `texts`.
fn lines_with(log: &str, texts: &[&str]) -> Vec<(u64, u64)> {
    let mut at = 0;
    let places = log.split_inclusive('\n').map(|line| {
        at += line.len() as u64;
        (line, (at - line.len() as u64, line.len() as u64))
    });
    places.filter(|(line, _)| texts.iter().any(|text| line.contains(text))).map(|it| it.1).collect()
}

#[test]
fn a_message_that_is_not_understood_is_where_its_lines_are() {
    let by_syslog = "\
Nov 22 06:40:01 db1 postgres[7]: [4-1] app@shop LOG:  duration: 2.500 ms  riddle: select *
Nov 22 06:40:01 db1 postgres[7]: [4-2] #011, neighbour
no line of syslog
Nov 22 06:40:01 db1 postgres[8]: [9-1] me@shop LOG:  duration: 1.000 ms  statement: select 2
Nov 22 06:40:01 db1 postgres[7]: [4-3] #011from t
Nov 22 06:40:01 db1 postgres[7]: [5-1] app@shop LOG:  duration: 1.000 ms  plan:
Nov 22 06:40:01 db1 cron[5]: (root) CMD (true)
Nov 22 06:40:01 db1 postgres[7]: [5-2] #011<explain>
";
    let kept = read("postgres-syslog", by_syslog);
    assert_eq!(briefs(&kept), ["Statement 1000 me@shop select 2"]);
    let mut told: Vec<_> = kept.not_understood.iter().map(|piece| (piece.0, piece.1)).collect();
    told.sort_unstable();
    let texts = ["riddle", "neighbour", "no line", "from t", "plan:", "(root)", "<explain>"];
    let mut expected = lines_with(by_syslog, &texts);
    let neighbour = expected.remove(1);
    expected[0].1 += neighbour.1;
    assert_eq!(told, expected);

    let (line, other) = ("[7]: [4-1] db=shop,user=app LOG:  ", "{\"a\":1}\n");
    let first = entries(&[&format!("{line}duration: 2.500 ms  riddle: select *\n\t,")]);
    let (good, second) =
        (format!("{line}duration: 1.000 ms  statement: x"), entries(&["\tfrom t"]));
    let log = format!("{first}{other}{second}{}", entries(&[&good]));
    let kept = read("postgres-cloudsql", &log);
    assert_eq!(briefs(&kept), ["Statement 1000 app@shop x"]);
    let mut told: Vec<_> = kept.not_understood.iter().map(|piece| (piece.0, piece.1)).collect();
    told.sort_unstable();
    let expected = lines_with(&log, &["riddle", "\"a\"", "from t"]);
    let without_line_feed = expected.iter().map(|place| (place.0, place.1 - 1));
    assert_eq!(told, without_line_feed.collect::<Vec<_>>());
}

#[test]
fn messages_are_whole_however_much_came_before_that_is_not_kept() {
    let line = |number: usize, line: usize, text: &str| {
        format!("Nov 22 06:40:01 db1 postgres[7]: [{number}-{line}] {text}\n")
    };
    let hint = "x".repeat(1 << 20);
    let mut log: String = (1..=66)
        .map(|number| {
            let begin = line(number, 1, "LOG:  checkpoint starting: time");
            begin + &line(number, 2, "HINT:  ") + &line(number, 3, &hint)
        })
        .collect();
    let message = line(67, 1, "LOG:  duration: 1.000 ms  statement: select");
    log += &(message + &line(67, 2, "#011a") + &line(67, 3, "#011from t"));
    let settings = Settings { line_prefix: Some(String::new()), ..Settings::default() };
    let format = (kind("postgres-syslog").open)(&settings, b"").unwrap();
    let kept = read_as_stream(&*format, log.as_bytes(), log.len());
    assert_eq!(kept.not_understood, []);
    assert_eq!(briefs(&kept), ["Statement 1000 @ select\na\nfrom t"]);
}

/// Entries of Cloud SQL with these texts, one object a line.
fn entries(texts: &[&str]) -> String {
    let entry = |text: &&str| {
        let entry = serde_json::json!({
            "insertId": "s=1",
            "logName": "projects/p/logs/cloudsql.googleapis.com%2Fpostgres.log",
            "resource": {"type": "cloudsql_database", "labels": {"database_id": "p:shop"}},
            "severity": "INFO",
            "textPayload": text,
            "timestamp": "2026-11-22T05:40:01.250Z",
        });
        format!("{entry}\n")
    };
    texts.iter().map(entry).collect()
}

const CLOUD: [&str; 7] = [
    "2026-11-22 05:40:01.389 UTC [7]: [4-1] db=shop,user=app LOG:  duration: 2.500 ms  statement: select \"a\",",
    "\tb from t",
    "2026-11-22 05:40:01.390 UTC [8]: [9-1] db=shop,user=me ERROR:  division by zero",
    "2026-11-22 05:40:01.400 UTC [7]: [5-1] db=shop,user=app LOG:  duration: 1.000 ms  execute <unnamed>: select $1\n\tfrom t",
    "2026-11-22 05:40:01.390 UTC [8]: [10-1] db=shop,user=me STATEMENT:  select 1/",
    "\t0",
    "2026-11-22 05:40:01.400 UTC [7]: [6-1] db=shop,user=app DETAIL:  parameters: $1 = 'x'",
];

const CLOUD_BRIEFS: [&str; 3] = [
    "Statement 2500 app@shop select \"a\",\nb from t",
    "Statement - me@shop select 1/\n0 ERROR",
    "Statement 1000 app@shop select $1\nfrom t",
];

#[test]
fn entries_of_cloud_sql_are_lines_of_the_log() {
    let lines = entries(&CLOUD);
    let array: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let array = serde_json::to_string_pretty(&array).unwrap();
    let payload = lines.replace("\"textPayload\":", "\"jsonPayload\":{\"message\":");
    let payload = payload.replace(",\"timestamp\"", "},\"timestamp\"");
    for log in [&lines, &array, &payload] {
        let found = FORMATS.iter().find(|kind| (kind.detect)(log.as_bytes())).unwrap();
        assert_eq!(found.name, "postgres-cloudsql");
        let kept = read("postgres-cloudsql", log);
        assert_eq!(kept.not_understood.iter().filter(|piece| piece.1 > 2).count(), 0, "{log}");
        assert_eq!(briefs(&kept), CLOUD_BRIEFS, "{log}");
        assert_eq!(kept.events[2].parameters, "$1 = 'x'");
        assert_eq!(kept.events[0].event.end_ns, Some(1_795_326_001_389_000_000));
        for piece in [1, 7, 300, 2000] {
            let cut = read_as_stream(&*open("postgres-cloudsql", log), log.as_bytes(), piece);
            assert_eq!(cut.events, kept.events);
        }
    }
}

#[test]
fn entries_without_a_time_have_that_of_their_object() {
    let text = "[7]: [4-1] db=shop,user=app LOG:  duration: 2.500 ms  statement: select 1";
    let kept = read("postgres-cloudsql", &entries(&[text, text]));
    assert_eq!(briefs(&kept), ["Statement 2500 app@shop select 1"; 2]);
    assert_eq!(kept.events[0].event.end_ns, Some(1_795_326_001_250_000_000));
    assert_eq!(kept.events[0].event.session, Some(7));
}

#[test]
fn lines_of_an_entry_that_are_not_understood_have_bytes_of_their_own() {
    let known = "[7]: [4-1] db=shop,user=app LOG:  duration: 2.500 ms  statement: select 1";
    let log = entries(&["HINT:  none\nHINT:  of it", known]);
    let kept = read("postgres-cloudsql", &log);
    let entry = log.find('\n').unwrap() as u64;
    let mut end = 0;
    for &(at, bytes, _) in &kept.not_understood {
        assert!(at == end && bytes > 0, "{:?}", kept.not_understood);
        end = at + bytes;
    }
    assert!(end.abs_diff(entry) <= 1, "{:?}", kept.not_understood);
    assert_eq!(kept.events.len(), 1);
    let all = end + kept.events[0].event.bytes;
    assert!(log.len() as u64 - all <= 2, "{all} of {}", log.len());
}

#[test]
fn entries_that_are_torn_or_of_other_logs_are_counted_and_cost_no_others() {
    let lines = entries(&CLOUD);
    let other = lines.lines().next().unwrap().replace("postgres.log", "mysql.err") + "\n";
    for (torn, why) in [
        (&lines[..150], "no entry of Google Cloud's JSON"),
        ("{\"a\":{\"b\":1,\n", "no entry of Google Cloud's JSON"),
        ("hello\n", "no entry of Google Cloud's JSON"),
        (&*other, "an entry of another log"),
    ] {
        let end = if torn.ends_with('\n') { "" } else { "\n" };
        let log = format!("{lines}{torn}{end}{lines}");
        let kept = read("postgres-cloudsql", &log);
        assert_eq!(kept.events.len(), 6, "{torn}");
        let [(at, bytes, told)] = kept.not_understood[..] else {
            panic!("{torn}: {:?}", kept.not_understood)
        };
        assert_eq!((at, told), (lines.len() as u64, why));
        assert!(bytes.abs_diff(torn.len() as u64) <= 1, "{torn}: {bytes}");
    }
}

proptest! {
    #[test]
    fn spoilt_lines_by_syslog_are_read_to_their_end(damage in damage()) {
        is_read_to_its_end("postgres-syslog", &sent(LINES, rfc3164), damage)?;
    }

    #[test]
    fn spoilt_entries_are_read_to_their_end(damage in damage()) {
        is_read_to_its_end("postgres-cloudsql", &entries(&CLOUD), damage)?;
    }
}
