//! Tests of golden statements, determinism and limits of options.

use super::*;
use dyno_core::plan::Options;
use dyno_core::workload::{Effect, ParamType, Value};
use serde_json::json;
use std::collections::BTreeSet;

fn options(value: serde_json::Value) -> Options {
    serde_json::from_value(value).expect("an object")
}

fn built(options: &Options, dialect: Dialect, seed: u64) -> Result<Box<dyn Workload>> {
    (KIND.build)(&Order { options, dialect, seed, sessions: 8 })
}

fn oltp(value: serde_json::Value) -> Box<dyn Workload> {
    built(&options(value), Dialect::Sqlite, 42).expect("valid options")
}

fn error(value: serde_json::Value) -> String {
    built(&options(value), Dialect::Sqlite, 42).err().expect("an error").to_string()
}

fn transaction(workload: &dyn Workload, session: u32, index: u64) -> Transaction {
    let mut tx = Transaction::default();
    workload.fill(session, index, &mut tx);
    tx
}

/// The statements of one transaction with their parameters inserted; columns `c` and `pad` appear as
/// their length.
fn shown(workload: &dyn Workload) -> Vec<String> {
    let statements = workload.requests();
    let tx = transaction(workload, 0, 0);
    let show = |value: &Value| match value {
        Value::Int(n) => n.to_string(),
        Value::Text(range) => format!("<{}>", tx.text_of(range).len()),
        other => panic!("{other:?}"),
    };
    tx.ops
        .iter()
        .map(|op| {
            let statement = &statements[op.request as usize];
            let values = tx.values_of(op);
            assert_eq!(values.len(), statement.params.len(), "{statement:?}");
            for (value, param) in values.iter().zip(&statement.params) {
                assert_eq!(matches!(value, Value::Text(_)), *param == ParamType::Text);
            }
            let sql = statement.sql().with(|n, out| out.push_str(&show(&values[n])));
            if sql.is_empty() { format!("{:?}", statement.effect) } else { sql }
        })
        .collect()
}

const READS: [&str; 14] = [
    "SELECT c FROM sbtest1 WHERE id = 651",
    "SELECT c FROM sbtest1 WHERE id = 428",
    "SELECT c FROM sbtest1 WHERE id = 182",
    "SELECT c FROM sbtest1 WHERE id = 191",
    "SELECT c FROM sbtest1 WHERE id = 274",
    "SELECT c FROM sbtest1 WHERE id = 748",
    "SELECT c FROM sbtest1 WHERE id = 637",
    "SELECT c FROM sbtest1 WHERE id = 690",
    "SELECT c FROM sbtest1 WHERE id = 57",
    "SELECT c FROM sbtest1 WHERE id = 735",
    "SELECT c FROM sbtest1 WHERE id BETWEEN 500 AND 599",
    "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN 655 AND 754",
    "SELECT c FROM sbtest1 WHERE id BETWEEN 341 AND 440 ORDER BY c",
    "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN 265 AND 364 ORDER BY c",
];

const WRITES: [&str; 4] = [
    "UPDATE sbtest1 SET k = k + 1 WHERE id = 859",
    "UPDATE sbtest1 SET c = <119> WHERE id = 940",
    "DELETE FROM sbtest1 WHERE id = 580",
    "INSERT INTO sbtest1 (id, k, c, pad) VALUES (580, 101, <119>, <59>)",
];

const WRITE_ONLY: [&str; 6] = [
    "BeginWrite",
    "UPDATE sbtest1 SET k = k + 1 WHERE id = 651",
    "UPDATE sbtest1 SET c = <119> WHERE id = 735",
    "DELETE FROM sbtest1 WHERE id = 500",
    "INSERT INTO sbtest1 (id, k, c, pad) VALUES (500, 353, <119>, <59>)",
    "Commit",
];

#[test]
fn golden_transactions_of_every_preset() {
    let preset = |name| shown(&*oltp(json!({"preset": name, "rows": 1000})));
    let framed =
        |begin, parts: &[&[&'static str]]| [&[begin], &parts.concat()[..], &["Commit"]].concat();
    assert_eq!(preset("read_write"), framed("BeginWrite", &[&READS, &WRITES]));
    assert_eq!(preset("read_only"), framed("BeginRead", &[&READS]));
    assert_eq!(preset("write_only"), WRITE_ONLY);
    assert_eq!(preset("point_select"), ["SELECT c FROM sbtest1 WHERE id = 651"]);
    assert_eq!(preset("update_index"), ["UPDATE sbtest1 SET k = k + 1 WHERE id = 651"]);
    assert_eq!(preset("update_non_index"), ["UPDATE sbtest1 SET c = <119> WHERE id = 690"]);
    assert_eq!(preset("insert"), ["INSERT INTO sbtest1 (k, c, pad) VALUES (651, <119>, <59>)"]);
    assert_eq!(preset("delete"), ["DELETE FROM sbtest1 WHERE id = 651"]);
}

/// Stored plans must stay reproducible: never change this row.
#[test]
fn golden_row() {
    let mut rows = Rows::default();
    oltp(json!({"rows": 1000})).rows(0, 999..1000, &mut rows);
    let (id, k, c, pad) = &rows.0[0];
    assert_eq!((*id, *k), (1000, 68));
    assert_eq!(
        String::from_utf8_lossy(c),
        "19364048078-27680282809-00792105647-59404186382-48188671116-77515165670-67919669634-88763752872-08631013346-04651459497"
    );
    assert_eq!(
        String::from_utf8_lossy(pad),
        "58920187202-09370249388-87691961626-06437042145-48265163211"
    );
}

#[test]
fn golden_tables_of_every_dialect() {
    let table = |dialect| {
        let options = options(json!({"tables": 2, "rows": 5, "table_options": "X"}));
        let tables = built(&options, dialect, 42).expect("valid options").tables();
        assert_eq!(tables.len(), 2);
        let Table { name, columns, create, finish, rows } = tables[1].clone();
        assert_eq!((name.as_str(), rows), ("sbtest2", 5));
        assert_eq!(columns, ["id", "k", "c", "pad"]);
        (create, finish)
    };
    let rest = "k INTEGER DEFAULT 0 NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, \
                pad CHAR(60) DEFAULT '' NOT NULL) X";
    let index = "CREATE INDEX k_2 ON sbtest2 (k)".to_owned();
    assert_eq!(
        table(Dialect::Sqlite),
        (format!("CREATE TABLE sbtest2 (id INTEGER PRIMARY KEY, {rest}"), vec![index.clone()])
    );
    assert_eq!(
        table(Dialect::Mysql),
        (
            format!("CREATE TABLE sbtest2 (id INTEGER NOT NULL AUTO_INCREMENT PRIMARY KEY, {rest}"),
            vec![index.clone()]
        )
    );
    assert_eq!(
        table(Dialect::Postgres),
        (
            format!("CREATE TABLE sbtest2 (id SERIAL NOT NULL, {rest}"),
            vec![
                "ALTER TABLE sbtest2 ADD PRIMARY KEY (id)".to_owned(),
                index,
                "SELECT setval(pg_get_serial_sequence('sbtest2', 'id'), 5)".to_owned(),
            ]
        )
    );
}

#[test]
fn statements_are_numbered_as_they_are_listed() {
    let workload = oltp(json!({
        "tables": 3, "rows": 50, "in_list": 3, "filter_ranges": 1, "deletes": 1, "inserts": 1
    }));
    let statements = workload.requests();
    assert_eq!(statements[0].effect, Effect::BeginWrite);
    assert_eq!(statements[1].effect, Effect::Commit);
    assert_eq!(statements.len(), 2 + 3 * 11);
    assert_eq!(statements[2].sql().to_string(), "SELECT c FROM sbtest1 WHERE id IN (?, ?, ?)");
    let mut used = BTreeSet::new();
    for index in 0..500 {
        let tx = transaction(&*workload, 1, index);
        let classes: Vec<_> =
            tx.ops.iter().map(|op| statements[op.request as usize].class.as_str()).collect();
        assert_eq!(classes[1..11], ["point_select"; 10]);
        let rest = "simple_range sum_range order_range distinct_range filter_range index_update \
                    non_index_update delete insert delete insert commit";
        assert_eq!(classes[11..].join(" "), rest);
        // One table for all operations of a kind, as in sysbench.
        assert!(tx.ops[1..11].iter().all(|op| op.request == tx.ops[1].request));
        used.extend(tx.ops.iter().map(|op| op.request));
    }
    assert_eq!(used.len(), statements.len(), "every statement listed is used");
}

#[test]
fn an_operation_is_a_function_of_seed_session_and_index() {
    let workload = oltp(json!({"tables": 4, "rows": 100_000, "distribution": "zipfian"}));
    let all = |session, index| {
        let tx = transaction(&*workload, session, index);
        (tx.ops, tx.values, tx.text)
    };
    let again = oltp(json!({"tables": 4, "rows": 100_000, "distribution": "zipfian"}));
    let other_order: Vec<_> = (0..20).rev().map(|i| transaction(&*again, 7, i)).collect();
    for (tx, index) in other_order.into_iter().zip((0..20).rev()) {
        assert_eq!((tx.ops, tx.values, tx.text), all(7, index));
    }
    assert_ne!(all(7, 1).1, all(7, 2).1);
    assert_ne!(all(7, 1).1, all(8, 1).1);
    let options = options(json!({"rows": 100_000}));
    let with_seed = |seed| {
        let workload = built(&options, Dialect::Sqlite, seed).expect("valid options");
        transaction(&*workload, 0, 0).values
    };
    assert_eq!(with_seed(1), with_seed(1));
    assert_ne!(with_seed(1), with_seed(2));
}

#[test]
fn filling_again_allocates_nothing() {
    let workload = oltp(json!({}));
    let mut tx = transaction(&*workload, 0, 0);
    let memory = |tx: &Transaction| (tx.ops.as_ptr(), tx.values.as_ptr(), tx.text.as_ptr());
    let before = memory(&tx);
    for index in 1..1000 {
        tx.clear();
        workload.fill(0, index, &mut tx);
    }
    assert_eq!(memory(&tx), before);
}

#[test]
fn keys_stay_in_range_and_ranges_have_their_size() {
    let workload = oltp(json!({
        "rows": 1000, "id_range": 10, "range_size": 7, "distribution": "special"
    }));
    let statements = workload.requests();
    for index in 0..500 {
        let tx = transaction(&*workload, 0, index);
        for op in &tx.ops {
            let statement = &statements[op.request as usize];
            let ints = |at: usize| match &tx.values_of(op)[at] {
                Value::Int(n) => *n,
                other => panic!("{other:?}, a number is expected"),
            };
            match statement.class.as_str() {
                "point_select" | "index_update" | "delete" => assert!((1..=10).contains(&ints(0))),
                "non_index_update" => assert!((1..=10).contains(&ints(1))),
                "begin" | "commit" => {}
                "insert" => assert!((1..=10).contains(&ints(0)) && (1..=10).contains(&ints(1))),
                _ => {
                    assert!((1..=10).contains(&ints(0)));
                    assert_eq!(ints(1) - ints(0), 6);
                }
            }
        }
    }
}

#[test]
fn a_pair_puts_back_the_key_it_deleted() {
    let workload = oltp(json!({"preset": "write_only", "tables": 5, "delete_inserts": 4}));
    let statements = workload.requests();
    let tx = transaction(&*workload, 0, 0);
    let pairs: Vec<_> = tx.ops[3..11].chunks(2).collect();
    for pair in pairs {
        let [delete, insert] = pair else { panic!("two operations") };
        assert_eq!(tx.values_of(delete)[0], tx.values_of(insert)[0]);
        let table = |op: &dyno_core::workload::Op| {
            let sql = statements[op.request as usize].sql().to_string();
            sql.split(' ').nth(2).map(str::to_owned)
        };
        assert_eq!(table(delete), table(insert));
    }
}

#[test]
fn explicit_options_override_the_preset() {
    let workload = oltp(json!({"preset": "point_select", "skip_trx": false, "sum_ranges": 2}));
    let shown: Vec<_> = shown(&*workload).iter().map(|sql| format!("{sql:.10}")).collect();
    assert_eq!(shown, ["BeginRead", "SELECT c F", "SELECT SUM", "SELECT SUM", "Commit"]);
}

#[test]
fn only_writes_change_data() {
    for (preset, changes) in [
        ("read_write", true),
        ("read_only", false),
        ("write_only", true),
        ("point_select", false),
        ("update_index", true),
        ("update_non_index", true),
        ("insert", true),
        ("delete", true),
    ] {
        assert_eq!(oltp(json!({"preset": preset})).changes_data(), changes, "{preset}");
    }
}

#[test]
fn a_filter_keeps_about_one_row_of_a_range() {
    let workload = oltp(json!({"rows": 200_000, "range_size": 100, "filter_ranges": 1}));
    let statements = workload.requests();
    let filter = statements.iter().find(|s| s.class == "filter_range").expect("it is listed");
    let sql = filter.sql().to_string();
    assert_eq!(sql, "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ? AND c < '01000000000'");
    let mut rows = Rows::default();
    workload.rows(0, 0..200_000, &mut rows);
    let kept = rows.0.iter().filter(|(_, _, c, _)| &c[..] < b"01000000000".as_slice()).count();
    assert!((1800..2200).contains(&kept), "{kept} of 2000");
}

#[test]
fn rows_do_not_depend_on_who_loads_them_or_on_the_run() {
    let workload = oltp(json!({"rows": 1000, "tables": 2}));
    let of = |workload: &dyn Workload, table, range| {
        let mut rows = Rows::default();
        workload.rows(table, range, &mut rows);
        rows.0
    };
    let whole = of(&*workload, 1, 0..1000);
    let mut parts = of(&*workload, 1, 0..1);
    parts.extend(of(&*workload, 1, 1..999));
    parts.extend(of(&*workload, 1, 999..1000));
    assert_eq!(whole, parts);
    let other = oltp(json!({
        "rows": 1000, "tables": 2, "preset": "insert", "distribution": "special", "id_range": 9
    }));
    assert_eq!(whole, of(&*other, 1, 0..1000));
    assert_ne!(whole, of(&*workload, 0, 0..1000));
    for (n, (id, k, c, pad)) in whole.iter().enumerate() {
        assert_eq!(*id, n as i64 + 1);
        assert!((1..=1000).contains(k));
        assert_eq!((c.len(), pad.len()), (119, 59));
    }
    let distinct: BTreeSet<_> = whole.iter().map(|row| &row.2).collect();
    assert_eq!(distinct.len(), 1000);
}

#[derive(Default)]
struct Rows(Vec<(i64, i64, Vec<u8>, Vec<u8>)>, Vec<i64>, Vec<Vec<u8>>);

impl RowSink for Rows {
    fn int(&mut self, value: i64) {
        self.1.push(value);
    }
    fn text(&mut self, value: &[u8]) {
        self.2.push(value.to_vec());
    }
    fn null(&mut self) {
        panic!("no column is NULL");
    }
    fn end_row(&mut self) {
        let (ints, texts) = (std::mem::take(&mut self.1), std::mem::take(&mut self.2));
        let ([id, k], [c, pad]) = (&ints[..], &texts[..]) else { panic!("two and two columns") };
        self.0.push((*id, *k, c.clone(), pad.clone()));
    }
}

#[test]
fn wrong_options_are_named_with_what_is_allowed() {
    let cases = [
        (json!({"rowz": 1}), ["no option rowz", "tables, rows, id_range"]),
        (json!({"rows": 0}), ["option rows", "from 1 to 2000000000"]),
        (json!({"tables": 0}), ["option tables", "from 1 to 4096"]),
        (json!({"tables": 1.5}), ["option tables", "whole number"]),
        (json!({"in_list": 0}), ["option in_list", "from 1 to"]),
        (json!({"range_size": -1}), ["option range_size", "-1 is not a whole number"]),
        (json!({"id_range": 20_000}), ["option id_range", "more than rows = 10000"]),
        (json!({"id_range": 0}), ["option id_range", "from 1"]),
        (json!({"rows": "many"}), ["option rows", "\"many\" is not a whole number"]),
        (json!({"skip_trx": 1}), ["option skip_trx", "true or false"]),
        (json!({"preset": "oltp"}), ["option preset", "read_write, read_only, write_only"]),
        (json!({"distribution": "zipf"}), ["option distribution", "uniform, zipfian"]),
        (json!({"k_distribution": "even"}), ["option k_distribution", "uniform, zipfian"]),
        (json!({"zipfian_theta": 0.9}), ["option zipfian_theta", "distribution is uniform"]),
        (
            json!({"distribution": "zipfian", "zipfian_theta": -1}),
            ["option zipfian_theta", "from 0 to 10"],
        ),
        (
            json!({"distribution": "pareto", "pareto_h": 1}),
            ["option pareto_h", "from 0.001 to 0.999"],
        ),
        (
            json!({"distribution": "special", "special_res": 101}),
            ["option special_res", "from 0 to 100"],
        ),
        (json!({"table_options": 1}), ["option table_options", "not text"]),
        (json!({"preset": "insert", "inserts": 0}), ["counts of operations are 0", "above 0"]),
        (json!({"point_selects": 9_999}), ["10007 operations", "10000 allowed"]),
        (
            json!({"point_selects": 1000, "in_list": 1000}),
            ["option in_list", "1000000 keys in a transaction"],
        ),
    ];
    for (given, expected) in cases {
        let message = error(given.clone());
        for part in expected {
            assert!(message.contains(part), "{given}: {message}");
        }
    }
    // YAML's notation of large numbers.
    assert_eq!(oltp(json!({"rows": 1e6})).tables()[0].rows, 1_000_000);
}
