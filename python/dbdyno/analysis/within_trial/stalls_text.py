"""The stalls of a cell in a plain sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dbdyno.analysis.types import CellStalls, Inside
from dbdyno.analysis.within_trial.stalls import DISTANCES_MIN
from dbdyno.wording import numbers

STOPPED = 0.95  # share of the commits missing: nothing to speak of was left


def with_sentence(found: CellStalls, trials: Sequence[Inside]) -> CellStalls:
    """`found` with its sentence: `Throughput falls to nothing for 0.8 s every 12.1 s (9 stalls in 3
    trials, 6.6 % of the time).`"""
    counted = f"{numbers.counted(found.stalls, 'stall')} in {_trials(found)}, {_share(found)}"
    if found.stalls == 1:
        one = next(one for one in trials if one.stalls)
        stall = one.stalls[0]
        when = f"once, for {seconds(stall.length_s)}, {seconds(stall.start_s)} into a trial"
        text = f"Throughput fell {fall(stall.depth)} {when} ({counted})."
        return replace(found, sentence=text)
    fallen = f"Throughput falls {fall(found.depth)} for {seconds(found.length_s)}"
    if found.period_s is not None:
        often = f" every {seconds(found.period_s)}"
    else:
        often = f", {_often(found.per_min)}"
        # Of few distances it is not known whether they are regular.
        if sum(len(one.stalls) - 1 for one in trials if one.stalls) >= DISTANCES_MIN:
            often += ", at no regular distance"
    return replace(found, sentence=f"{fallen}{often} ({counted}).")


def _often(per_min: float) -> str:
    if per_min >= 1.5:
        return f"about {numbers.number(float(f'{per_min:.2g}'))} times a minute"
    return f"about once in {60.0 / per_min:.0f} s"


def fall(depth: float) -> str:
    """`to nothing`, `by 72 %`."""
    return "to nothing" if depth >= STOPPED else f"by {100 * depth:.0f} %"


def seconds(value: float) -> str:
    """`0.8 s`, `12.1 s`, `125 s`: a tenth is what ticks can tell."""
    return f"{value:.1f} s" if value < 99.95 else f"{value:.0f} s"


def _trials(found: CellStalls) -> str:
    return numbers.counted(found.trials, "trial")


def _share(found: CellStalls) -> str:
    share = f"{100 * found.share:.1f} %" if found.share >= 0.001 else "under 0.1 %"
    return f"{share} of the time"
