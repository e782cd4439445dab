"""Whether percentiles of a closed loop keep the transactions that were given up: simulated trials
whose transactions would have had known times, some of which were cut off, reduced as real ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tools.proof.row import Effort, Outcome, Row, Table
from tools.proof.simulating.many import clopper_pearson

from dbdyno.plan.types import GroupPlan
from dbdyno.store.metrics.histogram import Histogram
from dbdyno.store.metrics.latency import QUANTILES, Censored
from dbdyno.store.metrics.reduce import reduce_trial

TRIALS, QUICK_TRIALS = 250, 4
TRANSACTIONS = 20_000
BODY_MS, SLOW_MS = 2.0, 200.0
WRONG_MAX = 0.01
TOLERANCE = 0.02  # two buckets of the histogram
GROUP = GroupPlan("workload", "oltp", "db", 4, 60.0, 10, {})

Floats = NDArray[np.float64]


class Trial(NamedTuple):
    """Milliseconds that each transaction takes unless given up, and its age when given up (endless:
    never)."""

    took: Floats
    given_up: Floats


def _took(rng: np.random.Generator, slow: float) -> Floats:
    body = rng.lognormal(np.log(BODY_MS), 0.1, TRANSACTIONS)
    return np.where(rng.random(TRANSACTIONS) < slow, SLOW_MS * rng.uniform(0.9, 1.1), body)


def _deadline(rng: np.random.Generator) -> Trial:
    took = _took(rng, 0.02)
    return Trial(took, np.where(took > 100.0, 100.0, np.inf))


def _failing(rng: np.random.Generator, share: float, age_ms: float) -> Trial:
    """A share is refused, half of it of the slow ones, which are as many."""
    took = _took(rng, share)
    slow = took > SLOW_MS / 2
    fails = np.where(slow, rng.random(TRANSACTIONS) < 0.5, rng.random(TRANSACTIONS) < share / 2)
    return Trial(took, np.where(fails, np.minimum(age_ms, took), np.inf))


SCENARIOS = (
    ("2 % take 200 ms, deadline 100 ms", _deadline),
    ("0.8 % fail after 5 ms", lambda rng: _failing(rng, 0.008, 5.0)),
    ("0.8 % fail at once", lambda rng: _failing(rng, 0.008, 0.05)),
    ("0.01 % lose their connection", lambda rng: _failing(rng, 0.0001, 20.0)),
    ("nothing is given up", lambda rng: Trial(_took(rng, 0.02), np.full(TRANSACTIONS, np.inf))),
)


def _reduced(known: Histogram, ages: Histogram) -> tuple[dict[str, float], Mapping[str, str]]:
    total: dict[str, Any] = {
        "transactions": known.count,
        "operations": known.count,
        "rows": 0,
        "errors": {},
        "retries": 0,
        "failed": ages.count,
        "in_flight_oldest_ns": 0,
        "latency": Censored(known, ages).summary(),
        "classes": {},
    }
    generator = {"cpu_s": 1.0, "busy_max": 0.1, "lag": None, "generator_bound": False}
    end = {"event": "end", "measured_s": 60.0, "interrupted": False}
    event = {**end, "groups": {GROUP.name: total}, "generator": generator}
    found = reduce_trial([event], [], [GROUP])
    return found.metrics, found.bounds


def _wrong(trial: Trial, ages_count: bool) -> tuple[int, int, float, str]:
    """Percentiles printed as values that are off by more than the histogram, how many were printed
    as bounds, and p99 in ms with its sign."""
    ends = np.isfinite(trial.given_up)
    known = Histogram.of((trial.took[~ends] * 1e6).astype(np.int64).tolist())
    ages = Histogram.of((trial.given_up[ends] * 1e6).astype(np.int64).tolist())
    metrics, bounds = _reduced(known, ages if ages_count else Histogram.empty())
    truth = Histogram.of((trial.took * 1e6).astype(np.int64).tolist())
    wrong = 0
    for short, q in QUANTILES:
        name, true_ns = f"service_ms_{short}", truth.quantile_ns(q)
        assert true_ns is not None
        wrong += name not in bounds and abs(metrics[name] * 1e6 / true_ns - 1.0) > TOLERANCE
    names = {f"service_ms_{short}" for short, _ in QUANTILES}
    p99 = metrics["service_ms_p99"]
    return wrong, len(bounds.keys() & names), p99, "≥ " if "service_ms_p99" in bounds else ""


def measure(effort: Effort) -> Outcome:
    """Every scenario, with the ages and without them."""
    trials = QUICK_TRIALS if effort.quick else TRIALS
    rows, all_wrong, forgetting_wrong, idle_bounds = [], 0, 0, 0
    for name, scenario in SCENARIOS:
        rng = np.random.default_rng(8)
        drawn = [scenario(rng) for _ in range(trials)]
        ours = [_wrong(one, True) for one in drawn]
        forgetting = [_wrong(one, False) for one in drawn]
        count = trials * len(QUANTILES)
        wrong, forgot = sum(one[0] for one in ours), sum(one[0] for one in forgetting)
        bounds = sum(one[1] for one in ours)
        all_wrong, forgetting_wrong = all_wrong + wrong, forgetting_wrong + forgot
        if name == SCENARIOS[-1][0]:
            idle_bounds = bounds
        true = np.median([np.quantile(one.took, 0.99) for one in drawn])
        rows.append(
            (
                name,
                f"{true:.3g} ms",
                f"{np.median([one[2] for one in forgetting]):.3g} ms",
                f"{ours[0][3]}{np.median([one[2] for one in ours]):.3g} ms",
                f"{forgot / count:.1%}".replace("%", " %"),
                f"{wrong / count:.1%}".replace("%", " %"),
                f"{bounds / count:.1%}".replace("%", " %"),
            )
        )
        effort.say(f"    {name}: {wrong} of {count} wrong, {forgot} without ages")
    total = trials * len(QUANTILES) * len(SCENARIOS)
    upper = clopper_pearson(all_wrong, total)[1]
    return Outcome(
        measured=(
            f"{all_wrong} of {total:,} percentiles printed as values are wrong (at most"
            f" {100 * upper:.2g} %); without the ages {forgetting_wrong:,}"
        ),
        met=None if effort.quick else upper <= WRONG_MAX and idle_bounds == 0,
        tables=(
            Table(
                f"Percentiles p50, p95, p99, p99.9 of {trials} simulated trials of"
                f" {TRANSACTIONS:,} transactions each",
                (
                    "scenario",
                    "true p99",
                    "p99 of those that committed",
                    "p99 printed",
                    "wrong without ages",
                    "wrong",
                    "printed as a lower bound",
                ),
                tuple(rows),
            ),
        ),
        notes=(
            "Wrong: printed as a value, and more than 2 % (two buckets of the histogram) off what"
            " the same transactions would have shown had none been given up. A lower bound is wrong"
            " only if it lies above the truth, which ages cannot.",
        ),
    )


ROW = Row(
    name="given_up",
    claim="Percentiles do not forget the transactions that were given up",
    how=(
        "Simulated closed loops whose transactions would have known times; some meet a deadline,"
        " an error or a lost connection. The histogram of those that committed and that of the ages"
        " of the others go through the reduction of real trials."
    ),
    bar="at most 1 % of the percentiles printed as values are wrong (upper 95 % bound)",
    measure=measure,
    timed=False,
    before=(
        "a p99 of 200 ms printed as 2.5 ms under a deadline; 25 % of all percentiles of these"
        " trials wrong (commit 42ce8be)"
    ),
)
