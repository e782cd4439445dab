//! Tests of proportions, existing keys, unique inserts and rejected options.

use super::*;
use dyno_core::plan::Options;
use dyno_core::request::in_sql;
use dyno_core::workload::{Effect, Value};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

const SESSIONS: u32 = 4;

fn built(options: serde_json::Value) -> Result<Box<dyn Workload>> {
    let options: Options = serde_json::from_value(options).expect("an object");
    let dialect = Dialect::Postgres;
    (KIND.build)(&Order { options: &options, dialect, seed: 42, sessions: SESSIONS })
}

fn kv(options: serde_json::Value) -> Box<dyn Workload> {
    built(options).expect("valid options")
}

/// Class, first text and last number of each operation.
fn sent(workload: &dyn Workload, session: u32, index: u64) -> Vec<(String, Vec<String>, i64)> {
    let statements = workload.requests();
    let mut tx = Transaction::default();
    workload.fill(session, index, &mut tx);
    let of = |op: &dyno_core::workload::Op| {
        let statement = &statements[usize::from(op.request)];
        assert_eq!(tx.values_of(op).len(), statement.params.len());
        let (mut texts, mut number) = (vec![], 0);
        for value in tx.values_of(op) {
            match value {
                Value::Text(range) => {
                    texts.push(String::from_utf8_lossy(tx.text_of(range)).into_owned());
                }
                Value::Int(n) => number = *n,
                other => panic!("{other:?}"),
            }
        }
        (statement.class.clone(), texts, number)
    };
    tx.ops.iter().map(of).collect()
}

fn shares(options: serde_json::Value) -> BTreeMap<String, f64> {
    let workload = kv(options);
    let mut counts = BTreeMap::new();
    for index in 0..20_000 {
        let ops = sent(&*workload, 3, index);
        *counts.entry(ops[0].0.clone()).or_insert(0.0) += 1.0 / 20_000.0;
    }
    counts
}

#[test]
fn presets_have_the_published_proportions() {
    for (preset, expected) in [
        ("a", vec![("read", 0.5), ("update", 0.5)]),
        ("b", vec![("read", 0.95), ("update", 0.05)]),
        ("c", vec![("read", 1.0)]),
        ("d", vec![("insert", 0.05), ("read", 0.95)]),
        ("e", vec![("insert", 0.05), ("scan", 0.95)]),
        ("f", vec![("read", 0.5), ("rmw_read", 0.5)]),
    ] {
        let found = shares(json!({"preset": preset, "records": 1000}));
        assert_eq!(found.len(), expected.len(), "{preset}: {found:?}");
        for (class, share) in expected {
            assert!((found[class] - share).abs() < 0.015, "{preset}: {found:?}");
        }
    }
    let found = shares(json!({"preset": "c", "insert": 1, "scan": 2}));
    assert!((found["insert"] - 0.25).abs() < 0.001 && (found["scan"] - 0.5).abs() < 0.015);
    assert_eq!(shares(json!({"preset": "c", "insert": 1, "read": 0}))["insert"].round(), 1.0);
}

/// Keys of the loaded records.
fn loaded(workload: &dyn Workload, records: u64) -> BTreeSet<String> {
    struct Keys(BTreeSet<String>, usize);
    impl RowSink for Keys {
        fn int(&mut self, _: i64) {}
        fn null(&mut self) {}
        fn text(&mut self, value: &[u8]) {
            if self.1 == 0 {
                self.0.insert(String::from_utf8_lossy(value).into_owned());
            } else {
                assert_eq!(value.len(), 100);
            }
            self.1 += 1;
        }
        fn end_row(&mut self) {
            assert_eq!(self.1, 11);
            self.1 = 0;
        }
    }
    let mut keys = Keys(BTreeSet::new(), 0);
    workload.rows(0, 0..records, &mut keys);
    keys.0
}

#[test]
fn every_key_asked_for_was_loaded_or_inserted_before() {
    for options in [
        json!({"preset": "d", "records": 500}),
        json!({"preset": "e", "records": 500, "key_order": "ordered"}),
        json!({"preset": "f", "records": 500, "distribution": "uniform", "insert": 0.3}),
        json!({"preset": "a", "records": 1}),
    ] {
        let workload = kv(options.clone());
        let records = workload.tables()[0].rows;
        let mut there = loaded(&*workload, records);
        assert_eq!(there.len() as u64, records);
        let mut inserted = 0;
        for index in 0..3000 {
            for session in 0..SESSIONS {
                let group = 5 << SESSION_BITS;
                for (class, texts, number) in sent(&*workload, group | session, index) {
                    let key = if class.ends_with("update") { &texts[1] } else { &texts[0] };
                    assert_eq!((key.len(), &key[..4]), (24, "user"));
                    if class == "insert" {
                        assert!(there.insert(key.clone()), "{options}: {key} is inserted twice");
                        inserted += 1;
                    } else {
                        assert!(there.contains(key), "{options}: {class} of {key}");
                    }
                    assert!(class != "scan" || (1..=100).contains(&number));
                }
            }
        }
        assert!(inserted > 0 || options["preset"] == "a");
    }
}

#[test]
fn the_latest_are_read_most() {
    let workload = kv(json!({"preset": "d", "records": 1000, "key_order": "ordered"}));
    let mut newest = 0;
    for index in 10_000..14_000 {
        let (class, texts, _) = &sent(&*workload, 0, index)[0];
        let number: u64 = texts[0][4..].parse().expect("digits");
        if class == "read" && number >= 1000 + 450 * u64::from(SESSIONS) {
            newest += 1;
        }
    }
    // Of 1000 records and 500 inserts, the last 50 or more get over half of a zipfian's draws.
    assert!(newest > 1800, "{newest} of 3800");
}

#[test]
fn a_read_modify_write_stays_with_one_record() {
    let workload = kv(json!({"preset": "f", "read": 0, "transactional": true, "records": 100}));
    let statements = workload.requests();
    assert_eq!(statements[0].effect, Effect::BeginWrite);
    for index in 0..100 {
        let ops = sent(&*workload, 1, index);
        let classes: Vec<&str> = ops.iter().map(|op| op.0.as_str()).collect();
        assert_eq!(classes, ["begin", "rmw_read", "rmw_update", "commit"]);
        assert_eq!(ops[1].1[0], ops[2].1[1]);
        assert_eq!(ops[2].1[0].len(), 100);
    }
    let plain = kv(json!({"preset": "f", "read": 0, "records": 100}));
    assert_eq!(sent(&*plain, 1, 1).len(), 2);
}

#[test]
fn an_operation_is_a_function_of_seed_session_and_index() {
    let (one, two) = (kv(json!({"preset": "d"})), kv(json!({"preset": "d"})));
    for index in (0..500).rev() {
        assert_eq!(sent(&*one, 2, index), sent(&*two, 2, index));
    }
}

#[test]
fn a_pipeline_is_of_the_same_operations_one_each() {
    let [one, many] = [1, 16].map(|n| kv(json!({"preset": "d", "pipeline": n, "records": 100})));
    assert_eq!((one.pipeline(), many.pipeline()), (1, 16));
    let mut tx = Transaction::default();
    (0..16).for_each(|index| many.fill(2, index, &mut tx));
    assert_eq!(tx.ops.len(), 16);
    let requests = many.requests();
    for (index, op) in tx.ops.iter().enumerate() {
        let alone = &sent(&*one, 2, index as u64)[0];
        assert_eq!(requests[usize::from(op.request)].class, alone.0);
        let Value::Text(key) = &tx.values_of(op)[0] else { panic!("a key") };
        assert_eq!(tx.text_of(key), alone.1[0].as_bytes());
    }
    assert_eq!(kv(json!({"preset": "f", "pipeline": 1})).pipeline(), 1);
}

#[test]
fn golden_sql() {
    let workload = kv(json!({"preset": "a", "fields": 2, "insert": 1, "scan": 1}));
    let requests = in_sql(workload.requests().into());
    let sql: Vec<String> = requests.iter().map(|s| s.sql().to_string()).collect();
    assert_eq!(
        sql,
        [
            "SELECT field0, field1 FROM usertable WHERE ycsb_key = ?",
            "UPDATE usertable SET field0 = ? WHERE ycsb_key = ?",
            "UPDATE usertable SET field1 = ? WHERE ycsb_key = ?",
            "INSERT INTO usertable (ycsb_key, field0, field1) VALUES (?, ?, ?)",
            "SELECT ycsb_key, field0, field1 FROM usertable WHERE ycsb_key >= ? ORDER BY ycsb_key LIMIT ?",
        ]
    );
    let table = &workload.tables()[0];
    assert_eq!(
        table.create,
        "CREATE TABLE usertable (ycsb_key VARCHAR(64) NOT NULL, field0 TEXT, field1 TEXT)"
    );
    assert_eq!(table.finish, ["ALTER TABLE usertable ADD PRIMARY KEY (ycsb_key)"]);
    assert!(workload.changes_data() && !kv(json!({"preset": "c"})).changes_data());
}

#[test]
fn wrong_options_are_named_with_what_is_allowed() {
    for (options, expected) in [
        (json!({"preset": "g"}), "option preset of workload kv: \"g\" is not one of a, b, c"),
        (json!({"record": 1}), "has no option record: its options are preset, distribution"),
        (json!({"records": 0}), "option records of workload kv: 0 is not a whole number from 1"),
        (json!({"fields": 101}), "from 1 to 100"),
        (json!({"field_bytes": 0}), "from 1 to 65535"),
        (json!({"distribution": "pareto"}), "one of uniform, zipfian, latest"),
        (json!({"distribution": "uniform", "zipfian_theta": 1}), "not to uniform"),
        (json!({"read": -1}), "option read of workload kv: -1 is not a number from 0 to 1e9"),
        (json!({"preset": "c", "read": 0}), "all proportions are 0"),
        (json!({"key_order": "random"}), "one of hashed, ordered"),
        (json!({"scan_length_max": 0}), "from 1 to 1000000"),
        (json!({"transactional": 1}), "true or false"),
        (json!({"pipeline": 0}), "option pipeline of workload kv: 0 is not a whole number from 1"),
        (json!({"pipeline": 16, "preset": "f"}), "a read_modify_write waits for its read"),
        (
            json!({"pipeline": 1000, "fields": 2, "field_bytes": 40_000}),
            "80000000 bytes of fields would be sent together",
        ),
    ] {
        let message = built(options.clone()).err().map(|error| error.to_string());
        let message = message.unwrap_or_else(|| panic!("{options} is accepted"));
        assert!(message.contains(expected), "{options}: {message}");
    }
}
