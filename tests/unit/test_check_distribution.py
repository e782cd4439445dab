"""Tables on shards: what each system takes for its distribution columns, and where articles and
first thoughts mislead."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dbdyno.facts.fact import Facts
from dbdyno.facts.schema import distribution
from dbdyno.rules.check import judging
from dbdyno.rules.check.distribution import cluster, locality
from dbdyno.rules.check.packs import RULES
from dbdyno.rules.check.rule import Finding
from fixtures.rules.distribution import (
    CITUS,
    LOCAL,
    MOVED,
    SCATTERED,
    SEQUENCE,
    USERS,
    by,
    dump,
    shop,
    vschema,
)

XC = "CREATE TABLE log (a integer) DISTRIBUTE BY ROUNDROBIN;\n"  # it is Postgres-XC


def findings(facts: Facts | Sequence[Facts], only: str = "distribution") -> list[Finding]:
    several = [facts] if isinstance(facts, Facts) else list(facts)
    return list(judging.judge(several, RULES, only=[only]).findings)


def rules(facts: Facts | Sequence[Facts]) -> set[str]:
    return {one.rule for one in findings(facts)}


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ("a integer, b integer PRIMARY KEY, c text UNIQUE", ("hash", ("b",))),
        ("a integer, b integer, c text UNIQUE", ("hash", ("c",))),
        ("a integer, b text, UNIQUE (b, a)", ("hash", ("b",))),
        # The article has it that a table without a unique key is distributed round robin.
        ("a integer, b text", ("hash", ("a",))),
        ("f double precision, b text", ("hash", ("b",))),
        ("f double precision, g real", ("round robin", ())),
    ],
)
def test_postgres_xc_chooses_columns_by_itself(
    columns: str, expected: tuple[str, tuple[str, ...]]
) -> None:
    facts = dump(f"{XC}CREATE TABLE t ({columns});\n")
    placed = cluster.of([facts]).placed["public.t"]
    assert (placed.method, placed.columns) == expected and placed.by_default


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("CREATE TABLE t (a int) DISTRIBUTE BY HASH (a) TO NODE (n1, n2)", ("hash", "a")),
        ("CREATE TABLE t (a int) DISTRIBUTE BY MODULO(a)", ("hash", "a")),
        ("CREATE TABLE t (a int) DISTRIBUTE BY (a)", ("hash", "a")),
        ("CREATE TABLE t (a int) DISTRIBUTE BY REPLICATION", ("replicated", "")),
        ("CREATE TABLE t (a int) DISTRIBUTE BY ROUND ROBIN", ("round robin", "")),
        ("SELECT create_distributed_table('t', 'A')", ("hash", "a")),
        ("SELECT create_reference_table('public.t'::regclass)", ("replicated", "")),
        ("CREATE TABLE `t` (a int, b int, PRIMARY KEY (`b`)) ENGINE=ndbcluster", ("hash", "b")),
        (
            "CREATE TABLE t (a int, b int, PRIMARY KEY (a, b)) ENGINE=NDB"
            " /*!50100 PARTITION BY LINEAR KEY (b) */",
            ("hash", "b"),
        ),
    ],
)
def test_words_of_each_system_are_read(statement: str, expected: tuple[str, str]) -> None:
    (row,) = rows_of(statement)
    assert (row["table"], row["method"], row["columns"]) == ("t", *expected)
    assert row["place"] == "f.sql:7:1"


def test_words_in_comments_and_columns_are_none() -> None:
    for text in (
        "CREATE TABLE t (a int) -- DISTRIBUTE BY HASH (a)",
        "/* SELECT create_distributed_table('t', 'a') */ SELECT 1",
        "CREATE TABLE t (a int) ENGINE=InnoDB PARTITION BY KEY (a)",
    ):
        assert rows_of(text) == []


def rows_of(statement: str) -> list[distribution.Row]:
    found = distribution.Distributions("f.sql")
    found.take(statement, 7)
    return found.rows


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (LOCAL[0], locality.ONE),
        (LOCAL[1], locality.ONE),
        ("insert into orders (tenant_id, id) values ($1, $2)", locality.ONE),
        (SCATTERED, locality.ALL),
        # A list of tenants is several shards, and so is a range.
        ("select * from orders where tenant_id in ($1, $2)", locality.ALL),
        ("select * from orders where tenant_id > $1", locality.ALL),
        ("select * from orders where tenant_id = $1 or id = $2", locality.ALL),
        # Co-located without a value: all shards, and no row moves.
        ("select count(*) from orders o join items i on o.tenant_id = i.tenant_id"
         " and o.id = i.order_id", locality.ALL),
        (MOVED, locality.MOVED),
        # Both sides name the tenant, and the join does not: equal by their values.
        ("select * from orders o join items i on o.id = i.order_id"
         " where o.tenant_id = $1 and i.tenant_id = $1", locality.MOVED),
        # A reference table is on every shard.
        ("select * from orders o join countries c on o.country = c.code where o.tenant_id = $1",
         locality.ONE),
        ("select * from countries", locality.ELSEWHERE),
        # Tenants are distributed by a column of another name and the same type.
        ("select * from tenants t join orders o on o.tenant_id = t.id where t.id = $1",
         locality.ONE),
    ],
)  # fmt: skip
def test_where_a_statement_runs(statement: str, expected: str) -> None:
    found = cluster.with_classes(shop((statement, 1.0)))
    (one,) = found.classes
    assert locality.runs_on(one.statement, found.schema, found.placed) == expected


def test_a_type_of_its_own_is_not_co_located() -> None:
    text = CITUS.replace("customer_id bigint,", "customer_id int,").replace(
        "create_distributed_table('orders', 'tenant_id')",
        "create_distributed_table('orders', 'customer_id')",
    )
    join = "select * from tenants t join orders o on o.customer_id = t.id where t.id = $1"
    assert "sharded-join-moves-rows" in rules(shop((join, 1.0), text=text))


def test_findings_have_the_share_of_the_time() -> None:
    (one,) = findings(shop((MOVED, 3.0), (LOCAL[0], 7.0)), "sharded-join-moves-rows")
    assert "30.0% of the time" in one.found.effect
    assert "citus.enable_repartition_joins" in one.found.effect
    (one,) = findings(shop((SCATTERED, 6.0), (LOCAL[0], 4.0)), "sharded-statement-scatters")
    assert "60.0% of the time" in one.found.effect and one.severity == "medium"


def test_the_key_is_suggested_by_the_time_that_becomes_local() -> None:
    """Orders by their own id: each lookup of a tenant asks all shards."""
    text = (
        CITUS.replace("create_distributed_table('orders', 'tenant_id')",
                      "create_distributed_table('orders', 'id')")
        .replace("create_distributed_table('items', 'tenant_id', colocate_with => 'orders')",
                 "create_distributed_table('items', 'order_id')")
    )  # fmt: skip
    tenant = "select * from orders where tenant_id = $1 and customer_id = $2"
    classes = ((tenant, 6.0), (LOCAL[1], 3.0), ("select * from orders where id = $1", 1.0))
    (one,) = findings(shop(*classes, text=text), "sharded-key-suggestion")
    assert one.found.about.startswith("id, tenant_id") or one.found.about == "tenant_id"
    assert "90.0% of the time would run on one shard, and 10.0% does now" in one.found.what
    assert "public.orders by tenant_id" in one.found.fix.edits[0]
    assert "80.0% of the time would become local" in one.found.effect


def test_ndb_demands_the_columns_in_the_primary_key_alone() -> None:
    table = (
        "CREATE TABLE `t` (\n  `id` int NOT NULL,\n  `g` int NOT NULL,\n  `mail` varchar(99),\n"
        "  PRIMARY KEY ({key}),\n  UNIQUE KEY `mail` (`mail`)\n) ENGINE=ndbcluster\n"
        "/*!50100 PARTITION BY KEY (g) */;\n"
    )
    assert rules(dump(table.format(key="`id`,`g`"), "mysql-8.0")) == set()
    (one,) = findings(dump(table.format(key="`id`"), "mysql-8.0"))
    assert one.rule == "sharded-unique-key" and "primary key" in one.found.what


def test_vitess_checks_unique_keys_by_shard_unless_a_lookup_does() -> None:
    users = USERS.replace("AUTO_INCREMENT", "").replace(
        "PRIMARY KEY (`id`)", "PRIMARY KEY (`id`),\n  UNIQUE KEY `m` (`mail`)"
    )
    plain = vschema(users=by("id"))
    (one,) = findings([dump(users, "mysql-8.0"), plain])
    assert one.severity == "medium" and "not noticed" in one.found.effect
    lookup = by("id")
    lookup["column_vindexes"].append({"column": "mail", "name": "by_mail"})
    assert rules([dump(users, "mysql-8.0"), vschema(users=lookup)]) == set()


def test_hashing_a_counter_is_no_hot_spot_and_keeping_its_order_is_one() -> None:
    serial = (
        "CREATE TABLE t (id bigserial PRIMARY KEY);\nSELECT create_distributed_table('t', 'id');\n"
    )
    assert rules(dump(serial)) == set()
    ordered = vschema(users=by("id", "numeric", **SEQUENCE))
    (one,) = findings([dump(USERS, "mysql-8.0"), ordered])
    assert one.severity == "high" and "keeps the order" in one.found.what
    hashed = vschema(users=by("id", **SEQUENCE))
    assert rules([dump(USERS, "mysql-8.0"), hashed]) == set()
    counter = "CREATE TABLE t (id serial PRIMARY KEY) DISTRIBUTE BY HASH (id);\n"
    (one,) = findings(dump(counter))
    assert one.severity == "low" and "hashing spreads the rows evenly" in one.found.effect


def test_a_dump_of_one_server_is_not_judged() -> None:
    plain = dump("CREATE TABLE t (id int PRIMARY KEY, a int UNIQUE);\n")
    judged = judging.judge([plain], RULES, only=["distribution"])
    assert judged.findings == ()
    assert all("nothing says that a table is distributed" in one.reason
               for one in judged.not_known if one.rule.id == "sharded-unique-key")  # fmt: skip


def test_foreign_keys_to_reference_tables_stay_on_their_shard() -> None:
    assert rules(dump(CITUS)) == set()
    local = CITUS.replace("SELECT create_reference_table('countries');\n", "")
    (one,) = findings(dump(local))
    assert one.rule == "sharded-foreign-key" and "on one node" in one.found.what
