"""Nothing was sampled of the server's machine: what happened there cannot be named."""

from __future__ import annotations

from dbdyno.analysis.causes.evidence import STALL, STEP, Evidence
from dbdyno.analysis.causes.rule import Match, Rule


def look(seen: Evidence) -> Match | None:
    """Only where nothing else is recognised: it is the least confident of all."""
    if seen.seen or not seen.on_host:
        return None
    return Match(
        0.5,
        "The server's machine was not seen: of its disks, CPUs and processes there are no samples,"
        " so that a cause there cannot be named.",
        "Give the target `host:` (ssh or Prometheus), so that the machine is sampled.",
    )


RULES = (
    Rule(
        "host_not_seen",
        "machine not seen",
        "the server is on another machine, of which there are no samples, and nothing else is"
        " recognised",
        "docs/guide/external-servers.md",
        (STALL, STEP),
        look,
    ),
)
