"""Volumes under the servers: what was asked for, what a power cut left, what an fsync costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from dbdyno.experiment.types import IGNORED
from dbdyno.report.context import Context
from dbdyno.report.layout import which
from dbdyno.report.section import Section
from dbdyno.report.sections.setting.settings import target_label
from dbdyno.wording.numbers import sig3
from dbdyno.wording.visible import visible


@dataclass(frozen=True)
class Row:
    """A volume of a target. Texts as they are read."""

    target: str
    what: str  # "512 MiB ext4, nobarrier"
    flushes: str
    fsynced: str  # what became of a file that was fsynced
    fsync: str  # what one costs: the median of the trials'
    cells: str  # which cells, "" for all


def view(context: Context) -> list[Row] | None:
    """None where no server stood on a volume of its own."""
    found: dict[tuple[str, ...], list[tuple[int, float]]] = {}
    for record in context.complete:
        for name, facts in record.targets.items():
            key = _read(facts.get("volume"))
            if key is not None:
                fsync_s = float(facts["volume"]["fsync_s"])
                found.setdefault((target_label(name, facts), *key), []).append(
                    (record.cell, fsync_s)
                )
    rows = []
    for (target, what, flushes, fsynced), seen in found.items():
        cells = list(dict.fromkeys(cell for cell, _ in seen))
        cost = f"{sig3(median(fsync_s for _, fsync_s in seen) * 1e3)} ms"
        where = which(cells, context.plan.cells, context.layout)
        rows.append(Row(target, what, flushes, fsynced, cost, where))
    return rows or None


def _read(facts: Any) -> tuple[str, str, str] | None:
    """Volume, flushes and what survived; None where a record does not have all of it."""
    if not isinstance(facts, Mapping):
        return None
    size, fsync_s = facts.get("size_bytes"), facts.get("fsync_s")
    if not isinstance(size, int) or not isinstance(fsync_s, int | float):
        return None
    options = visible(str(facts.get("mount_options") or ""))
    what = f"{size >> 20:,} MiB {visible(str(facts.get('filesystem')))}"
    survived = "survived" if facts.get("fsynced_survives") is True else "lost"
    lies = facts.get("flushes") == IGNORED
    said = "ignored: the disk lies" if lies else "obeyed"
    return ", ".join(filter(None, (what, options))), said, survived


SECTION = Section(view)
