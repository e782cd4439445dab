"""How often the values of a column are drawn, by the rows that have them."""

from __future__ import annotations

import pytest

from dbdyno.execute.engine import request
from dbdyno.execute.engine.frequencies import EXPONENT_MAX, Held, exponent_of, weights

ROWS = [1] * 90 + [10] * 9 + [100]  # 280 in all
HELD = Held(list(range(100)), ROWS, 280)


def met(drawn: list[float]) -> float:
    """The share of the rows that a draw meets, on average."""
    rows = sum(n * weight for n, weight in zip(ROWS, drawn, strict=True))
    return rows / sum(drawn) / HELD.of


def test_values_are_drawn_as_often_as_rows_have_them() -> None:
    assert weights({"column": "t.c"}, HELD) is None
    assert weights({"column": "t.c", "by_rows": True}, HELD) == ROWS
    # Of rare values one in ten was taken, and stands for the others.
    some = Held(["a", "b"], [1, 100], 1000, step=10)
    assert weights({"column": "t.c", "by_rows": True}, some) == [10.0, 100.0]


@pytest.mark.parametrize("share", [0.004, 0.01, 0.1, 0.3])
def test_a_draw_meets_as_many_rows_as_were_counted(share: float) -> None:
    drawn = weights({"column": "t.c", "meets": share}, HELD)
    assert drawn is not None and met(drawn) == pytest.approx(share, rel=1e-6)


def test_the_exponent_is_0_for_equal_weights_and_1_for_those_of_the_rows() -> None:
    assert exponent_of(HELD, 2.8 / 280) == pytest.approx(0.0, abs=1e-6)
    assert exponent_of(HELD, sum(n * n for n in ROWS) / 280**2) == pytest.approx(1.0)
    # Applications may ask for what is rare, and more often than rows tell only so far.
    assert exponent_of(HELD, 0.005) < 0
    assert exponent_of(HELD, 0.9) == pytest.approx(EXPONENT_MAX)
    assert exponent_of(HELD, 1e-9) == pytest.approx(-EXPONENT_MAX)
    # Rows without a value count, too.
    assert exponent_of(Held(HELD.values, ROWS, 560), 2.8 / 560) == pytest.approx(0.0, abs=1e-6)


def test_the_engine_gets_values_and_weights() -> None:
    param = {"column": "t.c", "meets": 0.3, "per": "statement"}
    asked = {"groups": [{"name": "g", "options": {"params": {"p": param}}}]}
    [sent] = request.with_values(asked, {"g": {"p": HELD}})["groups"]
    made = sent["options"]["params"]["p"]
    assert made.keys() == {"values", "weights", "per"}
    assert len(made["values"]) == len(made["weights"]) == 100
