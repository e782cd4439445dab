"""`predictions` of `result.json`: what models say of cells, next to what was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dbdyno.analysis.predictions.types import (
    KNOWN,
    LAG,
    MEMBERS,
    MODELS,
    TIMES,
    KnownError,
    Predictions,
    Quantity,
    Range,
)
from dbdyno.analysis.predictions.types import Sequence as Members
from dbdyno.plan.types import Plan


def predictions_json(found: Sequence[Predictions], plan: Plan) -> list[dict[str, Any]]:
    """An object a cell and target."""
    levels = {cell.index: dict(cell.levels) for cell in plan.cells}
    return [
        {
            "levels": levels[one.cell],
            "inputs": list(one.inputs),
            "not_predicted": list(one.unknown),
            "quantities": [_quantity(each) for each in one.quantities],
            "members": [_members(each) for each in one.sequences],
        }
        for one in found
    ]


def _quantity(one: Quantity) -> dict[str, Any]:
    low, high = one.predicted
    return {
        "what": one.what,
        "of": one.of,
        "unit": "s" if one.what in TIMES else "s/s" if one.what == LAG else "1/s",
        "model": MODELS[one.what],
        "predicted": _range((low, math.inf if one.at_least else high)),
        "measured": [_range(value) for value in one.measured],
        "blocks": list(one.blocks),
        "median": one.middle,
        "difference": one.difference,
        "known_error": _known(one.known_error),
        "model_off": one.is_model_off,
    }


def _members(one: Members) -> dict[str, Any]:
    return {
        "of": one.of,
        "model": MODELS[MEMBERS],
        "predicted": [list(each) for each in one.predicted],
        "measured": [list(each) for each in one.measured],
        "agree": one.agree,
        "known_error": _known(KNOWN[MEMBERS]),
        "model_off": one.is_model_off,
    }


def _known(known: KnownError | None) -> dict[str, Any] | None:
    if known is None:
        return None
    return {"proof": known.proof, "share": known.share, "seconds": known.seconds}


def _range(value: Range) -> list[float | None]:
    """Low and high; null: no upper end."""
    low, high = value
    return [low, high if math.isfinite(high) else None]
