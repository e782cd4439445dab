//! Tests of sent statements, determinism, sequences, weights and rejected options.

use super::*;
use dyno_core::plan::Options;
use dyno_core::workload::{Dialect, Form, ParamType, Value as Parameter, put_decimal};
use proptest::prelude::*;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

fn built(options: serde_json::Value, dialect: Dialect) -> Result<Box<dyn Workload>> {
    let options: Options = serde_json::from_value(options).expect("an object");
    (KIND.build)(&Order { options: &options, dialect, seed: 42, sessions: 4 })
}

pub(super) fn mix(options: serde_json::Value) -> Box<dyn Workload> {
    built(options, Dialect::Postgres).expect("valid options")
}

pub(super) fn error(options: serde_json::Value) -> String {
    let built = built(options.clone(), Dialect::Mysql);
    built.err().unwrap_or_else(|| panic!("{options} is accepted")).to_string()
}

fn shop() -> serde_json::Value {
    json!({
        "params": {
            "uid": {"zipfian": [1, 1000]},
            "amount": {"uniform": [0.01, 999.99], "decimals": 2},
            "n": {"sequence": 100},
            "line": {"sequence": 1, "per": "statement"},
            "name": {"text": "user-##"},
        },
        "statements": {
            "find": {"sql": "SELECT * FROM users WHERE id = :uid;", "weight": 90, "expect": {"rows": [0, 1]}},
            "rename": "UPDATE users SET name = :name WHERE id = :uid OR id = :uid + 1",
        },
        "transactions": {
            "buy": {"weight": 9, "steps": [
                "UPDATE users SET n = n + 1 WHERE id = :uid",
                {"sql": "INSERT INTO lines VALUES (:line, :n, :uid, :amount)", "repeat": 3, "name": "add_line", "expect": {"affected": 1}},
            ]},
            "look": {"weight": 0, "steps": ["SELECT 1"]},
        },
    })
}

fn transaction(workload: &dyn Workload, session: u32, index: u64) -> Transaction {
    let mut tx = Transaction::default();
    workload.fill(session, index, &mut tx);
    tx
}

fn shown(value: &Parameter, tx: &Transaction) -> String {
    match value {
        Parameter::Int(n) => n.to_string(),
        Parameter::Text(range) => String::from_utf8_lossy(tx.text_of(range)).into_owned(),
        Parameter::Decimal { unscaled, scale } => {
            let mut out = vec![];
            put_decimal(*unscaled, *scale, &mut out);
            String::from_utf8(out).expect("digits")
        }
        other => format!("{other:?}"),
    }
}

/// Classes and parameters of each operation.
pub(super) fn sent(
    workload: &dyn Workload,
    session: u32,
    index: u64,
) -> Vec<(String, Vec<String>)> {
    let statements = workload.requests();
    let tx = transaction(workload, session, index);
    let of = |op: &dyno_core::workload::Op| {
        let values = tx.values_of(op).iter().map(|value| shown(value, &tx)).collect();
        (statements[usize::from(op.request)].class.clone(), values)
    };
    tx.ops.iter().map(of).collect()
}

/// The first transaction whose first operation is of `class`, with its (session, index).
fn first(workload: &dyn Workload, class: &str) -> Vec<(String, Vec<String>)> {
    let all = (0..4000).map(|index| sent(workload, 1, index));
    all.into_iter().find(|ops| ops[0].0 == class).expect("one of them")
}

#[test]
fn statements_are_as_they_were_written() {
    let statements = mix(shop()).requests();
    let lines: Vec<_> =
        statements.iter().map(|s| (s.class.as_str(), s.effect, s.sql().to_string())).collect();
    let expected = [
        ("find", Effect::Read, "SELECT * FROM users WHERE id = ?"),
        ("rename", Effect::Write, "UPDATE users SET name = ? WHERE id = ? OR id = ? + 1"),
        ("begin", Effect::BeginWrite, ""),
        ("buy_1", Effect::Write, "UPDATE users SET n = n + 1 WHERE id = ?"),
        ("add_line", Effect::Write, "INSERT INTO lines VALUES (?, ?, ?, ?)"),
        ("commit", Effect::Commit, ""),
    ];
    assert_eq!(lines, expected.map(|(class, kind, sql)| (class, kind, sql.to_owned())));
    assert_eq!(statements[0].names, ["uid"]);
    let expect = statements[0].expect.as_ref().expect("given");
    assert_eq!((expect.rows.clone(), expect.affected.clone()), (Some(0..=1), None));
    assert_eq!(statements[4].expect.as_ref().and_then(|e| e.affected.clone()), Some(1..=1));
    let forms = [Form::Int, Form::Int, Form::Int, Form::Decimal].map(ParamType::Inferred);
    assert_eq!(statements[4].params, forms);
}

#[test]
fn parameters_hold_for_a_transaction_or_a_statement() {
    let workload = mix(shop());
    let rename = first(&*workload, "rename");
    let [(_, values)] = &rename[..] else { panic!("{rename:?}") };
    assert!(values[0].starts_with("user-") && values[0].len() == 7);
    assert_eq!(values[1], values[2]);
    let buy = first(&*workload, "begin");
    let classes: Vec<&str> = buy.iter().map(|(class, _)| class.as_str()).collect();
    assert_eq!(classes, ["begin", "buy_1", "add_line", "add_line", "add_line", "commit"]);
    let uid = &buy[1].1[0];
    for (nth, (_, values)) in buy[2..5].iter().enumerate() {
        assert_eq!((&values[2], &values[1], &values[3]), (uid, &buy[2].1[1], &buy[2].1[3]));
        let line: u64 = values[0].parse().expect("a number");
        assert_eq!(line, buy[2].1[0].parse::<u64>().expect("a number") + nth as u64);
        assert!(values[3].contains('.') && values[3].rsplit('.').next().map(str::len) == Some(2));
    }
}

#[test]
fn a_sequence_of_repetitions_begins_anew_in_each_transaction() {
    let mut options = shop();
    options["params"]["line"]["per"] = "repetition".into();
    let workload = mix(options);
    for index in 0..500 {
        let ops = sent(&*workload, 0, index);
        if ops[0].0 == "begin" {
            let lines: Vec<&str> = ops[2..5].iter().map(|op| op.1[0].as_str()).collect();
            assert_eq!(lines, ["1", "2", "3"]);
        }
    }
}

#[test]
fn sequences_never_repeat_over_sessions_and_transactions() {
    let workload = mix(shop());
    let (mut numbers, mut lines) = (BTreeSet::new(), BTreeSet::new());
    let mut bought = 0;
    for session in 0..4 {
        for index in 0..2000 {
            let group = 3 << SESSION_BITS;
            let ops = sent(&*workload, group | session, index);
            if ops[0].0 != "begin" {
                continue;
            }
            bought += 1;
            assert!(numbers.insert(ops[2].1[1].clone()));
            for op in &ops[2..5] {
                assert!(lines.insert(op.1[0].clone()));
            }
        }
    }
    assert_eq!((numbers.len(), lines.len()), (bought, 3 * bought));
    assert!(bought > 100);
}

#[test]
fn transactions_come_by_weight() {
    let workload = mix(shop());
    let mut counts = BTreeMap::new();
    for index in 0..20_000 {
        *counts.entry(sent(&*workload, 0, index)[0].0.clone()).or_insert(0u32) += 1;
    }
    assert!(counts["find"].abs_diff(18_000) < 250, "{counts:?}");
    assert!(counts["begin"].abs_diff(1_800) < 250, "{counts:?}");
    assert!(counts["rename"].abs_diff(200) < 90, "{counts:?}");
}

#[test]
fn an_operation_is_a_function_of_seed_session_and_index() {
    let (one, two) = (mix(shop()), mix(shop()));
    for index in (0..200).rev() {
        assert_eq!(sent(&*one, 7, index), sent(&*two, 7, index));
    }
    assert_ne!(
        (0..50).map(|i| sent(&*one, 1, i)).collect::<Vec<_>>(),
        (0..50).map(|i| sent(&*one, 2, i)).collect::<Vec<_>>()
    );
}

#[test]
fn filling_again_allocates_nothing() {
    let workload = mix(shop());
    let mut tx = Transaction::default();
    let memory = |tx: &Transaction| {
        (tx.ops.capacity(), tx.values.capacity(), tx.text.capacity(), tx.values.as_ptr())
    };
    for index in 0..5000 {
        tx.clear();
        workload.fill(0, index, &mut tx);
    }
    let before = memory(&tx);
    for index in 0..5000 {
        tx.clear();
        workload.fill(0, index, &mut tx);
    }
    assert_eq!(memory(&tx), before);
}

#[test]
fn only_what_is_sent_and_writes_changes_data() {
    let changes = |statement| {
        let statements = json!({"a": "SELECT 1", "b": statement});
        mix(json!({"statements": statements})).changes_data()
    };
    assert!(!changes(json!("SELECT 2")));
    assert!(changes(json!("DELETE FROM t")));
    assert!(!changes(json!({"sql": "DELETE FROM t", "weight": 0})));
    assert!(!changes(json!({"sql": "CALL reading()", "reads": true})));
    assert!(changes(json!({"sql": "SELECT writing()", "reads": false})));
    let begins = |sql| {
        let options = json!({"transactions": {"t": {"steps": ["SELECT 1", sql]}}});
        mix(options).requests()[0].effect
    };
    assert_eq!(begins("SELECT 2"), Effect::BeginRead);
    assert_eq!(begins("UPDATE t SET a = 1"), Effect::BeginWrite);
}

#[test]
fn steps_that_are_not_atomic_stand_without_a_frame() {
    let steps = json!(["SELECT 1", "SELECT 2"]);
    let mix = mix(json!({"transactions": {"t": {"steps": steps, "atomic": false}}}));
    let classes: Vec<_> = sent(&*mix, 0, 0).into_iter().map(|(class, _)| class).collect();
    assert_eq!(classes, ["t_1", "t_2"]);
}

#[test]
fn a_server_s_own_operators_stay() {
    let sql = "SELECT doc ? 'a?b' FROM t WHERE id = :id::int -- ?";
    let options = json!({"params": {"id": {"const": 1}}, "statements": {"s": sql}});
    let statement = &mix(options).requests()[0];
    assert_eq!(statement.sql().pieces(), ["SELECT doc ? 'a?b' FROM t WHERE id = ", "::int -- ?"]);
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let of = |statement: serde_json::Value| json!({"params": {"a": {"const": 1}}, "statements": {"s": statement}});
    let steps = |steps: serde_json::Value| json!({"transactions": {"t": {"steps": steps}}});
    for (options, expected) in [
        (
            json!({"param": {}}),
            "workload mix has no option param: its options are params, statements",
        ),
        (json!({}), "option statements of workload mix: it has no statement and no transaction"),
        (of(json!({"sql": "SELECT 1", "weight": 0})), "with a weight above 0"),
        (json!({"statements": []}), "option statements of workload mix: [] is not a mapping"),
        (of(json!(1)), "option statements.s of workload mix: 1 is not a mapping"),
        (of(json!({"weight": 1})), "statements.s of workload mix: it has no sql"),
        (
            of(json!("SELECT :b")),
            "statements.s of workload mix: there is no parameter :b in params: declared are a",
        ),
        (
            of(json!({"sql": "SELECT ?"})),
            "statements.s.sql of workload mix: at character 8: a ? would be",
        ),
        (of(json!("  -- nothing\n;")), "it is empty"),
        (of(json!("COMMIT")), "COMMIT is not for a statement to say"),
        (
            of(json!({"sql": "SELECT 1", "wait": 1})),
            "statements.s of workload mix: it has no field wait",
        ),
        (
            of(json!({"sql": "SELECT 1", "weight": -1})),
            "statements.s.weight of workload mix: -1 is not a number",
        ),
        (of(json!({"sql": "SELECT 1", "reads": "no"})), "\"no\" is not true or false"),
        (of(json!({"sql": "SELECT 1", "expect": {}})), "it has neither rows nor affected"),
        (of(json!({"sql": "SELECT 1", "expect": {"row": 1}})), "it has no field row"),
        (
            of(json!({"sql": "SELECT 1", "expect": {"rows": [2, 1]}})),
            "expect.rows of workload mix: 2 is above 1",
        ),
        (of(json!({"sql": "SELECT 1", "expect": {"rows": -1}})), "-1 is not a whole number"),
        (json!({"statements": {"a b": "SELECT 1"}}), "\"a b\" is no name for a statement"),
        (json!({"statements": {"begin": "SELECT 1"}}), "begin is a name of the engine's own"),
        (json!({"params": {"1": {"const": 1}}}), "\"1\" is no name for a parameter"),
        (
            json!({"params": {"a": {"const": 1, "per": "x"}}}),
            "params.a.per of workload mix: \"x\" is not one of transaction, statement",
        ),
        (
            json!({"params": {"a": {"const": 1, "x": 1}}}),
            "params.a of workload mix: it has no field x",
        ),
        (
            steps(json!([])),
            "transactions.t.steps of workload mix: a transaction has at least one step",
        ),
        (
            steps(json!([{"sql": "SELECT 1", "repeat": 0}])),
            "steps.0.repeat of workload mix: 0 is not a whole number from 1",
        ),
        (
            steps(json!([{"sql": "SELECT 1", "name": "commit"}])),
            "steps.0.name of workload mix: commit is a name",
        ),
        (
            steps(json!(["SELECT 1", {"sql": "SELECT 1", "repeat": 10_000}])),
            "10003 statements in a transaction, 10000 allowed",
        ),
        (json!({"transactions": {"t": {}}}), "transactions.t of workload mix: it has no steps"),
    ] {
        let message = error(options.clone());
        assert!(message.contains(expected), "{options}: {message}");
    }
}

/// Statements with a range, a day and a list, whose parameters depend on each other.
fn ranges() -> serde_json::Value {
    json!({
        "params": {
            "id": {"uniform": [1, 1000], "per": "statement"},
            "wide": {"values": [0, 99], "per": "statement"},
            "upto": {"sum": ["id", "wide"]},
            "day": {"dates": ["2024-01-01", "2024-12-31"]},
            "days": {"const": 7},
            "until": {"sum": ["day", "days"]},
            "new": {"sequence": 1, "per": "statement"},
        },
        "statements": {
            "between": {"sql": "SELECT 1 FROM t WHERE id < :upto AND id >= :id AND :upto > 0"},
            "alone": {"sql": "SELECT 2 FROM t WHERE id < :upto"},
        },
        "transactions": {
            "t": {"steps": [
                "SELECT 3 FROM t WHERE d BETWEEN :day AND :until",
                {"sql": "INSERT INTO t VALUES (:new, :day, now()), (0, :until, :upto)", "repeat": 2,
                 "lists": [{"of": "(:new, :day, now())", "lengths": [1, 3], "weights": [1, 3]}]},
            ]},
        },
    })
}

#[test]
fn a_sum_is_of_the_values_of_its_own_statement() {
    let workload = mix(ranges());
    let mut widths = BTreeMap::new();
    for index in 0..3000 {
        for (class, values) in sent(&*workload, 0, index) {
            let number = |at: usize| values[at].parse::<i64>().expect("a number");
            match class.as_str() {
                "between" => {
                    assert_eq!(values[0], values[2]);
                    *widths.entry(number(0) - number(1)).or_insert(0) += 1;
                }
                "alone" => assert!((1..=1099).contains(&number(0))),
                "t_1" => {
                    assert!(values[0].starts_with("2024") && values[1] > values[0], "{values:?}");
                }
                _ => {}
            }
        }
    }
    assert!(widths[&0] > 400 && widths[&99] > 400 && widths.len() == 2, "{widths:?}");
}

#[test]
fn lists_have_their_lengths_and_each_element_its_own_values() {
    let workload = mix(ranges());
    let texts: Vec<String> = workload.requests().iter().map(|s| s.sql().to_string()).collect();
    let row = "(?, ?, now())";
    let expected = [format!("{row}, (0,"), format!("{row}, {row}, {row}, (0,")];
    for begins in expected {
        let begins = format!("INSERT INTO t VALUES {begins}");
        assert_eq!(texts.iter().filter(|text| text.starts_with(&begins)).count(), 1, "{texts:?}");
    }
    let (mut lengths, mut keys) = (BTreeMap::new(), BTreeSet::new());
    for index in 0..4000 {
        let ops = sent(&*workload, 1, index);
        let [_, one, inserts @ .., _] = &ops[..] else { continue };
        for (_, values) in inserts {
            let rows = &values[..values.len() - 2];
            *lengths.entry(rows.len() / 2).or_insert(0u32) += 1;
            for row in rows.chunks(2) {
                assert_eq!(row[1], one.1[0], "a day holds for the transaction");
                assert!(keys.insert(row[0].clone()), "a new number for each row");
            }
            assert_eq!(values[values.len() - 2], one.1[1], "the same day and width");
        }
    }
    let (one, three) = (f64::from(lengths[&1]), f64::from(lengths[&3]));
    assert!(lengths.len() == 2 && (2.5..3.6).contains(&(three / one)), "{lengths:?}");
}

#[test]
fn sums_and_lists_that_cannot_be_are_refused_with_their_place() {
    let sum = |terms: serde_json::Value| {
        json!({"statements": {"s": "SELECT :x"}, "params": {
            "x": {"sum": terms}, "n": {"const": 1}, "f": {"const": 1.5}, "t": {"const": "a"},
            "y": {"sum": ["n", "n"]}, "d": {"dates": ["2024-01-01", "2024-01-02"]},
        }})
    };
    let lists = |lists: serde_json::Value| {
        let sql = "SELECT 1 FROM t WHERE a IN (:n) AND b IN (:m, :n_2) AND c = now()";
        let params = json!({"n": {"const": 1}, "m": {"const": 1}, "n_2": {"const": 1}});
        json!({"params": params, "statements": {"s": {"sql": sql, "lists": lists}}})
    };
    for (options, expected) in [
        (sum(json!(["n"])), "params.x.sum of workload mix: 1 terms: 2 to 8 are allowed"),
        (sum(json!(["n", "z"])), "params.x.sum.1 of workload mix: there is no parameter z"),
        (sum(json!(["y", "n"])), "params.x.sum.0 of workload mix: y is a sum itself"),
        (sum(json!(["t", "n"])), "params.x.sum.0 of workload mix: t does not make numbers, days"),
        (sum(json!(["n", "d"])), "params.x.sum.1 of workload mix: d does not make numbers"),
        (sum(json!(["n", "f"])), "params.x.sum of workload mix: a term has decimals"),
        (sum(json!(["d", "f"])), "params.x.sum of workload mix: a term has decimals"),
        (
            json!({"params": {"x": {"sum": [], "per": "statement"}}}),
            "params.x of workload mix: it has no field per: its fields are sum",
        ),
        (lists(json!([{"lengths": [1]}])), "lists.0 of workload mix: it has no of"),
        (lists(json!([{"of": ":n", "lengths": []}])), "lists.0.lengths of workload mix: 0 lengths"),
        (lists(json!([{"of": ":n", "lengths": [0]}])), "0 is not a whole number from 1 to 65535"),
        (lists(json!([{"of": ":x", "lengths": [1]}])), "it does not occur exactly once"),
        (lists(json!([{"of": "now()", "lengths": [1]}])), "there is no parameter in it"),
        (
            lists(json!([{"of": ":n", "lengths": [1, 2], "weights": [1]}])),
            "lists.0.weights of workload mix: 1 weights for 2 lengths",
        ),
        (
            lists(json!([{"of": ":m, :n_2", "lengths": [1]}, {"of": ":m", "lengths": [1]}])),
            "statements.s.lists of workload mix: one of them stands within another",
        ),
        (
            lists(json!([
                {"of": ":n", "lengths": vec![1; 40]}, {"of": ":m", "lengths": vec![1; 40]},
            ])),
            "1600 combinations of lengths, 1000 allowed",
        ),
    ] {
        let message = error(options.clone());
        assert!(message.contains(expected), "{options}: {message}");
    }
}

proptest! {
    #[test]
    fn any_program_gives_each_place_its_value(
        uses in prop::collection::vec((prop::collection::vec(0..3usize, 0..5), 1..4u32), 1..5),
        index in 0..1000u64,
    ) {
        let steps: Vec<_> = uses
            .iter()
            .map(|(params, repeat)| {
                let list: Vec<String> = params.iter().map(|p| format!(":p{p}")).collect();
                json!({"sql": format!("SELECT 1 {}", list.join(" ")), "repeat": repeat})
            })
            .collect();
        let workload = mix(json!({
            "params": {
                "p0": {"sequence": 0},
                "p1": {"sequence": 0, "per": "statement"},
                "p2": {"text": "####"},
            },
            "transactions": {"t": {"steps": steps}},
        }));
        let ops = sent(&*workload, 2, index);
        let executions: Vec<&Vec<usize>> = uses
            .iter()
            .flat_map(|(params, repeat)| std::iter::repeat_n(params, *repeat as usize))
            .collect();
        prop_assert_eq!(ops.len(), executions.len() + 2);
        let mut held: BTreeMap<usize, String> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for (params, (_, values)) in executions.iter().zip(&ops[1..]) {
            prop_assert_eq!(values.len(), params.len());
            let mut here = BTreeMap::new();
            for (param, value) in params.iter().zip(values) {
                let first = here.entry(*param).or_insert_with(|| value.clone());
                prop_assert_eq!(&*first, value);
                if *param == 1 {
                    continue;
                }
                let first = held.entry(*param).or_insert_with(|| value.clone());
                prop_assert_eq!(&*first, value);
            }
            if let Some(value) = here.remove(&1) {
                prop_assert!(seen.insert(value));
            }
        }
    }
}
