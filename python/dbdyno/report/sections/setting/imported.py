"""What a report says otherwise of results that other tools measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.analysis.estimates.estimate import BLOCKS_MIN
from dbdyno.plan.types import Plan
from dbdyno.report.text.numbers import seconds
from dbdyno.store.record import TrialRecord
from dbdyno.store.run import Run
from dbdyno.wording.plurals import count

TOO_FEW = (
    f"Not judged: fewer than {BLOCKS_MIN} runs of each cell were imported, so no interval or"
    " verdict can be given."
)


@dataclass(frozen=True)
class SourceRow:
    """A file that was read."""

    path: str
    tool: str
    sha256: str


def sentence(plan: Plan, records: Sequence[TrialRecord]) -> str:
    """One line: tools, design, durations. Nothing is known of the machines."""
    assert plan.imported is not None
    parts = [f"imported from {', '.join(plan.imported.tools)}"]
    parts.append(f"{count(len(plan.cells), 'cell')}, {count(len(records), 'run')}")
    lengths = sorted(cell.duration_s for cell in plan.cells if cell.duration_s)
    if lengths:
        short, long = (seconds(float(f"{end:.3g}")) for end in (lengths[0], lengths[-1]))
        parts.append(f"{short} each" if short == long else f"{short} to {long} each")
    parts.append("machines and servers not seen")
    return " · ".join(parts)


def sources(run: Run) -> list[SourceRow]:
    """The files of an imported run as its manifest lists them; none of any other run."""
    told = run.manifest.get("imported")
    files: Any = told.get("files", []) if isinstance(told, dict) else []
    return [
        SourceRow(str(file["path"]), str(file["tool"]), str(file["sha256"]))
        for file in files
        if isinstance(file, dict) and {"path", "tool", "sha256"} <= set(file)
    ]


def design(plan: Plan) -> list[tuple[str, str]]:
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
