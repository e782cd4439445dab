"""How a report describes a group's loop."""

from __future__ import annotations

import pytest

from dbdyno.experiment.types import Arrivals, RateStep, Think
from dbdyno.plan.types import GroupPlan
from dbdyno.report.text.loops import loop

STEADY = Arrivals("uniform", (RateStep(None, 20.0, 20.0),))


@pytest.mark.parametrize(
    ("arrivals", "think", "said"),
    [
        (None, None, "closed loop"),
        (None, Think(0.01), "closed loop with pauses of 10 ms"),
        (None, Think(0.01, "exponential"), "closed loop with pauses of 10 ms, exponential"),
        (
            None,
            Think(0.0002, per="operation"),
            "closed loop with 0.2 ms of the client's before each operation",
        ),
        (STEADY, None, "open loop at 20/s, uniform"),
        (
            STEADY,
            Think(0.001, per="operation"),
            "open loop at 20/s, uniform, with 1 ms of the client's before each operation",
        ),
    ],
)
def test_a_loop_in_words(arrivals: Arrivals | None, think: Think | None, said: str) -> None:
    group = GroupPlan("app", "oltp", "db", 1, 60.0, 10, {}, arrivals=arrivals, think=think)
    assert loop(group) == said
