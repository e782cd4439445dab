"""Nothing was sampled of the server's machine: what happened there cannot be named."""

from __future__ import annotations

from dbdyno.analysis.causes.evidence import STALL, STEP, Evidence
from dbdyno.analysis.causes.rule import Match, Rule


def look(seen: Evidence) -> Match | None:
    """Only where nothing else is recognised: it is the least confident of all."""
    if seen.seen or not seen.on_host:
        return None
    return Match(0.5)


RULES = (Rule("host_not_seen", (STALL, STEP), look),)
