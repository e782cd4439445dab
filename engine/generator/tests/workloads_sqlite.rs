//! `tables`, `mix` and `kv` on SQLite files: populated, then sent transaction by transaction, in both
//! protocols.

use dyno_core::driver::{Blocking, Reply, Session};
use dyno_core::event::Event;
use dyno_core::plan::Plan;
use dyno_core::workload::{Dialect, Order, Transaction, Workload, WorkloadKind};
use dyno_drivers::DRIVERS;
use dyno_generator::populate::load;
use dyno_workloads::WORKLOADS;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn plan(file: &Path, workload: &str, options: &Value, protocol: &str) -> Plan {
    serde_json::from_value(json!({
        "schema_version": 1, "job": "load", "trial": "test", "directory": "unused", "seed": 42,
        "targets": {"db": {"driver": "sqlite", "address": {"file": file}, "protocol": protocol,
                           "session_sql": ["PRAGMA synchronous = OFF"]}},
        "groups": [{"name": "g", "target": "db", "workload": workload, "sessions": 2,
                    "options": options}],
    }))
    .expect("a plan")
}

fn loaded(plan: &Plan) -> Vec<Event> {
    let events = Mutex::new(Vec::new());
    load(plan, DRIVERS, WORKLOADS, &|event| events.lock().expect("no panic").push(event))
        .expect("it loads");
    events.into_inner().expect("no panic")
}

fn built(plan: &Plan) -> Box<dyn Workload> {
    let group = &plan.groups[0];
    let named = |kind: &&&WorkloadKind| kind.name == group.workload;
    let kind = WORKLOADS.iter().find(named).expect("it is listed");
    let (options, sessions) = (&group.options, group.sessions);
    let order = Order { options, dialect: Dialect::Sqlite, seed: plan.seed, sessions };
    (kind.build)(&order).expect("valid options")
}

fn session(plan: &Plan, workload: &dyn Workload) -> Box<dyn Blocking> {
    let kind = DRIVERS.iter().find(|kind| kind.name == "sqlite").expect("it is listed");
    let statements = Arc::from(workload.requests());
    let driver = (kind.build)(&plan.targets["db"], statements).expect("a driver");
    match driver.session(0).expect("a session") {
        Session::Blocking(session) => session,
        _ => panic!("sqlite blocks"),
    }
}

/// Sends transactions of two sessions; `check` gets each class with its answer.
fn send(plan: &Plan, transactions: u64, mut check: impl FnMut(&str, Reply)) {
    let workload = built(plan);
    let statements = workload.requests();
    let mut session = session(plan, &*workload);
    let mut tx = Transaction::default();
    for index in 0..transactions {
        for number in 0..2 {
            tx.clear();
            workload.fill(number, index, &mut tx);
            for op in &tx.ops {
                let reply = session.execute(op, &tx, Duration::from_secs(5)).expect("an answer");
                check(&statements[usize::from(op.request)].class, reply);
            }
        }
    }
}

fn one(plan: &Plan, sql: &str) -> String {
    let mut session = session(plan, &*built(plan));
    session.query(sql).expect(sql)[0].clone().unwrap_or_default()
}

fn shop() -> Value {
    json!({"tables": {
        "users": {"rows": 500, "columns": {
            "id": {"type": "bigint", "sequence": 1, "key": "primary"},
            "city": {"type": "int", "zipfian": [1, 50], "nulls": 0.2},
            "balance": {"type": "decimal(10,2)", "uniform": [1.25, 9.75]},
            "name": {"type": "varchar(64)", "text": "user-#####"},
            "born": {"type": "date", "dates": ["1950-01-01", "2005-12-31"]},
        }, "indexes": [["city"], {"columns": ["born", "name"]}]},
        "orders": {"rows": 0, "columns": {
            "id": {"type": "bigint", "sequence": 1, "key": "primary"},
            "user_id": {"type": "bigint", "uniform": [1, 500]},
            "amount": {"type": "decimal(10,2)", "const": 0.5},
            "note": {"type": "text", "const": null},
        }},
    }})
}

#[test]
fn declared_tables_are_loaded_and_a_mix_runs_on_them() {
    for protocol in ["prepared", "text"] {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("shop.db");
        let events = loaded(&plan(&file, "tables", &shop(), protocol));
        let Some(Event::Loaded { rows, .. }) = events.last() else { panic!("{events:?}") };
        assert_eq!((rows["users"], rows["orders"]), (500, 0));
        let mix = plan(
            &file,
            "mix",
            &json!({
                "params": {
                    "uid": {"zipfian": [1, 500]},
                    "order": {"sequence": 1, "per": "statement"},
                    "amount": {"uniform": [-9.99, 9.99]},
                    "note": {"values": ["it's", "a \\ b", "x? :y", null, "é"]},
                    "day": {"dates": ["1950-01-01", "2005-12-31"]},
                },
                "statements": {
                    "find": {"sql": "SELECT * FROM users WHERE id = :uid", "weight": 3},
                    "born": "SELECT count(*) FROM users WHERE born < :day -- :nobody",
                },
                "transactions": {"buy": {"steps": [
                    "UPDATE users SET balance = balance - :amount WHERE id = :uid",
                    {"sql": "INSERT INTO orders VALUES (:order, :uid, :amount, :note)", "repeat": 2},
                ]}},
            }),
            protocol,
        );
        let mut bought = 0;
        send(&mix, 300, |class, reply| {
            assert_eq!(reply.error, None, "{class}");
            match class {
                "find" | "born" => assert_eq!(reply.rows, 1),
                "buy_1" | "buy_2" => assert_eq!(reply.affected, 1),
                _ => {}
            }
            bought += u64::from(class == "buy_2");
        });
        assert!(bought > 100);
        assert_eq!(one(&mix, "SELECT count(*) FROM orders"), bought.to_string());
        let kinds = "SELECT count(*) FROM orders WHERE typeof(amount) IN ('real', 'integer') \
                     AND (note IS NULL OR note IN ('it''s', 'a \\ b', 'x? :y', 'é'))";
        assert_eq!(one(&mix, kinds), bought.to_string());
        let nulls = "SELECT count(*) > 50 FROM users WHERE city IS NULL";
        assert_eq!(one(&mix, nulls), "1");
    }
}

#[test]
fn every_preset_of_kv_finds_its_records() {
    for preset in ["a", "b", "c", "d", "e", "f"] {
        for protocol in ["prepared", "text"] {
            let directory = tempfile::tempdir().expect("a directory");
            let file = directory.path().join("kv.db");
            let options = json!({"preset": preset, "records": 300, "transactional": true,
                                 "field_bytes": 7, "scan_length_max": 5});
            let plan = plan(&file, "kv", &options, protocol);
            loaded(&plan);
            send(&plan, 200, |class, reply| {
                assert_eq!(reply.error, None, "{preset}: {class}");
                match class {
                    "read" | "rmw_read" => assert_eq!(reply.rows, 1, "{preset}"),
                    "scan" => assert!((0..=5).contains(&reply.rows)),
                    "update" | "insert" | "rmw_update" => assert_eq!(reply.affected, 1, "{preset}"),
                    _ => {}
                }
            });
        }
    }
}

#[test]
fn a_refusal_names_the_statement() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("shop.db");
    loaded(&plan(&file, "tables", &shop(), "prepared"));
    let options = json!({
        "params": {"word": {"const": "word"}},
        "statements": {"misfit": "INSERT INTO orders (id, user_id, amount) VALUES (:word, 1, 1)"},
    });
    let mut seen = 0;
    send(&plan(&file, "mix", &options, "prepared"), 1, |class, reply| {
        let error = reply.error.expect("text is no key");
        assert_eq!((class, error.code.as_str()), ("misfit", "SQLITE_MISMATCH"));
        assert!(error.message.contains("statement misfit: datatype mismatch"), "{error:?}");
        seen += 1;
    });
    assert_eq!(seen, 2);
}
