//! Statements and their fingerprints.

use super::*;

fn mysql(statement: &str) -> String {
    Fingerprinter::new(Language::Mysql).fingerprint(statement.as_bytes())
}

fn postgres(statement: &str) -> String {
    Fingerprinter::new(Language::Postgres).fingerprint(statement.as_bytes())
}

#[test]
fn literals_go_and_what_is_compared_stays() {
    let cases = [
        (
            "SELECT c FROM sbtest1 WHERE id=5 AND name = 'O''Brien' LIMIT 5, 10;",
            "select c from sbtest1 where id = ? and name = ? limit ? offset ?",
        ),
        (
            "select a-b, a - -5, -3 from `order-items` where h=0xDEADBEEF and doc->>'$.name' = 'x' -- it's",
            "select a - b, a - ?, ? from `order-items` where h = ? and doc->>? = ?",
        ),
        (
            "insert into t1_2020 (a,b) values (1,'x'),(2,'y\\'') on duplicate key update a=values(a)",
            "insert into t1_2020(a, b) values(?+) on duplicate key update a = values(a)",
        ),
        (
            "select /*+ SET_VAR(sort_buffer_size=16M) SET_VAR(a = 'x') INDEX(t2 i3) */ b from t2",
            "select /*+ set_var(sort_buffer_size = ?) set_var(a = ?) index(t2 i3) */ b from t2",
        ),
        ("select * from t where (a,b) in ((1,2),(3,4))", "select * from t where (a, b) in(?+)"),
    ];
    for (statement, expected) in cases {
        assert_eq!(mysql(statement), expected);
    }
    assert_eq!(
        postgres("select \"A b\" from t where d ? 'k' and x = $1"),
        "select \"A b\" from t where d ? ? and x = ?"
    );
}
