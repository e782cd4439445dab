"""Schema dumps and digests as targets of `dyno check`: what is read, and what is never kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dbdyno.cli.main import dyno
from dbdyno.errors import DynoError
from dbdyno.facts.fact import EITHER, Facts, Missing, Table
from dbdyno.facts.files import ddl, digest
from dbdyno.facts.gathered import Gathered
from dbdyno.facts.schema.bounds import MOST
from dbdyno.facts.schema.combined import JUDGED_WITH, with_digests
from dbdyno.facts.schema.features import features
from dbdyno.facts.schema.reading import schema_of
from dbdyno.facts.schema.workload import classes, kept
from dbdyno.facts.targets import FORMS
from dbdyno.sql.schema import ForeignKey, Index, Part, Schema
from fixtures.rules import server

NEEDLE = "needle-4711"
MYSQL_DUMP = f"""-- MySQL dump 10.13  Distrib 8.0.36, for Linux (x86_64)
--
-- Host: localhost    Database: shop
-- ------------------------------------------------------
-- Server version\t8.0.36-0ubuntu
/*!40101 SET NAMES utf8mb4 */;
CREATE TABLE `orders` (
  `id` int unsigned NOT NULL AUTO_INCREMENT,
  `customer` int NOT NULL DEFAULT '4711',
  `placed` datetime DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  `state` enum('{NEEDLE}','open; or not') COLLATE utf8mb4_bin DEFAULT NULL COMMENT '{NEEDLE};',
  `note` text CHARACTER SET latin1,
  `shape` polygon DEFAULT NULL,
  `month` int GENERATED ALWAYS AS (month(`placed`)) VIRTUAL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `u` (`customer`,`placed` DESC),
  KEY `begin` (`note`(10)) USING BTREE,
  KEY `by_year` ((year(`placed`))),
  KEY `hidden` (`state`) /*!80000 INVISIBLE */,
  FULLTEXT KEY `words` (`note`),
  CONSTRAINT `of_customer` FOREIGN KEY (`customer`) REFERENCES `customers` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB AUTO_INCREMENT=5 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
LOCK TABLES `orders` WRITE;
INSERT INTO `orders` VALUES (1,1,NULL,'{NEEDLE}','{NEEDLE}',NULL);
"""
POSTGRES_DUMP = f"""--
-- PostgreSQL database dump
--
-- Dumped from database version 15.5 (Debian 15.5-1)
SELECT pg_catalog.set_config('search_path', '', false);
CREATE TABLE public.lines (
    id integer NOT NULL,
    order_id integer,
    name character varying(20) COLLATE "C" DEFAULT '{NEEDLE}'::character varying,
    at timestamp with time zone
);
COPY public.lines (id, order_id, name, at) FROM stdin;
1\t2\t{NEEDLE}\t\\N
CREATE TABLE {NEEDLE} (
\\.
ALTER TABLE ONLY public.lines
    ADD CONSTRAINT lines_pkey PRIMARY KEY (id);
CREATE INDEX by_name ON public.lines USING btree (name, at DESC) INCLUDE (order_id)
    WHERE (at IS NOT NULL);
CREATE INDEX lowered ON public.lines USING btree (lower((name)::text));
CREATE INDEX patterns ON public.lines USING btree (name text_pattern_ops);
ALTER TABLE public.lines OWNER TO shop;
ALTER TABLE ONLY public.lines
    ADD CONSTRAINT of_order FOREIGN KEY (order_id) REFERENCES public.orders(id);
"""


def dump(directory: Path, text: str) -> Facts:
    path = directory / "dump.sql"
    path.write_text(text)
    assert next(name for name, form in FORMS.items() if form.detect(path, text)) == "ddl"
    return ddl.read(path, Gathered())


def test_a_dump_of_mysql(tmp_path: Path) -> None:
    facts = dump(tmp_path, MYSQL_DUMP)
    assert (facts.engine, facts.version, facts.source) == ("mysql", (8, 0, 36), "dump")
    (table,) = schema_of(facts).tables
    assert table.full_name == "shop.orders" and table.engine == "innodb" and table.rows is None
    assert {name: one.type for name, one in table.columns.items()} == {
        "id": "int unsigned",
        "customer": "int",
        "placed": "datetime",
        "state": "enum",
        "note": "text",
        "shape": "geometry",
        "month": "int",
    }
    collations = {name: one.collation for name, one in table.columns.items() if one.collation}
    assert collations == {"state": "utf8mb4_bin"}  # `note` has one of latin1, which is not said
    assert table.columns["month"].generated == "month(`placed`)"
    assert not table.columns["id"].nullable and table.columns["note"].nullable
    primary, unique, begin, by_year, hidden, words = table.indexes
    assert primary.primary and primary.columns == ("id",)
    assert unique.unique and unique.parts == (Part("customer"), Part("placed", descending=True))
    assert begin.parts == (Part("note", prefix=10),)
    assert by_year.parts == (Part(expression="year(`placed`)"),)
    assert not hidden.usable and by_year.usable
    assert words.kind == "fulltext"
    assert table.foreign_keys == (
        ForeignKey(
            name="of_customer",
            columns=("customer",),
            references_schema="shop",
            references_table="customers",
            references_columns=("id",),
        ),
    )
    assert facts.table("user_tables").rows[0]["place"].endswith("dump.sql:7:1")


def test_a_dump_of_postgresql(tmp_path: Path) -> None:
    facts = dump(tmp_path, POSTGRES_DUMP)
    assert (facts.engine, facts.version) == ("postgres", (15, 5))
    (table,) = schema_of(facts).tables
    assert table.full_name == "public.lines"
    assert table.columns["name"].collation == "C"
    primary, by_name, lowered, patterns = table.indexes
    assert primary == Index(name="lines_pkey", parts=(Part("id"),), unique=True, primary=True)
    assert by_name.parts == (Part("name"), Part("at", descending=True))
    assert by_name.include == ("order_id",) and by_name.predicate == "(at IS NOT NULL)"
    assert lowered.parts == (Part(expression="lower((name)::text)"),)
    assert patterns.columns == ()  # in another order than the column's own
    assert table.foreign_keys[0].name == "of_order"


@pytest.mark.parametrize("text", [MYSQL_DUMP, POSTGRES_DUMP])
def test_no_row_default_comment_or_member_of_a_dump_is_kept(tmp_path: Path, text: str) -> None:
    facts = dump(tmp_path, text)
    assert NEEDLE not in repr(facts)


@pytest.mark.parametrize(
    ("head", "engine", "version"),
    [
        ("-- Server version\t10.11.6-MariaDB-0+deb12u1", "mariadb", (10, 11, 6)),
        ("-- MariaDB dump 10.19\n-- Server version\t11.8.1-MariaDB", "mariadb", (11, 8, 1)),
        ("-- MySQL dump 10.13\n-- Server version\t10.6.1-MariaDB", "mariadb", (10, 6, 1)),
        ("", EITHER, ()),
    ],
)  # fmt: skip
def test_whose_dump_it_is(tmp_path: Path, head: str, engine: str, version: tuple[int, ...]) -> None:
    facts = dump(tmp_path, f"{head}\nCREATE TABLE t (id INT PRIMARY KEY);\n")
    assert (facts.engine, facts.version) == (engine, version)


def test_a_statement_that_cannot_be_read_is_said_and_not_judged(tmp_path: Path) -> None:
    facts = dump(tmp_path, "CREATE TABLE a (id INT PRIMARY KEY);\nCREATE TABLE b (id , , KEY ((;\n")
    assert [one.name for one in schema_of_either(facts).tables] == ["a"]
    assert facts.missing["other tables"] == "1 statements cannot be read: 2"


def schema_of_either(facts: Facts) -> Schema:
    return schema_of(Facts(facts.subject, facts.source, "mysql", (8, 4), facts.facts, facts.tables))


def test_what_indexes_can_be_depends_on_the_version(tmp_path: Path) -> None:
    with pytest.raises(Missing, match="see --engine"):
        features(dump(tmp_path, "CREATE TABLE t (id INT PRIMARY KEY);"))
    new, old = features(server("mysql", "8.0.13")), features(server("mysql", "8.0.12"))
    assert (new.expressions, old.expressions) == (True, False)
    assert not features(server("mariadb", "11.8.1")).expressions
    assert features(server("postgres", "15.5")).include


def test_a_table_whose_columns_are_cut_off_is_not_judged() -> None:
    columns = [
        {"schema": "s", "table": f"t{number:06}", "column": "a", "position": 1, "type": "int",
         "nullable": "YES", "collation": None, "generated": ""}
        for number in range(MOST["user_columns"])
    ]  # fmt: skip
    tables = [{"schema": "s", "table": one["table"], "engine": "innodb"} for one in columns[-2:]]
    facts = server(
        "mysql",
        "8.4.3",
        tables={
            "user_tables": tables,
            "user_columns": columns,
            "user_indexes": [],
            "user_foreign_keys": [],
        },
    )
    assert [one.name for one in schema_of(facts).tables] == [columns[-2]["table"]]


# -- digests --------------------------------------------------------------------------------------


def document(form: str = "slow", **sample: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": "c3a8d8d74a30d48f",
        "fingerprint": "select id from orders where month(placed) = ?",
        "count": 4,
        "query_time": {"sum": 8.0},
        "databases": {"shop": 4},
        "measures": {"rows_examined": {"sum": 400_000.0}, "rows_sent": {"sum": 12.0}},
    }
    if sample:
        found["sample"] = sample
    return {
        "schema_version": 1,
        "inputs": [{"path": "slow.log", "format": form}],
        "overall": {"query_time": {"sum": 10.0}},
        "classes_total": 7,
        "classes": [found, {**found, "id": "2", "fingerprint": "set names utf8"}],
    }


def digested(directory: Path, value: Mapping[str, Any]) -> Facts:
    path = directory / "digest.json"
    path.write_text(json.dumps(value))
    assert digest.detect(path, path.read_text())
    return digest.read(path, Gathered())


def test_a_digest_has_classes_with_their_share(tmp_path: Path) -> None:
    facts = digested(tmp_path, document())
    assert (facts.source, facts.engine) == ("digest", EITHER)
    assert facts.missing == {"other statements": "1 classes are of no rows, or cannot be read"}
    (one,) = classes(facts, Schema(tables=()))
    assert (one.share, one.count, one.examined, one.sent) == (0.8, 4, 100_000.0, 3.0)
    assert digested(tmp_path, document("postgres-csv")).engine == "postgres"


def test_a_sample_tells_kinds_of_literals_and_none_is_kept(tmp_path: Path) -> None:
    text = f"select id from orders where phone = 4711 and x = '{NEEDLE}' -- {NEEDLE}"
    facts = digested(tmp_path, document(text=text, is_cut=False))
    assert facts.table("statements").rows[0]["sql"] == (
        "select id from orders where phone = 0 and x = ''"
    )
    assert NEEDLE not in repr(facts) and "4711" not in repr(facts)
    cut = digested(tmp_path, document(text=text[:40], is_cut=True))
    assert "month(placed)" in cut.table("statements").rows[0]["sql"]


def test_a_damaged_digest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DynoError, match="is no digest"):
        digested(tmp_path, {**document(), "inputs": 3})


def test_a_digest_goes_to_the_schema_beside_it(tmp_path: Path) -> None:
    schema, found = dump(tmp_path, MYSQL_DUMP), digested(tmp_path, document())
    first, second = with_digests([schema, found])
    assert classes(first, schema_of(first))[0].id == "c3a8d8d74a30d48f"
    assert second.fact(JUDGED_WITH).text == schema.subject and second.source == "digest"
    with pytest.raises(DynoError, match="no schema in this command is of its engine"):
        with_digests([dump(tmp_path, POSTGRES_DUMP), found])
    with pytest.raises(DynoError, match="are all for"):
        with_digests([schema, found, found])


def test_a_digest_alone_is_a_log(tmp_path: Path) -> None:
    (alone,) = with_digests([digested(tmp_path, document())])
    assert alone.source == "log" and JUDGED_WITH not in alone.facts


def test_a_log_gives_its_classes_to_a_schema_that_has_none(tmp_path: Path) -> None:
    schema, log = dump(tmp_path, MYSQL_DUMP), digest.of_log(document(), "slow.log", Gathered())
    first, second = with_digests([schema, log])
    assert first.table("statements") == log.table("statements") and second.source == "digest"
    # A server's own counts lack nothing.
    counted = replace(schema, tables={**schema.tables, "statements": Table((), "a server")})
    assert with_digests([counted, log]) == [counted, log]
    # Which of two would be the schema's is not known, unless one has no times.
    unknown, *others = with_digests([schema, log, log])
    assert others == [log, log] and "statements" not in unknown.tables
    assert "slow.log may be its log: name one" in unknown.missing["statements"]
    untimed = Table(({"classes": 1, "time_s": 0.0},), "general.log")
    general = replace(log, tables={**log.tables, "statements_total": untimed})
    assert with_digests([schema, general, log])[0].tables["statements"] == log.table("statements")


def test_texts_of_servers_are_kept_without_literals() -> None:
    """pg_stat_statements keeps comments, and literals of what is no statement of rows."""
    found = Gathered()
    rows = [
        {"sql": f"SELECT a FROM t WHERE b = $1 /* {NEEDLE} */"},
        {"sql": f"SELECT a FROM t WHERE b = '{NEEDLE}' AND c = 4711"},
        {"sql": f"ALTER ROLE app PASSWORD '{NEEDLE}'"},
        {"sql": "<insufficient privilege>"},
    ]
    assert [row["sql"] for row in kept(rows, "postgres", found)] == [
        "SELECT a FROM t WHERE b = ?",
        "SELECT a FROM t WHERE b = '' AND c = 0",
    ]
    lacks = found.facts("", "server", "postgres").missing
    assert lacks == {"other statements": "2 classes are of no rows, or cannot be read"}


# -- as a command ---------------------------------------------------------------------------------


def check(*args: object) -> Any:
    done = CliRunner().invoke(dyno, ["check", *map(str, args)], standalone_mode=False)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return json.loads(done.stdout)


def files(directory: Path) -> tuple[Path, Path]:
    first, second = directory / "dump.sql", directory / "digest.json"
    first.write_text(MYSQL_DUMP)
    second.write_text(json.dumps(document()))
    return first, second


def test_a_dump_and_a_digest_are_checked_together(tmp_path: Path) -> None:
    found = check(*files(tmp_path), "--json", "--fail-on", "critical")
    # Of the tables none: month(placed) has its column...
    assert {one["rule"] for one in found["findings"]} == {"mysql-log-rows-examined"}
    first, second = files(tmp_path)
    first.write_text(MYSQL_DUMP.replace("  KEY `by_year` ((year(`placed`))),", "  KEY p (placed),"))
    found = check(first, second, "--json", "--fail-on", "critical")
    rules = {one["rule"] for one in found["findings"]}
    assert rules == {"mysql-function-on-column", "mysql-log-rows-examined"}


def test_a_bundle_has_no_statement_unless_asked(tmp_path: Path) -> None:
    targets = files(tmp_path)
    bundle = check("--collect", *targets)
    assert "month(placed)" not in json.dumps(bundle).replace("month(`placed`)", "")
    for one in bundle["subjects"]:
        if one["source"] == "digest":
            assert one["missing"]["statements"].endswith("see --statements")
    assert "month(placed)" in json.dumps(check("--collect", "--statements", *targets))
    for text in (bundle, check("--collect", "--statements", *targets)):
        assert NEEDLE not in json.dumps(text)


def test_statements_are_for_bundles(tmp_path: Path) -> None:
    done = CliRunner().invoke(dyno, ["check", "--statements", str(files(tmp_path)[0])])
    assert done.exit_code == 2 and "--statements is for --collect" in done.output
