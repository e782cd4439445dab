//! Tests of templates: places, ranges, lists.

use super::*;
use proptest::prelude::*;

fn taken(language: Language, statement: &str, parameters: &str) -> (String, Vec<String>) {
    let mut template = Template::new(language);
    template.take(statement.as_bytes(), parameters.as_bytes());
    let values = (0..template.slots.len()).flat_map(|slot| template.values(slot));
    let values = values.map(|v| String::from_utf8_lossy(v).into_owned()).collect();
    (String::from_utf8(template.short.clone()).unwrap(), values)
}

#[test]
fn literals_become_names_and_the_rest_stays() {
    let (text, values) = taken(
        Language::Mysql,
        "SELECT `c`, 'x''y'\n FROM t1 /* why */ WHERE id IN (1,-2) AND `n` LIKE \"a%\"",
        "",
    );
    assert_eq!(text, "SELECT `c`, :p1 FROM t1 WHERE id IN (:p2) AND `n` LIKE :p3");
    assert_eq!(values, ["'x''y'", "1", "-2", "\"a%\""]);
}

#[test]
fn a_sign_belongs_to_its_number_unless_something_stands_before_it() {
    let taken = |statement: &str| taken(Language::Mysql, statement, "");
    let (text, values) = taken(
        "SELECT a-1, 5 - 2, (b) -3, -x FROM t WHERE c = - 4 AND d BETWEEN -5 AND +6 OR e > -.5",
    );
    let expected = "SELECT a-:p1, :p2 - :p3, (b) -:p4, -x FROM t WHERE c = :p5 AND d BETWEEN :p6 AND :p7 OR e > :p8";
    assert_eq!(text, expected);
    assert_eq!(values, ["1", "5", "2", "3", "-4", "-5", "6", "-.5"]);
}

#[test]
fn names_of_places_stand_apart_from_what_is_around_them() {
    let (text, values) = taken(Language::Mysql, "SELECT'a'FROM t WHERE b='y'and c='x'", "");
    assert_eq!(text, "SELECT :p1 FROM t WHERE b=:p2 and c=:p3");
    assert_eq!(values.len(), 3);
}

#[test]
fn numbered_parameters_take_the_values_that_the_log_has() {
    let (text, values) = taken(
        Language::Postgres,
        "update t set a = $2::int where b = $1",
        "$1 = 'it''s', $2 = '42'",
    );
    assert_eq!(text, "update t set a = :p1::int where b = :p2");
    assert_eq!(values, ["'42'", "'it''s'"]);
    assert_eq!(taken(Language::Postgres, "select $1", "").1, [""]);
}

#[test]
fn hints_stay_as_they_are_written() {
    let statement = |n: &str| {
        format!("select /*+ MAX_EXECUTION_TIME({n})  SET_VAR(a='x') */ b from t where c=5")
    };
    let expected = "select /*+ MAX_EXECUTION_TIME(1000)  SET_VAR(a='x') */ b from t where c=:p1";
    let (text, values) = taken(Language::Mysql, &statement("1000"), "");
    assert_eq!((text.as_str(), values), (expected, vec!["5".to_owned()]));
    let same = best(Language::Mysql, [statement("1000"), statement("1000")]);
    assert!(!same.hints_differ && same.text == expected);
    assert!(best(Language::Mysql, [statement("1000"), statement("999")]).hints_differ);
    assert_eq!(taken(Language::Postgres, "select /*+ Rows(a b #10", "").1, [""; 0]);
}

fn best(language: Language, statements: impl IntoIterator<Item = String>) -> Best {
    let (mut template, mut templates) = (Template::new(language), Templates::default());
    for statement in statements {
        template.take(statement.as_bytes(), b"");
        templates.add(&template, &Ties::default());
    }
    templates.best()
}

/// Low and high places of the ranges of one statement.
fn ranges(statement: &str) -> Vec<(u16, u16)> {
    let found = best(Language::Postgres, [statement.to_owned()]);
    found.ranges.iter().map(|range| (range.low, range.high)).collect()
}

#[test]
fn the_ends_of_ranges_belong_together() {
    assert_eq!(ranges("SELECT * FROM t WHERE a = 1 AND id BETWEEN 5 AND 9"), [(2, 3)]);
    assert_eq!(
        ranges("SELECT * FROM t WHERE NOT d BETWEEN '2024-01-01'::date AND '2024-01-31'::date"),
        [(1, 2)]
    );
    assert_eq!(
        ranges("SELECT * FROM t WHERE d >= DATE '2024-01-01' AND d < DATE '2024-02-01'"),
        [(1, 2)]
    );
    assert_eq!(ranges("SELECT * FROM t WHERE t.id < 9 AND n = 3 AND T.ID >= 5"), [(3, 1)]);
    assert_eq!(
        ranges("SELECT * FROM t WHERE (a > 1 AND a < 5) OR (a > 11 AND a < 15)"),
        [(1, 2), (3, 4)]
    );
    assert_eq!(ranges("SELECT * FROM t WHERE a > 1 AND (b < 3 OR b > 9) AND a <= 4"), [(1, 4)]);
    for none in [
        "SELECT * FROM t WHERE a > 1 OR a < 5",
        "SELECT * FROM t WHERE a > 1 AND b < 5",
        "SELECT * FROM t WHERE a > 1 AND a < 5 + b",
        "SELECT * FROM t WHERE a > 1 AND a > 5",
        "SELECT * FROM t WHERE a BETWEEN 1 + b AND 9",
        "SELECT * FROM t WHERE a > 1 AND b IN (SELECT c FROM u WHERE a < 5)",
        "SELECT * FROM t WHERE a BETWEEN 'b' AND 'c'",
    ] {
        assert_eq!(ranges(none), [], "{none}");
    }
}

#[test]
fn widths_are_exact_however_large_the_ends_are() {
    let at = |n: u64| 9_007_199_254_740_993 + n * 1_000_003;
    let statements = (0..100).map(|n| {
        let low = at(n);
        format!(
            "SELECT 1 FROM t WHERE id BETWEEN {low} AND {}",
            low + if n % 4 == 0 { 9 } else { 99 }
        )
    });
    let found = best(Language::Mysql, statements);
    let [range] = &found.ranges[..] else { panic!("{:?}", found.ranges) };
    assert_eq!(
        (&range.widths.values[..], &range.widths.shares[..]),
        (&[9.0, 99.0][..], &[0.25, 0.75][..])
    );
    let days = best(
        Language::Mysql,
        ["SELECT 1 FROM t WHERE d BETWEEN '2024-02-28' AND '2024-03-01'".into()],
    );
    assert_eq!(days.ranges[0].widths.values, [2.0 * 86400.0]);
}

#[test]
fn lists_of_any_length_are_one_form() {
    let list = |n: usize| (0..n).map(|k| (k * 7).to_string()).collect::<Vec<_>>().join(", ");
    let statements = (0..1000).map(|n| {
        format!("SELECT c FROM t WHERE a = 0 AND id IN ({}) AND b = {n}", list(1 + n % 200))
    });
    let found = best(Language::Mysql, statements);
    assert_eq!(found.text, "SELECT c FROM t WHERE a = :p1 AND id IN (:p2) AND b = :p3");
    assert_eq!((found.share, found.parameters[2].count), (1.0, 1000));
    assert_eq!(found.parameters[1].greatest, Some(199.0 * 7.0));
    let [list] = &found.lists[..] else { panic!("{:?}", found.lists) };
    assert_eq!((list.place, list.places, list.element.as_str()), (2, 1, ":p2"));
    let mean: f64 = list.lengths.values.iter().zip(&list.lengths.shares).map(|(v, s)| v * s).sum();
    assert!((mean - 100.5).abs() < 1.0, "{mean}");
}

#[test]
fn rows_are_lists_if_they_are_alike() {
    let found = best(Language::Mysql, [
        "INSERT INTO t (a, b) VALUES (1, now(), 'x'), (2, now(), 'y') ON DUPLICATE KEY UPDATE a = VALUES(a), b = 7".into(),
    ]);
    assert_eq!(
        found.text,
        "INSERT INTO t (a, b) VALUES (:p1, now(), :p2) ON DUPLICATE KEY UPDATE a = VALUES(a), b = :p3"
    );
    assert_eq!(found.lists[0].element, "(:p1, now(), :p2)");
    assert_eq!((found.lists[0].places, &found.lists[0].lengths.values[..]), (2, &[2.0][..]));
    for other in [
        "INSERT INTO t VALUES (1, NULL), (2, 'y')",
        "SELECT * FROM t WHERE a IN (1, b)",
        "SELECT * FROM t WHERE a IN (SELECT b FROM u WHERE c = 1)",
    ] {
        assert_eq!(best(Language::Mysql, [other.into()]).lists, [], "{other}");
    }
    let pairs = best(Language::Mysql, ["SELECT * FROM t WHERE (a, b) IN ((1, 2), (3, 4))".into()]);
    assert_eq!(pairs.text, "SELECT * FROM t WHERE (a, b) IN ((:p1, :p2))");
    let array = best(Language::Postgres, ["SELECT * FROM t WHERE a = ANY (ARRAY[1, 2, 3])".into()]);
    assert_eq!(array.text, "SELECT * FROM t WHERE a = ANY (ARRAY[:p1])");
}

#[test]
fn a_value_that_all_elements_share_can_be_tied() {
    let mut template = Template::new(Language::Mysql);
    template.take(b"INSERT INTO l VALUES (7, 1), (7, 2)", b"");
    let seen: Vec<bool> = template.seen().map(|seen| seen.is_some()).collect();
    assert_eq!(seen, [true, false]);
}

#[test]
fn lists_in_lists_and_many_conditions_take_no_longer_than_their_length_asks_for() {
    let deep = 200_000;
    for statement in [
        "VALUES (".repeat(deep),
        format!("{}{}", "IN (".repeat(deep), ")".repeat(deep)),
        format!("{}1{}", "VALUES (".repeat(deep), ")".repeat(deep)),
        (0..deep).map(|n| format!("c{n} > 1 AND ")).collect(),
    ] {
        let found = best(Language::Mysql, [statement]);
        assert!(found.lists.len() <= 1 && found.ranges.is_empty());
    }
}

proptest! {
    #[test]
    fn any_text_is_shortened_to_one_that_stays(pieces in prop::collection::vec(prop::sample::select(vec![
        "IN", "VALUES", "BETWEEN", "AND", "OR", "(", ")", "[", "]", "ARRAY", ",", "1", "-2", "'x'", "$1", "?",
        "a", "b.c", ">=", "<", "::", "date", " ", ";",
    ]), 0..40)) {
        let text = pieces.join(" ");
        for language in [Language::Mysql, Language::Postgres] {
            let mut template = Template::new(language);
            template.take(text.as_bytes(), b"");
            let kept: usize = template.slots.iter().map(|slot| slot.count).sum();
            prop_assert_eq!(kept, template.count);
            let ranges = template.ranges();
            prop_assert!(ranges.iter().all(|&(low, high)| low < template.slots.len() && high < template.slots.len()));
            for list in &template.lists {
                prop_assert!(list.length >= 1 && list.places >= 1 && list.begin < list.end);
            }
            // A single element is a list as well, so no further element can be removed.
            let again = String::from_utf8(template.short.clone()).unwrap();
            let marks = again.matches(":p").count();
            prop_assert_eq!(marks, template.slots.len());
        }
    }
}
