use super::*;

#[test]
fn plain_statements_have_the_fingerprints_that_the_tool_gives() {
    let observed = [
        (
            "SELECT  c,  d FROM t WHERE id = 5 AND name = 'x'",
            "select c, d from t where id = ? and name = ?",
        ),
        ("INSERT INTO t (a, b) VALUES (1, 'x'), (2,'y');", "insert into t (a, b) values(?+)"),
        (
            "select c from t where a between 1 and 2 order by c",
            "select c from t where a between ? and ? order by c",
        ),
        ("SELECT `a`.`b` FROM `Orders` a", "select `a`.`b` from `orders` a"),
        ("COMMIT", "commit"),
        ("select a from t where x = \"abc\"", "select a from t where x = ?"),
        ("select a from t where x = 1.5", "select a from t where x = ?"),
        ("select a\n from t", "select a from t"),
        ("set a = 5", "set a = ?"),
        ("select a from t where c IN(1,2)", "select a from t where c in(?+)"),
        (
            "insert into t values (1, f('a', g(b))), (2, f('c', g(b)))",
            "insert into t values (?, f(?, g(b)))",
        ),
        ("insert into t values ('a (b)', '2020-01-01')", "insert into t values(?+)"),
        ("select a from `b c` where d = 'x # (-- y'\n", "select a from `b c` where d = ?"),
        ("select c from t where a = 5 limit 10", "select c from t where a = ? limit ?"),
        ("select c from t limit 5 for update", "select c from t limit ? for update"),
        ("select c from (select a from t limit 5) x", "select c from (select a from t limit ?) x"),
        ("delete from t where a in (1, 2) limit 5", "delete from t where a in(?+) limit ?"),
        ("select c from t where a = ?", "select c from t where a = ?"),
        ("select c from t where a in (?, ?)", "select c from t where a in(?+)"),
        ("insert into t (a) values (?)", "insert into t (a) values(?+)"),
        ("CALL Shop.P1(1, 'x')", "call shop.p1"),
        ("call `shop`.`p`()", "call `shop`.`p`"),
        ("call p", "call p"),
        ("USE `Shop1`", "use ?"),
        (
            "select c from t ORDER BY a ASC , t.b ASC, c desc LIMIT 5",
            "select c from t order by a , t.b, c desc limit ?",
        ),
        ("select c from t order by f(a, 1) asc, b", "select c from t order by f(a, ?), b"),
        ("select c from a UNION SELECT d from b", "select c from a union select d from b"),
        (
            "(select c from t) union all (select c from u)",
            "(select c from t) union all (select c from u)",
        ),
        ("set @a := 5, @B = @@global.x", "set @a := ?, @b = @@global.x"),
        ("select a % 5, b%c, a & 1, b/2 from t", "select a % ?, b%c, a & ?, b/? from t"),
        ("select a || 'x', b && c, d <=> 5 from t", "select a || ?, b && c, d <=> ? from t"),
        (
            "LOAD DATA LOCAL INFILE '/x' INTO TABLE t FIELDS TERMINATED BY ','",
            "load data local infile ? into table t fields terminated by ?",
        ),
        ("select value from t where value > 5", "select value from t where value > ?"),
    ];
    for (statement, expected) in observed {
        assert_eq!(fingerprint(statement.as_bytes()).as_deref(), Some(expected), "{statement}");
    }
}

#[test]
fn ids_are_those_that_the_tool_gives() {
    let observed = [
        ("commit", "FFFCA4D67EA0A788813031B8BBC3B329"),
        ("begin", "8D589AFA4DFAEEED85FFF5AA78E5FF6A"),
        ("insert into t select * from u", "3305D9CA95442D57B9251A5CF4437D7F"),
        ("replace into t values (1)", "BCC5D6D3F1B7555F4044C84594C94EC0"),
        ("delete a from a join b using (id)", "3F6CF128B625D950EC5D118F623BC1E5"),
        ("update a, b set a.x=1 where a.id=b.id", "499D8DDC868C823A13791F86CF4B1475"),
    ];
    for (statement, expected) in observed {
        assert_eq!(id(statement.as_bytes()).as_deref(), Some(expected), "{statement}");
    }
    let commands = [
        ("Ping", "E8390778DC20D4CC04FE01C5B31FD305"),
        ("Init DB", "898255B1BE4F8C3044AE35A182869033"),
        ("Quit", "EDBC971AEC392917AA353644DE4C4CB4"),
    ];
    for (name, expected) in commands {
        assert_eq!(id_of_command(name.as_bytes()).as_deref(), Some(expected), "{name}");
    }
    assert_eq!(id_of_command(b""), None);
    assert_eq!(id_of_command(b"{\"find\":1}"), None);
}

#[test]
fn statements_that_the_tool_mangles_have_none() {
    for statement in [
        "select c from t1",
        "select a-b from t",
        "select 0xff",
        "select 'O''Brien'",
        "select a -- c\n from t",
        "select 1 union select 2",
        "insert into t values (1) on duplicate key update a = 2",
        "select doc->>'$.name' from t",
        "select a from t where x in (-1)",
        "select 'cut",
        "call p(f(1))",
        "call p (1)",
        "call p(1,\n2)",
        "call `my proc`(1)",
        "use `a b`",
        "select a from t limit 5, 10",
        "select a from t limit 10 offset 5",
        "select a from t limit ?, ?",
        "select a from t union select a from t",
        "select a from t union select a from t where b = 1",
        "select a from t union select b from u union all select b from u",
        "select a from (select a from t union select b from u) x",
        "select a from t group by a asc",
        "select a from t order by b, asc_c",
        "insert into t (a) value (1)",
        "insert into t () values ()",
        "insert into t values ()",
        "select a from t where b = true",
        "select @a1",
        "",
        "savepoint a",
        "rollback to savepoint a",
        "execute p",
        "deallocate prepare p",
        "select * from t where (a,b) in ((1,2),(3,4))",
        "select * from t where b in (1, now())",
        "insert into t (a) values (default),(1)",
        "insert into t values (now()), (1)",
        "insert into t values (now()), (now()) returning a",
        "insert t values (now()), (now())",
        "insert into t values ('a),(b', 'x')",
        "insert into t values (now(), 'a),(b')",
        "insert into t values (f(1), (2), (3))",
        "select a from `order-items`",
        "select a from `null`",
        "select a from `a  b`",
        "select 'a' 'b'",
        "select '/*', '*/'",
    ] {
        assert_eq!(id(statement.as_bytes()), None, "{statement}");
    }
}
