"""The server itself was not there."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.wording.cause import CauseText


def _fault(faults: Sequence[str], here: str, there: str) -> str:
    return f"The experiment did this on purpose: `{'`, `'.join(faults)}` {here}."


CAUSES = {
    "fault": CauseText(
        "a fault of the experiment",
        "a fault of the experiment struck a server just then",
        "docs/guide/faults.md",
        _fault,
        "",
    ),
    "server_stopped": CauseText(
        "server stopped by a signal",
        "the server's process is in state T",
        "https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html",
        "The server's process was stopped by a signal (state T) {here}.",
        "Find who sends SIGSTOP: a debugger, a snapshot or backup tool, a container that is"
        " frozen. It costs nothing.",
    ),
    "server_restarted": CauseText(
        "restart of the server",
        "the server's uptime went back",
        "https://mariadb.com/kb/en/server-status-variables/#uptime",
        "The server was restarted: its uptime went back by {back_s:number} s, and"
        " {outages:count connection} broke.",
        "See the end of the server's error log: a crash, a lack of memory, a restart by hand.",
    ),
    "outage": CauseText(
        "lost connections",
        "connections of the load were lost",
        "docs/reference/engine.md",
        "{outages:count connection} to the server broke {here}.",
        "See the server's error log and the network between.",
    ),
}
