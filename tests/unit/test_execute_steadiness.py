"""When a trial that waits for a steady state is tested."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dbdyno.execute.steadiness import Steadiness


def interval(ticks: int, phase: str = "measure") -> dict[str, Any]:
    groups = {"a": {"ticks": [2] * ticks}, "b": {"ticks": [3] * ticks}}
    return {"event": "interval", "phase": phase, "groups": groups}


def ended(seconds: float) -> list[dict[str, Any]]:
    """The events of a trial of one interval."""
    generator = {"cpu_s": 1.0}
    whole = {"event": "interval", "phase": "measure", "groups": {}, "generator": generator}
    end = {"event": "end", "measured_s": seconds, "groups": {}, "generator": generator}
    return [{**whole, "t_s": seconds, "length_s": seconds}, end]


class Judge:
    """Steady from a number of ticks on; keeps what it was shown."""

    def __init__(self, at: int | None) -> None:
        self.at = at
        self.seen: list[int] = []

    def __call__(self, commits: Sequence[int], least_s: float) -> float | None:
        assert set(commits) == {5}
        assert len(commits) * 0.1 >= least_s - 0.05
        self.seen.append(len(commits))
        return 1.5 if self.at is not None and len(commits) >= self.at else None


class Server:
    """One that makes a checkpoint each `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.began = 0

    def begin(self) -> None:
        self.began += 1

    def cycles(self) -> dict[str, float]:
        return {"a checkpoint": self.seconds}


def drive(steadiness: Steadiness, seconds: int) -> list[int]:
    """The seconds after which it was enough."""
    return [s for s in range(1, seconds + 1) if steadiness.is_enough(interval(10))]


def test_looks_begin_at_twice_the_least_and_grow_apart() -> None:
    judge = Judge(None)
    assert drive(Steadiness(judge, 5.0, 1800.0), 1800) == []
    assert judge.seen[:4] == [100, 110, 130, 150]
    assert len(judge.seen) < 60


def test_without_a_least_it_is_a_minute_and_two_are_measured() -> None:
    judge = Judge(0)
    assert drive(Steadiness(judge, None, 1800.0), 1800) == [120]
    assert judge.seen == [1200]


def test_what_the_server_says_of_itself_raises_it() -> None:
    server = Server(300.0)
    assert drive(Steadiness(Judge(0), None, 1800.0, server), 1800) == [660]
    assert server.began == 1
    # What the trial has no room for does not; it is said.
    steadiness = Steadiness(Judge(0), None, 400.0, Server(300.0))
    assert drive(steadiness, 400) == [120]
    _, said = steadiness.part(ended(120.0), [])
    assert "all 120 s" in said[0] or "a checkpoint after about 300 s" in said[0]
    # Nor does it where the experiment says what counts.
    assert drive(Steadiness(Judge(0), 5.0, 1800.0, Server(300.0)), 60) == [10]


def test_it_is_enough_once() -> None:
    judge = Judge(120)
    steadiness = Steadiness(judge, 5.0, 1800.0)
    assert drive(steadiness, 30) == [13]
    found, said = steadiness.part(ended(13.0), [])
    # It was steady from 1.5 s on, and no interval begins there.
    assert found is None
    assert "all 13 s of measured time" in said[0]
    assert judge.seen == [100, 110, 130]


def test_the_warm_up_and_other_events_do_not_count() -> None:
    judge = Judge(0)
    steadiness = Steadiness(judge, 5.0, 1800.0)
    assert not any(steadiness.is_enough(interval(10, "warmup")) for _ in range(50))
    assert not steadiness.is_enough({"event": "ready"})
    assert judge.seen == []
    assert steadiness.part(ended(5.0), [])[0] is None


def test_a_trial_that_has_ended_is_looked_at_once_more() -> None:
    judge = Judge(145)
    steadiness = Steadiness(judge, 5.0, 1800.0)
    assert drive(steadiness, 14) == []
    steadiness.is_enough(interval(6))
    events = ended(14.6)
    events.insert(1, {**events[0], "t_s": 14.6, "length_s": 4.0})
    found, said = steadiness.part(events, [])
    assert found is not None and found.from_s == 10.6
    assert said == ()
    assert judge.seen[-1] == 146


def test_a_trial_that_never_was_steady_counts_whole_and_says_so() -> None:
    steadiness = Steadiness(Judge(None), 5.0, 1800.0)
    drive(steadiness, 30)
    found, said = steadiness.part(ended(30.0), [])
    assert found is None
    assert said[0].startswith("it never became steady: all 30 s")
