"""The machine, what its checks found before the first trial, and how the run was laid out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dbdyno.plan import external
from dbdyno.plan.types import Plan
from dbdyno.report.context import Context
from dbdyno.report.section import Section
from dbdyno.report.sections.load import stalls
from dbdyno.report.sections.setting.tested import cpu_ranges, moment, split
from dbdyno.report.text.loops import loop
from dbdyno.rules import machine as machine_checks
from dbdyno.store.run import Run
from dbdyno.wording import names
from dbdyno.wording.numbers import size

_LABELS = {
    "os": "Operating system",
    "kernel": "Kernel",
    "architecture": "Architecture",
    "cpu_model": "Processor",
    "cores": "CPUs",
    "cpu_set": "CPUs allowed",
    "memory_bytes": "Memory",
    "generator_cpus": "CPUs of the load generator",
    "server_cpus": "CPUs of the servers",
    "clocksource": "Clock source",
    "governor": "Frequency governor",
    "dbdyno": "dbdyno",
    "python": "Python",
    "systems": "Systems",
    "started_unix_s": "Started",
    "boot_id": "Boot",
}
_ORDER = {key: i for i, key in enumerate(_LABELS)}


@dataclass(frozen=True)
class Checked:
    """Findings by their state; `scope` says whose hosts were not inspected."""

    found: tuple[machine_checks.Finding, ...]
    unknown: tuple[machine_checks.Finding, ...]
    fine: tuple[machine_checks.Finding, ...]
    scope: str


@dataclass(frozen=True)
class View:
    """Label and text of each fact; `notes` are about comparability."""

    split: str
    sources: list[tuple[str, str, str]]  # path, tool, SHA-256
    facts: list[tuple[str, str]]
    checked: Checked | None
    design: list[tuple[str, str]]
    notes: tuple[str, ...]


def view(context: Context) -> View:
    run, plan = context.run, context.plan
    design = [*_design(plan), *stalls.design(context.findings)]
    return View(
        split(plan),
        sources(run),
        environment_rows(run.environment),
        checked(plan, run.environment),
        _imported_design(plan) if plan.imported else design,
        plan.notes,
    )


def sources(run: Run) -> list[tuple[str, str, str]]:
    """The files of an imported run as its manifest lists them; none of any other run."""
    told = run.manifest.get("imported")
    files: Any = told.get("files", []) if isinstance(told, dict) else []
    return [
        (str(file["path"]), str(file["tool"]), str(file["sha256"]))
        for file in files
        if isinstance(file, dict) and {"path", "tool", "sha256"} <= set(file)
    ]


def checked(plan: Plan, environment: Mapping[str, Any]) -> Checked | None:
    """None of runs that were imported, or that an older dbdyno measured: nothing was checked."""
    findings = [machine_checks.Finding(**one) for one in environment.get("checks", ())]
    if not findings:
        return None
    by_state = {
        state: tuple(one for one in findings if one.state == state)
        for state in (machine_checks.FOUND, machine_checks.NOT_KNOWN, machine_checks.FINE)
    }
    scope = "; ".join(machine_checks.unseen(external.places(plan.cells)))
    return Checked(
        by_state[machine_checks.FOUND],
        by_state[machine_checks.NOT_KNOWN],
        by_state[machine_checks.FINE],
        scope,
    )


def _design(plan: Plan) -> list[tuple[str, str]]:
    """How the run was laid out, for those who check."""
    rows = [
        (
            "Factors",
            "; ".join(
                f"{f.name}: {', '.join(f.levels)} ({'hard' if f.hard else 'easy'})"
                for f in plan.factors
            )
            or "none",
        )
    ]
    states = {cell.state for cell in plan.cells}
    rows.append(("State", "; ".join(f"data {s.data}, cache {s.cache}" for s in states)))
    for group in names.groups_of(plan):
        found = [g for cell in plan.cells for g in cell.groups if g.name == group]
        sessions = sorted({g.sessions for g in found})
        loops = "; ".join(dict.fromkeys(map(loop, found)))
        text = f"{found[0].workload} on {found[0].target}, sessions {', '.join(map(str, sessions))}"
        text += f", {loops}"
        rows.append((f"Group {group}", text))
    rows.append(("Seed", f"{plan.seed} (to repeat: --set seed={plan.seed})"))
    rows.append(("Smallest effect that matters", f"{plan.matters * 100:g} %"))
    if plan.require:
        rows.append(("Required of each trial", "; ".join(plan.require)))
    return rows


def _imported_design(plan: Plan) -> list[tuple[str, str]]:
    """How the results lie, for those who check."""
    found = [f"{f.name}: {', '.join(f.levels)}" for f in plan.factors]
    sessions = sorted({g.sessions for cell in plan.cells for g in cell.groups if g.sessions})
    rows = [("Factors", "; ".join(found) or "none")]
    if sessions:
        rows.append(("Sessions", ", ".join(map(str, sessions))))
    how = "passes over all cells (blocks)" if plan.paired else "not known to be passes (unblocked)"
    rows.append(("Repetitions", how))
    rows.append(("Smallest effect that matters", f"{plan.matters * 100:g} %"))
    return rows


def environment_rows(environment: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The environment as label and text, the known facts first."""
    rows = []
    for key in sorted(environment, key=lambda k: (_ORDER.get(k, len(_ORDER)), k)):
        value = environment[key]
        if key == "checks":  # a list of their own: `checked`
            continue
        if value in ("", None, [], {}):
            continue
        rows.append((_LABELS.get(key, key.replace("_", " ")), _fact(key, value)))
    return rows


def _fact(key: str, value: Any) -> str:
    if key.endswith("_bytes") and isinstance(value, int | float):
        return size(float(value))
    if key.endswith("unix_s") and isinstance(value, int | float):
        return moment(float(value))
    if key.endswith(("cpus", "cpu_set")) and isinstance(value, list | tuple):
        return cpu_ranges(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {v}" for k, v in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value)


SECTION = Section(view, "Environment")
