"""Environments that each have a library preloaded into a process (ld.so(8), LD_PRELOAD)."""

from __future__ import annotations

from collections.abc import Mapping

PRELOAD = "LD_PRELOAD"


def together(*environments: Mapping[str, str]) -> dict[str, str]:
    """One with the variables of all, and all their libraries, in this order."""
    found: dict[str, str] = {}
    for each in environments:
        found |= each
    libraries = [each[PRELOAD] for each in environments if PRELOAD in each]
    return found | ({PRELOAD: ":".join(libraries)} if libraries else {})
