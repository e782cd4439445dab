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

#[test]
fn names_of_savepoints_cursors_and_prepared_statements_are_placeholders() {
    for (statement, expected) in [
        ("SAVEPOINT sp_17", "savepoint ?"),
        ("savepoint `a b`", "savepoint ?"),
        ("ROLLBACK TO x", "rollback to ?"),
        ("rollback work to savepoint x", "rollback work to savepoint ?"),
        ("RELEASE SAVEPOINT x;", "release savepoint ?"),
        ("PREPARE s1 FROM 'select 1'", "prepare ? from ?"),
        ("prepare s1 from @text", "prepare ? from @text"),
        ("EXECUTE s1", "execute ?"),
        ("execute s1 using @a, @b", "execute ? using @a, @b"),
        ("execute immediate 'select 1'", "execute immediate ?"),
        ("DEALLOCATE PREPARE s1", "deallocate prepare ?"),
        ("drop prepare s1", "drop prepare ?"),
        ("/* app */ savepoint x", "savepoint ?"),
        ("/*!50003 SAVEPOINT x */", "savepoint ?"),
    ] {
        assert_eq!(mysql(statement), expected);
    }
    for (statement, expected) in [
        ("SAVEPOINT \"s1\"", "savepoint ?"),
        ("release x", "release ?"),
        ("ROLLBACK TRANSACTION TO x", "rollback transaction to ?"),
        ("BEGIN; SAVEPOINT x; select 1", "begin; savepoint ?; select ?"),
        ("DECLARE c1 CURSOR FOR SELECT a FROM t", "declare ? cursor for select a from t"),
        (
            "declare \"c 1\" binary insensitive no scroll cursor with hold for select 1",
            "declare ? binary insensitive no scroll cursor with hold for select ?",
        ),
        ("FETCH c1", "fetch ?"),
        ("fetch 100 from c1", "fetch ? from ?"),
        ("FETCH FORWARD 100 FROM \"c1\"", "fetch forward ? from ?"),
        ("fetch backward all in c1", "fetch backward all in ?"),
        ("fetch relative -5 from c1", "fetch relative ? from ?"),
        ("MOVE LAST IN c1", "move last in ?"),
        ("CLOSE c1", "close ?"),
        ("close all", "close all"),
        ("update t set a = 1 where current of c1", "update t set a = ? where current of ?"),
        ("PREPARE p1 (int, text) AS SELECT $1", "prepare ?(int, text) as select ?"),
        ("EXECUTE p1 (1, 'a')", "execute ?"),
        ("explain analyze execute p1(1)", "explain analyze execute ?(?)"),
        ("DEALLOCATE p1", "deallocate ?"),
        ("deallocate prepare all", "deallocate prepare all"),
        ("prepare transaction 'x'", "prepare transaction ?"),
    ] {
        assert_eq!(postgres(statement), expected);
    }
}

#[test]
fn words_that_names_follow_are_names_elsewhere() {
    for statement in [
        "rollback",
        "rollback and chain",
        "select close, move, current from prepare join release r on r.fetch = savepoint",
        "drop table declare",
        "alter table t drop close",
        "declare x int",
        "create procedure p() begin declare c cursor for select a from t; fetch c into b; close c; end",
        "grant execute on function f to x",
    ] {
        if !statement.starts_with("create") {
            assert_eq!(mysql(statement), statement);
        }
    }
    assert_eq!(mysql("select current from t where a = 1"), "select current from t where a = ?");
    assert_eq!(mysql("call p(1)"), "call p");
}

#[test]
fn the_ascending_order_is_the_order_that_is_anyway() {
    for (statement, expected) in [
        ("select a from t order by a ASC", "select a from t order by a"),
        (
            "select a from t order by a asc, b DESC, c asc limit 5",
            "select a from t order by a, b desc, c limit ?",
        ),
        ("select a from t order by 1 asc", "select a from t order by ?"),
        (
            "select a from t order by f(a) asc limit 5, 10",
            "select a from t order by f(a) limit ? offset ?",
        ),
        (
            "select group_concat(a order by b asc separator ',') from t",
            "select group_concat(a order by b separator ?) from t",
        ),
        (
            "select row_number() over (partition by a order by b asc) from t",
            "select row_number() over (partition by a order by b) from t",
        ),
        // Elsewhere ASC is not redundant.
        ("select a from t group by a asc", "select a from t group by a asc"),
        ("create index i on t (a asc)", "create index i on t(a asc)"),
        ("select t.asc from t order by t.asc", "select t.asc from t order by t.asc"),
        (
            "select a from t order by a; create index i on t (a asc)",
            "select a from t order by a; create index i on t(a asc)",
        ),
    ] {
        assert_eq!(mysql(statement), expected);
    }
    assert_eq!(
        postgres("select a from t order by a asc nulls last"),
        "select a from t order by a nulls last"
    );
}
