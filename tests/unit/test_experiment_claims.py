"""Claims: their grammar, and the cells that they compare."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.errors import DynoError
from dbdyno.experiment.claims import grammar
from dbdyno.experiment.claims.conditions import unmet
from dbdyno.experiment.claims.metrics import Scope


@dataclass(frozen=True)
class F:
    name: str
    levels: tuple[str, ...]
    values: tuple[float, ...] | None = None


@dataclass(frozen=True)
class C:
    index: int
    levels: dict[str, str]


FACTORS = (
    F("cache", ("on", "off")),
    F("readers.sessions", ("1", "4", "20"), (1.0, 4.0, 20.0)),
    F("rows", ("1000", "1000000"), (1e3, 1e6)),
)


def cells(*factors: F) -> list[C]:
    names = [factor.name for factor in factors]
    combinations = itertools.product(*(factor.levels for factor in factors))
    return [C(i, dict(zip(names, levels, strict=True))) for i, levels in enumerate(combinations)]


CELLS = cells(*FACTORS)


def resolve(text: str, cells_: list[C] | None = None) -> tuple[grammar.ResolvedPart, ...]:
    return grammar.resolve(
        grammar.parse(text), FACTORS, CELLS if cells_ is None else cells_, Scope(("g",))
    )


def levels_of(side: grammar.Side | None) -> dict[str, str]:
    assert side is not None
    assert side.cell is not None
    return CELLS[side.cell].levels


def test_a_ratio_against_a_number() -> None:
    (part,) = resolve("qps[off] / qps[on] >= 2.5 at sessions=20, rows=1000")
    assert part.at == {"readers.sessions": "20", "rows": "1000"}
    assert (part.operator, part.threshold) == (">=", 2.5)
    assert part.left.metric == "operations_per_s"
    assert levels_of(part.left) == {"cache": "off", "readers.sessions": "20", "rows": "1000"}
    assert levels_of(part.right) == {"cache": "on", "readers.sessions": "20", "rows": "1000"}


@pytest.mark.parametrize(
    "text",
    [
        "tps[off] / tps[on] >= 2 at 1, 1000",
        "tps[off] >= 2 * tps[on] at 1, 1000",
        "tps[off] >= tps[on] * 2 at 1, 1000",
        "0.5 * tps[off] >= tps[on] at 1, 1000",
        "tps[off] / 2 >= tps[on] at 1, 1000",
        "2 * tps[on] <= tps[off] at 1, 1000",
        "2 <= tps[off] / tps[on] at 1, 1000",
        "1 / tps[on] >= 2 / tps[off] at 1, 1000",
        "tps[off, 1]/tps[on,1]>=2 at rows=1e3",
        "tps['off'] / tps[\"on\"] >= 2e0 at 1 and 1_000",
        "tps[cache=off] / tps[cache=on] >= 2 at sessions=1 at rows=1000",
    ],
)
def test_spellings_of_one_claim(text: str) -> None:
    (part,) = resolve(text)
    ratio = (part.left, part.right, part.operator, part.threshold)
    (plain,) = resolve("tps[off] / tps[on] >= 2 at 1, 1000")
    if part.operator == "<=":  # the same, upside down
        (plain,) = resolve("tps[on] / tps[off] <= 0.5 at 1, 1000")
    assert (part.left.cell, part.right and part.right.cell) == (
        plain.left.cell,
        plain.right and plain.right.cell,
    ), ratio
    assert (part.operator, part.threshold) == (plain.operator, plain.threshold)


@pytest.mark.parametrize(
    ("text", "operator", "threshold"),
    [
        ("errors_per_s[on] <= 0 at 1, 1000", "<=", 0.0),
        ("0 >= errors_per_s[on] at 1, 1000", "<=", 0.0),
        ("100 < 2 * tps[on] at 1, 1000", ">", 50.0),
        ("p95 ms[on] < 12.5 at 1, 1000", "<", 12.5),
        ("status.Com_select[on] > 1e3 at 1, 1000", ">", 1000.0),
    ],
)
def test_one_quantity_against_a_number(text: str, operator: str, threshold: float) -> None:
    (part,) = resolve(text)
    assert part.right is None
    assert (part.operator, part.threshold) == (operator, threshold)


@pytest.mark.parametrize(
    "text",
    [
        "tps[off] ~= 1.25 * tps[on] within 3% at 1, 1000",
        "tps[off] / tps[on] ~= 1.25 at 1, 1000 within 3 %",
        "0.8 * tps[off] ~= tps[on] at 1 within 3.0% at 1000",
        "0.8 ~= tps[on] / tps[off] within 3% at 1, 1000",
    ],
)
def test_spellings_of_one_equality(text: str) -> None:
    (part,) = resolve(text)
    assert levels_of(part.left)["cache"] == "off"
    assert levels_of(part.right)["cache"] == "on"
    assert (part.operator, part.threshold, part.margin) == ("~=", 1.25, pytest.approx(0.03))


def test_one_quantity_may_equal_a_number() -> None:
    (part,) = resolve("5 ~= p95[on] within 10% at 1, 1000")
    assert part.right is None
    assert (part.operator, part.threshold, part.margin) == ("~=", 5.0, pytest.approx(0.1))


@given(st.floats(0.1, 10), st.floats(0.001, 1), st.floats(0.05, 20))
def test_equality_reads_the_same_from_either_side(
    threshold: float, margin: float, value: float
) -> None:
    low, high = grammar.within(threshold, margin)
    assert low < threshold < high
    there = grammar.compare(value, "~=", threshold, margin)
    assert there == (low <= value <= high)
    if min(abs(value / low - 1), abs(value / high - 1)) > 1e-9:
        assert grammar.compare(1 / value, "~=", 1 / threshold, margin) == there


def test_a_condition_cannot_be_an_equality() -> None:
    with pytest.raises(DynoError, match="cannot be a condition"):
        grammar.parse_condition("errors_per_s ~= 5 within 3%", Scope(("g",)))


def test_at_each_makes_a_part_a_level() -> None:
    parts = resolve("tps[off] > tps[on] at each sessions, each rows")
    assert len(parts) == 6
    assert [p.at for p in parts[:2]] == [
        {"readers.sessions": "1", "rows": "1000"},
        {"readers.sessions": "1", "rows": "1000000"},
    ]
    assert all(levels_of(p.left) | {"cache": "on"} == levels_of(p.right) for p in parts)


def test_peak_lists_the_points_of_its_factor() -> None:
    (part,) = resolve("peak(qps, sessions)[on] <= 4 at rows=1000")
    assert part.left.kind == "peak"
    assert [value for value, _ in part.left.points] == [1.0, 4.0, 20.0]
    assert [CELLS[cell].levels["readers.sessions"] for _, cell in part.left.points] == [
        "1",
        "4",
        "20",
    ]
    (both,) = resolve("peak(qps, sessions)[on] / peak(qps, sessions)[off] < 0.5 at 1000")
    assert both.right is not None
    assert both.right.kind == "peak"
    assert both.threshold == 0.5


def test_two_metrics_of_one_cell_may_be_compared() -> None:
    (part,) = resolve("p99[on] / p50[on] <= 10 at 1, 1000")
    assert part.right is not None
    assert part.left.cell == part.right.cell


def test_levels_that_several_factors_have_need_a_factor() -> None:
    factors = (F("a", ("1", "2"), (1.0, 2.0)), F("b", ("1", "2"), (1.0, 2.0)))
    with pytest.raises(DynoError, match="several factors have `1`") as caught:
        grammar.resolve(grammar.parse("tps[1] > 1 at b=1"), factors, cells(*factors), Scope(("g",)))
    assert "`a=1` or `b=1`" in caught.value.fix


def test_last_components_that_several_factors_have_need_the_full_name() -> None:
    factors = (F("r.sessions", ("1", "2")), F("w.sessions", ("3", "4")))
    with pytest.raises(DynoError, match="several factors end in `sessions`") as caught:
        grammar.resolve(
            grammar.parse("tps[sessions=1] > 1"), factors, cells(*factors), Scope(("g",))
        )
    assert "r.sessions, w.sessions" in caught.value.fix


def test_cells_that_were_dropped() -> None:
    left = [cell for cell in CELLS if cell.levels["readers.sessions"] != "20"]
    parts = resolve("tps[off] > tps[on] at each sessions, rows=1000", left)
    assert [part.at["readers.sessions"] for part in parts] == ["1", "4"]
    with pytest.raises(grammar.MissingCell, match="there is no cell"):
        resolve("tps[off] > tps[on] at sessions=20, rows=1000", left)
    (peak,) = resolve("peak(tps, sessions)[on] <= 4 at 1000", left)
    assert [value for value, _ in peak.left.points] == [1.0, 4.0]
    only_on = [cell for cell in CELLS if cell.levels["cache"] == "on"]
    with pytest.raises(grammar.MissingCell):
        resolve("tps[off] > tps[on] at each sessions, rows=1000", only_on)


def test_a_factor_with_one_level_need_not_be_named() -> None:
    factors = (F("cache", ("on", "off")), F("engine", ("mariadb",)))
    (part,) = grammar.resolve(
        grammar.parse("tps[off] > tps[on]"), factors, cells(*factors), Scope(("g",))
    )
    assert part.at == {}


def test_too_many_comparisons_are_refused() -> None:
    wide = tuple(F(name, tuple(str(n) for n in range(40))) for name in ("a", "b"))
    with pytest.raises(DynoError, match="more than 1000 comparisons"):
        grammar.resolve(
            grammar.parse("tps > 1 at each a, each b"), wide, cells(*wide), Scope(("g",))
        )


@given(st.text(max_size=60))
def test_any_text_is_a_claim_or_an_error(text: str) -> None:
    try:
        claim = grammar.parse(text)
    except DynoError as error:
        what = error.what
    else:
        what = f"claim {claim.text}"
    assert what.startswith("claim ")


_SIGNS = [*"()[],=/*><4", ">=", "<=", "2.5"]
_NAMES = ["at", "each", "and", "on", "off", "tps", "qps", "p95", "ms", "peak", "sessions", "rows"]
_WORDS = st.sampled_from([*_SIGNS, *_NAMES])


@given(st.lists(_WORDS, max_size=14))
def test_any_words_resolve_or_are_an_error(words: list[str]) -> None:
    try:
        parts = resolve(" ".join(words))
    except DynoError:
        return
    assert parts
    for part in parts:
        assert part.operator in grammar.OPERATORS
        for side in (part.left, part.right):
            assert side is None or (side.cell is None) == (side.kind == grammar.PEAK)


def test_conditions_are_canonical_and_judge_trials() -> None:
    condition = grammar.parse_condition("p95 ms <= 10", Scope(("g",)))
    assert condition.text == "service_ms_p95 <= 10"
    assert condition.holds(10.0)
    assert not condition.holds(10.5)
    require = (condition.text, "status.Created_tmp_disk_tables < 1e1", "g.x > 0.1")
    assert unmet(require[:2], {"service_ms_p95": 9, "status.Created_tmp_disk_tables": 9.9}) == []
    reasons = unmet(require, {"service_ms_p95": 11.0, "status.Created_tmp_disk_tables": 10.0})
    assert reasons == [
        "service_ms_p95 is 11, and `service_ms_p95 <= 10` is required",
        "status.Created_tmp_disk_tables is 10, and `status.Created_tmp_disk_tables < 1e1` "
        "is required",
        "g.x was not measured, and `g.x > 0.1` is required",
    ]
