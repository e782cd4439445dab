//! Tests of verbs and tables of statements.

use super::*;

#[test]
fn verbs_and_tables_are_found() {
    let cases = [
        (
            "SELECT a.x FROM Orders a JOIN db.customers b ON a.id=b.id WHERE b.x in (select id from t3)",
            "SELECT orders db.customers t3",
        ),
        ("select 1", "SELECT"),
        (
            "select * from a, b c, (select 1 from d) e left join (f join g using (x)) on 1, h",
            "SELECT a b d f g h",
        ),
        (
            "select extract(day from created), trim(both 'x' from y) from t where a is distinct from b",
            "SELECT t",
        ),
        ("select * from json_table(x, '$') j, t", "SELECT t"),
        ("insert into t (a) values (1, 2), (3, 4)", "INSERT t"),
        ("insert t values (1)", "INSERT t"),
        ("insert ignore into t select * from u", "INSERT SELECT t u"),
        ("insert into t values (1) on duplicate key update a = values(a), b = 2", "INSERT t"),
        ("replace into `my db`.`t``x` values (1)", "REPLACE my db.t`x"),
        ("update a, b set a.x=1, b.y=2 where a.id=b.id", "UPDATE a b"),
        ("update low_priority t set a = (select max(x) from u)", "UPDATE t u"),
        ("delete a from a join b using (id)", "DELETE a b"),
        ("delete from a using b where a.x = b.x", "DELETE a b"),
        ("create unique index i on t (a, b)", "CREATE INDEX t"),
        ("create table if not exists t (a int, b int)", "CREATE TABLE t"),
        ("create table t as select * from u", "CREATE TABLE SELECT t u"),
        ("alter table t add column x int", "ALTER TABLE t"),
        ("drop table if exists t, u", "DROP TABLE t u"),
        ("truncate t", "TRUNCATE TABLE t"),
        ("show global status like 'x'", "SHOW STATUS"),
        ("show create table t", "SHOW CREATE TABLE t"),
        ("call p(1)", "CALL p"),
        ("BEGIN", "BEGIN"),
        ("start transaction", "START TRANSACTION"),
        ("set names utf8", "SET"),
        ("use foo", "USE"),
        ("select 1 union select 2 from t", "SELECT UNION t"),
        (
            "with c as (select 1 from t), d (x) as (select 2 from c) select * from c join d join s.c",
            "SELECT t s.c",
        ),
        (
            "with recursive r as (select 1 union all select n + 1 from r) delete from t where x in (select * from r)",
            "DELETE t",
        ),
        ("load data infile 'x' into table t", "LOAD DATA t"),
        ("lock tables a read, b write", "LOCK TABLES a b"),
        ("explain select * from t", "EXPLAIN SELECT t"),
        ("(select a from t) union (select b from u)", "SELECT UNION t u"),
        ("select * into outfile '/tmp/x' from t", "SELECT t"),
        ("select 1 from dual", "SELECT"),
        ("select 1 from db.dual, `dual`", "SELECT db.dual dual"),
        ("analyze table t, u", "ANALYZE t u"),
        ("analyze local table t update histogram on c with 4 buckets", "ANALYZE t"),
        ("analyze format=json select a from t", "EXPLAIN SELECT t"),
        ("analyze update t set a = 1", "EXPLAIN UPDATE t"),
        ("explain analyze select a from t", "EXPLAIN SELECT t"),
        ("explain format=tree delete from t", "EXPLAIN DELETE t"),
        ("explain t", "DESCRIBE t"),
        ("desc t", "DESCRIBE t"),
        ("describe db.`t` a", "DESCRIBE db.t"),
        ("desc select a from t", "EXPLAIN SELECT t"),
        ("call db.p(1)", "CALL db.p"),
        ("call `db`.`p`(5)", "CALL db.p"),
        ("call `my proc`(5, 'x')", "CALL my proc"),
        ("execute p using @a", "EXECUTE"),
        (
            "select straight_join a from t left outer join u on 1 straight_join v where 1",
            "SELECT t u v",
        ),
        ("rename table t to u, v to db.w", "RENAME TABLE t u v db.w"),
        ("rename user a to b", "RENAME USER"),
        ("show columns from t from db", "SHOW COLUMNS db.t"),
        ("show full fields in `t` in db like 'a'", "SHOW FIELDS db.t"),
        ("show index from db.t", "SHOW INDEX db.t"),
        ("show tables from db", "SHOW TABLES"),
        ("show table status from db", "SHOW TABLE"),
        ("update /*+ NO_MERGE(from x) */ t set a = 1", "UPDATE t"),
        ("select /*+ JOIN_ORDER(x, y) */ a from t join /*+ z */ u", "SELECT t u"),
        ("# administrator command: Ping", "ADMIN PING"),
        ("select * from t where x = 'from u", "SELECT t"),
        ("", ""),
    ];
    for (statement, expected) in cases {
        assert_eq!(
            distill(statement.as_bytes(), Language::Mysql).to_string(),
            expected,
            "{statement}"
        );
    }
}

#[test]
fn postgres_has_its_own_ways() {
    let cases = [
        (
            "select * from only \"My Table\" m, lateral (select 1 from u) x, generate_series(1, 3) g",
            "SELECT My Table u",
        ),
        ("update t set a = u.a from u where t.id = u.id", "UPDATE t u"),
        (
            "with moved as (delete from a returning *) insert into b select * from moved",
            "INSERT SELECT a b",
        ),
        (
            "with x as (update t1 set a = u.a from u returning *) select * from x",
            "UPDATE SELECT t1 u",
        ),
        (
            "with x as (select 1 from t), y as materialized (insert into u (a) values (1) on conflict (a) do update set b = 2 returning *) select * from x, y, v",
            "INSERT SELECT t u v",
        ),
        (
            "with x as (delete from a using b where 1 = 2 returning *) select * from x",
            "DELETE SELECT a b",
        ),
        (
            "merge into t using u on t.a = u.a when matched then update set b = 1, c = 2",
            "MERGE t u",
        ),
        ("merge into t using (select a from u) v on true when matched then delete", "MERGE t u"),
        ("analyze t", "ANALYZE t"),
        ("analyze verbose t", "ANALYZE t"),
        ("analyze (verbose, skip_locked) t (a, b), u", "ANALYZE t u"),
        ("analyze", "ANALYZE"),
        ("explain (analyze, buffers) select a from t", "EXPLAIN SELECT t"),
        ("explain analyze verbose update t set a = 1", "EXPLAIN UPDATE t"),
        ("vacuum (analyze) t", "VACUUM t"),
        ("execute p(1)", "EXECUTE"),
        ("fetch 5 from c1", "FETCH"),
        ("declare c1 cursor for select a from t", "DECLARE t"),
        ("explain execute p1", "EXPLAIN EXECUTE"),
        ("copy t (a, b) from stdin", "COPY t"),
        ("vacuum analyze t", "VACUUM t"),
        ("refresh materialized view v", "REFRESH v"),
    ];
    for (statement, expected) in cases {
        assert_eq!(
            distill(statement.as_bytes(), Language::Postgres).to_string(),
            expected,
            "{statement}"
        );
    }
}
