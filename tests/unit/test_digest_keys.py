"""Values that statements select by: which are made up, which are drawn from the server's tables,
and the report on them and on what is not carried over."""

from __future__ import annotations

from typing import Any

import pytest
from ruamel.yaml import YAML

from dbdyno.digest import document
from dbdyno.digest.workload import carried, coverage, experiment, profile
from dbdyno.digest.workload.values import keys, places
from dbdyno.errors import DynoError
from dbdyno.execute.engine import request
from dbdyno.execute.engine.frequencies import Held
from fixtures.shapes import Made, text, unit, whole

MAIL = text(15, 15, 700, pattern="@@@@@@@@@@@@###", hot=[0.0725, 0.01])
DENSE = whole(1, 500, distinct=450)
SPARSE = whole(1, 10_000_000, distinct=60)


def made_of(made: Made) -> experiment.Workload:
    typed = document.parse(made.document())
    return experiment.made(typed, profile.parse(made.shape()), accepts_censored=False)


def group(made: Made) -> dict[str, Any]:
    return dict(YAML(typ="safe").load(made_of(made).text)["groups"]["app"])


def one(template: str, *parameters: dict[str, Any], tables: tuple[str, ...] = ("users",)) -> Made:
    made = Made()
    made.units = [unit(1000, made.says(template, *parameters))]
    made.classes[0]["tables"] = [*tables]
    return made


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("SELECT a FROM t WHERE b = :p1 AND c IN (:p2, :p3) AND d <=> :p4", "1234"),
        ("SELECT a FROM t WHERE (b = :p1 OR f(x) = :p2) AND c <> :p3 AND d NOT IN (:p4)", "12"),
        ("SELECT a FROM t WHERE b LIKE :p1 AND c > :p2 AND d BETWEEN :p3 AND :p4", ""),
        ("UPDATE t SET a = :p1, b = b + :p2 WHERE c = :p3", "3"),
        ("INSERT INTO t (a) VALUES (:p1) ON DUPLICATE KEY UPDATE a = :p2", ""),
        ("SELECT CASE WHEN a = :p1 THEN :p2 END FROM t JOIN u ON t.x = :p3 HAVING y = :p4", "34"),
        ("DELETE FROM t WHERE id IN (SELECT id FROM u WHERE k = :p1) LIMIT :p2", "1"),
    ],
)
def test_rows_are_looked_for_where_values_are_compared_by_equality(
    template: str, expected: str
) -> None:
    summary = profile.Summary(count=9, kind="whole", least=1, greatest=5, distinct=5)
    looked = places.look(template, [summary] * 4)
    assert "".join(str(place.number) for place in looked.places if place.is_key) == expected


def test_texts_that_are_looked_for_are_the_tables_own_with_the_skew_of_the_log() -> None:
    found = group(one("SELECT a FROM Users WHERE mail = :p1", MAIL, tables=("shop.users",)))
    [param] = found["params"].values()
    assert param.pop("theta") > 0
    assert param == {"column": "Users.mail", "per": "statement"}
    written = group(one("UPDATE users SET mail = :p1 WHERE id = :p2", MAIL, DENSE))
    assert not any("column" in each for each in written["params"].values())


@pytest.mark.parametrize(
    ("template", "tables", "column"),
    [
        ("SELECT 1 FROM users AS u, orders WHERE u.mail = :p1", ("users", "orders"), "users.mail"),
        ("SELECT 1 FROM users JOIN `orders` o ON o.mail = :p1", ("users", "orders"), "orders.mail"),
        ("SELECT 1 FROM users u JOIN orders o ON mail = :p1", ("users", "orders"), None),
        ("SELECT 1 FROM other.users WHERE mail = :p1", ("other.users",), None),
        ("SELECT 1 FROM `order` WHERE mail = :p1", ("order",), None),
        ("SELECT 1 FROM `my-users` WHERE mail = :p1", ("my-users",), None),
    ],
)
def test_the_column_is_the_one_of_the_table_that_the_statement_names(
    template: str, tables: tuple[str, ...], column: str | None
) -> None:
    [param] = group(one(template, MAIL, tables=tables))["params"].values()
    assert param.get("column") == column


def test_a_range_that_few_different_values_contradict_is_not_drawn_from() -> None:
    def source(*parameters: dict[str, Any]) -> dict[str, Any]:
        [param] = group(one("SELECT a FROM users WHERE id = :p1", *parameters))["params"].values()
        return dict(param)

    assert source(DENSE) == {"uniform": [1, 500], "per": "statement"}
    assert source(SPARSE) == {"column": "users.id", "per": "statement"}
    # As few as draws of a hot range give: no contradiction.
    hot = whole(1, 10_000, distinct=420, hot=[0.1])
    assert "zipfian" in source(hot)
    far = whole(1, 10_000_000, distinct=60, hot=[0.3])
    assert source(far)["column"] == "users.id" and source(far)["theta"] > 0.5
    assert "uniform" in source(whole(1, 10_000_000, distinct=1000))


def test_what_is_looked_for_and_made_up_is_an_error_where_the_answer_is_another() -> None:
    both = ("users", "orders")
    made = one("UPDATE users, orders SET a = 1 WHERE mail = :p1", MAIL, tables=both)
    [sent] = group(made)["statements"].values()
    assert sent["expect"] == {"affected": 1}
    made.classes[0]["measures"] = {
        "rows_affected": {"count": 1000, "sum": 300, "min": 0, "max": 1, "mean": 0.3,
                          "unit": "count"},
    }  # fmt: skip
    [sent] = group(made)["statements"].values()
    assert "expect" not in sent
    assert "100.00% of the calls search made-up values" in " ".join(
        coverage.why(made_of(made).coverage)
    )


def test_the_terminal_says_which_calls_draw_keys_from_tables() -> None:
    made = one("SELECT a FROM users WHERE mail = :p1", MAIL)
    made.units.append(unit(3000, made.says("SELECT 1 FROM t WHERE id = :p1", DENSE, calls=3000)))
    found = made_of(made).coverage
    [said] = coverage.why(found)
    assert said.startswith("25.00% of the calls look for keys") and "(users.mail)" in said
    assert found.carried == "Carried over: 100.00% of the calls and 100.00% of their query time."


def test_little_that_is_carried_over_is_refused_with_the_reasons() -> None:
    made = one("SELECT a FROM users WHERE id = :p1", DENSE)
    made.says("commit", calls=5000, table="", in_shape=False)
    rolled = made.says("DELETE FROM t WHERE id = :p1", DENSE, calls=240)
    made.units.append({**unit(240, rolled), "is_rolled_back": True})
    made.classes[1]["fingerprint"] = "commit"
    found = made_of(made).coverage
    coverage.refuse_little(found)  # 80.6 % of what dyno does not send itself
    assert round(found.calls_share, 4) == round(1000 / 1240, 4)
    made.units[-1]["count"] = made.statements[-1]["count"] = made.classes[-1]["count"] = 260
    with pytest.raises(DynoError) as refused:
        coverage.refuse_little(made_of(made).coverage)
    assert carried.ROLLED_BACK in refused.value.cause
    assert coverage.ACCEPT in refused.value.fix


def test_the_rate_is_of_what_is_carried_over() -> None:
    made = one("SELECT a FROM users WHERE id = :p1", DENSE)
    rolled = made.says("DELETE FROM t WHERE id = :p1", DENSE)
    whole_rate = made_of(made).text
    made.units.append({**unit(1000, rolled), "is_rolled_back": True})
    text = made_of(made).text
    assert "rate: 16.666667/s" in text and "rate: 16.666667/s" in whole_rate
    assert "The rate is of what is carried over: 50.0% of the log's transactions." in text


def test_ranges_of_a_column_that_lie_apart_stay_apart() -> None:
    made = Made()
    read = made.says("SELECT a FROM b WHERE id = :p1", whole(1, 2000), table="b")
    near = made.says("UPDATE b SET a = 1 WHERE id = :p1", whole(1500, 2500), table="b")
    far = made.says("DELETE FROM b WHERE id = :p1", whole(10**9, 10**9 + 900), table="b")
    made.units = [unit(1000, number) for number in (read, near, far)]
    ends = [param["uniform"] for param in group(made)["params"].values()]
    assert ends == [[1, 2500], [10**9, 10**9 + 900]]


def test_values_of_a_column_may_be_hot() -> None:
    values = [f"v{n}" for n in range(100)]
    held = Held(values)
    params = {"p": {"column": "t.c", "theta": 1.0, "per": "statement"}, "q": {"column": "t.c"}}
    asked = {"groups": [{"name": "g", "options": {"params": params}}]}
    [sent] = request.with_values(asked, {"g": {"p": held, "q": held}})["groups"]
    hot, even = sent["options"]["params"]["p"], sent["options"]["params"]["q"]
    assert even == {"values": values}
    assert hot.keys() == {"values", "weights", "per"}
    assert sorted(hot["weights"], reverse=True) == [1 / rank for rank in range(1, 101)]
    assert hot["weights"].index(1.0) > 0, "not the first ones in their order are hot"
    again = request.with_values(asked, {"g": {"p": held, "q": held}})
    assert again["groups"] == [sent]


def test_a_sparse_place_needs_some_calls_to_be_told() -> None:
    few = profile.Summary(count=20, kind="whole", least=1, greatest=10**6, distinct=3)
    assert not keys.contradicts(few)
