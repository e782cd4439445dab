"""Combined runs for programs: `schemas/pool.schema.json`. Ratios, not logarithms."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from dbdyno.analysis.between_runs.pooling.model import LEVEL, Pooled
from dbdyno.analysis.between_runs.pooling.runs import Combined, Line

SCHEMA_VERSION = 1


def combined_json(found: Combined) -> dict[str, Any]:
    """The object that `dyno pool --json` prints."""
    return {
        "schema_version": SCHEMA_VERSION,
        "experiment": found.experiment,
        "confidence": LEVEL,
        "runs": list(found.runs),
        "claims": [asdict(one) for one in found.claims],
        "comparisons": [_line(line) for line in found.lines],
        "differ": [{"run": run, "changed": list(what)} for run, what in found.differ],
        "left_out": [asdict(one) for one in found.left_out],
    }


def _line(line: Line) -> dict[str, Any]:
    return {
        "claim": line.claim,
        "left": line.left,
        "right": line.right,
        "metric": line.metric,
        "runs": [asdict(effect) for effect in line.effects],
        "pooled": _pooled(line.pooled) if line.pooled else None,
        "problem": line.problem,
    }


def _pooled(pooled: Pooled) -> dict[str, Any]:
    low, high = pooled.predicted or (None, None)
    return {
        "ratio": math.exp(pooled.mean),
        "low": math.exp(pooled.low),
        "high": math.exp(pooled.high),
        "predicted_low": None if low is None else math.exp(low),
        "predicted_high": None if high is None else math.exp(high),
        "tau": pooled.tau,
        "i2": pooled.i2,
        "q": pooled.q,
        "q_p": pooled.q_p,
    }
