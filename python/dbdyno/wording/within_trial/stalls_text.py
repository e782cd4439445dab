"""The stalls of a cell in a plain sentence."""

from __future__ import annotations

from dbdyno.analysis.types import CellStalls, Stall
from dbdyno.analysis.within_trial.stalls import DISTANCES_MIN
from dbdyno.wording import numbers, plurals

STOPPED = 0.95  # share of the commits missing: nothing to speak of was left


def cell_stalls(found: CellStalls, first: Stall, distances: int) -> str:
    """`Throughput falls to nothing for 0.8 s every 12.1 s (9 stalls in 3 trials, 6.6 % of the
    time).` `first` of them; `distances` from one to the next within a trial."""
    counted = f"{plurals.count(found.stalls, 'stall')} in {_trials(found)}, {_share(found)}"
    if found.stalls == 1:
        when = f"once, for {_seconds(first.length_s)}, {_seconds(first.start_s)} into a trial"
        return f"Throughput fell {_fall(first.depth)} {when} ({counted})."
    fallen = f"Throughput falls {_fall(found.depth)} for {_seconds(found.length_s)}"
    if found.period_s is not None:
        often = f" every {_seconds(found.period_s)}"
    else:
        often = f", {_often(found.per_min)}"
        # Of few distances it is not known whether they are regular.
        if distances >= DISTANCES_MIN:
            often += ", at no regular distance"
    return f"{fallen}{often} ({counted})."


def _often(per_min: float) -> str:
    if per_min >= 1.5:
        return f"about {numbers.number(float(f'{per_min:.2g}'))} times a minute"
    return f"about once in {60.0 / per_min:.0f} s"


def _fall(depth: float) -> str:
    """`to nothing`, `by 72 %`."""
    return "to nothing" if depth >= STOPPED else f"by {100 * depth:.0f} %"


def _seconds(value: float) -> str:
    """`0.8 s`, `12.1 s`, `125 s`: ticks resolve a tenth."""
    return f"{value:.1f} s" if value < 99.95 else f"{value:.0f} s"


def _trials(found: CellStalls) -> str:
    return plurals.count(found.trials, "trial")


def _share(found: CellStalls) -> str:
    share = f"{100 * found.share:.1f} %" if found.share >= 0.001 else "under 0.1 %"
    return f"{share} of the time"
