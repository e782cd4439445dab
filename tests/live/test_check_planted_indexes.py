"""Rules on indexes, on real servers: each fires on its planted defect and only there, its fix
changes the plan, and what it says a server refuses is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from indexed_shop import FAMILY, SERVERS, Shop, numbers, orders, shop
from test_check import check, found

from dbdyno import kinds
from dbdyno.rules.check.indexes import dropping
from dbdyno.sql.statement import read

ONLY = ("--only", "indexes", "--fail-on", "critical")
NEEDLE = "needle-4711"
SELECT = "SELECT id, note FROM orders WHERE {}"
FUNCTION = "mysql-function-on-column"


def findings(made: Shop, *more: str) -> dict[str, Any]:
    """By rule."""
    document = check(made.url, "--json", *ONLY, *more)
    return {one["rule"]: one for one in document["findings"]}


def family(name: str) -> str:
    return "postgres" if name == "postgres" else "mysql"


# -- planted defects, and their healthy twin ------------------------------------------------------


def plant(made: Shop) -> set[str]:
    """All defects that this server can have; the rules that must see them."""
    if made.is_postgres:
        orders(
            made,
            "CREATE INDEX again ON orders (placed)",
            "CREATE INDEX shorter ON orders (customer)",
            "CREATE INDEX longer ON orders (customer, phone)",
            "CREATE INDEX nobody ON orders (note)",
            "CREATE TABLE keyless (a integer)",
            "CREATE TABLE lines (id integer PRIMARY KEY, order_id integer REFERENCES orders (id))",
            f"INSERT INTO lines SELECT n, n FROM {numbers(made.name, 2000)}",
        )
        work = [
            SELECT.format("extract(month from placed) = 10"),
            "SELECT customer FROM orders WHERE placed > '2017-06-01'",
            *("SET enable_sort = off", "SET enable_bitmapscan = off", "SET enable_seqscan = off"),
            "SELECT count(*) FROM orders WHERE customer = 5",
            "SELECT customer, phone FROM orders ORDER BY customer, phone",
        ]
        expected = {
            *("duplicate-index", "redundant-index", "unused-index", "no-primary-key"),
            *("foreign-key-without-index", "function-on-column", "covering-index"),
        }
    else:
        orders(
            made,
            "KEY again (placed)",
            "KEY shorter (customer)",
            "KEY longer (customer, phone)",
            "KEY nobody (note)",
        )
        made.sql(
            "CREATE TABLE keyless (a INT) ENGINE=InnoDB",
            "CREATE TABLE clients (id INT PRIMARY KEY, phone VARCHAR(20) CHARACTER SET latin1, KEY"
            " i_phone (phone)) ENGINE=InnoDB",
            f"INSERT INTO clients SELECT n, CONCAT('0', n) FROM {numbers(made.name, 300)}",
            "COMMIT",
        )
        work = [
            SELECT.format("MONTH(placed) = 10"),
            "SELECT customer FROM orders WHERE placed > '2017-06-01'",
            "SELECT COUNT(*) FROM orders WHERE customer = 5",
            "SELECT COUNT(*) FROM orders WHERE customer = 5 AND phone = '1'",
            "SELECT COUNT(*) FROM orders o JOIN clients c ON o.phone = c.phone",
            "SELECT COUNT(*) FROM orders o JOIN clients c ON o.customer = c.phone WHERE c.id < 150",
        ]
        expected = {
            *("duplicate-index", "redundant-index", "unused-index", "no-primary-key"),
            *("function-on-column", "covering-index", "join-collations", "implicit-cast"),
        }
    made.forget()
    made.sql(*work)
    return {f"{family(made.name)}-{rule}" for rule in expected}


@pytest.mark.parametrize("name", SERVERS)
def test_planted_defects_are_found_and_nothing_else(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shop(name) as made:
        expected = plant(made)
        early = check(made.url, "--json", *ONLY)
        assert f"{family(name)}-unused-index" not in found(early)  # counters of seconds
        monkeypatch.setattr(dropping, "DAYS_MIN", 0.0)
        by_rule = findings(made)
        assert {*by_rule} == expected
        texts = json.dumps(by_rule)
        assert "edge" not in texts and "2017-" not in texts


@pytest.mark.parametrize("name", SERVERS)
def test_the_healthy_twin_has_no_finding_and_a_bundle_no_literal(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(dropping, "DAYS_MIN", 0.0)
    with shop(name) as made:
        orders(made)
        made.forget()
        made.sql(SELECT.format("placed >= '2019-10-01' AND placed < '2019-11-01'"))
        made.sql(*([SELECT.format("phone = '05'")] if not made.is_postgres else []))
        document = check(made.url, "--json", *ONLY)
        assert found(document) == set()
        assert document["not_known"] == []
        made.sql(
            f"SELECT COUNT(*) FROM orders WHERE note = '{NEEDLE}' /* {NEEDLE} */",
            f"SELECT COUNT(*) FROM orders WHERE note LIKE '%{NEEDLE}'",
            *([f"CREATE ROLE other PASSWORD '{NEEDLE}'"] if made.is_postgres else []),
        )
        bare = json.dumps(check(made.url, "--collect"))
        full = check(made.url, "--collect", "--statements")
        live = check(made.url, "--json", *ONLY)
    assert NEEDLE not in bare and "SELECT COUNT(*) FROM orders" not in bare
    assert '"i_placed"' in bare  # names are facts
    assert NEEDLE not in json.dumps(full)
    (subject,) = full["subjects"]
    texts = [row["sql"].replace("`", "").upper() for row in subject["tables"]["statements"]["rows"]]
    assert any("FROM ORDERS WHERE NOTE" in text for text in texts)
    path = tmp_path / "facts.json"
    path.write_text(json.dumps(full))
    assert found(check(path, "--json", *ONLY)) == found(live)


# -- a function on a column (B03): plans, edges and what each server refuses ----------------------

MONTH_OF_2019 = "placed >= '2019-10-01' AND placed < '2019-11-01'"
REWRITES = (
    ("YEAR(placed) = 2019", "placed >= MAKEDATE(2019, 1) AND placed < MAKEDATE(2019 + 1, 1)"),
    (
        "DATE(placed) = '2019-10-31'",
        "placed >= '2019-10-31' AND placed < '2019-10-31' + INTERVAL 1 DAY",
    ),
    (
        "TO_DAYS(placed) = 737728",
        "placed >= FROM_DAYS(737728) AND placed < FROM_DAYS(737728 + 1)",
    ),
    ("LEFT(phone, 4) = '0123'", "phone LIKE CONCAT('0123', '%')"),
    ("LOWER(phone) = '0123'", "phone = '0123'"),
)
# Values for each expression that the rule would index.
FUNCTIONS = {
    "MONTH(placed)": "13",
    "QUARTER(placed)": "5",
    "HOUR(placed)": "25",
    "WEEKDAY(placed)": "8",
    "DAYOFYEAR(placed)": "367",
    "DATE(placed)": "'2019-10-31'",
    "YEAR(placed)": "2021",
    "TO_DAYS(placed)": "737728",
    "LOWER(phone)": "'0123'",
    "CHAR_LENGTH(phone)": "19",
}


@pytest.mark.parametrize("name", FAMILY)
def test_fixes_of_a_function_on_a_column(name: str) -> None:
    with shop(name) as made:
        orders(made)
        a_half_open_range_is_the_period_and_between_is_not(made)
        who_makes_a_range_of_a_date_itself(made)
        what_the_server_refuses(made)
        every_fix_is_taken_and_served(made)


def count(made: Shop, condition: str) -> int:
    return int(made.sql(f"SELECT COUNT(*) FROM orders WHERE {condition}")[0][0])


def a_half_open_range_is_the_period_and_between_is_not(made: Shop) -> None:
    period = count(made, "YEAR(placed) = 2019 AND MONTH(placed) = 10")
    assert made.plan(SELECT.format("MONTH(placed) = 10")) == "ALL"
    assert made.plan(SELECT.format(MONTH_OF_2019)) == "range"
    assert count(made, MONTH_OF_2019) == period
    # What the rule prints, with values.
    rewrite = (
        "placed >= MAKEDATE(2019, 1) + INTERVAL 10 - 1 MONTH AND placed < MAKEDATE(2019, 1) +"
        " INTERVAL 10 MONTH"
    )
    assert count(made, rewrite) == period and made.plan(SELECT.format(rewrite)) == "range"
    # The traps: an end within, a last second, and a month that is every October.
    assert count(made, "placed BETWEEN '2019-10-01' AND '2019-11-01'") == period + 1
    assert count(made, "placed BETWEEN '2019-10-01' AND '2019-10-31 23:59:59'") == period - 1
    assert count(made, "MONTH(placed) = 10") > 2 * period
    for condition, written in REWRITES:
        assert count(made, condition) == count(made, written) > 0, condition
        if "YEAR" not in condition:  # of which there are too many rows
            assert made.plan(SELECT.format(written)) in ("range", "ref"), written


def who_makes_a_range_of_a_date_itself(made: Shop) -> None:
    select = SELECT.format("DATE(placed) = '2019-10-31'")
    plan = "range" if made.name == "mariadb-11.8" else "ALL"
    assert made.plan(select) == plan
    made.forget()
    made.sql(select)
    assert (FUNCTION in findings(made)) == (plan == "ALL")


REFUSED_BY_ALL = ("CREATE INDEX x ON orders (MONTH(placed))",)  # one pair of parentheses
REFUSED_BY_MYSQL = (
    "CREATE INDEX x ON orders ((placed))",  # a bare column
    "ALTER TABLE orders DROP PRIMARY KEY, ADD PRIMARY KEY ((id + 1))",
    "CREATE FULLTEXT INDEX x ON orders ((LOWER(note)))",
    "CREATE INDEX x ON orders ((LOWER(note))(10))",  # a prefix
    "CREATE TABLE child (a INT, KEY x ((a + 1)), FOREIGN KEY ((a + 1)) REFERENCES orders (id))",
)
FUNCTIONAL = "CREATE INDEX x ON orders ((MONTH(placed)))"


def what_the_server_refuses(made: Shop) -> None:
    refused = REFUSED_BY_MYSQL if made.name == "mysql" else (FUNCTIONAL,)
    for statement in (*REFUSED_BY_ALL, *refused):
        assert made.refuses(statement), statement
    if made.name == "mysql":
        made.sql(FUNCTIONAL)
        # The same expression alone: another one of the same meaning is not served.
        assert made.plan(SELECT.format("MONTH(placed) = 13")) == "ref"
        assert made.plan(SELECT.format("EXTRACT(MONTH FROM placed) = 13")) == "ALL"
        made.sql("DROP INDEX x ON orders")


def every_fix_is_taken_and_served(made: Shop) -> None:
    """Each statement that is offered, on the server itself, with its plans."""
    made.forget()
    made.sql(*(SELECT.format(f"{one} = {value}") for one, value in FUNCTIONS.items()))
    sargable = {"DATE(placed)", "YEAR(placed)"} if made.name == "mariadb-11.8" else set()
    tried = set()
    for one in check(made.url, "--json", *ONLY)["findings"]:
        expression = one["about"].partition(": ")[2].replace("`", "")
        if one["rule"] != FUNCTION or expression not in FUNCTIONS:
            continue
        tried.add(expression)
        select = SELECT.format(f"{expression} = {FUNCTIONS[expression]}")
        offered = [*one["fix"]["statements"], *one["fix"]["edits"]]
        for text in (text.removeprefix("Or: ") for text in offered):
            if not text.startswith(("CREATE INDEX", "ALTER TABLE")):
                continue
            assert made.plan(select) == "ALL"
            made.sql(text)
            if made.name == "mariadb":  # 10.11 finds the column by its name alone
                assert made.plan(select) == "ALL"
                column = re.search(r"ADD COLUMN `(\w+)`", text)
                assert column is not None
                select_named = SELECT.format(f"{column[1]} = {FUNCTIONS[expression]}")
                assert made.plan(select_named) == "ref"
            else:
                assert made.plan(select) == "ref", text
            made.sql(undo(text))
    assert tried == {*FUNCTIONS} - sargable


def undo(text: str) -> str:
    if index := re.match(r"CREATE INDEX (`\w+`) ON (\S+)", text):
        return f"DROP INDEX {index[1]} ON {index[2]}"
    column = re.match(r"ALTER TABLE (\S+) ADD COLUMN (`\w+`)", text)
    assert column is not None
    return f"ALTER TABLE {column[1]} DROP COLUMN {column[2]}"


def test_a_generated_column_is_named_until_the_optimizer_finds_it() -> None:
    with shop("mariadb") as made:
        orders(made, "m INT AS (MONTH(placed)) VIRTUAL", "KEY i_m (m)")
        made.forget()
        made.sql(SELECT.format("MONTH(placed) = 13"))
        fix = findings(made)[FUNCTION]["fix"]
        assert fix["statements"] == []
        assert "Name the generated column in the query: `m`" in fix["edits"][0]


def test_fixes_of_postgresql_change_the_plan() -> None:
    month = SELECT.format("extract(month from placed) = 13")
    with shop("postgres") as made:
        orders(made)
        assert made.plan(month) == "Seq Scan"
        made.forget()
        made.sql(month)
        finding = findings(made)["postgres-function-on-column"]
        assert "each value comes again" in " ".join(finding["fix"]["edits"])
        made.sql("CREATE INDEX CONCURRENTLY x ON orders ((extract(month from placed)))")
        assert made.plan(month) != "Seq Scan"
        day = "placed >= '2019-10-31' AND placed < '2019-10-31'::date + 1"
        assert count(made, "placed::date = '2019-10-31'") == count(made, day) > 0
        assert made.plan(SELECT.format(day)) != "Seq Scan"
        year = "placed >= make_date(2019, 1, 1) AND placed < make_date(2019 + 1, 1, 1)"
        assert count(made, "extract(year from placed) = 2019") == count(made, year)
        made.sql("CREATE TABLE zoned (at timestamptz)")
        assert made.refuses("CREATE INDEX ON zoned ((date_trunc('day', at)))")
        assert made.refuses("CREATE INDEX ON zoned ((at::date))")
        made.sql("CREATE INDEX ON zoned (((at AT TIME ZONE 'UTC')::date))")


# -- a covering index (B04), and comparisons ------------------------------------------------------

RANGE = "SELECT {} FROM orders WHERE placed > '2018-05-06'"  # 44 % of the table


@pytest.mark.parametrize("name", FAMILY)
def test_covering_indexes_and_casts(name: str, tmp_path: Path) -> None:
    with shop(name) as made:
        orders(made)
        statements_are_read_as_the_server_digests_them(made)
        a_text_compared_with_a_number_uses_no_index(made, tmp_path)
        an_index_of_another_character_set_serves_no_lookup(made)
        forcing_the_ignored_index_reads_more_and_a_covering_one_less(made)


def forcing_the_ignored_index_reads_more_and_a_covering_one_less(made: Shop) -> None:
    select = RANGE.format("SQL_NO_CACHE customer, phone")
    forcing = select.replace("orders", "orders FORCE INDEX (i_placed)")
    assert made.plan(select) == "ALL"
    made.forget()
    scan, forced = pages(made, select), pages(made, forcing)
    assert forced > 5 * scan
    finding = findings(made)["mysql-covering-index"]
    assert "Do not force `i_placed`" in " ".join(finding["fix"]["edits"])
    (statement,) = finding["fix"]["statements"]
    made.sql(statement, "ANALYZE TABLE orders")
    assert made.plan(select) == "range" and "Using index" in made.extra(select)
    assert pages(made, select) < scan
    assert "mysql-covering-index" not in findings(made)
    made.sql(*finding["undo"]["statements"])
    assert made.plan(select) == "ALL"


def pages(made: Shop, select: str) -> int:
    """Pages that a query asks the buffer pool for: the least of a few, since the server's own
    threads ask for some, too."""
    status = "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_read_requests'"

    def once() -> int:
        before = int(made.sql(status)[0][1])
        made.sql(select)
        return int(made.sql(status)[0][1]) - before

    return min(once() for _ in range(5))


JOIN = "SELECT STRAIGHT_JOIN COUNT(*) FROM orders JOIN clients c ON orders.phone = c.phone"


def an_index_of_another_character_set_serves_no_lookup(made: Shop) -> None:
    made.sql(
        "CREATE TABLE clients (id INT PRIMARY KEY, phone VARCHAR(20) CHARACTER SET latin1, KEY"
        " i_phone (phone)) ENGINE=InnoDB",
        f"INSERT INTO clients SELECT n, CONCAT('0', n) FROM {numbers(made.name, 300)}",
        "COMMIT",
        "ANALYZE TABLE clients",
    )
    made.forget()
    assert made.plan(JOIN, 1) == "index"  # all of it, for each row or in a buffer
    made.sql(JOIN)
    finding = findings(made)["mysql-join-collations"]
    assert "Give shop.clients.phone the character set" in finding["fix"]["edits"][0]
    made.sql("ALTER TABLE clients MODIFY phone VARCHAR(20) COLLATE utf8mb4_general_ci")
    assert made.plan(JOIN, 1) == "ref"


# Words that performance_schema writes in another way than the application.
DIGESTED = (
    "SELECT user, host, day, month, status FROM words WHERE user = 'x' AND month = 3",
    "SELECT id FROM orders WHERE DAY(placed) = 1 AND WEEK(placed) = 2 AND MINUTE(placed) = 3",
    "SELECT id FROM orders WHERE SECOND(placed) = 4 AND YEAR(placed) = 5 AND MONTH(placed) = 6",
    "SELECT id FROM orders WHERE placed > NOW() - INTERVAL 3 DAY AND placed < CURRENT_TIMESTAMP",
    "SELECT DISTINCT id FROM orders WHERE CAST(note AS CHAR) = 'x' AND CHAR_LENGTH(note) = 3",
    "SELECT id FROM orders WHERE CAST(note AS DECIMAL(10,2)) = 3 AND IF(id = 1, 2, 3) = 3",
    "SELECT id FROM orders WHERE DATE(placed) = '2001-01-01' AND placed = TIMESTAMP '2001-01-01"
    " 00:00'",
    "SELECT id FROM orders WHERE note = x'41' AND phone = _utf8mb4'x' AND customer = -3",
    "SELECT COUNT(DISTINCT note), STD(id) FROM orders GROUP BY customer LIMIT 3, 4",
    "SELECT id FROM orders WHERE phone REGEXP 'x' OR id = ANY (SELECT customer FROM orders)",
    "INSERT INTO words (user, day) VALUES ('x', 1), ('y', 2)",
    "REPLACE INTO words (user, day) VALUES ('x', 1)",
    "UPDATE words JOIN orders ON words.day = orders.id SET words.month = 3 WHERE orders.note = 'x'",
)


def statements_are_read_as_the_server_digests_them(made: Shop) -> None:
    made.sql(
        "CREATE TABLE words (user VARCHAR(9) PRIMARY KEY, host INT, day INT, month INT, status INT)"
    )
    digests = (
        "SELECT DIGEST_TEXT FROM performance_schema.events_statements_summary_by_digest WHERE"
        " DIGEST_TEXT REGEXP '^(SELECT|INSERT|REPLACE|UPDATE)' AND SCHEMA_NAME = 'shop'"
        " AND DIGEST_TEXT NOT LIKE '%events_statements%'"
    )
    for statement in DIGESTED:
        made.forget()
        made.sql(statement)
        text = first(made, digests)
        assert shape(text) == shape(statement), text


def first(made: Shop, select: str) -> str:
    """The first value."""
    return str(made.sql(select)[0][0])


def shape(text: str) -> tuple[Any, ...]:
    """What a statement does to which columns."""
    found = read(text, kinds.MYSQL)
    assert found is not None, text
    return (
        found.kind,
        [use.name for use in found.tables],
        {(one.column.name.lower(), one.operator, one.function) for one in found.predicates},
        [(one.left.name.lower(), one.right.name.lower()) for one in found.joins],
        [one.column and one.column.name.lower() for one in found.grouping],
        {one.name.lower() for one in found.read},
        {one.name.lower() for one in found.written},
        len(found.partial),
    )


def a_text_compared_with_a_number_uses_no_index(made: Shop, directory: Path) -> None:
    number, pattern = SELECT.format("phone = 1234"), SELECT.format("note LIKE '%x'")
    assert made.plan(number) == "ALL" and made.plan(pattern) == "ALL"
    assert made.plan(SELECT.format("phone = '01234'")) == "ref"
    digest = directory / "digest.json"
    digest.write_text(json.dumps(digested(number, pattern)))
    document = check(made.url, digest, "--json", *ONLY)
    assert found(document) == {"mysql-implicit-cast", "mysql-leading-wildcard"}


def digested(*texts: str) -> dict[str, Any]:
    """As `dyno digest --json --samples raw` has them."""
    return {
        "schema_version": 1,
        "inputs": [{"path": "slow.log", "format": "slow"}],
        "overall": {"query_time": {"sum": float(len(texts))}},
        "classes_total": len(texts),
        "classes": [
            {
                "id": f"{number:016x}",
                "fingerprint": "",
                "count": 1,
                "query_time": {"sum": 1.0},
                "measures": {"rows_examined": {"sum": 20_000.0}, "rows_sent": {"sum": 1.0}},
                "databases": {"shop": 1},
                "sample": {"text": text},
            }
            for number, text in enumerate(texts)
        ],
    }


def test_fixes_of_postgresql_are_taken_and_mend() -> None:
    with shop("postgres") as made:
        plant(made)
        for one in check(made.url, "--json", *ONLY)["findings"]:
            statements = one["fix"]["statements"]
            made.sql(*statements)
            left = check(made.url, "--json", *ONLY)["findings"]
            assert not statements or (one["rule"], one["about"]) not in {
                (each["rule"], each["about"]) for each in left
            }
        assert made.plan("SELECT 1 FROM lines WHERE order_id = 5") != "Seq Scan"
