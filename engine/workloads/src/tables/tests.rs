//! Tests of tables in every dialect, determinism of rows and rejected options.

use super::*;
use dyno_core::plan::Options;
use serde_json::json;
use std::collections::HashMap;

fn built(options: serde_json::Value, dialect: Dialect) -> Result<Box<dyn Workload>> {
    let options: Options = serde_json::from_value(options).expect("an object");
    (KIND.build)(&Order { options: &options, dialect, seed: 42, sessions: 4 })
}

fn users() -> serde_json::Value {
    json!({
        "rows": 1000,
        "columns": {
            "id": {"type": "bigint", "sequence": 1, "key": "primary"},
            "city": {"type": "int", "zipfian": [1, 1000], "nulls": 0.5},
            "balance": {"type": "decimal(10,2)", "uniform": [-5.00, 99.99]},
            "ok": {"type": "boolean", "values": [true, false]},
            "score": {"type": "double", "const": 1.5e300},
            "name": {"type": "varchar(64)", "text": "user-#####"},
            "born": {"type": "date", "dates": ["1950-01-01", "2005-12-31"], "null": true},
        },
        "indexes": [["city", "name"], {"columns": ["name"], "unique": true}],
    })
}

fn tables(tables: serde_json::Value) -> Box<dyn Workload> {
    built(json!({"tables": tables}), Dialect::Postgres).expect("valid options")
}

/// Rows as text.
#[derive(Default)]
struct Rows(Vec<Vec<String>>, Vec<String>);

impl RowSink for Rows {
    fn int(&mut self, value: i64) {
        self.1.push(value.to_string());
    }
    fn text(&mut self, value: &[u8]) {
        self.1.push(String::from_utf8_lossy(value).into_owned());
    }
    fn null(&mut self) {
        self.1.push("NULL".into());
    }
    fn end_row(&mut self) {
        self.0.push(std::mem::take(&mut self.1));
    }
}

fn rows(workload: &dyn Workload, table: usize, range: Range<u64>) -> Vec<Vec<String>> {
    let mut rows = Rows::default();
    workload.rows(table, range, &mut rows);
    rows.0
}

#[test]
fn golden_tables_of_every_dialect() {
    let table = |dialect| {
        let all = json!({"tables": {"users": users()}});
        let tables = built(all, dialect).expect("valid options").tables();
        let Table { name, columns, create, finish, rows } = tables[0].clone();
        assert_eq!((name.as_str(), rows), ("users", 1000));
        assert_eq!(columns, ["id", "city", "balance", "ok", "score", "name", "born"]);
        (create, finish)
    };
    let indexes = [
        "CREATE INDEX users_index_1 ON users (city, name)",
        "CREATE UNIQUE INDEX users_index_2 ON users (name)",
    ];
    let mysql = "CREATE TABLE users (id BIGINT NOT NULL, city INT NULL, balance DECIMAL(10,2) NOT NULL, \
         ok BOOLEAN NOT NULL, score DOUBLE NOT NULL, name VARCHAR(64) NOT NULL, born DATE NULL, \
         PRIMARY KEY (id))";
    assert_eq!(table(Dialect::Mysql), (mysql.to_owned(), indexes.map(str::to_owned).to_vec()));
    let sqlite = "CREATE TABLE users (id INTEGER NOT NULL, city INTEGER NULL, balance NUMERIC NOT NULL, \
         ok INTEGER NOT NULL, score REAL NOT NULL, name TEXT NOT NULL, born TEXT NULL, \
         PRIMARY KEY (id))";
    assert_eq!(table(Dialect::Sqlite).0, sqlite);
    let (create, finish) = table(Dialect::Postgres);
    assert!(
        create.ends_with(
            "score DOUBLE PRECISION NOT NULL, name VARCHAR(64) NOT NULL, born DATE NULL)"
        )
    );
    assert_eq!(finish[0], "ALTER TABLE users ADD PRIMARY KEY (id)");
    assert_eq!(finish[1..], indexes);
}

#[test]
fn rows_have_their_values_and_depend_on_nothing_else() {
    let alone = tables(json!({"users": users()}));
    let beside = tables(json!({"a": users(), "users": users()}));
    let whole = rows(&*alone, 0, 0..1000);
    let mut parts = rows(&*beside, 1, 0..1);
    parts.extend(rows(&*beside, 1, 1..1000));
    assert_eq!(whole, parts);
    assert_ne!(whole, rows(&*beside, 0, 0..1000));
    let nulls = whole.iter().filter(|row| row[1] == "NULL").count();
    assert!((400..600).contains(&nulls), "{nulls}");
    for (number, row) in whole.iter().enumerate() {
        assert_eq!(row[0], (number + 1).to_string());
        let balance: f64 = row[2].parse().expect("a number");
        assert!((-5.0..=99.99).contains(&balance) && row[2].contains('.'));
        assert!(row[3] == "0" || row[3] == "1");
        assert_eq!(row[4].parse(), Ok(1.5e300));
        assert!(row[5].starts_with("user-"));
        assert!(("1950-01-01"..="2005-12-31").contains(&row[6].as_str()));
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let column = |column| json!({"tables": {"t": {"rows": 1, "columns": {"c": column}}}});
    let index = |index| {
        let columns = json!({"c": {"type": "int", "const": 1}});
        json!({"tables": {"t": {"rows": 1, "columns": columns, "indexes": [index]}}})
    };
    for (options, expected) in [
        (json!({}), "workload tables has no tables"),
        (json!({"tables": {}, "rows": 1}), "has no option rows: its only option is tables"),
        (json!({"tables": {}}), "option tables of workload tables: 0 tables"),
        (json!({"tables": {"a b": {}}}), "\"a b\" is no name for a table"),
        (json!({"tables": {"t": {"columns": {}}}}), "tables.t of workload tables: it has no rows"),
        (json!({"tables": {"t": {"rows": 1}}}), "it has no columns"),
        (json!({"tables": {"t": {"rows": -1}}}), "tables.t.rows of workload tables: -1 is not"),
        (json!({"tables": {"t": {"rows": 1, "columns": {}}}}), "0 columns: 1 to 1000"),
        (
            json!({"tables": {"t": {"rows": 1, "columns": {"c": {"type": "int", "const": 1}}, "x": 1}}}),
            "it has no field x",
        ),
        (column(json!({"const": 1})), "tables.t.columns.c of workload tables: it has no type"),
        (column(json!({"type": "int"})), "does not say how values are made"),
        (column(json!({"type": "int; x", "const": 1})), "is no type of a column"),
        (
            column(json!({"type": "int", "const": 1, "key": "second"})),
            "\"second\" is not one of primary",
        ),
        (column(json!({"type": "int", "const": null, "key": "primary"})), "cannot be NULL"),
        (
            column(json!({"type": "int", "const": null, "null": false})),
            "it makes NULLs, but null is false",
        ),
        (column(json!({"type": "int", "const": 1, "per": "statement"})), "it has no field per"),
        (
            index(json!(["d"])),
            "tables.t.indexes.0.0 of workload tables: the table has no column d: its columns are c",
        ),
        (index(json!(["c", "c"])), "column c occurs in it twice"),
        (index(json!([])), "an index has at least one column"),
        (index(json!({"columns": ["c"], "unique": 1})), "1 is not true or false"),
        (index(json!("c")), "\"c\" is not a mapping"),
    ] {
        let message = built(options.clone(), Dialect::Mysql).err().map(|e| e.to_string());
        let message = message.unwrap_or_else(|| panic!("{options} is accepted"));
        assert!(message.contains(expected), "{options}: {message}");
    }
}

fn numbers(workload: &dyn Workload, count: u64) -> Vec<Vec<i64>> {
    let parsed =
        |row: Vec<String>| row.iter().map(|text| text.parse().expect("a number")).collect();
    rows(workload, 0, 0..count).into_iter().map(parsed).collect()
}

#[test]
fn columns_follow_the_rows_and_each_other() {
    let workload = tables(json!({"t": {"rows": 3000, "columns": {
        "id": {"type": "int", "histogram": [[10, 6008, 1, 3000]], "spread": 0},
        "near": {"type": "int", "histogram": [[1, 100, 1]], "by": "id", "spread": 0.05},
        "back": {"type": "int", "histogram": [[1, 100, 1]], "by": "id", "descending": true},
        "free": {"type": "int", "histogram": [[1, 100, 1]], "by": "id", "spread": 1},
        "part": {"type": "int", "histogram": [[1, 7, 1]], "by": "free", "determined": true},
    }}}));
    let all = numbers(&*workload, 3000);
    for (row, values) in all.iter().enumerate() {
        assert_eq!(values[0], 10 + 2 * row as i64);
        let exact = row as i64 / 30 + 1;
        assert!((values[1] - exact).abs() <= 6, "{values:?} for {exact}");
        assert_eq!(values[2], 101 - exact);
    }
    let mut parts = HashMap::new();
    assert!(all.iter().all(|row| *parts.entry(row[3]).or_insert(row[4]) == row[4]));
    let mut counts = [[0u32; 101]; 4];
    for values in &all {
        (1..4).for_each(|at| counts[at][values[at] as usize] += 1);
    }
    assert!(counts[2][1..].iter().all(|&count| count == 30));
    // Poisson: 30 a value, six standard deviations.
    let even = |counts: &[u32]| counts.iter().all(|&count| count.abs_diff(30) < 33);
    assert!(even(&counts[1][1..]) && even(&counts[3][1..]), "{counts:?}");
    let above = all.iter().filter(|values| (values[0] > 3000) == (values[3] > 50)).count();
    assert!(above.abs_diff(1500) < 170, "{above} of 3000: they are correlated");
}

#[test]
fn numbered_columns_make_pairs_unique() {
    for spread in [0.0, 1.0] {
        let workload = tables(json!({"t": {"rows": 2000, "columns": {
            "a": {"type": "int", "histogram": [[1, 1, 700], [2, 400, 1300]], "spread": 0},
            "b": {"type": "int", "histogram": [[1, 800, 1]], "numbered": "a", "spread": spread},
        }}}));
        let all = numbers(&*workload, 2000);
        let mut pairs = all.clone();
        pairs.sort_unstable();
        pairs.dedup();
        assert_eq!(pairs.len(), 2000);
        assert_eq!(all.iter().filter(|row| row[0] == 1).count(), 700);
        let firsts = all.iter().filter(|row| row[1] == 1).count();
        assert_eq!(firsts == 400, spread == 0.0, "{firsts} rows begin with the first value");
        assert_eq!(rows(&*workload, 0, 1500..1510), rows(&*workload, 0, 0..2000)[1500..1510]);
    }
}

#[test]
fn numbers_stand_for_keys_labels_and_texts() {
    let workload = tables(json!({"t": {"rows": 1000, "columns": {
        "key": {"type": "int", "histogram": [[1, 50, 1]], "keys": [100, 149, 50]},
        "day": {"type": "date", "histogram": [[2, 2, 1]], "keys": ["2024-01-01", "2024-01-31", 31]},
        "state": {"type": "text", "histogram": [[1, 1, 9], [2, 2, 1]], "labels": ["new", "old"]},
        "name": {"type": "text", "histogram": [[1, 7, 1]], "pattern": "*", "lengths": [5, 9]},
        "price": {"type": "decimal(9,2)", "histogram": [[0.5, 9.5, 1]], "decimals": 2, "nulls": 0.1},
    }}}));
    let all = rows(&*workload, 0, 0..1000);
    let mut names: Vec<&String> = all.iter().map(|row| &row[3]).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 7);
    assert!(names.iter().all(|name| (5..=9).contains(&name.len())), "{names:?}");
    assert!(all.iter().all(|row| (100..150).contains(&row[0].parse::<i32>().expect("a key"))));
    assert!(all.iter().all(|row| row[1] == "2024-01-02"));
    let new = all.iter().filter(|row| row[2] == "new").count();
    assert!(new.abs_diff(900) < 60 && all.iter().all(|row| ["new", "old"].contains(&&*row[2])));
    let nulls = all.iter().filter(|row| row[4] == "NULL").count();
    assert!(nulls.abs_diff(100) < 60, "{nulls}");
}

#[test]
fn existing_tables_get_rows_only() {
    let table = json!({"order": {"rows": 5, "existing": true, "columns": {
        "id": {"type": "int", "histogram": [[1, 5, 1]], "spread": 0},
    }}});
    let Table { name, create, finish, .. } = tables(table).tables()[0].clone();
    assert_eq!((name.as_str(), create.as_str(), finish.len()), ("order", "", 0));
}

#[test]
fn wrong_positions_are_refused() {
    let id = json!({"type": "int", "histogram": [[1, 9, 1]]});
    let column = |more: serde_json::Value| {
        let mut column = json!({"type": "int", "histogram": [[1, 9, 1]]});
        column
            .as_object_mut()
            .expect("a mapping")
            .append(&mut more.as_object().cloned().expect("one"));
        json!({"tables": {"t": {"rows": 9, "columns": {"id": id.clone(), "c": column}}}})
    };
    for (more, said) in [
        (json!({"by": "c"}), "no column with a histogram declared before"),
        (json!({"numbered": "id"}), "does not follow the rows' order"),
        (json!({"by": "id", "numbered": "id"}), "one of by and numbered"),
        (json!({"by": "id", "spread": 2}), "from 0 to 1"),
        (json!({"labels": ["a"]}), "above 1 labels"),
        (json!({"keys": [1, 100, 5]}), "above 5 keys"),
        (json!({"pattern": "abc"}), "all texts would be the same"),
        (json!({"lengths": [1, 2]}), "belongs to a pattern"),
        (json!({"labels": ["a"], "pattern": "*"}), "one of keys, labels and pattern"),
    ] {
        let message = built(column(more), Dialect::Mysql).err().expect(said).to_string();
        assert!(message.contains(said), "{message}");
    }
}
