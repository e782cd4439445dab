"""`result.json`: the findings for programs. Its JSON Schema is `schemas/result.schema.json`.

Numbers are finite: what cannot be estimated is null or absent, never NaN.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from dbdyno.analysis import result_inside
from dbdyno.analysis.predictions.result import predictions_json
from dbdyno.analysis.types import (
    ANY,
    SUPPORTED,
    Check,
    ClaimPart,
    ClaimResult,
    Comparison,
    Costs,
    Estimate,
    Findings,
    LatencyShift,
    Looking,
    MoreBlocks,
    Ratio,
    Sweep,
    TradeOff,
    Versions,
)
from dbdyno.plan.types import Plan
from dbdyno.store.run import Run

SCHEMA_VERSION = 2


def to_json(findings: Findings, plan: Plan, run: Run | Mapping[str, Any]) -> dict[str, Any]:
    """The object that `result.json` holds; `schema_version` first.

    `run` is a run, or a manifest: its `status`, `created_unix_s`, `versions` and `environment` are
    copied, where there.
    """
    facts = {**run.manifest, "status": run.status} if isinstance(run, Run) else run
    copied = ("status", "created_unix_s", "versions", "environment")
    return {
        "schema_version": SCHEMA_VERSION,
        "experiment": plan.name,
        "question": plan.question,
        "about": asdict(plan.about),
        "answer": findings.answer,
        "why": findings.why,
        "moved_with_it": findings.moved_with,
        "cause": result_inside.cause(findings.cause),
        "caveat": findings.caveat,
        "judged": findings.judged,
        "quick": plan.quick,
        "run": {key: facts[key] for key in copied if key in facts},
        "headline_metric": findings.headline_metric,
        "factors": [
            {"name": factor.name, "levels": list(factor.levels), "hard": factor.hard}
            for factor in plan.factors
        ],
        "blocks": plan.blocks,
        "looks": _looks(findings.looking),
        "matters": plan.matters,
        "cells": [
            {
                "levels": dict(cell.levels),
                "trials": cell.trials,
                "metrics": {name: _estimate(one) for name, one in cell.metrics.items()},
                "warnings": [
                    *cell.warnings,
                    *(f"{name} is {one.sentence}" for name, one in cell.partial.items()),
                ],
            }
            for cell in findings.cells
        ],
        "versions": _versions(findings.versions),
        "claims": [_claim(claim) for claim in findings.claims],
        "comparisons": [_comparison(row) for row in findings.comparisons],
        "together": {
            "count": findings.together.count,
            "confidence": _number(findings.together.level),
        },
        "sweeps": [_sweep(sweep) for sweep in findings.sweeps],
        "latency_shift": _shift(findings.shift, plan),
        "costs": _costs(findings.costs),
        "tradeoff": _tradeoff(findings.tradeoff, plan),
        "inside": [result_inside.inside(one) for one in findings.inside],
        "stalls": [result_inside.cell_stalls(one) for one in findings.stalls],
        "predictions": predictions_json(findings.predictions, plan),
        "skipped": [
            {"what": skipped.what, "why": skipped.why, "fix": skipped.fix}
            for skipped in plan.skipped
        ],
        "warnings": list(findings.warnings),
        "notes": list(plan.notes),
    }


def _shift(shift: LatencyShift | None, plan: Plan) -> dict[str, Any] | None:
    """How the latency curve of the leading comparison moved; null where nothing can be compared."""
    if shift is None:
        return None
    levels = {cell.index: dict(cell.levels) for cell in plan.cells}
    return {
        "kind": shift.kind,
        "group": shift.group,
        "left": levels[shift.left],
        "right": levels[shift.right],
        "level": shift.level,
        "level_each": shift.level_each,
        "blocks": shift.blocks,
        "quantiles": [
            {
                "quantile": one.quantile,
                "ratio": _number(one.ratio),
                "ci_low": _number(one.ci_low),
                "ci_high": _number(one.ci_high),
                **({"bound": one.bound} if one.bound else {}),
            }
            for one in shift.moved
        ],
        "missing": shift.missing,
    }


def _looks(looking: Looking | None) -> dict[str, Any] | None:
    """Of a run that ends when all is decided."""
    if looking is None:
        return None
    return {
        "first": looking.first,
        "blocks_max": looking.max,
        "taken": looking.taken,
        "after_block": looking.after,
        "decided": looking.decided,
        "sentence": looking.sentence,
    }


def _estimate(one: Estimate) -> dict[str, Any]:
    return {
        "mean": _number(one.mean),
        "ci_low": _number(one.ci_low),
        "ci_high": _number(one.ci_high),
        "values": [_number(value) for value in one.values],
        "blocks": list(one.blocks),
        **({"bound": one.bound} if one.bound else {}),
    }


def _versions(versions: Versions | None) -> dict[str, Any] | None:
    """A new version against its base, in the same blocks."""
    if versions is None:
        return None
    return {
        "factor": versions.factor,
        "base": versions.base,
        "new": versions.new,
        "source": versions.source,
        "matters": _number(versions.matters),
        "verdict": versions.verdict,
        "sentence": versions.sentence,
        "comparisons": [
            {
                "metric": part.metric,
                "at": dict(part.at),
                "verdict": part.verdict,
                **_ratio(part.estimate),
                "blocks_needed": _more(part.blocks_needed),
                "why": part.why,
            }
            for part in versions.parts
        ],
    }


def _claim(claim: ClaimResult) -> dict[str, Any]:
    """A claim with the numbers of the part that decides it: the only one, else the one that comes
    closest to not being what the claim's verdict says."""
    part = deciding(claim)
    return {
        "text": claim.text,
        "say": claim.say,
        "verdict": claim.verdict,
        **_ratio(part.estimate if part else None),
        "small": claim.verdict == SUPPORTED and all(one.small for one in claim.parts),
        "why": claim.why,
        "figures": claim.figures,
        "warnings": list(claim.warnings),
        "parts": [_part(one) for one in claim.parts],
    }


def deciding(claim: ClaimResult) -> ClaimPart | None:
    """The part whose numbers represent the claim: of the parts with the claim's verdict, the one
    with the largest p (for a supported claim its weakest support), for a refuted one the smallest.
    """
    parts = [part for part in claim.parts if part.verdict == claim.verdict]
    if not parts:
        return None
    ps = [_p(part) for part in parts]
    best = max(ps) if claim.verdict == SUPPORTED else min(ps)
    return parts[ps.index(best)]


def _p(part: ClaimPart) -> float:
    """The chance of an error; what a single trial answers has none."""
    p = part.estimate.p if part.estimate else None
    unknown = 0.0 if part.kind == ANY else 1.0
    return unknown if p is None else p


def _part(part: ClaimPart) -> dict[str, Any]:
    return {
        "at": dict(part.at),
        "kind": part.kind,
        "left": part.left,
        "right": part.right,
        "operator": part.operator,
        "threshold": _number(part.threshold),
        **({"margin": _number(part.margin)} if part.margin else {}),
        "verdict": part.verdict,
        **_ratio(part.estimate),
        "small": part.small,
        "figures": part.figures,
        "blocks_needed": _more(part.blocks_needed),
        "detectable": _number(part.detectable),
        "checks": [_check(check) for check in part.checks],
        "why": part.why,
    }


def _more(more: MoreBlocks | None) -> dict[str, int | None] | None:
    return None if more is None else {"low": more.low, "high": more.high}


def _check(check: Check) -> dict[str, Any]:
    return {
        "method": check.method,
        "p": _number(check.p),
        "ci_low": _number(check.ci_low),
        "ci_high": _number(check.ci_high),
        "confidence": _number(check.level),
        "agrees": check.agrees,
        "note": check.note,
    }


def _comparison(row: Comparison) -> dict[str, Any]:
    return {
        "metric": row.metric,
        "factor": row.factor,
        "level": row.level,
        "baseline": row.baseline,
        "at": dict(row.at),
        **_ratio(row.ratio),
        "claimed": row.claimed,
    }


def _sweep(sweep: Sweep) -> dict[str, Any]:
    return {
        "factor": sweep.factor,
        "metric": sweep.metric,
        "at": dict(sweep.at),
        "peak": _number(sweep.peak),
        "peak_levels": [_number(level) for level in sweep.peak_levels],
        "knee": _number(sweep.knee),
        "knee_low": _number(sweep.knee_low),
        "knee_high": _number(sweep.knee_high),
        "sentence": sweep.sentence,
        "problem": sweep.problem,
        "limits": [
            {
                "metric": limit.metric,
                "operator": limit.operator,
                "threshold": _number(limit.threshold),
                "holds_to": _number(limit.holds_to),
                "broken_at": _number(limit.broken_at),
                "sentence": limit.sentence,
            }
            for limit in sweep.limits
        ],
    }


def _tradeoff(found: TradeOff | None, plan: Plan) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "metrics": list(found.metrics),
        "judged": found.judged,
        "sentence": found.sentence,
        "cells": [
            {
                "levels": dict(plan.cells[point.cell].levels),
                "beaten_by": None
                if point.beaten_by is None
                else dict(plan.cells[point.beaten_by].levels),
            }
            for point in found.points
        ],
    }


def _costs(costs: Costs | None) -> dict[str, Any] | None:
    if costs is None:
        return None
    return {
        "currency": costs.currency,
        "billion_of": costs.what,
        "under": list(costs.under),
        "sentence": costs.sentence,
        "offers": [
            {
                "levels": dict(offer.levels),
                "price_per_month": _number(offer.price_per_month),
                "cell": offer.cell,
                "per_s": _number(offer.per_s),
                "cost": _number(offer.cost),
                "against_cheapest": _ratio(offer.ratio) if offer.ratio else None,
                "dominated_by": dict(offer.dominated_by) or None,
                "judged": offer.judged,
            }
            for offer in costs.offers
        ],
    }


def _ratio(ratio: Ratio | None) -> dict[str, Any]:
    if ratio is None:
        return {
            "ratio": None,
            "ci_low": None,
            "ci_high": None,
            "confidence": None,
            "n": 0,
            "p": None,
        }
    return {
        "ratio": _number(ratio.ratio),
        "ci_low": _number(ratio.ci_low),
        "ci_high": _number(ratio.ci_high),
        "confidence": _number(ratio.level),
        "n": ratio.n,
        "p": _number(ratio.p),
        **({"bound": ratio.bound} if ratio.bound else {}),
    }


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
