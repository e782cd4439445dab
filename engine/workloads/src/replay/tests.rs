use super::*;
use dyno_core::trace::{Class, Effect, Meta, Origin, Writer};
use serde_json::json;
use std::io::Write;
use tempfile::NamedTempFile;

const MS: u64 = 1_000_000;

/// (session, begin in ms, effect, class, origin, text)
type Line = (u32, i64, Effect, u32, u32, &'static str);

const LINES: [Line; 6] = [
    (0, 40, Effect::Read, 0, 0, "select 1"),
    (1, 10, Effect::Write, 1, 0, "delete from t"),
    (0, 50, Effect::Transaction, 2, 0, "begin"),
    (2, 20, Effect::Read, 0, 1, "select 2"),
    (1, 90, Effect::Lock, 3, 0, "select 3 for update"),
    (2, 30, Effect::Read, 9, 0, "select 4"),
];

fn trace_of(language: Language, lines: &[Line]) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    let mut writer = Writer::new(Vec::new(), language).unwrap();
    for &(session, begin_ms, effect, class, origin, text) in lines {
        let (begin_ns, text) = (1000 + begin_ms * MS as i64, text.as_bytes());
        let event = Event { begin_ns, duration_ns: 1, effect, class, origin, text };
        writer.event(session, &event).unwrap();
    }
    let class = |name: &str| Class { name: name.to_owned(), ..Class::default() };
    let origin = |name: &str| Origin { database: name.to_owned(), user: String::new() };
    let meta = Meta {
        begin_ns: 1000 + 10 * MS as i64,
        sessions: 3,
        events: lines.len() as u64,
        classes: ["read", "delete", "begin", "lock"].map(class).to_vec(),
        origins: ["shop", "stock"].map(origin).to_vec(),
        left_out: [("use".to_owned(), 2)].into(),
        ..Meta::default()
    };
    file.write_all(&writer.finish(&meta).unwrap()).unwrap();
    file
}

fn build_as(
    file: &NamedTempFile,
    dialect: Dialect,
    more: serde_json::Value,
) -> Result<Box<dyn Workload>> {
    let mut options = json!({"trace": file.path()});
    options.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let options = serde_json::from_value(options).unwrap();
    build(&Order { options: &options, dialect, seed: 1, sessions: 1 })
}

fn replay(more: serde_json::Value) -> Box<dyn Workload> {
    build_as(&trace_of(Language::Mysql, &LINES), Dialect::Mysql, more).unwrap()
}

/// (session, due in ms, database, class, text) of all statements sent.
fn sent(workload: &dyn Workload) -> Vec<(u32, u64, String, String, String)> {
    let recording = workload.recording().unwrap();
    let statements = workload.requests();
    let mut all = Vec::new();
    for session in 0..recording.sessions() {
        let mut place = recording.begin(session);
        let mut tx = Transaction::default();
        while let Some(cue) = recording.next(session, &mut place, Some(&mut tx)) {
            let (op, text) = (&tx.ops[0], String::from_utf8(tx.text.clone()).unwrap());
            let class = statements[usize::from(op.request)].class.clone();
            let database = recording.databases()[cue.database as usize].clone();
            all.push((session, cue.due_ns / MS, database, class, text));
            tx.clear();
        }
    }
    all
}

fn line(
    session: u32,
    due_ms: u64,
    database: &str,
    class: &str,
    text: &str,
) -> (u32, u64, String, String, String) {
    (session, due_ms, database.into(), class.into(), text.into())
}

#[test]
fn only_what_is_shown_to_read_is_sent_unless_writes_are_asked_for() {
    let reads = replay(json!({"databases": "log"}));
    assert_eq!(
        sent(&*reads),
        [
            line(0, 10, "stock", "read", "select 2"),
            line(0, 20, "shop", "other", "select 4"),
            line(1, 30, "shop", "read", "select 1"),
            line(1, 40, "shop", "begin", "begin"),
        ]
    );
    let recording = reads.recording().unwrap();
    assert!(recording.only_reads());
    let remarks = recording.remarks();
    assert!(remarks[0].contains("2 of 6") && remarks[0].contains("write 1, lock 1"), "{remarks:?}");
    assert!(remarks[1].contains("delete (write) 1"), "{remarks:?}");
    assert!(remarks[2].contains("use 2"), "{remarks:?}");
    assert!(!reads.changes_data());

    let all = replay(json!({"writes": true, "databases": "log"}));
    assert_eq!(sent(&*all).len(), 6);
    assert_eq!(sent(&*all)[0], line(0, 0, "shop", "delete", "delete from t"));
    assert!(all.changes_data() && !all.recording().unwrap().only_reads());
}

#[test]
fn times_are_those_of_the_log_by_the_speed() {
    let due = |more| sent(&*replay(more)).iter().map(|line| line.1).collect::<Vec<_>>();
    assert_eq!(due(json!({"speed": 1})), [10, 20, 30, 40]);
    assert_eq!(due(json!({"speed": 10})), [1, 2, 3, 4]);
    assert_eq!(due(json!({"speed": 0.5})), [20, 40, 60, 80]);
    assert_eq!(due(json!({"speed": "max"})), [0; 4]);
    assert!(!replay(json!({"speed": "max"})).recording().unwrap().is_paced());
}

#[test]
fn databases_are_the_log_s_or_the_target_s() {
    let log = replay(json!({"databases": "log"}));
    let recording = log.recording().unwrap();
    assert_eq!(recording.switch("a`b").as_deref(), Some("USE `a``b`"));
    assert_eq!(recording.switch(""), None);
    let target = replay(json!({}));
    assert_eq!(target.recording().unwrap().databases(), [""]);
}

#[test]
fn what_is_wrong_is_named() {
    let file = trace_of(Language::Mysql, &LINES);
    for (more, dialect, word) in [
        (json!({"speed": 0}), Dialect::Mysql, "speed"),
        (json!({"speed": "fast"}), Dialect::Mysql, "max"),
        (json!({"writes": 1}), Dialect::Mysql, "writes"),
        (json!({"databases": "all"}), Dialect::Mysql, "databases"),
        (json!({"log": "x"}), Dialect::Mysql, "log"),
        (json!({"trace": ""}), Dialect::Mysql, "trace"),
        (json!({"trace": "/nowhere/x.trace"}), Dialect::Mysql, "/nowhere/x.trace"),
        (json!({}), Dialect::Postgres, "another system"),
        (json!({}), Dialect::Sqlite, "another system"),
    ] {
        let error = build_as(&file, dialect, more.clone()).err().unwrap();
        assert!(error.what.contains(word), "{more}: {error}");
    }
    let writes = trace_of(Language::Mysql, &LINES[1..2]);
    let error = build_as(&writes, Dialect::Mysql, json!({})).err().unwrap();
    assert!(error.hint.contains("writes"), "{error}");
    let empty = NamedTempFile::new().unwrap();
    let error = build_as(&empty, Dialect::Null, json!({})).err().unwrap();
    assert!(error.what.contains("no trace"), "{error}");
}
