"""Moments of a trial: when they come on its clock, what cancels them, what a failure does."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from dbdyno.execute.timeline import Moment, Timeline, TrialVoid

READY = {"event": "ready", "measure_unix_s": 1010.0}
END = {"event": "end"}


class Simulated:
    """Time that passes as a test says: waiting threads go on once it has come."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.asked: list[float] = []  # how long waits were asked to be
        self.moved = threading.Condition()

    def now(self) -> float:
        return self.now_s

    def wait(self, over: threading.Event, seconds: float) -> bool:
        with self.moved:
            until_s = self.now_s + seconds
            self.asked.append(seconds)
            self.moved.notify_all()
            self.moved.wait_for(lambda: over.is_set() or self.now_s >= until_s)
            return self.now_s < until_s

    def until_asked(self, count: int) -> None:
        with self.moved:
            assert self.moved.wait_for(lambda: len(self.asked) >= count, 120)

    def go_to(self, now_s: float) -> None:
        with self.moved:
            self.now_s = now_s
            self.moved.notify_all()


class Log:
    """A part, and actions, that remember when they were called."""

    def __init__(self, time: Simulated) -> None:
        self.time = time
        self.lines: list[str] = []
        self.grew = threading.Condition()

    def _add(self, line: str) -> None:
        with self.grew:
            self.lines.append(line)
            self.grew.notify_all()

    def start(self, measure_unix_s: float) -> None:
        self._add(f"start {measure_unix_s:g}")

    def stop(self) -> None:
        self._add("stop")

    def moment(self, at_s: float, then: Callable[[], None] = lambda: None) -> Moment:
        def action(zero_unix_s: float) -> None:
            self._add(f"{at_s:g} at {self.time.now() - zero_unix_s:g}")
            then()

        return Moment(at_s, f"moment {at_s:g}", action)

    def until(self, count: int) -> list[str]:
        with self.grew:
            assert self.grew.wait_for(lambda: len(self.lines) >= count, 120)
            return list(self.lines)


@pytest.fixture
def time() -> Simulated:
    return Simulated()


@pytest.fixture
def log(time: Simulated) -> Log:
    return Log(time)


def timeline(time: Simulated, log: Log, *moments: Moment) -> Timeline:
    return Timeline([log], moments, now=time.now, wait=time.wait)


def test_moments_come_at_their_second_of_the_measured_time(time: Simulated, log: Log) -> None:
    line = timeline(time, log, log.moment(30), log.moment(0), log.moment(2.5))
    line.on_event({"event": "started"})
    assert (log.lines, time.asked) == ([], [])
    line.on_event(READY)
    time.until_asked(3)
    assert sorted(time.asked) == [10.0, 12.5, 40.0]  # the warm-up, and then the moment
    time.go_to(1009.0)
    time.go_to(1010.0)
    assert log.until(2) == ["start 1010", "0 at 0"]
    time.go_to(1012.5)
    log.until(3)
    time.go_to(1040.0)
    log.until(4)
    line.on_event(END)
    line.close()
    assert log.lines[1:-2] == ["0 at 0", "2.5 at 2.5", "30 at 30"]
    assert log.lines[-1] == "stop"
    line.check()


def test_the_end_cancels_what_has_not_come_and_the_trial_is_void(time: Simulated, log: Log) -> None:
    line = timeline(time, log, log.moment(1), log.moment(30))
    line.on_event(READY)
    time.until_asked(2)
    time.go_to(1011.0)
    log.until(2)
    line.on_event(END)
    time.go_to(1039.0)  # wakes it
    line.close()
    assert [text for text in log.lines if text[0].isdigit()] == ["1 at 1"]
    with pytest.raises(TrialVoid, match="moment 30 did not run"):
        line.check()


def test_an_engine_that_never_was_ready_has_no_moments(time: Simulated, log: Log) -> None:
    line = timeline(time, log, log.moment(1))
    line.close()
    assert (log.lines, time.asked) == (["stop"], [])


def test_a_moment_that_has_passed_comes_at_once(time: Simulated, log: Log) -> None:
    time.go_to(1020.0)
    line = timeline(time, log, log.moment(1))
    line.on_event(READY)
    assert log.until(2)[1] == "1 at 10"
    assert time.asked == [0.0]
    line.close()
    line.check()


def test_an_action_under_way_is_waited_for_and_its_error_raised(time: Simulated, log: Log) -> None:
    may_end = threading.Event()

    def fails() -> None:
        may_end.wait(120)
        raise TrialVoid("it failed")

    line = timeline(time, log, log.moment(1, fails))
    line.on_event(READY)
    time.until_asked(1)
    time.go_to(1011.0)
    log.until(2)
    line.on_event(END)
    closing = threading.Thread(target=line.close)
    closing.start()
    assert closing.is_alive()
    may_end.set()
    closing.join(120)
    with pytest.raises(TrialVoid, match="it failed"):
        line.check()


def test_a_real_wait_is_cut_short(log: Log) -> None:
    line = Timeline([], [log.moment(1e6), log.moment(1e308)])
    line.on_event({"event": "ready", "measure_unix_s": 4e9})
    line.close()
    assert log.lines == []
