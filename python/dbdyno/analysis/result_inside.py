"""What `result.json` holds of trials over time: steadiness, stalls, causes."""

from __future__ import annotations

from typing import Any

from dbdyno.analysis.types import Cause, CellStalls, Inside, Stall, Step

SUSPECTS_MAX = 10  # of each cause; a program wants the strongest


def inside(one: Inside) -> dict[str, Any]:
    """One trial."""
    return {
        "trial": one.trial,
        "cell": one.cell,
        "block": one.block,
        "measured_s": one.measured_s,
        "usual_per_s": one.usual_per_s,
        "warm_s": one.warm_s,
        "steady": one.steady,
        "independent_s": one.independent,
        "spread": one.spread,
        "steps": [_step(step) for step in one.steps],
        "stalls": [_stall(stall) for stall in one.stalls],
        "problem": one.problem,
    }


def cell_stalls(one: CellStalls) -> dict[str, Any]:
    """The stalls of one cell's trials."""
    return {
        "cell": one.cell,
        "trials": one.trials,
        "stalls": one.stalls,
        "measured_s": one.measured_s,
        "per_min": one.per_min,
        "share": one.share,
        "length_s": one.length_s,
        "depth": one.depth,
        "period_s": one.period_s,
        "period_n": one.period_n,
        "cause": cause(one.cause),
        "sentence": one.sentence,
    }


def cause(one: Cause | None) -> dict[str, Any] | None:
    """A cause with its strongest suspects; null where none was looked for."""
    if one is None:
        return None
    return {
        "name": one.name,
        "title": one.title,
        "sentence": one.sentence,
        "cure": one.cure,
        "metric": one.metric,
        "suspects": [
            {
                "metric": each.metric,
                "during": each.during,
                "otherwise": each.otherwise,
                "lag_s": each.lag_s,
                "score": each.score,
            }
            for each in one.suspects[:SUSPECTS_MAX]
        ],
    }


def _stall(one: Stall) -> dict[str, Any]:
    # Its suspects stand with the cell: a trial may have hundreds of stalls.
    return {
        "start_s": one.start_s,
        "length_s": one.length_s,
        "depth": one.depth,
        "cause": one.cause.name if one.cause else None,
    }


def _step(one: Step) -> dict[str, Any]:
    return {
        "at_s": one.at_s,
        "before_per_s": one.before_per_s,
        "after_per_s": one.after_per_s,
        "p": one.p,
        "cause": cause(one.cause),
    }
