"""Trials that end once a test has seen what it waits for, instead of after a time.

A busy machine takes ten times as long for anything. An experiment whose `duration` is `LONG` ends
here in order, by SIGUSR1 to its engine as where a trial is steady, as soon as enough has happened.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

LONG = "60s"  # only what never comes takes as long
LOOK_S = 0.1

Line = dict[str, Any]


class Watched:
    """What a trial has told so far, or at all: the files of its directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.events = lines(directory / "events.ndjson")
        self.faults = lines(directory / "faults.ndjson")
        self.roles = lines(directory / "roles.ndjson")
        self.measured = [one for one in self.events if one.get("phase") == "measure"]

    @property
    def lateness_s(self) -> float:
        """The longest interval. A commit may be anywhere in its own, which ends late where the
        engine's reporter gets no CPU: so much may be missing at each end of a gap."""
        return max(float(one["length_s"]) for one in self.measured)

    def commits(self, from_s: float = 0.0, until_s: float = float("inf")) -> int:
        """Those of intervals between two times."""
        return sum(
            group["transactions"]
            for one in self.measured
            if _begun_s(one) >= from_s - 1e-6 and one["t_s"] <= until_s + 1e-6
            for group in one["groups"].values()
        )

    def each(self) -> dict[str, int]:
        """The commits of each group."""
        names = self.measured[0]["groups"]
        return {
            name: sum(one["groups"][name]["transactions"] for one in self.measured)
            for name in names
        }

    def well(self, since_s: float = 0.0) -> bool:
        """Whether all sessions had their connection at the end of an interval that has begun since
        then, and each group committed in it."""
        return any(
            _begun_s(one) >= since_s
            and all(group["transactions"] and not group["lost"] for group in one["groups"].values())
            for one in self.measured
        )

    def times(self, do: str, step: str = "begin", outcome: str = "ok") -> list[float]:
        """When steps of faults of a kind had that outcome."""
        wanted = (do, step, outcome)
        return [
            float(one["t_s"])
            for one in self.faults
            if (one["do"], one["step"], one["outcome"]) == wanted
        ]

    def failed(self) -> bool:
        """Whether a fault could not be begun or undone, which voids the trial."""
        return any(one["outcome"] == "failed" for one in self.faults)

    def changed(self, change: str) -> list[float]:
        """When nodes changed their roles so."""
        return [float(one["t_s"]) for one in self.roles if one["change"] == change]

    def over_s(self) -> float | None:
        """When all faults of its plan had begun, and those had ended that have an end; None as long
        as that is not so."""
        asked = planned(self)
        done = [one for one in self.faults if one["outcome"] == "ok"]
        begun = sum(one["step"] == "begin" for one in done)
        undone = sum(one["step"] == "undo" for one in done)
        lasting = sum(fault.get("for_s") is not None for fault in asked)
        if begun < len(asked) or undone < lasting:
            return None
        return max((float(one["t_s"]) for one in done), default=0.0)

    def stalled(self, at_s: float, length_s: float) -> bool:
        """Whether there was no commit just before that time, or for as long some time before: an
        outage that begins then is not taken for the effect of a fault."""
        empty_s = longest_s = 0.0
        for one in self.measured:
            if one["t_s"] > at_s + 0.05:
                break
            commits = sum(group["transactions"] for group in one["groups"].values())
            empty_s = 0.0 if commits else empty_s + one["length_s"]
            longest_s = max(longest_s, empty_s)
        return empty_s > 0 or longest_s > length_s - 2 * self.lateness_s


def settled(watched: Watched) -> bool:
    """Whether its faults are over, and all is well after them; or one could not happen."""
    over_s = watched.over_s()
    return watched.failed() or (over_s is not None and watched.well(over_s))


@contextmanager
def ended(run: Path, enough: Callable[[Watched], object] = settled) -> Iterator[None]:
    """Ends each trial of a run, or of all runs in a directory, which are made meanwhile, once
    `enough` is true of it."""
    over = threading.Event()
    problems: list[Exception] = []
    thread = threading.Thread(target=_watch, args=(run, enough, over, problems), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    if problems:
        raise problems[0]


def trials(run: Path) -> dict[str, Watched]:
    """The complete trials of a run that is over, by their ids."""
    found = run.glob("trials/*/trial.json")
    return {file.parent.name: Watched(file.parent) for file in found if "." not in file.parent.name}


def trial(run: Path) -> Watched:
    """The only one."""
    [found] = trials(run).values()
    return found


def planned(watched: Watched) -> list[Line]:
    """The faults of a trial, as its plan has them."""
    run, name = watched.directory.parents[1], watched.directory.name
    plan = json.loads((run / "manifest.json").read_text())["plan"]
    [cell] = {one["cell"] for one in plan["trials"] if one["id"] == name}
    found: list[Line] = plan["cells"][cell].get("faults") or []
    return found


def lines(file: Path) -> list[Line]:
    """The whole lines of a file that may grow, or not be there yet."""
    try:
        text = file.read_text()
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def _begun_s(interval: Line) -> float:
    return float(interval["t_s"]) - float(interval["length_s"])


def _watch(
    run: Path,
    enough: Callable[[Watched], object],
    over: threading.Event,
    problems: list[Exception],
) -> None:
    told: set[int] = set()
    while not over.wait(LOOK_S):
        try:
            found = (run.glob(f"{where}trials/*/events.ndjson") for where in ("", "*/"))
            for events in itertools.chain(*found):
                if "." not in events.parent.name:  # else an attempt that was set aside
                    _look(Watched(events.parent), enough, told)
        except Exception as error:  # of a thread: raised where the run is made
            problems.append(error)
            return


def _look(watched: Watched, enough: Callable[[Watched], object], told: set[int]) -> None:
    if not watched.measured or watched.events[-1]["event"] in ("end", "failed"):
        return
    pid = int(watched.events[0]["pid"])
    if pid in told or not enough(watched):
        return
    told.add(pid)
    with suppress(OSError):  # it has ended by itself just now
        if b"dyno-engine" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGUSR1)
