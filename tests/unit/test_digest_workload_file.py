"""What a log's workload is made of: values, places, pace, and what is refused or omitted."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from dbdyno.digest import document
from dbdyno.digest.workload import carried, experiment, pace, profile, yamltext
from dbdyno.digest.workload.branching import building
from dbdyno.digest.workload.branching.slots import Branched
from dbdyno.digest.workload.profile import Step, Summary
from dbdyno.digest.workload.values import generators, lengths, places
from dbdyno.errors import DynoError
from dbdyno.wording.digest import words
from fixtures import shapes
from fixtures.shapes import Made, text, unit, whole


def summary(raw: dict[str, Any]) -> Summary:
    return (
        profile._adapter()
        .validate_python(  # the same types as the engine's
            {
                **Made().shape(),
                "statements": [
                    {
                        "id": "",
                        "template": "",
                        "template_share": 1,
                        "database": "",
                        "count": 1,
                        "parameters": [raw],
                    }
                ],
            }
        )
        .statements[0]
        .parameters[0]
    )


def parsed(made: Made) -> tuple[document.Document, profile.Shape]:
    return document.parse(made.document()), profile.parse(made.shape())


def written(made: Made, **options: Any) -> dict[str, Any]:
    text = experiment.made(*parsed(made), **{"accepts_censored": False, **options}).text
    return YAML(typ="safe").load(text)


def left(made: Made) -> dict[str, dict[str, int]]:
    return {k: dict(v) for k, v in carried.choose(*parsed(made)).left.calls.items()}


@pytest.mark.parametrize(("n", "theta"), [(10, 0.5), (500, 1.0), (100_000, 0.99), (50, 2.5)])
def test_the_exponent_gives_the_hottest_value_its_share(n: int, theta: float) -> None:
    share = 1 / sum(k**-theta for k in range(1, n + 1))
    assert math.isclose(generators.exponent(share, n), theta, abs_tol=0.002)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (whole(-5, 9), {"uniform": [-5, 9]}),
        (whole(1, 500, hot=[0.15]), {"zipfian": [1, 500], "theta": 1.007}),
        (whole(1, 90, is_sequence=True), {"sequence": 91}),
        (whole(0, 2**62, is_sequence=True), {"sequence": 2**62 + 1024}),
        (whole(-(2**63), 2**63), {"uniform": [-9 * 10**18, 9 * 10**18]}),
        (whole(3, 3, distinct=1, is_quoted=True), {"const": "3"}),
        (whole(2**62, 2**64), {"uniform": [2**62, 9 * 10**18]}),
        (whole(1, 9, nulls=0.25), {"uniform": [1, 9], "nulls": 0.25}),
        ({**text(5, 5, 1, pattern="@@-##"), "nulls": 0.5}, {"const": "aa-00", "nulls": 0.5}),
        ({"count": 9, "kind": "null", "nulls": 1}, {"values": [None]}),
        (text(0, 0, 1), {"const": ""}),
        (text(5, 5, 1, pattern="@@-##"), {"const": "aa-00"}),
        (text(3, 3, 30, pattern="@@@", alphabet="@"), {"text": "a@@"}),
        (text(3, 3, 900, pattern="@@@", alphabet="@"), {"text": "@@@"}),
        (text(2, 8, 900, alphabet="#"), {"text": "#####"}),
        (text(1, 1, 15, pattern="#"), {"values": [str(n) for n in range(10)]}),
        ({"count": 9, "kind": "decimal", "least": -1e17, "greatest": 1e17, "decimals": 9},
         {"uniform": [-(10**17), 10**17]}),
        ({"count": 9, "kind": "moment", "least": -1e30, "greatest": 1e30},
         {"times": ["0001-01-01 00:00:00", "9999-12-31 23:59:59"]}),
    ],
)  # fmt: skip
def test_generators(raw: dict[str, Any], expected: dict[str, Any]) -> None:
    assert generators.generator(summary(raw)) == expected


def test_columns_are_found_where_values_are_compared_set_or_inserted() -> None:
    def columns(template: str) -> list[str | None]:
        count = template.count(":p")
        found = places.look(template, [summary(whole(1, 5))] * count)
        assert found.refused is None
        return [place.column for place in found.places]

    assert columns("SELECT * FROM t WHERE t.id = :p1 AND `b``x` NOT IN (:p2,:p3)") == [
        "id", "b`x", "b`x",
    ]  # fmt: skip
    assert columns("UPDATE t SET n = n + :p1, c = :p2 WHERE d BETWEEN :p3 AND :p4") == [
        None, "c", "d", "d",
    ]  # fmt: skip
    assert columns("INSERT INTO t (a, b) VALUES (:p1, f(:p2)), (:p3, :p4)") == ["a", None, "a", "b"]
    assert columns("SELECT a FROM t WHERE :p1 < b LIMIT :p2") == [None, "limit"]


def test_numbers_of_the_syntax_stay_and_texts_of_the_question_are_refused() -> None:
    one, word = summary(whole(1, 1)), summary(text(4, 4, 1))
    sql = "SELECT CAST(a AS CHAR(:p1)), b::numeric(:p2,:p3) FROM t ORDER BY :p4, f(:p5) LIMIT :p6"
    looked = places.look(sql, [one] * 6)
    assert looked.sql == sql.replace(":p1", "1").replace(":p2,:p3", "1,1").replace(":p4", "1")
    for template in ("SELECT j->>:p1 FROM t", "SELECT now() - interval :p1", "SELECT :p1::jsonb",
                     "SELECT date_trunc(:p1, lower(x)) FROM t",
                     "SELECT has_table_privilege(:p1, 't')",
                     "SELECT group_concat(x separator :p1) FROM t"):  # fmt: skip
        assert "part of the question" in (places.look(template, [word]).refused or "")
    arrays = places.look("SELECT a FROM t WHERE b = ANY (:p1)", [word])
    assert arrays.refused == "a list in one value: an array"
    document = summary(text(4, 4, 1, is_document=True))
    assert "JSON" in (places.look("INSERT INTO t VALUES (:p1)", [document]).refused or "")
    for least, greatest, is_refused in ((2**63, 2**64, True), (1, 2**64, False)):
        looked = places.look("SELECT :p1", [summary(whole(least, greatest))])
        assert (looked.refused is not None) == is_refused
    bits = replace(word, is_quoted=False)
    assert "bits" in (places.look("SELECT :p1", [bits]).refused or "")
    assert (
        places.look("SELECT a FROM t WHERE b = :p1::text AND c IN (:p2)", [word] * 2).refused
        is None
    )


def test_every_call_is_carried_over_or_left_out_for_a_reason() -> None:
    for made in (shapes.shop(), shapes.hostile(), shapes.hundred()):
        typed, shaped = parsed(made)
        chosen = carried.choose(typed, shaped)
        kept = sum(
            unit.count * step.repeat
            for units in chosen.units.values()
            for unit in units
            for step in unit.steps
        )
        gone = sum(sum(by.values()) for by in chosen.left.calls.values())
        assert kept + gone == typed.overall.count


def test_what_is_left_out_says_why() -> None:
    made = Made()
    find = made.says("SELECT 1", calls=100)
    other = made.says("SELECT 2", calls=50, database="other")
    rolled = made.says("DELETE FROM t", calls=10)
    made.says("SELECT ?", calls=4, table="", in_shape=False)
    made.units = [
        unit(90, find),
        unit(5, find, other, transaction=True),
        {**unit(10, rolled), "is_rolled_back": True},
        unit(40, other),
    ]
    found = {reason: sum(by.values()) for reason, by in left(made).items()}
    assert found == {
        carried.MIXED: 10,
        carried.ROLLED_BACK: 10,
        carried.NOT_KEPT: 4,
        carried.EDGES: 10,
    }


def test_transactions_that_differ_in_repetitions_become_one_where_there_is_no_room() -> None:
    made = Made()
    one, two = made.says("SELECT 1", calls=1), made.says("INSERT INTO t VALUES (1)", calls=1)
    made.units = [unit(10, one, (two, n), transaction=True) for n in range(1, 130)]
    [kept] = carried.choose(*parsed(made)).units["shop"]
    assert isinstance(kept, Branched) and kept.count == 1290
    first, second = kept.slots
    assert first.is_plain and len(second.branches) == building.REPEATS_MAX
    mean = sum(one.repeat * one.weight for one in second.branches) / kept.count
    assert abs(mean - 65) < 0.5 and {one.statement for one in second.branches} == {two}
    made.units = made.units[:3]
    assert len(carried.choose(*parsed(made)).units["shop"]) == 3


def test_of_more_statements_than_a_group_may_have_the_least_are_left_out() -> None:
    made = Made()
    made.units = [unit(300 - n, made.says(f"SELECT {n}", calls=300 - n)) for n in range(300)]
    found = left(made)[carried.TOO_MANY]
    assert len(found) == 50 and max(found.values()) == 50 and "beyond the 250" in carried.TOO_MANY


def test_several_servers_of_a_log_are_named() -> None:
    made = shapes.shop()
    raw = made.document()
    raw["inputs"][0]["servers"] = ["MariaDB 10.11.14", "MariaDB 11.8.3"]
    typed = document.parse(raw)
    text = experiment.made(typed, profile.parse(made.shape()), accepts_censored=False).text
    assert "mysql-slow, MariaDB 10.11.14, MariaDB 11.8.3, " in text
    assert "Several servers" in " ".join(text.split())
    assert "MariaDB 10.11.14, then MariaDB 11.8.3" in words.sources(typed)[0]
    assert "Several servers" not in experiment.made(*parsed(made), accepts_censored=False).text


def test_a_file_of_a_filtered_log_says_so() -> None:
    found, of = parsed(shapes.shop())
    head = experiment.made(found, of, accepts_censored=False).text
    assert "omitted by filters" not in head
    some = replace(found, inputs=(replace(found.inputs[0], filtered=400),))
    head = " ".join(experiment.made(some, of, accepts_censored=False).text.split())
    assert "400 of them omitted by filters (--since" in head


def test_the_pace_is_the_logs() -> None:
    made = shapes.shop()
    typed, shaped = parsed(made)

    def paced(**changes: Any) -> pace.Pace:
        return pace.pace(typed, replace(shaped, **changes), 6000)

    assert paced(dispersion=1.0).arrivals == "poisson"
    assert paced(dispersion=0.1).arrivals == "uniform"
    assert paced().rates == [(pace.DURATION_S, 100.0)] and paced().sessions == 4
    assert paced(sessions_at_once=1, duration_s=30.0).rates is None  # always busy
    assert paced(duration_s=0.0).rates is None
    untimed = replace(typed, overall=replace(typed.overall, query_time=None))
    found = pace.pace(untimed, shaped, 6000)
    assert found.rates is not None and any("no query times" in why for why in found.why)
    # What ran before the first end makes no step.
    counts = (0,) * 7 + (9, 1, 0, 0, 0) * 24
    line = document.Timeline(begin_unix_s=0, bucket_s=0.5, count=counts, time_s=(0.0,) * 127)
    bursts = pace.pace(replace(typed, timeline=line), replace(shaped, dispersion=9.0), 6000)
    assert bursts.rates is not None and len(bursts.rates) == 60 and bursts.duration_s == 60
    assert math.isclose(sum(length * rate for length, rate in bursts.rates), 6000)


def test_a_connection_runs_one_statement_at_a_time_however_coarse_the_clock() -> None:
    typed, shaped = parsed(shapes.shop())
    second = document.Concurrency(seconds=(0.0,) * 3015 + (1.0,), max=3015, clock_s=1.0)
    coarse = replace(typed, concurrency=second, timeline=None)

    def sessions(of: document.Document, **changes: Any) -> tuple[int, str]:
        found = pace.pace(of, replace(shaped, **changes), 6000)
        return found.sessions, found.why[0]

    one = sessions(coarse, sessions=1, sessions_at_once=1)
    assert one == (1, "Sessions: the log has one connection.")
    untold: dict[str, Any] = {"sessions": 0, "sessions_at_once": None}
    assert sessions(coarse, **untold)[0] == 1
    line = document.Timeline(begin_unix_s=0, bucket_s=2.0, count=(9, 9), time_s=(3.0, 6.5))
    busiest = sessions(replace(coarse, timeline=line), **untold)
    assert busiest == (4, "Sessions: 4 statements at once in the busiest stretch, on average.")
    exact = replace(coarse, concurrency=replace(second, clock_s=0.0))
    assert sessions(exact, **untold) == (3015, "Sessions: 3,015 statements ran at once.")


def spread(values: list[float], shares: list[float] | None = None) -> dict[str, Any]:
    return {
        "count": 1000,
        "values": values,
        "shares": shares or [1 / len(values)] * len(values),
    }


def ranged(low: int, high: int, *values: float) -> dict[str, Any]:
    return {"low": low, "high": high, "widths": spread([*values])}


DATE = {"count": 9, "kind": "date", "least": 0, "greatest": 86400 * 30, "is_quoted": True}


def test_both_ends_of_a_range_come_of_one_draw() -> None:
    made = Made()
    read = made.says(
        "SELECT a FROM t WHERE id < :p1 AND id >= :p2", whole(100, 1099), whole(1, 1000)
    )
    made.statements[read]["ranges"] = [ranged(2, 1, 10, 99)]
    days = made.says("SELECT a FROM t WHERE d BETWEEN :p1 AND :p2", DATE, DATE)
    made.statements[days]["ranges"] = [ranged(1, 2, 6 * 86400)]
    point = made.says("SELECT a FROM t WHERE id = :p1", whole(1, 5000))
    made.units = [unit(100, read), unit(100, days), unit(100, point)]
    group = written(made)["groups"]["app"]
    assert [one["sql"] for one in group["statements"].values()] == [
        "SELECT a FROM t WHERE id < :t_id_upto AND id >= :t_id",
        "SELECT a FROM t WHERE d BETWEEN :t_d AND :t_d_upto",
        "SELECT a FROM t WHERE id = :t_id_2",
    ]
    assert group["params"] == {
        "t_id": {"uniform": [1, 1000], "per": "statement"},
        "t_id_width": {"values": [10, 99], "per": "statement"},
        "t_id_upto": {"sum": ["t_id", "t_id_width"]},
        "t_d": {"dates": ["1970-01-01", "1970-01-31"], "per": "statement"},
        "t_d_width": {"const": 6, "per": "statement"},
        "t_d_upto": {"sum": ["t_d", "t_d_width"]},
        "t_id_2": {"uniform": [1, 5000], "per": "statement"},
    }


def test_a_range_that_two_statements_of_a_transaction_share_stays_one() -> None:
    made = Made()
    sql = "SELECT a FROM {} WHERE id BETWEEN :p1 AND :p2"
    both = [
        made.says(sql.format(table), whole(1, 900), whole(1, 999), table=table) for table in "ab"
    ]
    for one in both:
        made.statements[one]["ranges"] = [ranged(1, 2, 99)]
    made.units = [unit(100, *both, transaction=True)]
    made.ties = [{"statement": 1, "place": n, "earlier": 0, "earlier_place": n} for n in (1, 2)]
    group = written(made)["groups"]["app"]
    [steps] = [one["steps"] for one in group["transactions"].values()]
    assert [step["sql"].partition("WHERE ")[2] for step in steps] == [
        "id BETWEEN :a_id AND :a_id_upto"
    ] * 2
    assert {one.get("per") for one in group["params"].values()} == {"transaction", None}


def test_ends_of_different_kinds_are_drawn_each_for_itself() -> None:
    made = Made()
    read = made.says(
        "SELECT a FROM t WHERE d BETWEEN :p1 AND :p2", DATE, {**DATE, "kind": "moment"}
    )
    made.statements[read]["ranges"] = [ranged(1, 2, 5)]
    made.units = [unit(100, read)]
    assert not any("sum" in one for one in written(made)["groups"]["app"]["params"].values())


def test_lists_have_the_lengths_of_the_log() -> None:
    made = Made()
    sql = "INSERT INTO t (a, b) VALUES (:p1, CAST(:p2 AS CHAR(:p3)))"
    new = made.says(sql, whole(1, 9), whole(1, 9), whole(8, 8))
    lists = [{"place": 1, "places": 3, "element": "(:p1, CAST(:p2 AS CHAR(:p3)))",
              "lengths": spread([1, 50], [0.25, 0.75])}]  # fmt: skip
    made.statements[new]["lists"] = lists
    find = made.says("SELECT a FROM t WHERE id IN (:p1) AND b IN (:p2)", whole(1, 9), whole(1, 9))
    made.statements[find]["lists"] = [
        {"place": 1, "places": 1, "element": ":p1", "lengths": spread([1.0])},
        {
            "place": 2,
            "places": 1,
            "element": ":p2",
            "lengths": spread([*map(float, range(1, 201))]),
        },
    ]
    made.units = [unit(100, new), unit(100, find)]
    insert, select = written(made)["groups"]["app"]["statements"].values()
    element = "(:t_a, CAST(:value AS CHAR(8)))"
    assert insert["sql"] == f"INSERT INTO t (a, b) VALUES {element}"
    assert insert["lists"] == [{"of": element, "lengths": [1, 50], "weights": [0.25, 0.75]}]
    [long] = select["lists"]
    assert long["of"] == ":t_b"
    assert len(long["lengths"]) <= lengths.FORMS_MAX ** (1 / 2)
    mean = sum(map(float.__mul__, map(float, long["lengths"]), long["weights"]))
    assert abs(mean / sum(long["weights"]) - 100.5) < 1


@given(
    st.lists(st.tuples(st.integers(1, 10**6), st.floats(0.001, 1)), min_size=1, max_size=40),
    st.integers(1, 6),
    st.integers(1, 50),
)
def test_few_lengths_stand_for_all(drawn: list[tuple[int, float]], lists: int, places: int) -> None:
    drawn = sorted(dict(drawn).items())
    total = sum(share for _, share in drawn)
    shares = [share / total for _, share in drawn]
    found = profile.Spread(count=9, values=tuple(float(n) for n, _ in drawn), shares=tuple(shares))
    many, weights = lengths.lengths(found, lists, places, 5)
    assert 1 <= len(many) == len(weights) <= lengths.LENGTHS_MAX
    assert many == sorted(set(many)) and many[-1] * places <= max(lengths.VALUES_MAX, places)
    longest = lengths.VALUES_MAX // places
    mean = sum(min(n, longest) * share for (n, _), share in zip(drawn, shares, strict=True))
    again = sum(map(float.__mul__, map(float, many), weights)) / sum(weights)
    assert abs(again - mean) <= 0.5 + mean * 0.01


def test_keys_that_are_asked_for_upwards_are_no_new_rows() -> None:
    made = Made()
    made.units = [
        unit(100, made.says("SELECT a FROM t WHERE id = :p1", whole(1, 90, is_sequence=True)))
    ]
    [param] = written(made)["groups"]["app"]["params"].values()
    assert param == {"uniform": [1, 90], "per": "statement"}


def test_bulk_loads_are_left_out() -> None:
    made = Made()
    sql = "INSERT INTO t VALUES " + ", ".join(f"(:p{n})" for n in range(1, 61))
    bulk = made.says(sql, *[whole(1, 9)] * 60, calls=2)
    made.units = [unit(2, bulk), unit(1000, made.says("SELECT 1"))]
    assert any("bulk loads" in reason for reason in left(made))


def test_hints_are_carried_over_as_they_are_or_not_at_all() -> None:
    made = Made()
    hint = "select /*+ MAX_EXECUTION_TIME(1000) SET_VAR(a='x:y') */ a from t where b = :p1"
    same, named = made.says(hint, whole(1, 9)), made.says(hint.replace("1000", ":p1"), whole(1, 9))
    differ = made.says(hint, whole(1, 9))
    made.statements[differ]["hints_differ"] = True
    made.units = [unit(1000, number) for number in (same, named, differ)]
    (sent,) = written(made)["groups"]["app"]["statements"].values()
    assert hint.partition(" a from")[0] in sent["sql"]
    assert set(left(made)) == {
        "statements whose text cannot be parsed with certainty",
        "statements with hints whose values differ from call to call",
    }


def test_writing_is_said_and_locks_are_no_reads() -> None:
    made = Made()
    locks = made.says("SELECT a FROM t WHERE id = :p1 FOR UPDATE", whole(1, 5))
    made.units = [unit(1000, locks)]
    found = written(made)
    assert found["targets"]["db"]["may"] == {"write": "yes"}
    assert found["groups"]["app"]["statements"]["select_t"]["reads"] is False


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": "mongodb"}, "make no workload"),
        ({"classes": []}, "no statement in these logs"),
        ({"units": []}, "nothing in these logs can be run"),
        ({"censored": [{"input": 0, "kind": "threshold", "value": 0.5, "evidence": "seen"}]},
         "only statements slower than 0.5 s are in it, as far as can be seen"),
        ({"censored": [{"input": 0, "kind": "sampled", "value": 10, "evidence": "said"}]},
         "only one of 10 statements is in it"),
        ({"format": "mysql-binlog"}, "omits statements that only read"),
    ],
)  # fmt: skip
def test_what_makes_no_workload_is_refused(change: dict[str, Any], said: str) -> None:
    made = shapes.shop()
    for name, value in change.items():
        setattr(made, name, value)
    with pytest.raises(DynoError) as refused:
        written(made)
    assert said in refused.value.what
    if "accept" in (refused.value.fix or ""):
        text = experiment.made(*parsed(made), accepts_censored=True).text
        assert "# CENSORED: this log is without" in text


@given(st.text(max_size=80))
def test_any_text_comes_back_from_yaml(text: str) -> None:
    line = yamltext.scalar({"a": [text], f"b{text[:20]}": "x"})
    assert YAML(typ="safe").load(line) == {"a": [text], f"b{text[:20]}": "x"}
    for each in yamltext.comment(f"{text} end", 3):
        assert each.startswith("   #") and "\n" not in each and "\r" not in each
        assert YAML(typ="safe").load(each) is None


@given(st.text(alphabet="abc:p1`\"'(),=<- \\\n#", max_size=60))
def test_templates_of_any_kind_are_taken_apart(template: str) -> None:
    looked = places.look(template, [summary(whole(1, 5))] * 20)
    names = {place.number: f"n{place.number}" for place in looked.places}
    if all(number <= 20 for number in names):
        places.renamed(looked.sql, names)


def test_a_step_is_what_the_engine_says() -> None:
    assert parsed(shapes.shop())[1].units[2].steps == (
        Step(statement=2, repeat=1),
        Step(statement=3, repeat=3),
    )
