"""The server itself was not there: stopped, restarted, or its connections lost."""

from __future__ import annotations

from dbdyno.analysis.causes.evidence import STALL, STEP, Evidence
from dbdyno.analysis.causes.rule import Match, Rule

STOPPED_MIN = 0.3  # of the looks


def fault(seen: Evidence) -> Match | None:
    """A fault of the experiment struck: what else is seen of it is its effect."""
    return Match(1.0, evidence={"faults": seen.faults}) if seen.faults else None


def stopped(seen: Evidence) -> Match | None:
    """The kernel shows its process in state T."""
    if seen.faults:
        return None
    looks = [*seen.named("state.stopped"), *seen.named("server.stopped")]
    moved = max(looks, key=lambda one: one.during, default=None)
    if moved is None or moved.during < STOPPED_MIN or moved.during <= moved.otherwise:
        return None
    return Match(0.98, moved.metric)


def restarted(seen: Evidence) -> Match | None:
    """Its uptime went back."""
    if seen.faults:
        return None
    for name in ("status.Uptime", "status.uptime"):
        moved = seen.get(name)
        if moved is not None and moved.gained < 0:
            back = {"back_s": -moved.gained, "outages": seen.outages}
            return Match(0.97, moved.metric, back)
    return None


def outage(seen: Evidence) -> Match | None:
    """Connections broke, and nothing says that the server was new afterwards."""
    if not seen.outages or seen.faults:
        return None
    return Match(0.95, evidence={"outages": seen.outages})


RULES = (
    Rule("fault", (STALL,), fault),
    Rule("server_stopped", (STALL,), stopped),
    Rule("server_restarted", (STALL, STEP), restarted),
    Rule("outage", (STALL, STEP), outage),
)
