//! Tests of consistency between rows, the mix, and operations that depend on answers.

use super::*;
use dyno_core::plan::Options;
use dyno_core::workload::{Op, Value};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

fn built(options: serde_json::Value, dialect: Dialect) -> Result<Tpcc> {
    let options: Options = serde_json::from_value(options).expect("an object");
    Ok(Tpcc::new(Settings::read(&options)?, dialect, 42))
}

fn tpcc(options: serde_json::Value) -> Tpcc {
    built(options, Dialect::Postgres).expect("valid options")
}

/// Two warehouses with few customers.
fn small() -> serde_json::Value {
    json!({"warehouses": 2, "customers": 50, "items": 100})
}

/// Rows as text; NULL is `-`.
#[derive(Default)]
struct Read {
    rows: Vec<Vec<String>>,
    row: Vec<String>,
}

impl RowSink for Read {
    fn int(&mut self, value: i64) {
        self.row.push(value.to_string());
    }
    fn text(&mut self, value: &[u8]) {
        self.row.push(String::from_utf8(value.to_vec()).expect("UTF-8"));
    }
    fn null(&mut self) {
        self.row.push("-".into());
    }
    fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
    }
}

/// All rows by table name; each row maps column names to values.
fn population(of: &Tpcc) -> BTreeMap<String, Vec<BTreeMap<String, String>>> {
    let all = of.tables().into_iter().enumerate().map(|(number, table)| {
        let mut read = Read::default();
        of.rows(number, 0..table.rows, &mut read);
        assert_eq!(read.rows.len() as u64, table.rows, "{}", table.name);
        let columns = &table.columns;
        let named = read.rows.into_iter().map(|row| {
            assert_eq!(row.len(), columns.len());
            columns.iter().cloned().zip(row).collect()
        });
        let named = named.collect();
        (table.name, named)
    });
    all.collect()
}

#[test]
fn a_full_warehouse_has_the_specified_cardinalities() {
    let tables = tpcc(json!({"warehouses": 2})).tables();
    let rows: BTreeMap<&str, u64> = tables.iter().map(|t| (t.name.as_str(), t.rows)).collect();
    assert_eq!((rows["warehouse"], rows["district"], rows["item"]), (2, 20, 100_000));
    assert_eq!((rows["stock"], rows["new_order"]), (200_000, 18_000));
    assert_eq!((rows["customer"], rows["history"], rows["orders"]), (60_000, 60_000, 60_000));
    // 60,000 orders of 5 to 15 lines.
    assert!(rows["order_line"].abs_diff(600_000) < 5_000, "{}", rows["order_line"]);
}

#[test]
fn the_loaded_rows_meet_the_consistency_conditions() {
    let of = tpcc(small());
    let all = population(&of);
    let int = |row: &BTreeMap<String, String>, name: &str| row[name].parse::<u64>().unwrap();
    assert!(all["warehouse"].iter().all(|row| row["w_ytd"] == "5000.00"));
    assert!(
        all["district"].iter().all(|row| row["d_ytd"] == "500.00" && row["d_next_o_id"] == "51")
    );
    let mut lines: BTreeMap<[u64; 3], u64> = BTreeMap::new();
    for row in &all["order_line"] {
        let order = ["ol_w_id", "ol_d_id", "ol_o_id"].map(|name| int(row, name));
        let count = lines.entry(order).or_default();
        *count += 1;
        assert_eq!(int(row, "ol_number"), *count, "lines are numbered from 1");
        assert_eq!(row["ol_delivery_d"] == "-", order[2] > 35);
        assert_eq!(row["ol_amount"] == "0.00", order[2] <= 35);
    }
    let mut customers: BTreeMap<[u64; 2], BTreeSet<u64>> = BTreeMap::new();
    for row in &all["orders"] {
        let [w_id, d_id, o_id] = ["o_w_id", "o_d_id", "o_id"].map(|name| int(row, name));
        assert_eq!(int(row, "o_ol_cnt"), lines[&[w_id, d_id, o_id]]);
        assert_eq!(row["o_carrier_id"] == "-", o_id > 35);
        assert!(customers.entry([w_id, d_id]).or_default().insert(int(row, "o_c_id")));
    }
    assert_eq!(customers.len(), 20);
    assert!(customers.values().all(|each| each.len() == 50), "each customer has ordered once");
    let orders = customers.len() as u64;
    assert_eq!(all["new_order"].len() as u64, orders * 15);
    assert!(all["new_order"].iter().all(|row| (36..=50).contains(&int(row, "no_o_id"))));
}

#[test]
fn rows_do_not_depend_on_how_they_are_cut() {
    let of = tpcc(small());
    for (number, table) in of.tables().into_iter().enumerate() {
        let (mut whole, mut pieces) = (Read::default(), Read::default());
        of.rows(number, 0..table.rows, &mut whole);
        let cuts = [0, 1, table.rows / 3 + 1, table.rows / 2 + 1, table.rows];
        for pair in cuts.windows(2).filter(|pair| pair[0] < pair[1]) {
            of.rows(number, pair[0]..pair[1], &mut pieces);
        }
        assert!(whole.rows == pieces.rows, "{}", table.name);
    }
}

#[test]
fn every_name_is_there_and_a_tenth_of_the_credits_is_bad() {
    let of = tpcc(json!({"items": 100}));
    let mut read = Read::default();
    let customer = of.tables().iter().position(|table| table.name == "customer").unwrap();
    of.rows(customer, 0..30_000, &mut read);
    let names: BTreeSet<&String> = read.rows[..3_000].iter().map(|row| &row[5]).collect();
    assert_eq!(names.len(), 1_000);
    assert_eq!(
        (read.rows[0][5].as_str(), read.rows[999][5].as_str()),
        ("BARBARBAR", "EINGEINGEING")
    );
    let bad = read.rows.iter().filter(|row| row[13] == "BC").count();
    assert!((2_700..3_300).contains(&bad), "{bad}");
    assert!(read.rows.iter().all(|row| (300..=500).contains(&row[20].len())));
    assert!(read.rows.iter().all(|row| row[10].len() == 9 && row[10].ends_with("11111")));
}

fn answer(rows: &[&[&str]]) -> Rows {
    let mut out = Rows::default();
    for row in rows {
        out.row();
        row.iter().for_each(|value| out.value(Some(value.as_bytes())));
    }
    out
}

/// Runs a transaction to its end. `ask` returns, by class, the rows of statements that keep them.
fn play(of: &Tpcc, index: u64, ask: impl Fn(&str) -> Rows) -> Vec<(String, Vec<String>)> {
    let statements = &of.catalogue.statements;
    let mut tx = Transaction::default();
    of.fill(0, index, &mut tx);
    let (mut answers, mut seen, mut stage) = (vec![], 0, 1);
    while seen < tx.ops.len() {
        for op in &tx.ops[seen..] {
            let statement = &statements[usize::from(op.request)];
            if statement.keeps {
                answers.push(ask(&statement.class));
            }
        }
        seen = tx.ops.len();
        of.more(0, index, stage, &answers, &mut tx);
        stage += 1;
        assert!(stage < 50, "it ends");
    }
    let shown = |op: &Op| {
        let statement = &statements[usize::from(op.request)];
        let values = tx.values_of(op);
        assert_eq!(values.len(), statement.params.len(), "{}", statement.class);
        let text = values.iter().map(|value| match value {
            Value::Int(n) => n.to_string(),
            Value::Decimal { unscaled, .. } => unscaled.to_string(),
            Value::Text(range) => String::from_utf8_lossy(tx.text_of(range)).into_owned(),
            other => panic!("{other:?}"),
        });
        (statement.class.clone(), text.collect())
    };
    tx.ops.iter().map(shown).collect()
}

fn first_of(of: &Tpcc, kind: usize, such: impl Fn(&[(String, Vec<String>)]) -> bool) -> u64 {
    let is_it =
        |&index: &u64| of.draw(0, index).0 == kind && such(&play(of, index, |_| Rows::unknown()));
    (0..10_000).find(is_it).expect("one among ten thousand")
}

fn classes(ops: &[(String, Vec<String>)]) -> Vec<&str> {
    ops.iter().map(|(class, _)| class.as_str()).collect()
}

fn rolls_back(ops: &[(String, Vec<String>)]) -> bool {
    ops.last().is_some_and(|(class, _)| class == "rollback")
}

#[test]
fn a_new_order_uses_the_number_the_price_and_the_stock_it_was_told() {
    let of = tpcc(json!({"warehouses": 3}));
    let index = first_of(&of, 0, |ops| !rolls_back(ops));
    let ops = play(&of, index, |class| match class {
        "new_order_district" => answer(&[&["4711", "0.1"]]),
        "new_order_item" => answer(&[&["2.50", "name", "data"]]),
        "new_order_stock" => answer(&[&["15", "dist", "data"]]),
        other => panic!("{other}"),
    });
    let of_class = |class: &str| -> Vec<&Vec<String>> {
        ops.iter().filter(|op| op.0 == class).map(|op| &op.1).collect()
    };
    let order = of_class("new_order_order")[0];
    let lines = of_class("new_order_line");
    assert_eq!(order[0], "4711");
    assert_eq!(order[4], lines.len().to_string());
    assert!((5..=15).contains(&lines.len()));
    for (line, stock) in lines.iter().zip(of_class("new_order_stock_update")) {
        let quantity: i64 = line[6].parse().unwrap();
        assert_eq!((line[0].as_str(), line[8].as_str()), ("4711", "dist"));
        assert_eq!(line[7], (250 * quantity).to_string());
        // Of a stock of 15, up to 5 leave at least 10; more add 91.
        let left = if quantity <= 5 { 15 - quantity } else { 106 - quantity };
        assert_eq!((&stock[0], &stock[1]), (&left.to_string(), &line[6]));
        assert_eq!((&stock[3], &stock[4]), (&line[5], &line[4]));
    }
    assert_eq!(classes(&ops)[..5].last(), Some(&"new_order_next_order"));
    assert_eq!(classes(&ops).last(), Some(&"commit"));
}

#[test]
fn one_new_order_in_a_hundred_looks_for_an_item_that_is_not_there_and_rolls_back() {
    let of = tpcc(json!({}));
    let (mut orders, mut rolled_back) = (0, 0);
    for index in (0..20_000).filter(|&index| of.draw(0, index).0 == 0) {
        let ops = play(&of, index, |_| Rows::unknown());
        orders += 1;
        if rolls_back(&ops) {
            rolled_back += 1;
            assert_eq!(ops[ops.len() - 2], ("new_order_item".into(), vec!["100001".into()]));
        }
    }
    let share = f64::from(rolled_back) / f64::from(orders);
    assert!((0.007..0.013).contains(&share), "{share}");
}

#[test]
fn a_payment_by_name_is_the_middle_customers_and_bad_credit_is_written_down() {
    let of = tpcc(json!({}));
    let index = first_of(&of, 1, |ops| classes(ops).contains(&"payment_by_name"));
    let with = |credit: &'static str| {
        play(&of, index, |class| match class {
            "payment_warehouse" => answer(&[&["Ware"]]),
            "payment_district" => answer(&[&["Dist"]]),
            "payment_by_name" => answer(&[&["7"], &["3"], &["9"], &["5"]]),
            "payment_customer" => answer(&[&[credit]]),
            "payment_customer_data" => answer(&[&["old"]]),
            other => panic!("{other}"),
        })
    };
    let (good, bad) = (with("GC"), with("BC"));
    assert_eq!(
        classes(&good)[5..],
        [
            "payment_by_name",
            "payment_customer",
            "payment_customer_update",
            "payment_history",
            "commit",
        ]
    );
    assert_eq!(good[6].1[2], "3", "the second of four");
    assert_eq!(good[8].1[6], "Ware    Dist");
    assert_eq!(classes(&bad)[7..9], ["payment_customer_data", "payment_customer_update"]);
    let data = &bad[8].1[2];
    assert!(data.starts_with("3 ") && data.ends_with(" | old"), "{data}");
}

#[test]
fn a_delivery_skips_districts_without_waiting_orders() {
    let of = tpcc(json!({}));
    let index = first_of(&of, 3, |_| true);
    let none = play(&of, index, |_| Rows::default());
    assert_eq!(classes(&none), [&["begin"][..], &["delivery_oldest"; 10], &["commit"]].concat());
    let all = play(&of, index, |class| match class {
        "delivery_oldest" => answer(&[&["2101"]]),
        "delivery_customer_of" => answer(&[&["17"]]),
        "delivery_sum" => answer(&[&["12.34"]]),
        other => panic!("{other}"),
    });
    let paid: Vec<_> = all.iter().filter(|op| op.0 == "delivery_customer").collect();
    assert_eq!(paid.len(), 10);
    for (district, (_, values)) in paid.iter().enumerate() {
        let district = (district + 1).to_string();
        assert_eq!((&*values[0], &values[2], &*values[3]), ("1234", &district, "17"));
    }
    assert_eq!(all.len(), 2 + 70);
}

#[test]
fn the_mix_the_names_and_the_remote_shares_are_the_specifications() {
    let of = tpcc(json!({"warehouses": 4}));
    let (mut kinds, mut named, mut payments_away) = ([0u32; 5], 0, 0);
    let (mut lines, mut lines_away) = (0u32, 0u32);
    for index in 0..40_000 {
        let kind = of.draw(0, index).0;
        kinds[kind] += 1;
        let ops = play(&of, index, |_| Rows::unknown());
        match kind {
            0 => {
                for (_, values) in ops.iter().filter(|op| op.0 == "new_order_line") {
                    lines += 1;
                    lines_away += u32::from(values[5] != values[2]);
                }
            }
            1 => {
                named += u32::from(classes(&ops).contains(&"payment_by_name"));
                let history = ops.iter().find(|op| op.0 == "payment_history").unwrap();
                payments_away += u32::from(history.1[2] != history.1[4]);
            }
            _ => {}
        }
    }
    let share = |count: u32, of: u32| f64::from(count) / f64::from(of);
    for (kind, expected) in kinds.iter().zip([0.45, 0.43, 0.04, 0.04, 0.04]) {
        assert!((share(*kind, 40_000) - expected).abs() < 0.008, "{kinds:?}");
    }
    assert!((share(named, kinds[1]) - 0.60).abs() < 0.015);
    assert!((share(payments_away, kinds[1]) - 0.15).abs() < 0.012);
    assert!((share(lines_away, lines) - 0.01).abs() < 0.002);
}

#[test]
fn sessions_may_have_a_home_and_pauses_have_their_means() {
    let of = tpcc(json!({"warehouses": 3, "home": "session", "paced": true}));
    let group = 5 << crate::mix::SESSION_BITS;
    for session in 0..7 {
        let homes: BTreeSet<i64> =
            (0..50).map(|index| of.draw(group | session, index).1.w_id).collect();
        assert_eq!(homes, BTreeSet::from([i64::from(session % 3) + 1]));
    }
    // 0.45 x 30 s + 0.43 x 15 s + 0.04 x (12 + 7 + 7) s, of which keying is 9.63 s.
    let mean_s = (1..20_000).map(|n| of.pause_ns(1, n) as f64 / 1e9).sum::<f64>() / 19_999.0;
    assert!((mean_s - 20.99).abs() < 0.4, "{mean_s}");
    assert!(of.pause_ns(1, 0) >= 2_000_000_000);
}

#[test]
fn wrong_options_are_named() {
    for (options, word) in [
        (json!({"warehouses": 0}), "warehouses"),
        (json!({"customers": 29}), "customers"),
        (json!({"items": 1}), "items"),
        (json!({"mode": "fast"}), "mode"),
        (json!({"home": "away"}), "home"),
        (json!({"mode": "sysbench", "paced": true}), "paced"),
        (json!({"scale": 1}), "scale"),
    ] {
        let error = built(options, Dialect::Mysql).err().expect("refused");
        assert!(error.what.contains(word), "{error}");
    }
}

#[test]
fn sysbenchs_rules_stay_at_home_and_fill_text_with_one_character() {
    let of = tpcc(json!({"mode": "sysbench", "warehouses": 3, "customers": 50, "items": 100}));
    let sql: Vec<String> = of.catalogue.statements.iter().map(|s| s.sql().to_string()).collect();
    assert!(sql.iter().any(|sql| sql.starts_with("DELETE FROM new_orders1 WHERE no_w_id = ?")));
    assert!(
        sql.contains(&"UPDATE stock1 SET s_quantity = ? WHERE s_w_id = ? AND s_i_id = ?".into())
    );
    let names: Vec<String> = of.tables().into_iter().map(|table| table.name).collect();
    assert!(names.iter().all(|name| name.ends_with('1')), "{names:?}");
    let is_one_letter = |text: &str| text.bytes().all(|byte| byte == text.as_bytes()[0]);
    for row in &population(&of)["customer1"] {
        assert!(is_one_letter(&row["c_data"]) && row["c_zip"].starts_with("zip-"), "{row:?}");
    }
    let mut kinds = [0u32; 5];
    for index in 0..20_000 {
        kinds[of.draw(0, index).0] += 1;
        for (class, values) in play(&of, index, |_| Rows::unknown()) {
            match class.as_str() {
                "new_order_line" => assert_eq!(values[5], values[2], "from its own warehouse"),
                "payment_history" => assert_eq!(values[2], values[4]),
                _ => {}
            }
        }
    }
    for (kind, expected) in kinds.iter().zip([10.0, 10.0, 1.0, 1.0, 1.0]) {
        assert!((f64::from(*kind) / 20_000.0 - expected / 23.0).abs() < 0.01, "{kinds:?}");
    }
}
