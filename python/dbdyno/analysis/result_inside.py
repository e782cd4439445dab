"""What `result.json` holds of trials over time: steadiness, stalls, causes. Keys are the fields of
what was found, in their order."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from dbdyno.analysis.types import Cause, CellStalls, Inside, Stall

SUSPECTS_MAX = 10  # of each cause; a program wants the strongest


def inside(one: Inside) -> dict[str, Any]:
    """One trial."""
    return {
        **vars(one),
        "steps": [{**vars(step), "cause": cause(step.cause)} for step in one.steps],
        "stalls": [_stall(stall) for stall in one.stalls],
    }


def cell_stalls(one: CellStalls) -> dict[str, Any]:
    """The stalls of one cell's trials."""
    return {**vars(one), "cause": cause(one.cause)}


def cause(one: Cause | None) -> dict[str, Any] | None:
    """A cause with its strongest suspects; null where none was searched for."""
    if one is None:
        return None
    return {**vars(one), "suspects": [asdict(each) for each in one.suspects[:SUSPECTS_MAX]]}


def _stall(one: Stall) -> dict[str, Any]:
    # The cell has its suspects: a trial may have hundreds of stalls.
    return {**vars(one), "cause": one.cause.name if one.cause else None}
