"""Gives plans straight to the real `dyno-engine`, as `dyno` does, and hears what it says."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refusals import plain_words
from running import has

from dbdyno.execute.engine import job as engine

Event = Mapping[str, Any]

HANGS_S = 180.0  # an engine that takes longer
LIMIT_S = 60.0  # of trials that end when enough has happened


@dataclass(frozen=True)
class Said:
    """A job that is over."""

    code: int
    events: list[Event]
    text: str  # everything it printed

    @property
    def last(self) -> Event:
        return self.events[-1]

    def of(self, kind: str) -> list[Event]:
        """The events of a kind."""
        return [event for event in self.events if event["event"] == kind]

    @property
    def total(self) -> Event:
        """The totals of the only group of a trial that has ended."""
        assert self.last["event"] == "end", self.last
        total: Event = self.last["groups"]["g"]
        return total

    def failure(self, kind: str, *words: str) -> None:
        """Asserts that the job failed as `kind`, with a sentence, a hint, and exit code 2."""
        assert (self.code, self.last["event"], self.last.get("kind")) == (2, "failed", kind), (
            self.code,
            self.last,
        )
        said = f"{self.last['what']}; {self.last['hint']}"
        assert self.last["hint"], said
        missing = [word for word in words if word not in said]
        assert not missing, f"{missing} not in: {said}"


def plan(
    directory: Path, target: dict[str, Any], job: str = "run", duration_s: float = 1.0, **group: Any
) -> dict[str, Any]:
    """A plan for one group `g` of two sessions on one small table."""
    return {
        "schema_version": 1,
        "job": job,
        "trial": "t",
        "directory": str(directory),
        "seed": 7,
        "targets": {"db": target},
        "duration_s": duration_s,
        "interval_s": 0.1,
        "groups": [
            {
                "name": "g",
                "target": "db",
                "workload": "oltp",
                "sessions": 2,
                "options": {"tables": 1, "rows": 200}
                | ({"preset": "point_select"} if job == "run" else {}),
                **group,
            }
        ],
    }


def run(
    plan_: dict[str, Any],
    meanwhile: Callable[[], None] | None = None,
    until: Callable[[Sequence[Event]], bool] | None = None,
    heard: list[Event] | None = None,
) -> Said:
    """Runs a job to its end. `meanwhile` is called in a thread once two intervals were measured and
    a transaction was committed. `until`: whether enough has happened by the events so far; once it
    has, and `meanwhile` is over, the measured time ends, and its limit is `LIMIT_S`. `heard`: gets
    the events as they come.

    An engine that hangs fails the test.
    """
    events = [] if heard is None else heard
    plan_ = plan_ | ({"duration_s": LIMIT_S} if until else {})
    process = subprocess.Popen(
        [engine.find(), "run"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    watchdog = threading.Timer(HANGS_S, process.kill)
    watchdog.start()
    other: threading.Thread | None = None
    try:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(json.dumps(plan_))
        process.stdin.close()
        lines, may_act, is_measuring = [], has(1, intervals=2), has(0, intervals=1)
        for line in process.stdout:
            lines.append(line)
            events.append(json.loads(line))
            if meanwhile and other is None and may_act(events):
                other = threading.Thread(target=meanwhile)
                other.start()
            is_done = meanwhile is None or (other is not None and not other.is_alive())
            if until and is_done and is_measuring(events) and until(events):
                process.send_signal(signal.SIGUSR1)  # again, where it was too early
        said = process.stderr.read()
        code = process.wait()
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()
        if other:
            other.join()
    assert said == "", said
    text = "".join(lines)
    plain_words(text)
    assert code >= 0, f"the engine was killed by signal {-code}: it hung or crashed\n{text[-2000:]}"
    return Said(code, events, text)
