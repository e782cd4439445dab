"""Memory: transparent huge pages and swap.

Sources: Documentation/admin-guide/mm/transhuge.rst of the kernel; proc(5), /proc/swaps.
"""

from __future__ import annotations

import re

from dbdyno.rules.machine.finding import FINE, FOUND, NOT_KNOWN, Finding, Place, Rule, not_known

_THP = "sys/kernel/mm/transparent_hugepage/enabled"
_SWAPPINESS_MAX = 10
_IN_USE_MIN_KIB = 1024


def _huge_pages(place: Place) -> Finding:
    text = place.text(_THP)
    if text is None:
        return not_known("huge_pages", _THP)
    chosen = re.search(r"\[(\w+)\]", text)
    if not chosen:
        return Finding("huge_pages", NOT_KNOWN, f"/{_THP} names no setting")
    if chosen[1] != "always":
        return Finding("huge_pages", FINE, f"transparent huge pages: {chosen[1]}")
    return Finding(
        "huge_pages",
        FOUND,
        "transparent huge pages are `always` on",
        "the kernel merges and splits pages while trials run: latency has rare spikes of"
        " milliseconds, memory use grows, and restarts differ by how much got merged",
        f"echo madvise > /{_THP}",
    )


def _swap(place: Place) -> Finding:
    text = place.text("proc/swaps")
    if text is None:
        return not_known("swap", "proc/swaps")
    rows = [line.split() for line in text.splitlines()[1:]]
    used_kib = sum(int(row[3]) for row in rows if len(row) > 3 and row[3].isdigit())
    if not rows:
        return Finding("swap", FINE, "no swap")
    if used_kib >= _IN_USE_MIN_KIB:
        return Finding(
            "swap",
            FOUND,
            f"{used_kib / 1024:,.0f} MiB of swap are in use",
            "pages of servers or of the generator may be on disk: their first use in a trial takes"
            " milliseconds, and warm-up does not reach all of them",
            "free memory, then: swapoff -a && swapon -a",
        )
    swappiness = place.number("proc/sys/vm/swappiness")
    if swappiness is None:
        return not_known("swap", "proc/sys/vm/swappiness")
    if swappiness <= _SWAPPINESS_MAX:
        return Finding("swap", FINE, f"swap is not in use, swappiness {swappiness}")
    return Finding(
        "swap",
        FOUND,
        f"there is swap, with swappiness {swappiness}",
        "under write load the kernel may swap a buffer pool out in favour of the page cache, which"
        " shows as stalls late in long trials",
        "sysctl vm.swappiness=1",
    )


CHECKS = (
    Rule("huge_pages", "transparent huge pages that are always on", _huge_pages),
    Rule("swap", "swap in use, or likely to be used", _swap),
)
