"""The kernel writes dirty pages back, many at once, and the server's flushes queue behind them."""

from __future__ import annotations

from dbdyno.analysis.causes.evidence import STALL, Evidence
from dbdyno.analysis.causes.rule import Match, Rule
from dbdyno.analysis.causes.rules import disk

CLEANED_MIN = 0.5  # of what the device wrote
BYTES_MIN = 32e6  # a stall


def look(seen: Evidence) -> Match | None:
    """Dirty pages went, and as many bytes went to the device."""
    found, written = disk.moved_bytes(seen), seen.get("disk.write_bytes_per_s")
    if found is None or written is None or written.during < 2 * written.otherwise:
        return None
    cleaned = found.cleaned * seen.length_s
    if cleaned < BYTES_MIN or found.cleaned < CLEANED_MIN * written.during:
        return None
    dirty = seen.get("memory.dirty_bytes")
    assert dirty is not None
    return Match(0.75, dirty.metric, {"cleaned": cleaned, "written": written})


RULES = (Rule("write_back", (STALL,), look),)
