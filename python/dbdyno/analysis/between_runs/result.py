"""Comparisons and histories for programs: `schemas/compare.schema.json`,
`schemas/history.schema.json`. Numbers are finite; what is not known is null."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from dbdyno.analysis.between_runs.judging import a_month
from dbdyno.analysis.between_runs.types import Compared, Group, History, Row, Series

SCHEMA_VERSION = 1


def compared_json(compared: Compared) -> dict[str, Any]:
    """The object that `dyno compare --json` prints."""
    alarms = a_month(len(compared.before)) if compared.judged else (None, None)
    return {
        "schema_version": SCHEMA_VERSION,
        "a": compared.a,
        "b": compared.b,
        "blocked": False,
        "judged": compared.judged,
        "unjudged_because": compared.unjudged,
        "matters": compared.matters,
        "rows": [_row(row) for row in compared.rows],
        "regressions": len(compared.regressions),
        "suspected": len(compared.suspected),
        "reference": list(compared.reference),
        "expected_suspected_a_month": alarms[0],
        "expected_confirmed_a_month": alarms[1],
        "changed": list(compared.changed),
        "before": list(compared.before),
        "left_out": [asdict(one) for one in compared.left_out],
        "warnings": list(compared.warnings),
        "claims": [
            {
                "text": one.b.text,
                "say": one.b.say,
                "a": one.a.verdict if one.a else None,
                "b": one.b.verdict,
            }
            for one in compared.claims
        ],
    }


def history_json(found: History) -> dict[str, Any]:
    """The object that `dyno history --json` prints."""
    return {
        "schema_version": SCHEMA_VERSION,
        "groups": [_group(group) for group in found.groups],
        "left_out": [asdict(one) for one in found.left_out],
    }


def _row(row: Row) -> dict[str, Any]:
    estimate, reference = row.estimate, row.reference
    return {
        "metric": row.metric,
        "at": dict(row.at),
        "cells": row.cells,
        "a": _number(row.a),
        "b": _number(row.b),
        "ratio": _number(row.ratio),
        "ci_low": _number(estimate.ci_low) if estimate else None,
        "ci_high": _number(estimate.ci_high) if estimate else None,
        "confidence": estimate.level if estimate else None,
        "p": _number(estimate.p) if estimate else None,
        "reference": _number(reference.ratio) if reference else None,
        "reference_low": _number(reference.ci_low) if reference else None,
        "reference_high": _number(reference.ci_high) if reference else None,
        "spread": _number(row.spread),
        "seen": _number(row.seen),
        "verdict": row.verdict,
        "small": row.small,
        "problem": row.problem,
    }


def _group(group: Group) -> dict[str, Any]:
    return {
        "experiment": group.experiment,
        "fingerprint": group.fingerprint,
        "comparable": group.comparable,
        "needed": group.needed,
        "differs": group.differs,
        "runs": [
            {**asdict(run), "changed": list(run.changed), "warnings": list(run.warnings)}
            for run in group.runs
        ],
        "series": [_series(series) for series in group.series],
    }


def _series(series: Series) -> dict[str, Any]:
    return {
        "metric": series.metric,
        "at": dict(series.at),
        "values": [_number(value) for value in series.values],
        "problems": list(series.problems),
        "spread": _number(series.spread),
        "changes": [asdict(one) for one in series.changes],
        "outliers": list(series.outliers),
        "note": series.note,
    }


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
