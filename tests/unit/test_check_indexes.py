"""Rules on indexes: versions, the traps of what is written about them, and that no rule drops what
another one needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from dbdyno.facts.fact import Facts
from dbdyno.rules.check import fixes
from dbdyno.rules.check.fixes import Contradiction
from dbdyno.rules.check.indexes import dropping
from dbdyno.rules.check.packs import RULES
from dbdyno.rules.check.rule import FINE, FOUND, NOT_KNOWN, Finding, Fix, Outcome
from fixtures.rules.indexes import (
    ALL,
    CASES,
    CUSTOMERS,
    JOINED,
    ORDERS,
    indexed,
    mysql,
    postgres,
)

BY_ID = {rule.id: rule for rule in RULES if rule.pack == "indexes"}
MYSQL_FUNCTION, POSTGRES_FUNCTION = "mysql-function-on-column", "postgres-function-on-column"


def look(rule: str, facts: Facts) -> Outcome:
    return BY_ID[rule].look(facts)


def the(rule: str, facts: Facts) -> Finding:
    (found,) = look(rule, facts).findings
    return found


def every(facts: Facts) -> list[Finding]:
    return [one for rule in BY_ID.values() for one in rule.look(facts).findings]


def words(fix: Fix) -> str:
    return "\n".join((*fix.statements, *fix.edits))


def hides(condition: str, engine: str = "mysql", version: str = "8.4.3", **more: Any) -> Facts:
    return mysql(ALL.format(condition), engine=engine, version=version, **more)


# -- a function on a column (B03) -----------------------------------------------------------------

FUNCTIONAL = "CREATE INDEX `orders_placed_month` ON `shop`.`orders` ((MONTH(placed)))"
GENERATED = (
    "ALTER TABLE `shop`.`orders` ADD COLUMN `orders_placed_month` INT AS (MONTH(placed)) VIRTUAL,"
    " ADD INDEX `orders_placed_month` (`orders_placed_month`)"
)


@pytest.mark.parametrize(
    ("engine", "version", "statement", "named"),
    [
        ("mysql", "8.4.3", FUNCTIONAL, False),
        ("mysql", "8.0.13", FUNCTIONAL, False),
        ("mysql", "8.0.12", GENERATED, False),  # no functional index yet
        ("mysql", "5.7.44", GENERATED, False),
        ("mariadb", "10.11.6", GENERATED, True),  # and the query must name the column
        ("mariadb", "11.4.2", GENERATED, True),
        ("mariadb", "11.8.1", GENERATED, False),
    ],
)
def test_fixes_are_those_of_the_engine_and_version(
    engine: str, version: str, statement: str, named: bool
) -> None:
    fix = the(MYSQL_FUNCTION, hides("MONTH(placed) = ?", engine, version)).found.fix
    assert fix.statements == (statement,)
    assert ("must name the generated column" in words(fix)) == named
    assert ("functional index" in words(fix)) == (statement == FUNCTIONAL)


@pytest.mark.parametrize(
    ("function", "version", "state"),
    [
        ("YEAR(placed)", "10.11.6", FOUND),
        ("DATE(placed)", "11.0.5", FOUND),
        ("YEAR(placed)", "11.1.1", FINE),  # the optimizer makes a range of it
        ("DATE(placed)", "11.8.1", FINE),
        ("MONTH(placed)", "11.8.1", FOUND),
        ("UPPER(phone)", "11.2.1", FOUND),
        ("UPPER(phone)", "11.3.2", FINE),
        ("LOWER(phone)", "11.3.2", FOUND),
        ("LEFT(phone, 3)", "11.7.2", FOUND),
        ("LEFT(phone, 3)", "11.8.1", FINE),
        ("SUBSTR(phone, 1, 3)", "11.8.1", FINE),
        ("RIGHT(phone, 3)", "11.8.1", FOUND),
    ],
)
def test_what_mariadb_makes_a_range_of_itself_is_no_finding(
    function: str, version: str, state: str
) -> None:
    assert look(MYSQL_FUNCTION, hides(f"{function} = ?", "mariadb", version)).state == state
    # MySQL never does.
    assert look(MYSQL_FUNCTION, hides(f"{function} = ?")).state == FOUND


@pytest.mark.parametrize(
    ("condition", "state"),
    [
        ("DATE(placed) >= ?", FINE),
        ("DATE(placed) BETWEEN ? AND ?", FOUND),  # of comparisons alone, by its manual
        ("UPPER(phone) IN (?, ?)", FINE),
        ("UPPER(phone) > ?", FOUND),
        ("LEFT(phone, 3) IN (?, ?)", FOUND),
    ],
)
def test_mariadb_makes_ranges_of_some_operators_alone(condition: str, state: str) -> None:
    assert look(MYSQL_FUNCTION, hides(condition, "mariadb", "11.8.1")).state == state


@pytest.mark.parametrize(
    ("part", "pattern"),
    [
        ("LEFT(phone, 3)", "as long as the part"),
        ("SUBSTR(phone, 1, 3)", "begins with character 1"),
        ("SUBSTRING(phone FROM 1 FOR 3)", "begins with character 1"),
        ("SUBSTR(phone, 4)", ""),  # an end
        ("SUBSTR(phone, -3, 2)", ""),
    ],
)
def test_a_part_of_a_text_is_a_pattern_where_it_is_its_begin(part: str, pattern: str) -> None:
    fix = words(the(MYSQL_FUNCTION, hides(f"{part} = 'abc'")).found.fix)
    assert ("LIKE" in fix) == bool(pattern) and pattern in fix


def test_no_functional_index_is_made_of_a_long_text() -> None:
    """MySQL refuses an expression that is a TEXT."""
    keys = ", body TEXT, KEY i_body (body(20))"
    fix = the(MYSQL_FUNCTION, hides("TRIM(body) = ?", keys=keys)).found.fix
    assert "CREATE INDEX" not in words(fix) and "BLOB or TEXT" in words(fix)


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
@pytest.mark.parametrize("function", ["MONTH", "DAYOFMONTH", "HOUR", "QUARTER", "WEEKDAY"])
def test_a_month_alone_is_every_october_and_no_range(engine: str, function: str) -> None:
    version = "10.11.6" if engine == "mariadb" else "8.4.3"
    fix = words(the(MYSQL_FUNCTION, hides(f"{function}(placed) = 10", engine, version)).found.fix)
    assert "each value comes again" in fix and "Rewrite" not in fix and ">=" not in fix


def test_a_month_with_its_year_is_a_range() -> None:
    facts = hides("YEAR(placed) = 2019 AND MONTH(placed) = 10")
    by_about = {
        one.found.about: words(one.found.fix) for one in look(MYSQL_FUNCTION, facts).findings
    }
    assert (
        "placed >= MAKEDATE(?year, 1) + INTERVAL ?month - 1 MONTH AND placed < MAKEDATE(?year, 1)"
        " + INTERVAL ?month MONTH" in by_about["shop.orders.placed: YEAR(placed)"]
    )


@pytest.mark.parametrize(
    ("condition", "rewrite"),
    [
        ("YEAR(placed) = 2019", "placed >= MAKEDATE(?, 1) AND placed < MAKEDATE(? + 1, 1)"),
        ("DATE(placed) = '2019-10-01'", "placed >= ? AND placed < ? + INTERVAL 1 DAY"),
        ("CAST(placed AS DATE) = ?", "placed >= ? AND placed < ? + INTERVAL 1 DAY"),
        ("TO_DAYS(placed) = ?", "placed >= FROM_DAYS(?) AND placed < FROM_DAYS(? + 1)"),
        ("LEFT(phone, 3) = ?", "phone LIKE CONCAT(?, '%')"),
        ("LOWER(phone) = ?", "phone = ?"),  # by a collation that ignores case
    ],
)
def test_a_period_is_a_half_open_range_and_never_between(condition: str, rewrite: str) -> None:
    finding = the(MYSQL_FUNCTION, hides(condition))
    assert rewrite in finding.found.fix.edits[0]
    for one in every(hides(condition)):
        text = words(one.found.fix).upper()
        assert "BETWEEN" not in text and "23:59:59" not in text and "<=" not in text


def test_a_case_that_the_collation_heeds_has_no_rewrite() -> None:
    ddl = ORDERS.format("").replace("utf8mb4_general_ci", "utf8mb4_bin")
    facts = indexed("mysql", "8.4.3", [ddl], [ALL.format("LOWER(phone) = ?")])
    fix = the(MYSQL_FUNCTION, facts).found.fix
    assert "Rewrite" not in words(fix)
    assert fix.statements == (
        "CREATE INDEX `orders_phone_lower` ON `shop`.`orders` ((LOWER(phone)))",
    )


def test_the_alias_of_the_query_is_not_in_the_index() -> None:
    facts = mysql("SELECT o.id FROM shop.orders o WHERE MONTH(o.placed) = ?")
    assert the(MYSQL_FUNCTION, facts).found.fix.statements == (FUNCTIONAL,)


def test_constants_that_the_digest_left_out_make_no_index() -> None:
    fix = the(MYSQL_FUNCTION, hides("DATE_FORMAT(placed, ?) = ?")).found.fix
    assert fix.statements == () and "the query's own constants" in words(fix)


@pytest.mark.parametrize(
    ("keys", "version", "state"),
    [
        (", KEY f ((month(`placed`)))", "8.4.3", FINE),
        (", m INT AS (month(`placed`)) VIRTUAL, KEY m (m)", "8.4.3", FINE),
        (", m INT AS (month(`placed`)) VIRTUAL", "8.4.3", FOUND),  # no index on it
        (", KEY f ((year(`placed`)))", "8.4.3", FOUND),  # another expression
    ],
)
def test_an_expression_that_is_indexed_is_no_finding(keys: str, version: str, state: str) -> None:
    facts = hides("MONTH(placed) = ?", keys=keys, version=version)
    assert look(MYSQL_FUNCTION, facts).state == state


def test_mariadb_before_11_8_does_not_find_the_generated_column() -> None:
    keys = ", m INT AS (month(`placed`)) VIRTUAL, KEY i_m (m)"
    old = hides("MONTH(placed) = ?", "mariadb", "10.11.6", keys=keys)
    assert "Name the generated column" in words(the(MYSQL_FUNCTION, old).found.fix)
    assert (
        look(MYSQL_FUNCTION, hides("MONTH(placed) = ?", "mariadb", "11.8.1", keys=keys)).state
        == FINE
    )


@pytest.mark.parametrize(
    "condition",
    [
        "MONTH(placed) = ? AND id = ?",  # one row by the primary key
        "MONTH(placed) = ? OR note = ?",  # decides nothing alone
        "LOWER(note) = ?",  # a column without an index
        "placed >= NOW() - INTERVAL ? DAY",
    ],
)
def test_an_expression_that_hides_no_index_is_no_finding(condition: str) -> None:
    assert look(MYSQL_FUNCTION, hides(condition)).state == FINE


def test_a_class_that_examines_few_rows_is_no_finding() -> None:
    few = mysql((ALL.format("MONTH(placed) = ?"), {"examined": 40}))
    assert look(MYSQL_FUNCTION, few).state == FINE


def test_a_class_of_little_time_is_of_low_severity() -> None:
    others = [ALL.format("customer = ?")] * 30
    facts = mysql(ALL.format("MONTH(placed) = ?"), *others)
    assert the(MYSQL_FUNCTION, facts).severity == "low"


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("placed::date = $1", "placed >= ? AND placed < ?::date + 1"),
        ("date_trunc($1, placed) = $2", "placed >= ? AND placed < ? + one unit of date_trunc"),
        ("extract(year from placed) = $1", "placed < make_date(? + 1, 1, 1)"),
        ("extract(month from placed) = $1", "each value comes again"),
    ],
)
def test_fixes_of_postgresql(condition: str, expected: str) -> None:
    fix = words(the(POSTGRES_FUNCTION, postgres(ALL.format(condition))).found.fix)
    assert expected in fix and "BETWEEN" not in fix.upper()


def test_no_index_of_postgresql_depends_on_the_time_zone() -> None:
    ddl = [
        "CREATE TABLE public.orders (id integer PRIMARY KEY, placed timestamp with time zone)",
        "CREATE INDEX i_placed ON public.orders USING btree (placed)",
    ]
    text = ALL.format("extract(month from placed) = $1")
    fix = the(POSTGRES_FUNCTION, indexed("postgres", "15.5", ddl, [text])).found.fix
    assert fix.statements == () and "AT TIME ZONE" in words(fix)


# -- a covering index (B04) -----------------------------------------------------------------------

COLUMNS = "SELECT customer, phone FROM orders WHERE placed > ?"


def test_a_range_of_44_percent_is_ignored_with_reason() -> None:
    found = the("mysql-covering-index", mysql((COLUMNS, {"sent": 1_809_458}))).found
    told = {fact.key: fact.value for fact in found.evidence}
    assert told["part of the table that is read"] == 0.4401  # of 4,111,896 rows, and not 45 %
    assert told["lookups by the index"] == 1_809_458
    assert 99_000 < told["pages of a scan"] < 101_000
    assert found.fix.statements == (
        "CREATE INDEX `orders_placed_customer_phone` ON `shop`.`orders` (`placed`, `customer`,"
        " `phone`)",
    )
    assert "Do not force `i_placed`" in found.fix.edits[0]
    assert not any("FORCE" in one for one in found.fix.statements)


def test_the_share_is_of_rows_that_calls_counted_and_no_estimate_is_believed() -> None:
    """EXPLAIN's rows are a few dives into the index; the server counts what calls returned. The
    table's own number is an estimate, too: of one that is too low no more than all is read."""
    for table_rows, share in ((4_111_896, 0.4401), (2_000_000, 0.9047), (1_500_000, 1.0)):
        facts = mysql((COLUMNS, {"sent": 1_809_458}), table_rows=table_rows)
        found = the("mysql-covering-index", facts).found
        told = {fact.key: fact.value for fact in found.evidence}
        assert told["part of the table that is read"] == share
        assert "Estimates of rows are samples" in words(found.fix)


def test_a_small_range_is_left_to_its_index() -> None:
    few = (COLUMNS, {"examined": 900, "sent": 900})
    assert look("mysql-covering-index", mysql(few)).state == FINE
    some = (COLUMNS, {"examined": 50_000, "sent": 50_000})
    fix = the("mysql-covering-index", mysql(some)).found.fix
    assert "Do not force" not in words(fix)  # below the break-even the index is right


def test_what_counts_rows_reads_the_whole_index_at_most() -> None:
    text = "SELECT customer, COUNT(*) FROM orders WHERE placed > ? GROUP BY customer"
    found = the("mysql-covering-index", mysql((text, {"sent": 10}))).found
    told = {fact.key: fact.value for fact in found.evidence}
    assert told["part of the table that is read"] == 1.0


# -- comparisons ----------------------------------------------------------------------------------


def test_a_number_and_a_text_are_joined() -> None:
    ddl = [ORDERS.format(""), CUSTOMERS.format("utf8mb4")]
    text = "SELECT o.id FROM orders o JOIN customers c ON c.phone = o.customer"
    finding = the("mysql-implicit-cast", indexed("mysql", "8.4.3", ddl, [text]))
    assert finding.found.about == "shop.customers.phone and shop.orders.customer"


def test_collations_of_one_character_set_are_the_servers_matter() -> None:
    other = CUSTOMERS.format("utf8mb4").replace("utf8mb4_general_ci", "utf8mb4_bin")
    facts = indexed("mysql", "8.4.3", [ORDERS.format(""), other], [JOINED])
    assert look("mysql-join-collations", facts).state == FINE


# -- what can go ----------------------------------------------------------------------------------


def test_counters_of_some_days_do_not_tell_that_nobody_reads() -> None:
    facts = mysql(keys=", KEY i_note (note)", usage={"i_note": 0}, days=3.0)
    outcome = look("mysql-unused-index", facts)
    assert outcome.state == NOT_KNOWN and "3.0 days old" in outcome.reason


def test_an_unused_index_says_since_when() -> None:
    found = the("mysql-unused-index", CASES["mysql-unused-index"].bad).found  # type: ignore[arg-type]
    assert ("counted for", 30.0, "days") in [
        (one.key, one.value, one.unit) for one in found.evidence
    ]


FK = ", FOREIGN KEY f (customer) REFERENCES customers (id), {}KEY i_customer (customer{})"


@pytest.mark.parametrize(
    ("keys", "index"),
    [
        (", UNIQUE KEY i_note (note)", "i_note"),
        (FK.format("", ""), "i_customer"),
        (FK.format("", ", note"), "i_customer"),
    ],
)
def test_unique_indexes_and_those_of_foreign_keys_stay(keys: str, index: str) -> None:
    facts = mysql(keys=keys, usage={index: 0})
    assert look("mysql-unused-index", facts).state == FINE


def test_the_index_that_another_tables_key_refers_to_stays() -> None:
    child = (
        "CREATE TABLE lines (id INT PRIMARY KEY, c INT, KEY (c), FOREIGN KEY (c) REFERENCES orders"
        " (customer))"
    )
    facts = indexed(
        "mysql",
        "8.4.3",
        [ORDERS.format(", KEY i_customer (customer)"), child],
        usage={"i_customer": 0},
    )
    assert look("mysql-unused-index", facts).state == FINE


def test_an_unused_index_that_a_rewrite_would_use_stays() -> None:
    facts = mysql(ALL.format("YEAR(placed) = ?"), usage={"i_placed": 0})
    assert {one.rule for one in every(facts)} == {MYSQL_FUNCTION}


def test_of_two_alike_the_one_that_a_rewrite_names_stays() -> None:
    facts = mysql(ALL.format("YEAR(placed) = ?"), keys=", KEY again (placed)")
    found = every(facts)
    assert {one.rule for one in found} == {MYSQL_FUNCTION, "mysql-duplicate-index"}
    fixes.merged(found)


@pytest.mark.parametrize(
    ("usage", "gone"),
    [
        ({"i_placed": 5, "longer": 0}, {("longer", "unused")}),
        ({"i_placed": 0, "longer": 0}, {("longer", "unused"), ("i_placed", "unused")}),
        ({"i_placed": 5, "longer": 5}, {("i_placed", "redundant")}),
        ({"i_placed": 0, "longer": 5}, {("i_placed", "unused")}),
    ],
)
def test_of_an_index_and_a_longer_one_never_both_go_for_each_other(
    usage: dict[str, int], gone: set[tuple[str, str]]
) -> None:
    facts = mysql(keys=", KEY longer (placed, customer)", usage=usage)
    assert {(one.index.name, one.why) for one in dropping.drops(facts)} == gone
    fixes.merged(every(facts))


@pytest.mark.parametrize(
    ("keys", "gone"),
    [
        (", KEY k (placed, id)", {"i_placed"}),  # the primary key ends it anyway
        (", KEY k (placed DESC, customer)", set()),
        (", UNIQUE KEY k (placed)", {"i_placed"}),
        (", UNIQUE KEY k (placed), UNIQUE KEY l (placed, customer)", {"i_placed"}),
        (", KEY k (note(10)), KEY l (note)", {"k"}),
        (", KEY k (note(10), customer), KEY l (note, customer)", set()),
        (", FULLTEXT KEY k (note), KEY l (note)", set()),
    ],
)
def test_which_index_begins_another(keys: str, gone: set[str]) -> None:
    assert {one.index.name for one in dropping.drops(mysql(keys=keys))} == gone


def test_an_index_that_orders_by_the_primary_key_stays() -> None:
    keys = ", KEY longer (placed, customer)"
    ordered = "SELECT id FROM orders WHERE placed = ? ORDER BY id LIMIT 10"
    assert dropping.drops(mysql(ordered, keys=keys)) == []
    assert [one.index.name for one in dropping.drops(mysql(keys=keys))] == ["i_placed"]


def test_fixes_that_drop_what_another_needs_are_refused() -> None:
    facts = mysql(ALL.format("YEAR(placed) = ?"))
    keeps = the(MYSQL_FUNCTION, facts)
    drops = the("mysql-duplicate-index", CASES["mysql-duplicate-index"].bad)  # type: ignore[arg-type]
    assert drops.found.fix.drops == keeps.found.fix.needs
    with pytest.raises(Contradiction, match=r"index shop\.orders\.i_placed is dropped by"):
        fixes.merged([drops, keeps])


def test_no_rule_contradicts_another_on_all_defects_of_a_table_together() -> None:
    classes = [ALL.format(f"{one}(placed) = ?") for one in ("YEAR", "MONTH", "DATE")]
    classes += [ALL.format("phone = 4711"), ALL.format("note LIKE '%x'"), COLUMNS]
    keys = ", KEY a (placed), KEY b (placed, customer), KEY c (phone), KEY d (phone, note)"
    for usage in ({}, {"a": 0, "b": 0, "c": 0, "d": 0, "i_placed": 0, "i_phone": 0}):
        found = every(mysql(*classes, keys=keys, usage=usage))
        fixes.merged(found)
        assert {MYSQL_FUNCTION, "mysql-implicit-cast"} <= {one.rule for one in found}


# -- what is not known ----------------------------------------------------------------------------


def test_an_account_that_sees_no_table_knows_nothing() -> None:
    facts = indexed("mysql", "8.4.3", [])
    for rule in BY_ID.values():
        assert rule.look(facts).state != FINE


@pytest.mark.parametrize("rule", sorted(BY_ID))
def test_numbers_of_tables_may_be_missing(rule: str) -> None:
    """A dump has none."""
    case = CASES[rule].bad
    assert isinstance(case, Facts)
    rows: Sequence[dict[str, Any]] = [
        {**row, "rows": None, "bytes": None} for row in case.tables["user_tables"].rows
    ]
    tables = {**case.tables, "user_tables": type(case.tables["user_tables"])(tuple(rows), "dump")}
    bare = Facts(case.subject, case.source, case.engine, case.version, case.facts, tables)
    assert look(rule, bare).state in (FOUND, FINE)
    assert (look(rule, bare).state == FINE) == rule.endswith("covering-index")
