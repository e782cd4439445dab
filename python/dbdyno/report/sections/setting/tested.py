"""What was tested, on what, and what was not: the sentences and tables that say so."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from dbdyno.analysis.estimates.measured import kind
from dbdyno.analysis.types import Findings
from dbdyno.experiment.workloads.measuring import CYCLES
from dbdyno.plan import cpus
from dbdyno.plan.types import Plan
from dbdyno.report.layout import Layout
from dbdyno.report.sections.setting.settings import versions
from dbdyno.report.text import names
from dbdyno.report.text.numbers import seconds, size
from dbdyno.store.record import COMPLETE, TrialRecord
from dbdyno.wording import numbers
from dbdyno.wording.plurals import count

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
class Missing:
    """Something asked for that was not done."""

    what: str
    why: str
    fix: str


def sentence(plan: Plan, records: Sequence[TrialRecord], environment: Mapping[str, Any]) -> str:
    """One line: systems, design, durations, machine."""
    parts = [", ".join(versions(records))]
    done = sum(r.status == COMPLETE for r in records)
    planned = len(plan.trials)
    design = f"{count(len(plan.cells), 'cell')} × {count(plan.blocks, 'block')}"
    trials = count(done, "trial") if done == planned else f"{done:,} of {count(planned, 'trial')}"
    parts.append(f"{design}, {trials} measured")
    lengths = {(cell.warmup_s, cell.duration_s, cell.until_steady) for cell in plan.cells}
    if len(lengths) == 1:
        warmup_s, duration_s, until_steady = lengths.pop()
        each = f"{seconds(duration_s)} each"
        if until_steady:
            each = f"each until steady, {seconds(duration_s)} at most{_contained(records)},"
        parts.append(f"{each} after {seconds(warmup_s)} of warm-up")
    parts.append(machine(environment))
    return " · ".join(part for part in parts if part)


def _contained(records: Sequence[TrialRecord]) -> str:
    """Of trials that ended when steady: what is too slow to be in their numbers."""
    lengths_s = [
        (one.measured_s - one.steady_from_s) / CYCLES
        for one in records
        if one.measured_s is not None and one.steady_from_s is not None
    ]
    return f" (nothing slower than {seconds(min(lengths_s))} is in them)" if lengths_s else ""


def machine(environment: Mapping[str, Any]) -> str:
    """The machine in a phrase: "2 CPUs (Xeon ...), 23.5 GiB, Linux 6.18"."""
    parts = []
    if cores := environment.get("cores"):
        model = environment.get("cpu_model")
        parts.append(f"{count(int(cores), 'CPU')}{f' ({model})' if model else ''}")
    if memory := environment.get("memory_bytes"):
        parts.append(size(float(memory)))
    if kernel := environment.get("kernel"):
        parts.append(f"Linux {kernel}")
    return ", ".join(parts)


def split(plan: Plan) -> str:
    """How CPUs were divided between load generator and servers."""
    targets = [target for cell in plan.cells for target in cell.targets]
    if targets and all(target.url is not None for target in targets):
        return "The servers were there already; this is the load generator's machine."
    return " ".join(_split(*one) for one in cpus.said(plan))


def _split(where: str, generator: Sequence[int], servers: Sequence[int]) -> str:
    at = f"At {where} the load" if where else "The load"
    if not generator and not servers:
        load = f"{at} generator and servers" if where else "Load generator and servers"
        return f"{load} shared all CPUs; each takes from the other what it uses."
    return f"{at} generator ran on CPU {_cpus(generator)}, the servers on CPU {_cpus(servers)}."


def _cpus(cpus: Sequence[int]) -> str:
    """CPU numbers as ranges: 0-1, 4."""
    ranges: list[list[int]] = []
    for cpu in sorted(cpus):
        if ranges and cpu == ranges[-1][1] + 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges) or "any"


def not_tested(plan: Plan, records: Sequence[TrialRecord], layout: Layout) -> list[Missing]:
    """Skipped levels, claims this machine cannot test, blocks and trials that are missing."""
    found = [Missing(s.what, s.why, s.fix) for s in plan.skipped]
    found += [Missing(claim, why, "") for claim, why in plan.untested.items()]
    done = {r.id for r in records}
    absent = [t for t in plan.trials if t.id not in done]
    if absent:
        blocks = sorted({t.block for t in absent})
        found.append(
            Missing(
                count(len(absent), "planned trial"),
                f"the run ended before {'it was' if len(absent) == 1 else 'they were'} measured"
                f" (block {', '.join(map(str, blocks))})",
                "dyno run --resume goes on where it stopped",
            )
        )
    for r in records:
        if r.status != COMPLETE:
            where = layout.cell(plan.cells[r.cell].levels)
            found.append(Missing(f"trial {r.id} ({where})", f"void: {r.void_reason}", ""))
    return found


@dataclass(frozen=True)
class Void:
    """An attempt at a trial that did not meet `require:`, or failed."""

    trial: str
    block: int
    where: str
    reason: str
    after: str  # what became of the trial


def void_attempts(
    voided: Sequence[TrialRecord], records: Sequence[TrialRecord], plan: Plan, layout: Layout
) -> list[Void]:
    """Every attempt that was void, those that were repeated included, in the order of the plan."""
    status = {r.id: r.status for r in records}
    last = [r for r in records if r.status != COMPLETE]
    place = {trial.id: i for i, trial in enumerate(plan.trials)}
    found = []
    for r in sorted([*voided, *last], key=lambda r: (place[r.id], r.started_unix_s)):
        after = "repeated, then complete" if status.get(r.id) == COMPLETE else "never complete"
        where = layout.cell(plan.cells[r.cell].levels)
        found.append(Void(r.id, r.block, where, r.void_reason, after))
    return found


def environment_rows(environment: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The environment as label and text, the known facts first."""
    rows = []
    for key in sorted(environment, key=lambda k: (_ORDER.get(k, len(_ORDER)), k)):
        value = environment[key]
        if key == "checks":  # a list of their own: `report.checked`
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
        return _cpus(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {v}" for k, v in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value)


def moment(unix_s: float) -> str:
    """A date and time in UTC."""
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%d %H:%M UTC")


def warning_rows(
    findings_warnings: Sequence[str], records: Sequence[TrialRecord], plan: Plan, layout: Layout
) -> list[tuple[str, str]]:
    """(warning, where it holds), each kind once (texts that differ in numbers only are one kind,
    shown as its first), those of the whole run first."""
    own = {kind(text) for record in records for text in record.warnings}
    # The analysis repeats a trial's warning with a count; here it gets its cells instead.
    of_run = [t for t in dict.fromkeys(findings_warnings) if kind(t.partition(" [")[0]) not in own]
    rows = [(text, "") for text in of_run]
    texts: dict[str, dict[str, None]] = {}
    where: dict[str, dict[str, set[str]]] = {}
    for record in records:
        for text in record.warnings:
            if text not in of_run:
                cell = layout.cell(plan.cells[record.cell].levels)
                texts.setdefault(kind(text), {})[text] = None
                where.setdefault(kind(text), {}).setdefault(cell, set()).add(record.id)
    for key, cells in where.items():
        total = sum(len(trials) for trials in cells.values())
        places = "; ".join(
            f"{cell} ({count(len(t), 'trial')})" for cell, t in list(cells.items())[:4]
        )
        more = f"; {len(cells) - 4} more cells" if len(cells) > 4 else ""
        like = "this or like it in " if len(texts[key]) > 1 else ""
        rows.append((next(iter(texts[key])), f"{like}{count(total, 'trial')}: {places}{more}"))
    return rows


def partial_rows(
    findings: Findings, shown: Iterable[str], layout: Layout, groups: Sequence[str]
) -> list[tuple[str, str]]:
    """(warning, where it holds) of metrics that not all trials of a cell have: one a reason, for
    the `shown` ones only, in their order."""
    by_reason: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for name in shown:
        for cell in findings.cells:
            if (one := cell.partial.get(name)) is None:
                continue
            reason = f"means of some trials only; the others: {one.why}" if one.of else one.why
            columns, cells = by_reason.setdefault(reason, ({}, {}))
            columns[names.describe(name, groups).column] = None
            cells[layout.cell(cell.levels)] = None
    rows = []
    for reason, (columns, cells) in by_reason.items():
        more = f"; {len(cells) - 4} more cells" if len(cells) > 4 else ""
        text = f"{numbers.listed(list(columns))}: {reason}"
        rows.append((text, f"{count(len(cells), 'cell')}: {'; '.join(list(cells)[:4])}{more}"))
    return rows
