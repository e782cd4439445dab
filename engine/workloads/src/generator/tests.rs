//! Tests of ranges, shapes, forms, determinism and rejected options.

use super::*;
use dyno_core::random::rng::Rng;
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;

fn read(value: serde_json::Value) -> Result<Generator> {
    let node = Node::new("mix", "params.p", &value);
    let mut fields = node.fields()?;
    let generator = Generator::read(&mut fields)?;
    fields.finish().map(|()| generator)
}

/// Values 0 to `count - 1` as text.
fn drawn(value: serde_json::Value, count: u64) -> Vec<String> {
    let generator = read(value).expect("a generator");
    let mut text = Vec::new();
    let mut rng = Rng::new(11);
    (0..count)
        .map(|number| match generator.draw(number, &mut rng, &mut text) {
            Value::Text(range) => {
                let bytes = &text[range.start as usize..range.end as usize];
                String::from_utf8(bytes.to_vec()).expect("UTF-8")
            }
            Value::Decimal { unscaled, scale } => {
                let mut out = Vec::new();
                dyno_core::workload::put_decimal(unscaled, scale, &mut out);
                String::from_utf8(out).expect("digits")
            }
            Value::Int(number) => number.to_string(),
            Value::Bool(value) => value.to_string(),
            Value::Double(number) => number.to_string(),
            Value::Null => "NULL".into(),
        })
        .collect()
}

fn counts(values: Vec<String>) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    values.into_iter().for_each(|value| *counts.entry(value).or_default() += 1);
    counts
}

#[test]
fn ranges_reach_both_ends() {
    for (generator, ends) in [
        (json!({"uniform": [-2, 2]}), ["-2", "2"]),
        (json!({"uniform": [0.08, 0.11]}), ["0.08", "0.11"]),
        (json!({"uniform": [1, 2], "decimals": 1}), ["1.0", "2.0"]),
        (json!({"zipfian": [5, 9]}), ["5", "9"]),
        (json!({"pareto": [5, 9]}), ["5", "9"]),
        (json!({"special": [5, 9], "res": 0, "iterations": 1}), ["5", "9"]),
        (json!({"gaussian": [5, 9], "iterations": 1}), ["5", "9"]),
        (json!({"dates": ["2024-02-28", "2024-03-01"]}), ["2024-02-28", "2024-03-01"]),
        (
            json!({"times": ["2024-12-31 23:59:58", "2025-01-01"]}),
            ["2024-12-31 23:59:58", "2025-01-01 00:00:00"],
        ),
    ] {
        let found = counts(drawn(generator.clone(), 5000));
        for end in ends {
            assert!(found.contains_key(end), "{generator}: {found:?}");
        }
        let sizes = [3, 4, 5, 11];
        assert!(sizes.contains(&found.len()), "{generator}: {found:?}");
    }
}

#[test]
fn numbers_can_be_texts_with_the_same_digits() {
    for value in
        [json!({"zipfian": [-5, 500]}), json!({"uniform": [0.5, 9.75]}), json!({"sequence": 7})]
    {
        let mut as_text = value.clone();
        as_text["as_text"] = json!(true);
        assert_eq!(read(as_text.clone()).expect("a generator").form, Form::Text);
        assert_eq!(drawn(as_text, 200), drawn(value, 200));
    }
    assert!(read(json!({"text": "#", "as_text": true})).is_err());
    assert!(read(json!({"sequence": 1, "as_text": 1})).is_err());
}

#[test]
fn a_scrambled_zipfian_has_the_same_shape_elsewhere() {
    let sorted = |value| {
        let mut counts: Vec<u32> = counts(drawn(value, 200_000)).into_values().collect();
        counts.sort_unstable();
        counts
    };
    let plain = json!({"zipfian": [1, 1000], "scramble": false});
    assert_eq!(sorted(plain.clone()), sorted(json!({"zipfian": [1, 1000]})));
    let top = |value| {
        let found = counts(drawn(value, 200_000));
        let (key, count) = found.into_iter().max_by_key(|(_, count)| *count).expect("values");
        (key.parse::<i64>().expect("a number"), count)
    };
    let total: f64 = (1..=1000).map(|k| f64::from(k).powf(-0.99)).sum();
    let (key, count) = top(plain);
    assert_eq!(key, 1);
    let expected = 200_000.0 / total;
    assert!((f64::from(count) - expected).abs() < 6.0 * expected.sqrt(), "{count}, not {expected}");
}

#[test]
fn sequences_count_and_lists_are_weighted() {
    assert_eq!(drawn(json!({"sequence": -1}), 3), ["-1", "0", "1"]);
    assert_eq!(drawn(json!({"const": 2.50}), 2), ["2.5", "2.5"]);
    assert_eq!(drawn(json!({"const": null}), 1), ["NULL"]);
    let found = counts(drawn(json!({"values": ["a", "b", 7], "weights": [3, 0, 1]}), 4000));
    assert_eq!(found.len(), 2);
    assert!(found["a"].abs_diff(3000) < 200, "{found:?}");
    let found = counts(drawn(json!({"uniform": [1, 1], "nulls": 0.25}), 4000));
    assert!(found["NULL"].abs_diff(1000) < 200, "{found:?}");
}

#[test]
fn forms_are_known_before_the_first_value() {
    for (value, form, nulls) in [
        (json!({"uniform": [1, 2]}), Form::Int, false),
        (json!({"uniform": [1, 2.5]}), Form::Decimal, false),
        (json!({"text": "#"}), Form::Text, false),
        (json!({"dates": ["2024-01-01", "2024-01-01"]}), Form::Text, false),
        (json!({"values": [true, null]}), Form::Bool, true),
        (json!({"sequence": 1, "nulls": 0.5}), Form::Int, true),
    ] {
        let generator = read(value.clone()).expect("a generator");
        assert_eq!((generator.form, generator.has_nulls()), (form, nulls), "{value}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    for (value, expected) in [
        (json!({}), "does not say how values are made: give it one of uniform, zipfian"),
        (json!({"uniform": [1, 2], "const": 1}), "one of uniform and const, not both"),
        (json!({"column": "users.id"}), "dyno looks them up"),
        (json!({"uniform": 1}), "p.uniform of workload mix: 1 is not a list of two numbers"),
        (json!({"uniform": [1]}), "[1] is not a list of two numbers"),
        (json!({"uniform": [2, 1]}), "2 is above 1"),
        (json!({"uniform": [1, "x"]}), "p.uniform.1 of workload mix: \"x\" is not a number"),
        (json!({"uniform": [0, 1e19]}), "is not a number of at most 18 digits"),
        (json!({"uniform": [0, 1e6], "decimals": 15}), "its ends are too large"),
        (json!({"uniform": [0.001, 1], "decimals": 2}), "2 is not a whole number from 3 to 18"),
        (json!({"uniform": [1, 2], "theta": 1}), "it has no field theta"),
        (
            json!({"zipfian": [1, 2], "theta": -1}),
            "p.theta of workload mix: -1 is not a number from 0 to 10",
        ),
        (json!({"zipfian": [1, 2], "scramble": 1}), "1 is not true or false"),
        (json!({"pareto": [1, 2], "h": 1}), "from 0.001 to 0.999"),
        (
            json!({"special": [1, 2], "pct": 0}),
            "p.pct of workload mix: 0 is not a whole number from 1 to 100",
        ),
        (json!({"gaussian": [1, 2], "iterations": 0}), "from 1 to 1000"),
        (json!({"sequence": 1.5}), "1.5 is not a whole number"),
        (json!({"values": []}), "0 values: 1 to 100000 are allowed"),
        (json!({"values": [[1]]}), "p.values.0 of workload mix: it is neither text nor number"),
        (json!({"values": [1], "weights": [1, 2]}), "2 weights for 1 values"),
        (json!({"values": [1], "weights": [0]}), "all weights are 0"),
        (
            json!({"values": [1], "weights": [-1]}),
            "p.weights.0 of workload mix: -1 is not a number",
        ),
        (json!({"text": "a\\"}), "a backslash at its end"),
        (json!({"text": 1}), "1 is not text"),
        (
            json!({"dates": ["2024-02-30", "2024-03-01"]}),
            "p.dates.0 of workload mix: \"2024-02-30\" is not one of the days",
        ),
        (json!({"dates": ["2024-02-02", "2024-02-01"]}), "its first is behind its last"),
        (json!({"times": ["12:00", "13:00"]}), "is not one of the times such as"),
        (json!({"const": 1, "nulls": 2}), "p.nulls of workload mix: 2 is not a number from 0 to 1"),
    ] {
        let message = read(value.clone()).expect_err("wrong").to_string();
        assert!(message.contains(expected), "{value}: {message}");
    }
}

proptest! {
    #[test]
    fn every_number_is_in_its_range(
        low in -1_000_000_000i64..1_000_000_000,
        size in 0i64..1_000_000_000,
        kind in prop::sample::select(vec!["uniform", "zipfian", "gaussian", "pareto", "special"]),
        seed: u64,
    ) {
        let generator = read(json!({kind: [low, low + size]})).expect("a generator");
        let (mut rng, mut again, mut text) = (Rng::new(seed), Rng::new(seed), Vec::new());
        for _ in 0..100 {
            let value = generator.draw(0, &mut rng, &mut text);
            prop_assert_eq!(&value, &generator.draw(9, &mut again, &mut text));
            let Value::Int(number) = value else { panic!("{value:?}") };
            prop_assert!((low..=low + size).contains(&number));
        }
    }
}
