"""Outages as dbdyno says, against the server's own log."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from tools.proof import runs
from tools.proof.lab import trials
from tools.proof.lab.ready import ReadyTimes
from tools.proof.lab.setups import ALONE, Load, Setup, missing
from tools.proof.lab.trials import Ran
from tools.proof.row import Effort, Outcome, Row, Table

WITHIN_S = 0.5
AWAY_S = (0.3, 1.0, 2.0)  # until it is started again
BLOCKS, SESSIONS = 3, 8
BEGIN_S, TAIL_S, QUICK_TAIL_S = 1.0, 8.0, 12.0


@dataclass(frozen=True)
class Outage:
    """One kill, seconds: how long the server was away by its log, and what dbdyno says."""

    setup: str
    away_s: float
    log_s: float
    outage_s: float

    @property
    def difference_s(self) -> float:
        """What clients saw beyond the log."""
        return self.outage_s - self.log_s


def measure(effort: Effort) -> Outcome:
    """A run a kind of server and time away."""
    setups = [setup for setup in ALONE if not missing(setup)]
    seen: list[Outage] = []
    wrong: list[str] = []
    for setup in setups[:1] if effort.quick else setups:
        for away_s in AWAY_S[1:2] if effort.quick else AWAY_S:
            effort.say(f"    {setup.name}, away for {away_s:g} s")
            try:
                seen += _outages(effort, setup, away_s)
            except RuntimeError as error:
                wrong.append(f"{setup.name}: {error}")
    worst = max((abs(one.difference_s) for one in seen), default=float("nan"))
    enough = len(seen) == len(ALONE) * len(AWAY_S) * BLOCKS
    return Outcome(
        measured=f"{worst:.2f} s at most between outage and log, of {len(seen)} crashes",
        met=None if effort.quick else enough and not wrong and worst <= WITHIN_S,
        tables=(
            Table(
                "Crashes; seconds, median (smallest to largest)",
                ("server", "started after", "crashes", "away by its log", "outage", "difference"),
                tuple(_rows(seen)),
            ),
        ),
        notes=(
            "By its log a server is away from the kill until it says that it is ready for"
            f" connections. The outage is what {SESSIONS} sessions saw: the longest time without a"
            " commit, counted each 100 ms, until one of them has connected again.",
            *(f"Wrong: {one}." for one in wrong),
            *(f"Not tested here: {why}." for setup in ALONE if (why := missing(setup))),
        ),
    )


def _outages(effort: Effort, setup: Setup, away_s: float) -> Iterator[Outage]:
    kill = {"at": f"{BEGIN_S:g}s", "do": "kill", "back_after": f"{away_s:g}s"}
    tail_s = QUICK_TAIL_S if effort.quick else TAIL_S
    load = Load(
        *(1, BEGIN_S + away_s + tail_s),
        blocks=1 if effort.quick else BLOCKS,
        sessions=SESSIONS,
        faults=[kill],
    )
    with ReadyTimes(runs.place(effort)) as ready:
        ran = trials.run(effort, setup, load, f"{setup.short}-{away_s * 1e3:.0f}-ms")
    yield from _read(ran, setup.name, away_s, ready)


def _read(ran: Ran, name: str, away_s: float, ready: ReadyTimes) -> Iterator[Outage]:
    """RuntimeError where a trial does not count, or the server never was ready again."""
    for trial in ran.attempts:
        if not trial.is_complete:
            raise RuntimeError(f"void: {trial.record['void_reason']}")
        if any("outage_s" in name for name in trial.record.get("bounds", ())):
            raise RuntimeError("no commit came after the crash")
        [fault] = trial.faults
        events = (ran.directory / "trials" / trial.name / "events.ndjson").read_text().splitlines()
        [begun] = [e for e in map(json.loads, events) if e["event"] == "ready"]
        killed_unix_s = begun["measure_unix_s"] + fault["begun_s"]
        again_unix_s = ready.after(killed_unix_s)
        if again_unix_s is None:
            raise RuntimeError("its log never says that it was ready again")
        outage_s = float(trial.record["metrics"]["outage_s"])
        yield Outage(name, away_s, again_unix_s - killed_unix_s, outage_s)


def _rows(seen: Sequence[Outage]) -> Iterator[tuple[str, ...]]:
    for name, away_s in dict.fromkeys((one.setup, one.away_s) for one in seen):
        these = [one for one in seen if (one.setup, one.away_s) == (name, away_s)]
        parts = ("log_s", "outage_s", "difference_s")
        cells = (_range([getattr(one, part) for one in these]) for part in parts)
        yield (name, f"{away_s:g}", str(len(these)), *cells)


def _range(seconds: Sequence[float]) -> str:
    return f"{median(seconds):.2f} ({min(seconds):.2f} to {max(seconds):.2f})"


ROW = Row(
    name="outage",
    claim="An outage is as long as the server's own log says",
    how=(
        "MariaDB, MySQL and PostgreSQL are killed under load and started again. `outage_s` stands"
        " against the time from the kill to the line of the server's log that says that it is"
        " ready for connections."
    ),
    bar=f"within {WITHIN_S:g} s",
    measure=measure,
    timed=True,
)
