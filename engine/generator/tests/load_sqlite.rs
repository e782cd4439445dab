//! Populating SQLite files with `oltp`, and a few hundred transactions on them.

use dyno_core::driver::{Blocking, DriverKind, Session};
use dyno_core::error::{Error, Kind};
use dyno_core::event::Event;
use dyno_core::plan::Plan;
use dyno_core::workload::{Dialect, Order, Transaction};
use dyno_drivers::DRIVERS;
use dyno_generator::populate::load;
use dyno_workloads::WORKLOADS;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn plan(file: &Path, groups: Value) -> Plan {
    let group = |(name, options): (&String, &Value)| {
        json!({"name": name, "target": "db", "workload": "oltp", "sessions": 3,
               "options": options})
    };
    let groups: Vec<Value> =
        groups.as_object().expect("groups by name").iter().map(group).collect();
    serde_json::from_value(json!({
        "schema_version": 1, "job": "load", "trial": "test", "directory": "unused", "seed": 42,
        "targets": {"db": {"driver": "sqlite", "address": {"file": file},
                           "session_sql": ["PRAGMA journal_mode = WAL"]}},
        "groups": groups,
    }))
    .expect("a plan")
}

fn loaded(plan: &Plan) -> Result<Vec<Event>, Error> {
    let events = Mutex::new(Vec::new());
    load(plan, DRIVERS, WORKLOADS, &|event| events.lock().expect("no panic").push(event))?;
    Ok(events.into_inner().expect("no panic"))
}

fn failed(plan: &Plan) -> Error {
    loaded(plan).expect_err("an error")
}

fn sqlite() -> &'static DriverKind {
    DRIVERS.iter().find(|kind| kind.name == "sqlite").expect("it is listed")
}

/// A session, which is prepared for the workload's statements if `statements` is true.
fn session(plan: &Plan, statements: bool) -> Box<dyn Blocking> {
    let statements = if statements { workload(plan).requests() } else { Vec::new() };
    let driver = (sqlite().build)(&plan.targets["db"], Arc::from(statements)).expect("a driver");
    match driver.session(0).expect("a session") {
        Session::Blocking(session) => session,
        _ => panic!("sqlite blocks"),
    }
}

fn workload(plan: &Plan) -> Box<dyn dyno_core::workload::Workload> {
    let order = Order {
        options: &plan.groups[0].options,
        dialect: Dialect::Sqlite,
        seed: plan.seed,
        sessions: 1,
    };
    (WORKLOADS[0].build)(&order).expect("options")
}

fn value(session: &mut dyn Blocking, sql: &str) -> String {
    session.query(sql).expect("an answer").remove(0).expect("a value")
}

#[test]
fn tables_rows_and_indexes_are_there() {
    let directory = tempfile::tempdir().expect("a directory");
    let plan = plan(
        &directory.path().join("a.db"),
        json!({"readers": {"tables": 3, "rows": 5000},
               "updater": {"tables": 2, "rows": 5000, "preset": "update_index"}}),
    );
    let events = loaded(&plan).expect("a load");
    let Some((Event::Loaded { rows, elapsed_s }, progress)) = events.split_last() else {
        panic!("`loaded` comes last: {events:?}")
    };
    assert!(*elapsed_s > 0.0);
    let expected = ["sbtest1", "sbtest2", "sbtest3"].map(|name| (name.to_owned(), 5000));
    assert_eq!(*rows, expected.into());
    assert!(!progress.is_empty());
    for event in progress {
        let Event::Progress { rows, rows_total, .. } = event else { panic!("{event:?}") };
        assert!(*rows > 0 && rows <= rows_total && *rows_total == 5000);
    }
    let s = &mut *session(&plan, false);
    for table in 1..=3 {
        assert_eq!(value(s, &format!("SELECT COUNT(*) FROM sbtest{table}")), "5000");
        let index = format!(
            "SELECT name FROM sqlite_schema WHERE tbl_name = 'sbtest{table}' \
                             AND type = 'index'"
        );
        assert_eq!(value(s, &index), format!("k_{table}"));
    }
    let widths = "SELECT MIN(LENGTH(c)) || ' ' || MAX(LENGTH(c)) || ' ' || MIN(LENGTH(pad)) \
                  || ' ' || MIN(k) || ' ' || COUNT(DISTINCT c) FROM sbtest2";
    let widths = value(s, widths);
    let parts: Vec<_> = widths.split(' ').collect();
    assert_eq!(parts[..3], ["119", "119", "59"]);
    assert_eq!(parts[4], "5000");
}

#[test]
fn every_preset_runs_on_what_was_loaded() {
    let directory = tempfile::tempdir().expect("a directory");
    for preset in [
        "read_write",
        "read_only",
        "write_only",
        "point_select",
        "update_index",
        "update_non_index",
        "insert",
        "delete",
    ] {
        let file = directory.path().join(format!("{preset}.db"));
        let options = json!({"preset": preset, "tables": 2, "rows": 1000, "in_list": 3,
                             "filter_ranges": 2});
        let plan = plan(&file, json!({"g": options}));
        loaded(&plan).expect("a load");
        let workload = workload(&plan);
        let statements = workload.requests();
        let mut s = session(&plan, true);
        let mut tx = Transaction::default();
        let (mut filtered, mut filters) = (0, 0);
        for index in 0..200 {
            tx.clear();
            workload.fill(0, index, &mut tx);
            for op in &tx.ops {
                let reply = s.execute(op, &tx, Duration::from_secs(60)).expect("it lives");
                assert_eq!(reply.error, None, "{preset}");
                match statements[op.request as usize].class.as_str() {
                    "point_select" => assert!((1..=3).contains(&reply.rows)),
                    "sum_range" => assert_eq!(reply.rows, 1),
                    "simple_range" | "order_range" => assert!((1..=100).contains(&reply.rows)),
                    "filter_range" => {
                        filtered += reply.rows;
                        filters += 1;
                    }
                    "index_update" | "non_index_update" | "insert" => {
                        assert_eq!(reply.affected, 1, "{preset}");
                    }
                    _ => {}
                }
            }
        }
        if filters > 0 {
            assert!((filters / 2..filters * 2).contains(&filtered), "{filtered} of {filters}");
        }
        let count = value(&mut *s, "SELECT (SELECT COUNT(*) FROM sbtest1) + COUNT(*) FROM sbtest2");
        match preset {
            "insert" => assert_eq!(count, "2200"),
            "delete" => {
                let count: u64 = count.parse().expect("a number");
                assert!((1800..2000).contains(&count), "{count}");
            }
            _ => assert_eq!(count, "2000", "{preset}"),
        }
    }
}

#[test]
fn a_table_that_exists_is_left_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("a.db");
    let small = plan(&file, json!({"g": {"rows": 10}}));
    loaded(&small).expect("a load");
    let error = failed(&plan(&file, json!({"g": {"rows": 20}})));
    assert_eq!(error.kind, Kind::Plan);
    assert_eq!(error.what, "table sbtest1 exists already");
    assert!(error.hint.contains("nothing was touched"));
    assert_eq!(value(&mut *session(&small, false), "SELECT COUNT(*) FROM sbtest1"), "10");
}

#[test]
fn content_is_the_same_whoever_loads_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let sum = |name: &str, sessions| {
        let mut plan = plan(&directory.path().join(name), json!({"g": {"tables": 2, "rows": 999}}));
        plan.groups[0].sessions = sessions;
        loaded(&plan).expect("a load");
        let sql = "SELECT GROUP_CONCAT(id || k || c || pad) FROM sbtest2";
        value(&mut *session(&plan, false), sql)
    };
    assert_eq!(sum("a.db", 1), sum("b.db", 7));
}

#[test]
fn impossible_plans_are_refused_before_anything_is_made() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("a.db");
    let good = || plan(&file, json!({"g": {"rows": 10}}));
    let change = |change: &dyn Fn(&mut Plan)| {
        let mut plan = good();
        change(&mut plan);
        failed(&plan).to_string()
    };
    let cases = [
        (change(&|p| p.groups[0].target = "d".into()), "no target called d: known are db"),
        (change(&|p| p.groups[0].workload = "x".into()), "no workload called x: known are oltp"),
        (change(&|p| drop(p.groups[0].options.insert("rows".into(), json!(0)))), "group g: option"),
        (
            failed(&plan(&file, json!({"a": {"rows": 10}, "b": {"rows": 11}}))).to_string(),
            "groups a and b want table sbtest1 with other contents",
        ),
    ];
    for (message, expected) in cases {
        assert!(message.contains(expected), "{message}");
    }
    assert!(!file.exists());
}
