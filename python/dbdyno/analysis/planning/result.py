"""A planning as JSON: `schemas/planning.schema.json`."""

from __future__ import annotations

import math
from typing import Any

from dbdyno.analysis.planning.types import Needed, Part, Planning, Split

SCHEMA_VERSION = 1


def to_json(found: Planning) -> dict[str, Any]:
    """The object that `dyno plan --json` prints. Deviations are relative (0.01: 1 %)."""
    return {
        "schema_version": SCHEMA_VERSION,
        "experiment": found.experiment,
        "detect": found.detect,
        "power": found.power,
        "found": found.found,
        "blocks_seen": found.blocks_seen,
        "own": {"blocks": found.own_blocks, **_split(found.own)},
        "best": _split(found.best),
        "splits": [_split(split) for split in found.splits],
        "setup_s": found.setup_s,
        "comparisons": [_part(part) for part in found.parts],
        "left_out": list(found.left_out),
        "components": [
            {
                "metric": metric,
                "name": one.name,
                "deviation": one.deviation,
                "low": one.low,
                "high": one.high,
                "about": one.about,
            }
            for metric, parts in found.components.items()
            for one in parts
        ],
        "seconds": [
            {"metric": metric, "deviation": s.deviation, "values": s.values, "worth": s.worth}
            for metric, s in found.seconds.items()
        ],
        "noise_floor": [
            {
                "levels": dict(one.levels),
                "metric": one.metric,
                "blocks": one.blocks,
                "ratio": one.ratio,
                "ci_low": one.low,
                "ci_high": one.high,
                "deviation": one.deviation,
            }
            for one in found.floors
        ],
        "notes": list(found.notes),
    }


def _part(part: Part) -> dict[str, Any]:
    return {
        "text": part.text,
        "metric": part.metric,
        "level": 1 - part.criterion.alpha,
        "deviation": math.sqrt(part.noise.variance),
        "freedom": part.noise.freedom,
        "pooled": part.pooled,
        "blocks": _needed(part.needed),
        "chance_of_own_blocks": part.chance,
        "half_width": part.half_width,
    }


def _split(split: Split) -> dict[str, Any]:
    return {
        "duration_s": split.duration_s,
        "blocks_needed": _needed(split.blocks),
        "block_s": split.block_s,
        "total_s": dict(zip(("low", "probable", "high"), split.total_s, strict=True)),
        "half_width": split.half_width,
    }


def _needed(needed: Needed) -> dict[str, int | None]:
    return {"low": needed.low, "probable": needed.probable, "high": needed.high}
