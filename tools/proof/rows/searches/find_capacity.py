"""Searches for the capacity of simulated queues, judged as real probes are."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from tools.proof.row import Effort, Outcome, Row, Table
from tools.proof.simulating.many import many, percent
from tools.proof.simulating.queue import GROUP, MEASURED_S, Server, probe

from dbdyno.execute.rate_search.judgement import Judgement, judge
from dbdyno.execute.rate_search.search import Found, search
from dbdyno.experiment.values.bounds import AT_MOST
from dbdyno.experiment.workloads.arrivals import lowest_per_s
from dbdyno.plan.types import Find, GroupPlan
from dbdyno.store.metrics.reduce import reduce_trial

BIAS_MAX = 0.02
SESSIONS = (4, 64, 256)
# By capacity: how many searches, and whether the bar holds them.
SIZES = {8_000.0: (30, True), 2_000.0: (120, True), 500.0: (40, False)}
SCVS = {"exponential": 1.0, "scv 4": 4.0}
OTHERS = 10  # searches of what has no such rate
LIMIT = Find(("response_ms_p99 < 60000",), start_per_s=220.0)  # never what decides


def find(server: Server, sessions: int, wanted: Find, rng: np.random.Generator) -> Found:
    """One search, as `Probing` makes it, with each probe a simulated run of the engine."""
    group = GroupPlan(GROUP, "kv", "db", sessions, 0.0, 0, {})

    def once(_: int, rate_per_s: float) -> Judgement:
        reduced = reduce_trial(probe(server, rate_per_s, sessions, rng), [], [group])
        return judge(wanted, reduced.metrics, reduced.bounds, MEASURED_S)

    return search(wanted, lowest_per_s(wanted.conditions, MEASURED_S), once)


@dataclass(frozen=True)
class Answer:
    """The output of a search."""

    rate_per_s: float | None
    bound: str
    probes: int


def one(server: Server, sessions: int, wanted: Find, _: int, rng: np.random.Generator) -> Answer:
    """One search from a start that no other has: an eighth to a quarter of the capacity."""
    start_per_s = server.capacity_per_s / 8 * 2 ** rng.random()
    wanted = Find(
        wanted.conditions,
        start_per_s=max(start_per_s, wanted.start_per_s),
        failed_max=wanted.failed_max,
    )
    found = find(server, sessions, wanted, rng)
    return Answer(found.rate_per_s, found.bound, len(found.probes))


@dataclass(frozen=True)
class Bias:
    """Of the searches of one queue, as shares of its capacity. `error`: half the 95 % interval."""

    mean: float
    error: float
    spread: float
    finished: int
    probes: tuple[int, ...]


def bias(server: Server, sessions: int, count: int) -> Bias:
    """How far searches are off on average. Those that did not finish are omitted, and counted."""
    answers = many(functools.partial(one, server, sessions, LIMIT), count, seed=20301 + sessions)
    rates = [each.rate_per_s for each in answers if each.rate_per_s and not each.bound]
    off = np.array(rates or [math.nan]) / server.capacity_per_s - 1
    spread = float(off.std(ddof=1)) if len(off) > 1 else 0.0
    error = 1.96 * spread / math.sqrt(len(off))
    return Bias(float(off.mean()), error, spread, len(rates), tuple(a.probes for a in answers))


def measure(effort: Effort) -> Outcome:
    """All queues with all numbers of sessions; then what has no rate to be found."""
    rows, judged = [], []
    for capacity_per_s, (count, counts) in SIZES.items():
        if effort.quick:
            capacity_per_s, count = capacity_per_s / 10, 1
        for name, scv in SCVS.items():
            for sessions in SESSIONS:
                found = bias(Server(capacity_per_s, scv), sessions, count)
                judged += [found] if counts else []
                rows.append(
                    (
                        *(f"{capacity_per_s:,.0f}/s", name, str(sessions)),
                        f"{found.finished} of {count}",
                        f"{100 * found.mean:+.2f} % (±{100 * found.error:.2f})",
                        percent(found.spread, 2),
                        f"{np.mean(found.probes):.1f} (to {max(found.probes)})",
                    )
                )
                effort.say(f"    {', '.join(rows[-1])}")
    said, right = _without_a_rate(effort)
    means = [each.mean for each in judged]
    return Outcome(
        measured=f"{100 * min(means):+.1f} to {100 * max(means):+.1f} % on average, standard"
        f" deviation of single searches up to {percent(max(each.spread for each in judged))};"
        f" {'all' if right else 'not all'} searches without a rate say so",
        met=max(abs(each.mean) + each.error for each in judged) <= BIAS_MAX and right,
        tables=(
            Table(
                "What searches find, against the capacity",
                (
                    *("capacity", "service", "sessions", "finished", "bias"),
                    *("standard deviation", "probes"),
                ),
                tuple(rows),
            ),
            Table(
                "Without such a rate, or where it cannot be judged",
                ("system", "truth", "searches", "right", "for example"),
                said,
            ),
        ),
        notes=(
            "The bias is the mean over searches that finished, with its 95 % interval; the bar is"
            " compared with the far end, at 2,000/s and 8,000/s. The fewer arrivals a probe has"
            " (2,500 at 500/s), the lower and the wider are the results: longer probes are the"
            " cure. Half of `within` (1 %) is the step of the search, which gives a rate that was"
            " seen to work, from below.",
        ),
    )


def _without_a_rate(effort: Effort) -> tuple[tuple[tuple[str, ...], ...], bool]:
    """Systems that fail at any rate, or below what a percentile needs."""
    count = 1 if effort.quick else OTHERS
    p99 = ("response_ms_p99 < 60000",)
    served = ("service_ms_p99 < 60000",)
    cases = (
        (
            "half of the statements fail",
            Server(2_000.0, failing=0.5),
            Find(p99),
            AT_MOST,
            "below any rate",
        ),
        ("1 in 5,000 fails", Server(2_000.0, failing=0.0002), Find(p99), "", "2,000/s"),
        (
            "100/s, a p99 needs 219/s",
            Server(100.0),
            Find(p99, start_per_s=220.0),
            AT_MOST,
            "below 219/s",
        ),
        (
            "all fails, and all may: no p99",
            Server(2_000.0, failing=1.0),
            Find(served, failed_max=1.0),
            "none",
            "not measurable",
        ),
    )
    rows, right = [], True
    for name, server, wanted, bound, truth in cases[:1] if effort.quick else cases:
        answers = many(functools.partial(one, server, 64, wanted), count, seed=20302)
        good = [each for each in answers if _bound(each) == bound]
        right &= len(good) == len(answers)
        rows.append((name, truth, str(count), str(len(good)), _text(answers[0])))
    return tuple(rows), right


def _bound(answer: Answer) -> str:
    return "none" if answer.rate_per_s is None else answer.bound


def _text(answer: Answer) -> str:
    if answer.rate_per_s is None:
        return "not measurable"
    return f"{'below ' if answer.bound == AT_MOST else answer.bound}{answer.rate_per_s:,.0f}/s"


ROW = Row(
    name="find_capacity",
    claim="`find:` finds the capacity with any number of sessions, and says so where it cannot",
    how=(
        "Searches of queues with 4 servers whose capacity is known (exponential service, and a"
        " squared coefficient of variation of 4), with probes of 5 s after 1 s. Simulated arrivals"
        " become the engine's events; dbdyno's own reduction, judgement and search do the rest."
    ),
    bar="on average within 2 % of capacities of 2,000/s and 8,000/s; an upper bound where all rates"
    " fail, no rate where none can be judged",
    measure=measure,
    timed=False,
    before="+4.0 to +4.6 % with 256 sessions at 2,000/s; 9,935/s found where half of the statements"
    " fail; 0/s where nothing can be judged (commit 42ce8be)",
)
