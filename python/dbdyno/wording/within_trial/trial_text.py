"""Trials that are not fully described, were not warm, or were not steady."""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.plan import level_text
from dbdyno.plan.types import Plan
from dbdyno.wording import plurals

PLAIN = {
    "events_unreadable": "its events make no sense",
    "no_counts": "it has no counts of commits over time",
    "nothing_committed": "nothing was committed",
    "clock_backwards": "its clock went backwards at {at_s:.1f} s",
    "counts_missing": "{missing_s:.1f} of {measured_s:.1f} s have no counts of commits",
    "all_open_loops": "its sessions are open loops, which commit what arrives: warm-up does not"
    " show",
    "too_short": "{measured_s:g} s are too short to tell warm-up and steps",
    "had_outages": "it had {n:count outage}",
}


def still_warming(
    plan: Plan, levels: Mapping[str, str], cells: int, warm_s: float, measured_s: float
) -> str:
    """Most trials of some `cells`, of which one has `levels`."""
    return (
        f"still warming up for about {warm_s:.0f} of {measured_s:g} s in most trials"
        f"{_at(plan, levels, cells)}: a longer warmup is advised"
    )


def never_settled(plan: Plan, levels: Mapping[str, str], cells: int) -> str:
    """Most trials of some `cells`, of which one has `levels`."""
    return (
        f"throughput never settled in most trials{_at(plan, levels, cells)}: what is measured"
        " depends on when; a longer warmup or duration is advised"
    )


def _at(plan: Plan, levels: Mapping[str, str], cells: int) -> str:
    where = level_text.levels(plan, levels)
    more = f" and {plurals.count(cells - 1, 'more cell')}" if cells > 1 else ""
    return f" at {where}{more}" if where else ""
