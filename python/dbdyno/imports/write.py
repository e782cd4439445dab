"""Imported results as a run directory: a plan of what was measured, a record and streams a trial.

Each trial's `events.ndjson` holds the tool's interval lines as `interval` events with the tool's
figures and no more (no `start`, no `end`, no generator: there was no engine); `latency.hlog` is
there where the tool gave a histogram. An event's `latency` is service time, so that response times
of a tool that kept a rate are in its metrics only.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dbdyno import __version__, diskfiles
from dbdyno.imports.cells import Cells, Trial
from dbdyno.imports.files import Collected
from dbdyno.imports.found import OWN, Found, Interval, Part
from dbdyno.imports.head import Head
from dbdyno.plan.claims import scope, words_of
from dbdyno.plan.types import (
    PLAN_VERSION,
    Cell,
    GroupPlan,
    Imported,
    Plan,
    Skipped,
    State,
    TrialPlan,
)
from dbdyno.store.manifest import COMPLETE as RUN_COMPLETE
from dbdyno.store.metrics import histogram
from dbdyno.store.record import COMPLETE, TrialRecord
from dbdyno.store.run import EVENTS, HISTOGRAMS, Run
from dbdyno.store.text import files
from dbdyno.systems.base import TargetPlan

WHOLE = "workload"  # the group's name where a result has one
NOTES_MAX = 50


@dataclass(frozen=True)
class Told:
    """What the user says of the results: a name and a question for them, and an experiment's head
    whose name and question are the defaults."""

    name: str
    question: str
    head: Head | None


def plan_of(cells: Cells, collected: Collected, told: Told) -> Plan:
    """The plan that these results would have had: nothing in it was decided here. DynoError for a
    claim or price of `told.head` that these cells do not know."""
    groups = _groups([trial.found for trial in cells.trials])
    planned = tuple(_cell(i, cells, groups) for i in range(len(cells.levels)))
    tools = tuple(dict.fromkeys(_tool(trial.found) for trial in cells.trials))
    words = dict.fromkeys(word for trial in cells.trials for word in trial.found.words)
    notes = [*_about(cells), *cells.notes, *words]
    plan = Plan(
        version=PLAN_VERSION,
        name=told.name,
        question=told.question,
        factors=cells.factors,
        cells=planned,
        trials=tuple(_trial(position, one) for position, one in enumerate(cells.trials, start=1)),
        blocks=max(trial.repetition for trial in cells.trials),
        seed=0,
        claims=(),
        untested={},
        matters=told.head.model.matters if told.head else 0.0,
        require=(),
        generator_cpus=(),
        server_cpus=(),
        quick=False,
        skipped=tuple(
            Skipped(str(path), why, "correct the file and import again")
            for path, why in collected.skipped
        ),
        notes=tuple(notes[:NOTES_MAX]),
        spec_text=told.head.text if told.head else "",
        imported=Imported(tools, cells.blocked),
    )
    if told.head is None:
        return plan
    names = scope(plan)
    claims = told.head.claims(plan.factors, plan.cells, names)
    return replace(
        plan,
        claims=tuple(claim.text for claim in claims),
        claim_words=words_of(claims),
        prices=told.head.prices(plan.factors, names),
        about=told.head.about,
    )


def write(
    path: Path, plan: Plan, cells: Cells, collected: Collected, command: Sequence[str]
) -> Run:
    """Writes the run directory and returns the run, complete and no longer locked. DynoError if
    the directory is in use or cannot be written."""
    groups = tuple(group.name for group in plan.cells[0].groups)
    factors = {factor.name for factor in plan.factors}
    with Run.create(path, plan, {}) as run:
        for planned, trial in zip(plan.trials, cells.trials, strict=True):
            directory = run.begin(planned.id)
            with files.explained(directory, run.path):
                _streams(directory, trial.found, groups)
            run.complete(_record(planned, trial, groups, factors))
        run.set_status(RUN_COMPLETE, imported=_sources(plan, collected), command=list(command))
    return run


def _about(cells: Cells) -> list[str]:
    """How far the results may be compared."""
    own = all(trial.found.tool == OWN for trial in cells.trials)
    said = [
        f"Imported: measured by {'`dyno sysbench`' if own else 'another tool'} on machines that"
        " dbdyno has not seen. What the servers were, and whether anything else ran beside them,"
        " is not known here."
    ]
    counts = {sum(trial.cell == i for trial in cells.trials) for i in range(len(cells.levels))}
    if cells.blocked:
        said.append("Blocked, as the names say: repetition N of every cell belongs to pass N.")
    elif counts == {1}:
        said.append("One run a cell: means without intervals, and claims stay undecided.")
    else:
        said.append(
            "Unblocked: nothing says that the repetitions were passes over all cells, so cells are"
            " compared by a two-sample (Welch) t interval, and whatever changed between the runs of"
            " one cell and those of another is in it."
        )
    return said


def _tool(found: Found) -> str:
    """`sysbench 1.0.20`."""
    return f"{found.tool} {found.version}".strip()


def _groups(results: Sequence[Found]) -> tuple[str, ...]:
    """Names of the groups: one for all if every result has one part (reads in one cell and writes
    in another are then compared as what they are: throughput)."""
    names = dict.fromkeys(name for found in results for name in found.parts)
    alone = all(len(found.parts) == 1 for found in results)
    return (WHOLE,) if alone else tuple(names)


def _cell(index: int, cells: Cells, groups: Sequence[str]) -> Cell:
    own = [trial.found for trial in cells.trials if trial.cell == index]
    first = own[0]
    targets = dict.fromkeys(found.tool for found in own)
    lengths = sorted(found.duration_s for found in own)
    intervals = [
        one.length_s for found in own for part in found.parts.values() for one in part.intervals[:2]
    ]
    return Cell(
        index=index,
        levels=dict(cells.levels[index]),
        hard="",
        targets=tuple(TargetPlan(tool, tool) for tool in targets),
        groups=tuple(
            GroupPlan(name, first.tool, first.tool, first.sessions, 0.0, 0, {}) for name in groups
        ),
        state=State("reuse", "warm"),
        warmup_s=0.0,
        duration_s=lengths[len(lengths) // 2],
        interval_s=max(intervals, default=1.0),
        data_key="",
    )


def _trial(position: int, trial: Trial) -> TrialPlan:
    return TrialPlan(
        id=f"b{trial.repetition:02d}-t{position:03d}",
        block=trial.repetition,
        position=position,
        cell=trial.cell,
        seed=0,
        fresh_servers=False,
    )


def _parts(found: Found, groups: Sequence[str]) -> dict[str, Part]:
    """A result's parts under the groups' names."""
    return dict(found.parts) if len(groups) > 1 else {groups[0]: next(iter(found.parts.values()))}


def _record(
    planned: TrialPlan, trial: Trial, groups: Sequence[str], factors: Collection[str]
) -> TrialRecord:
    found = trial.found
    metrics: dict[str, float] = {}
    for name, part in _parts(found, groups).items():
        prefix = f"{name}." if len(groups) > 1 else ""
        metrics |= {prefix + metric: value for metric, value in part.metrics.items()}
    try:
        # Tools seldom say when they ran; a file was last written when its run ended.
        began_unix_s = found.file.stat().st_mtime - found.duration_s
    except OSError:
        began_unix_s = 0.0
    said = {} if found.row else {k: v for k, v in found.said.items() if k not in factors}
    settings = {**found.settings, **said}
    facts = {"kind": found.tool, "version": found.version, "settings": settings, "words": []}
    return TrialRecord(
        id=planned.id,
        block=planned.block,
        cell=planned.cell,
        status=COMPLETE,
        started_unix_s=found.started_unix_s or began_unix_s,
        metrics=metrics,
        warnings=found.warnings,
        targets={found.tool: facts},
    )


def _streams(directory: Path, found: Found, groups: Sequence[str]) -> None:
    """The interval lines and the histograms of a result, where it has them."""
    parts = _parts(found, groups)
    intervals: dict[tuple[float, float], dict[str, Interval]] = {}
    for name, part in parts.items():
        kinds = {metric.partition("_ms_")[0] for metric in part.metrics}
        rated = "response" in kinds and "service" not in kinds
        for one in part.intervals:
            told = replace(one, latency_ns={}) if rated else one
            intervals.setdefault((one.t_s, one.length_s), {})[name] = told
    if intervals:
        lines = [json.dumps(_event(*item), allow_nan=False) + "\n" for item in intervals.items()]
        diskfiles.write_text(directory / EVENTS, "".join(lines))
    logged = [
        histogram.log_line(histogram.Tagged(name, 0.0, found.duration_s, part.histogram))
        for name, part in parts.items()
        if part.histogram is not None
    ]
    if logged:
        diskfiles.write_text(directory / HISTOGRAMS, "".join(logged))


def _event(time: tuple[float, float], groups: dict[str, Interval]) -> dict[str, Any]:
    """An `interval` event with the tool's figures."""
    t_s, length_s = time
    return {
        "event": "interval",
        "t_s": t_s,
        "length_s": length_s,
        "phase": "measure",
        "groups": {
            name: {
                "transactions": round(one.transactions_per_s * length_s),
                "operations": round(one.operations_per_s * length_s),
                "errors": round(one.errors_per_s * length_s),
                "latency": {
                    f"{short}_ns": ns if short == "mean" else round(ns)
                    for short, ns in one.latency_ns.items()
                }
                or None,
            }
            for name, one in groups.items()
        },
    }


def _sources(plan: Plan, collected: Collected) -> dict[str, Any]:
    """What the manifest says of where all this comes from."""
    assert plan.imported is not None
    return {
        "by": f"dbdyno {__version__}",
        "tools": list(plan.imported.tools),
        "files": [
            {"path": str(one.path), "sha256": one.sha256, "tool": one.tool}
            for one in collected.sources
        ],
        "skipped": [{"path": str(path), "why": why} for path, why in collected.skipped],
    }
