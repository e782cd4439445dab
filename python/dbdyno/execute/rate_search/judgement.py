"""What one probe of a search shows. A pure function of what its events were reduced to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dbdyno.experiment.claims.conditions import BROKEN, HOLDS, UNKNOWN, state, told
from dbdyno.plan.types import Find
from dbdyno.store.metrics import open_loop


@dataclass(frozen=True)
class Judgement:
    """`state`: HOLDS if all conditions do, BROKEN if one is broken, else UNKNOWN. `reasons`: why it
    does not hold. `committed_per_s`: transactions a second, never more than became due."""

    state: str
    reasons: tuple[str, ...] = ()
    committed_per_s: float = 0.0


def judge(
    find: Find, metrics: Mapping[str, float], bounds: Mapping[str, str], measured_s: float
) -> Judgement:
    """Judges a probe by the metrics of its searching group (names without its prefix).

    Besides the conditions of `while`, the rate must be sustained (`open_loop.held`), and no more
    than `failed_max` of the arrivals may fail. A broken condition decides, whatever else is not
    known.
    """
    due_per_s, committed_per_s = metrics["due_per_s"], metrics["transactions_per_s"]
    broken = []
    if not open_loop.held(metrics["unfinished_growth"], due_per_s * measured_s):
        broken.append(
            f"the rate was not held: {committed_per_s:,.1f} of {due_per_s:,.1f}/s were committed"
        )
    failed = metrics.get("failed_share", 0.0)
    if failed > find.failed_max:
        broken.append(
            f"{_percent(failed)} of the arrivals failed,"
            f" and at most {_percent(find.failed_max)} may"
        )
    unknown: list[str] = []
    for text in find.conditions:
        known = state(text, metrics, bounds)
        if known != HOLDS:
            (broken if known == BROKEN else unknown).append(told(text, metrics, bounds))
    committed_per_s = min(committed_per_s, due_per_s)
    if broken:
        return Judgement(BROKEN, tuple(broken), committed_per_s)
    return Judgement(UNKNOWN if unknown else HOLDS, tuple(unknown), committed_per_s)


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
