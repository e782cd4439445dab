//! Tests of whole profiles: the profile describes the generated log.

use super::*;

fn shape(language: Language, log: impl IntoIterator<Item = (u64, String)>) -> Shape {
    let mut shaper = Shaper::new(language);
    for (at, (session, text)) in log.into_iter().enumerate() {
        shaper.event(&Event {
            session: Some(session),
            text: text.as_bytes(),
            end_ns: Some(at as i64 * 1_000_000),
            database: b"shop",
            ..Event::default()
        });
    }
    shaper.finish()
}

/// The units as (count, transaction?, templates' first words and tables).
fn units(shape: &Shape) -> Vec<(u64, bool, Vec<String>)> {
    let name = |step: &Step| {
        let template = &shape.statements[step.statement as usize].template;
        let words: Vec<_> = template.split(' ').collect();
        format!("{}x{}", words[2], step.repeat)
    };
    let unit =
        |unit: &Unit| (unit.count, unit.is_transaction, unit.steps.iter().map(name).collect());
    shape.units.iter().map(unit).collect()
}

fn insert(table: &str, n: usize) -> String {
    format!("INSERT INTO {table} VALUES ({n}, 'x')")
}

/// For each insert into A, 100 into B, 95 into C and 5 into D; each B pairs with one C or D.
fn ratios(session: u64) -> Vec<(u64, String)> {
    let mut log = vec![];
    for round in 0..30 {
        log.push((session, insert("A", round)));
        for n in 0..100 {
            log.push((session, insert("B", n)));
            log.push((session, insert(if (n + round) % 20 == 0 { "D" } else { "C" }, n)));
        }
    }
    log
}

#[test]
fn ratios_between_tables_and_which_goes_with_which_come_back() {
    let found = shape(Language::Mysql, ratios(7));
    let pair = |a: &str, b: &str| vec![format!("{a}x1"), format!("{b}x1")];
    let expected = [
        (2850, false, pair("B", "C")),
        (150, false, pair("B", "D")),
        (30, false, vec!["Ax1".to_owned()]),
    ];
    assert_eq!(units(&found), expected);
    assert_eq!((found.sessions, found.units_dropped, found.statements_dropped), (1, 0, 0));
    let template = &found.statements[0].template;
    assert_eq!(template, "INSERT INTO A VALUES (:p1, :p2)");
}

#[test]
fn sessions_that_interleave_are_told_apart() {
    let (one, two) = (ratios(1), ratios(2));
    let log = one.into_iter().zip(two).flat_map(|(a, b)| [a, b]);
    let found = shape(Language::Mysql, log);
    assert_eq!(found.units.iter().map(|unit| unit.count).collect::<Vec<_>>(), [5700, 300, 60]);
    assert_eq!((found.sessions, found.sessions_at_once), (2, Some(2)));
}

#[test]
fn what_would_have_come_behind_the_end_of_a_log_is_not_known() {
    let pairs = |count: usize| (0..count).flat_map(|n| [insert("b", n), insert("c", n)]);
    let cut =
        |session, count| pairs(count).chain([insert("b", 0)]).map(move |text| (session, text));
    let found = shape(Language::Mysql, (1..=4).flat_map(|session| cut(session, 10)));
    assert_eq!(units(&found), [(40, false, vec!["bx1".into(), "cx1".into()])]);
    // One in three has no successor: not a pair.
    let found = shape(Language::Mysql, (1..=40).flat_map(|session| cut(session, 2)));
    assert_eq!(found.units.len(), 2);
}

#[test]
fn sessions_that_come_one_after_the_other_are_not_at_once() {
    let log = (0..30).map(|n| (n / 10, insert("t", n as usize)));
    let found = shape(Language::Mysql, log);
    assert_eq!((found.sessions, found.sessions_at_once), (3, Some(1)));
}

#[test]
fn sessions_of_one_second_are_told_apart_by_the_logs_order() {
    // MariaDB logs the second in which a statement began: the longer one seems to end after the next.
    let mut shaper = Shaper::new(Language::Mysql);
    for (session, end_ns) in [(1, 500_000_000), (1, 1_000_000), (2, 900_000_000), (2, 800_000_000)]
    {
        shaper.event(&Event {
            session: Some(session),
            text: b"select 1",
            end_ns: Some(end_ns),
            ..Event::default()
        });
    }
    let found = shaper.finish();
    assert_eq!((found.sessions, found.sessions_at_once), (2, Some(1)));
}

#[test]
fn a_statement_in_two_databases_is_two_with_values_of_their_own() {
    let mut shaper = Shaper::new(Language::Mysql);
    for n in 0..100 {
        let (database, id) = if n % 10 == 0 { ("small", 500_000 + n) } else { ("big", n) };
        shaper.event(&Event {
            session: Some(1),
            text: format!("SELECT v FROM t WHERE id = {id}").as_bytes(),
            database: database.as_bytes(),
            ..Event::default()
        });
    }
    let found = shaper.finish();
    let of = |one: &Statement| (one.database.clone(), one.count, one.parameters[0].greatest);
    let [small, big] = &found.statements[..] else { panic!("{:?}", found.statements) };
    assert_eq!(of(small), ("small".to_owned(), 10, Some(500_090.0)));
    assert_eq!(of(big), ("big".to_owned(), 90, Some(99.0)));
    assert_eq!(small.id, big.id);
}

#[test]
fn statements_of_unknown_sessions_are_units_by_themselves() {
    let mut shaper = Shaper::new(Language::Postgres);
    for n in 0..100 {
        let select = insert("log", n);
        for text in ["BEGIN", &insert("t", n), &select, "COMMIT"] {
            shaper.event(&Event { text: text.as_bytes(), ..Event::default() });
        }
    }
    let found = shaper.finish();
    let alone = |table: &str| (100, false, vec![format!("{table}x1")]);
    assert_eq!(units(&found), [alone("t"), alone("log")]);
    assert_eq!((found.statements_unplaced, found.sessions, found.sessions_at_once), (200, 0, None));
    assert!(found.ties.is_empty());
}

#[test]
fn a_transaction_in_one_string_ends_with_it() {
    let several = "BEGIN; UPDATE t SET a = 1; UPDATE u SET a = 1; COMMIT";
    let log = (0..30).flat_map(|n| [(1, several.to_owned()), (1, insert("log", n))]);
    let found = shape(Language::Postgres, log);
    let [whole, alone] = &found.units[..] else { panic!("{:?}", found.units) };
    let step = |statement| vec![Step { statement, repeat: 1 }];
    assert_eq!((whole.count, whole.is_transaction, &whole.steps), (30, true, &step(0)));
    assert_eq!((alone.count, alone.is_transaction, &alone.steps), (30, false, &step(1)));
}

#[test]
fn transactions_keep_their_steps_and_repetitions() {
    let mut log = vec![];
    for n in 0..10 {
        log.push((1, "START TRANSACTION".to_owned()));
        log.extend((0..3).map(|k| (1, insert("t", k))));
        log.push((1, insert("u", n)));
        log.push((1, if n == 9 { "ROLLBACK" } else { "commit" }.to_owned()));
    }
    let found = shape(Language::Mysql, log);
    let steps = vec!["tx3".to_owned(), "ux1".to_owned()];
    assert_eq!(units(&found), [(9, true, steps.clone()), (1, true, steps)]);
    assert!(found.units[1].is_rolled_back);
}

#[test]
fn the_same_key_in_two_statements_of_a_transaction_ties_them() {
    let log = (0..50).flat_map(|n| {
        let key = n * 37 % 50;
        let texts = [
            "BEGIN".to_owned(),
            format!("DELETE FROM t WHERE id = {key}"),
            format!("INSERT INTO t (n, id) VALUES (1, '{key}')"),
            "COMMIT".to_owned(),
        ];
        texts.map(|text| (4, text))
    });
    let found = shape(Language::Mysql, log);
    assert_eq!(found.ties, [Tie { statement: 1, place: 2, earlier: 0, earlier_place: 1 }]);
}

#[test]
fn a_session_without_autocommit_is_in_a_transaction_from_its_first_statement() {
    let words = ["SET autocommit=0", "x", "COMMIT", "x", "COMMIT", "SET autocommit=1", "x"];
    let log =
        words.iter().map(|&word| (3, if word == "x" { insert("t", 1) } else { word.to_owned() }));
    let found = shape(Language::Mysql, log);
    let t = || vec!["tx1".to_owned()];
    assert_eq!(units(&found), [(2, true, t()), (1, false, t())]);
}

#[test]
fn no_literal_is_in_what_comes_out() {
    let log = (0..50).map(|n| {
        (1, format!("SELECT secretcol FROM t WHERE mail = 'hidden{n}@x.org' AND n = 77123{n}"))
    });
    let found = shape(Language::Mysql, log);
    let text = serde_json::to_string(&found).unwrap();
    assert!(!text.contains("hidden") && !text.contains("x.org"), "{text}");
    assert!(text.contains("secretcol"));
}

/// Transactions of two statements on randomly drawn tables: nearly all of them differ.
fn varied(count: u64) -> Vec<(u64, String)> {
    let table = |n: u64| {
        let x = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 56
    };
    let of = |n: u64| {
        let insert = |at: u64| insert(&format!("t{}", table(2 * n + at)), n as usize);
        ["BEGIN".to_owned(), insert(0), insert(1), "COMMIT".to_owned()]
    };
    (0..count).flat_map(|n| of(n).map(|text| (1, text))).collect()
}

#[test]
fn of_more_different_transactions_than_are_kept_a_fair_share_stands_for_all() {
    let found = shape(Language::Mysql, varied(60_000));
    assert!(found.one_in > 1 && found.units.len() <= 20_000, "{}", found.one_in);
    let calls: u64 = found.units.iter().map(|unit| unit.count).sum();
    // Five standard deviations of the sampling error.
    let within = 5.0 * (60_000.0 * found.one_in as f64).sqrt();
    assert!((calls as f64 - 60_000.0).abs() < within, "{calls}");
    assert_eq!(found.units_dropped, 0);
    assert!(found.statements.iter().all(|statement| statement.in_no_unit == 0));
}

#[test]
fn statements_that_are_in_no_unit_are_counted() {
    let begin = || (1, "BEGIN".to_owned());
    let long = (0..201).map(|n| (1, insert(&format!("t{}", n % 2), n)));
    let log = [begin()].into_iter().chain(long).chain([(1, "COMMIT".to_owned()), begin()]);
    let found = shape(Language::Mysql, log.chain([(1, insert("t0", 1))]));
    assert_eq!((found.units_dropped, found.units.len()), (1, 0));
    let left: Vec<u64> = found.statements.iter().map(|statement| statement.in_no_unit).collect();
    assert_eq!(left, [102, 100]);
    let pairs = (0..40).flat_map(|n| [insert("b", n), insert("c", n)]);
    let found = shape(Language::Mysql, pairs.chain([insert("b", 0)]).map(|text| (1, text)));
    let left: Vec<u64> = found.statements.iter().map(|statement| statement.in_no_unit).collect();
    assert_eq!(left, [1, 0]);
}
