"""What a page says of how a run was measured: when, where, how long, how busy the machine was."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from statistics import median
from typing import Any

from tools.gallery import bundles
from tools.gallery.article import Measurement


def facts(run: Measurement) -> str:
    """One paragraph, from the bundle alone."""
    link = f"[`{run.name}`](runs/{run.name}.zip)"
    manifest, result = bundles.manifest(run.name), bundles.result(run.name)
    when = datetime.datetime.fromtimestamp(manifest["created_unix_s"], datetime.UTC)
    if run.imported:
        return f"{link}: the article's own table, imported; one run a cell, so no intervals."
    trials = manifest["plan"]["trials"]
    cell = manifest["plan"]["cells"][0]
    return (
        f"{link}, {when:%Y-%m-%d}: {len(trials)} trials of {cell['duration_s']:g} s in"
        f" {result['blocks']} blocks. {_machine(manifest['environment'])} {_load(result)}"
    )


def _machine(environment: Mapping[str, Any]) -> str:
    systems = ", ".join(_system(*one) for one in environment["systems"].items())
    return f"{environment['cores']} CPUs ({environment['cpu_model']}); {systems}."


def _system(kind: str, version: str) -> str:
    """`files` are those of the kernel; a system that names itself is not named twice."""
    number = version.partition("-")[0]
    return number if kind.partition(" ")[0].lower() in number.lower() else f"{kind}: {number}"


def _load(result: Mapping[str, Any]) -> str:
    found = [
        metrics["load.one_minute"]["mean"]
        for metrics in (cell["metrics"] for cell in result["cells"])
        if "load.one_minute" in metrics
    ]
    if not found:
        return ""
    return (
        f"Meanwhile {median(found):.1f} tasks ran or waited for a CPU or a disk,"
        " this run's own included."
    )
