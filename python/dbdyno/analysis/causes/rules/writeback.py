"""The kernel writes dirty pages back, many at once, and the server's flushes queue behind them."""

from __future__ import annotations

from dbdyno.analysis.causes.evidence import STALL, Evidence
from dbdyno.analysis.causes.rule import Match, Rule
from dbdyno.analysis.causes.rules import disk
from dbdyno.wording import numbers

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
    return Match(
        0.75,
        f"The kernel wrote {numbers.number(cleaned / 1e6)} MB of dirty pages to the disk"
        f" {seen.here}, at {numbers.number(written.during / 1e6)} MB a second, against"
        f" {numbers.number(written.otherwise / 1e6)} {seen.there}.",
        "Lower vm.dirty_background_bytes (or vm.dirty_background_ratio: 10 to 1 cost 2.8 % of"
        " throughput in a published test), so that it writes earlier and less at a time; or let the"
        " server write past the page cache (innodb_flush_method=O_DIRECT).",
        dirty.metric,
    )


RULES = (
    Rule(
        "write_back",
        "write-back of dirty pages",
        "at least 32 MB fewer pages are dirty afterwards, half or more of what the device wrote,"
        " which is twice what it writes otherwise",
        "https://docs.kernel.org/admin-guide/sysctl/vm.html#dirty-background-bytes",
        (STALL,),
        look,
    ),
)
