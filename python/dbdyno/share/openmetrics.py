"""A run's intervals and samples as OpenMetrics text with timestamps, for a time series database.

`promtool tsdb create-blocks-from openmetrics FILE DIR` takes it. The format wants all samples of a
family together, and a run has them trial by trial; so each family is spooled into a temporary file
of its own, and memory holds one trial at a time.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any, TextIO

from dbdyno.share import families
from dbdyno.share.exposition import Family, Sample, level_labels, line
from dbdyno.share.tables import Source
from dbdyno.store.record import TrialRecord


def write(source: Source, out: TextIO) -> int:
    """Writes the exposition of a run; returns how many samples it has."""
    count = 0
    with contextlib.ExitStack() as stack:
        spools: dict[Family, TextIO] = {}
        for record in source.records():
            for family, sample in _of_trial(source, record):
                if family not in spools:
                    spools[family] = stack.enter_context(
                        tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n")
                    )
                spools[family].write(line(family, sample))
                count += 1
        for family in families.EXPORTED:
            if family in spools:
                out.write(family.head(open_metrics=True))
                spools[family].seek(0)
                shutil.copyfileobj(spools[family], out)
        out.write("# EOF\n")
    return count


def _of_trial(source: Source, record: TrialRecord) -> Iterator[tuple[Family, Sample]]:
    """Nothing for a trial whose engine never said when measuring began. Imported ones began when
    their tool says, or as long before their file was last written as they took."""
    events = source.events(record.id)
    zero = next((e["measure_unix_s"] for e in events if e.get("event") == "ready"), None)
    if zero is None and source.plan.imported is not None:
        zero = record.started_unix_s
    if not zero:
        return
    cell = source.plan.cells[record.cell]
    base = {
        "experiment": source.plan.name,
        "trial": record.id,
        "status": record.status,
        **level_labels(cell.levels),
    }
    sessions = {group.name: group.sessions for group in cell.groups if group.sessions}  # 0: unknown
    counts = families.Counts()
    for event in events:
        if event.get("event") == "interval":
            for family, labels, value in counts.points(event, sessions):
                yield family, Sample({**base, **labels}, value, zero + event["t_s"])
    for sample in source.samples(record.id):
        yield from _sampled(base, sample, zero)


def _sampled(
    base: dict[str, str], sample: dict[str, Any], zero: float
) -> Iterator[tuple[Family, Sample]]:
    for name, value in sample.get("values", {}).items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            labels = {**base, "source": sample["source"], "name": name}
            yield families.SAMPLED, Sample(labels, value, zero + sample["t_s"])
