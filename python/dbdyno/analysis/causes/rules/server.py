"""The server itself was not there: stopped, restarted, or its connections lost."""

from __future__ import annotations

from dbdyno.analysis.causes.evidence import STALL, STEP, Evidence
from dbdyno.analysis.causes.rule import Match, Rule
from dbdyno.wording import numbers

STOPPED_MIN = 0.3  # of the looks


def stopped(seen: Evidence) -> Match | None:
    """The kernel shows its process in state T."""
    looks = [*seen.named("state.stopped"), *seen.named("server.stopped")]
    moved = max(looks, key=lambda one: one.during, default=None)
    if moved is None or moved.during < STOPPED_MIN or moved.during <= moved.otherwise:
        return None
    return Match(
        0.98,
        f"The server's process was stopped by a signal (state T) {seen.here}.",
        "Find who sends SIGSTOP: a debugger, a snapshot or backup tool, a container that is"
        " frozen. It costs nothing.",
        moved.metric,
    )


def restarted(seen: Evidence) -> Match | None:
    """Its uptime went back."""
    for name in ("status.Uptime", "status.uptime"):
        moved = seen.get(name)
        if moved is not None and moved.gained < 0:
            return Match(
                0.97,
                f"The server was restarted: its uptime went back by"
                f" {numbers.number(-moved.gained)} s, and"
                f" {numbers.counted(seen.outages, 'connection')} broke.",
                "See the end of the server's error log: a crash, a lack of memory, a restart by"
                " hand.",
                moved.metric,
            )
    return None


def outage(seen: Evidence) -> Match | None:
    """Connections broke, and nothing says that the server was new afterwards."""
    if not seen.outages:
        return None
    return Match(
        0.95,
        f"{numbers.counted(seen.outages, 'connection')} to the server broke {seen.here}.",
        "See the server's error log and the network between.",
    )


RULES = (
    Rule(
        "server_stopped",
        "server stopped by a signal",
        "the server's process is in state T",
        "https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html",
        (STALL,),
        stopped,
    ),
    Rule(
        "server_restarted",
        "restart of the server",
        "the server's uptime went back",
        "https://mariadb.com/kb/en/server-status-variables/#uptime",
        (STALL, STEP),
        restarted,
    ),
    Rule(
        "outage",
        "lost connections",
        "connections of the load were lost",
        "docs/reference/engine.md",
        (STALL, STEP),
        outage,
    ),
)
