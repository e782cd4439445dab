"""Whether stalls that are made are found, when they begin, and whether any is invented.

SIGSTOP and SIGCONT of the server at moments drawn from a seed, in trials of `dyno run`; and
undisturbed trials. Of those the seconds count in whose sample the hypervisor took no CPU time (more
than a tick of the clock): a stall that touches none of the others is invented.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass

import numpy as np
from tools.proof.injecting.drive import Injection, Planned, drive
from tools.proof.row import Effort, Outcome, Row, Table

from dbdyno.store.metrics import stalls
from dbdyno.store.metrics.timeseries import Trace

SEED = 20
STOPS, QUIET_S = 40, 120.0  # of each server
TRIAL_STOPS = 20
LENGTHS_S = 0.5, 2.0
APART_S = 2.0, 3.5
FIRST_S = 3.0
WITHIN_S = 0.1
TRIAL_QUIET_S = 12.0
TRIALS_QUIET = 12  # at a time, to have enough seconds without steal
ROUNDS_QUIET = 3  # at most
TICKS_MAX = 1.5  # of steal in a sample; whole ones, but samples are not equally long
QUICK_QUIET_S = 3.0  # where nothing is judged

EXPERIMENT = """
experiment: stalls
targets: {{db: {target}}}
workload: {{kind: oltp, preset: {preset}, tables: 1, rows: 10000, sessions: 4}}
state: {{data: reuse, cache: warm}}
blocks: {blocks}
warmup: 1s
duration: {duration:.0f}s
interval: 1s
seed: 1
"""
SERVERS = {
    "null server": ("{kind: null}", "point_select"),
    "MariaDB": (
        "{kind: mariadb, durability: none, isolation: repeatable_read, memory: 128Mi}",
        "point_select",
    ),
}


@dataclass(frozen=True)
class Found:
    """What came of one server. `late_s`: found start less true start, one a stall found."""

    stops: int
    late_s: tuple[float, ...]
    missed: int
    quiet_s: float  # without disturbance or steal
    invented: int


def measure(effort: Effort) -> Outcome:
    """Both servers, disturbed and quiet."""
    draw = random.Random(SEED)
    stops = 2 if effort.quick else STOPS
    found = {name: _server(effort, draw, name, stops) for name in SERVERS}
    late = [late_s for each in found.values() for late_s in each.late_s]
    missed = sum(each.missed for each in found.values())
    invented = sum(each.invented for each in found.values())
    few = not effort.quick and min(each.quiet_s for each in found.values()) < QUIET_S
    worst = max((abs(late_s) for late_s in late), default=0.0)
    n = sum(each.stops for each in found.values())
    quiet_s = sum(each.quiet_s for each in found.values())
    return Outcome(
        f"{n - missed} of {n} found, starts within {1000 * worst:.0f} ms,"
        f" {invented} invented in {quiet_s:.0f} quiet seconds",
        None if few else missed == 0 and worst <= WITHIN_S and invented == 0,
        (
            Table(
                "Stops of 0.5 to 2 s, and what was found",
                (
                    "server",
                    "stops",
                    "found",
                    "start, median",
                    "start, worst",
                    "quiet seconds",
                    "invented",
                ),
                tuple(_row(name, each) for name, each in found.items()),
            ),
        ),
        ("Too few seconds had no steal: not judged.",) if few else (),
    )


def _row(name: str, each: Found) -> tuple[str, ...]:
    late = np.asarray(each.late_s or (0.0,)) * 1000
    return (
        name,
        str(each.stops),
        str(each.stops - each.missed),
        f"{np.median(late):+.0f} ms",
        f"{late[np.argmax(np.abs(late))]:+.0f} ms",
        f"{each.quiet_s:.0f}",
        str(each.invented),
    )


def _server(effort: Effort, draw: random.Random, name: str, stops: int) -> Found:
    target, preset = SERVERS[name]
    slug = name.replace(" ", "-")
    planned = [
        schedule(draw, "stop", min(TRIAL_STOPS, stops - first))
        for first in range(0, stops, TRIAL_STOPS)
    ]
    ends = [plan[-1][1] + plan[-1][2] for plan in planned]
    text = EXPERIMENT.format(
        target=target, preset=preset, blocks=len(planned), duration=max(ends) + APART_S[0]
    )
    effort.say(f"    {name}: {stops} stops")
    run, done = drive(effort, f"{slug}-stopped", text, planned)
    late: list[float] = []
    missed = 0
    for number, trial in enumerate(run.plan.trials):
        dips = stalls.of_trace(run.trace(trial.id))
        for stop in (one for one in done if one.trial == number):
            begun = _begun(stop, dips)
            missed += begun is None
            late += [] if begun is None else [begun - stop.start_s]
    quiet_s, invented = _undisturbed(effort, name)
    return Found(stops, tuple(late), missed, quiet_s, invented)


def _undisturbed(effort: Effort, name: str) -> tuple[float, int]:
    """How many seconds had neither disturbance nor steal, and how many stalls they had."""
    target, preset = SERVERS[name]
    tries, duration_s = (1, QUICK_QUIET_S) if effort.quick else (TRIALS_QUIET, TRIAL_QUIET_S)
    text = EXPERIMENT.format(target=target, preset=preset, blocks=tries, duration=duration_s)
    quiet_s, invented = 0.0, 0
    for number in range(1 if effort.quick else ROUNDS_QUIET):
        effort.say(f"    {name}: {tries} runs that nobody disturbs")
        run, _ = drive(effort, f"{name.replace(' ', '-')}-quiet-{number}", text, [])
        for trial in run.plan.trials:
            seconds, stalls_found = quiet(run.trace(trial.id))
            quiet_s += seconds
            invented += stalls_found
        if quiet_s >= QUIET_S:
            break
    return quiet_s, invented


def schedule(draw: random.Random, kind: str, count: int) -> list[Planned]:
    """So many disturbances, at moments and for times that are drawn."""
    planned: list[Planned] = []
    at_s = FIRST_S + draw.random()
    for _ in range(count):
        length_s = draw.uniform(*LENGTHS_S)
        planned.append((kind, at_s, length_s))
        at_s += length_s + draw.uniform(*APART_S)
    return planned


def _begun(stop: Injection, dips: tuple[stalls.Dip, ...]) -> float | None:
    """Where the stall that overlaps a stop begins."""
    for dip in dips:
        if dip.start_s < stop.end_s and dip.start_s + dip.length_s > stop.start_s:
            return dip.start_s
    return None


def quiet(trace: Trace) -> tuple[float, int]:
    """How long the hypervisor took no CPU time from the measured phase, and the stalls within: no
    sample that they touch has more than one tick of the clock, the least that is counted, which a
    machine loses now and then."""
    steal = trace.samples.get("cpu.steal")
    if steal is None:
        return trace.measured_s, len(stalls.of_trace(trace))
    ticks_per_s = os.sysconf("SC_CLK_TCK") * (os.cpu_count() or 1)
    begin_s = np.maximum(steal.t_s - steal.length_s, 0.0)
    end_s = np.minimum(steal.t_s, trace.measured_s)
    is_stolen = steal.values * steal.length_s * ticks_per_s > TICKS_MAX
    quiet_s = np.maximum(end_s - begin_s, 0.0)[~is_stolen].sum()

    def is_clear(dip: stalls.Dip) -> bool:
        touches = (begin_s < dip.start_s + dip.length_s) & (end_s > dip.start_s)
        return not np.any(touches & is_stolen)

    return float(quiet_s), sum(map(is_clear, stalls.of_trace(trace)))


ROW = Row(
    name="stalls",
    claim="Stalls are found, and none is invented",
    how=(
        "SIGSTOP and SIGCONT of the server, 0.5 to 2 s at moments drawn from a seed, in trials of"
        " `dyno run` against the null server and MariaDB, and undisturbed runs, of"
        " which the seconds count whose sample has no steal (at most one tick of the clock)."
    ),
    bar=(
        "every stall of 500 ms or more found, its start within 100 ms,"
        " none in 120 quiet seconds each"
    ),
    measure=measure,
    timed=True,
)
