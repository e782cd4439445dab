"""The server itself was not there."""

from __future__ import annotations

from dbdyno.wording import numbers
from dbdyno.wording.cause import CauseText, always


def _stopped(here: str, there: str) -> str:
    return f"The server's process was stopped by a signal (state T) {here}."


def _restarted(here: str, there: str, back_s: float, outages: int) -> str:
    return (
        f"The server was restarted: its uptime went back by {numbers.number(back_s)} s, and"
        f" {numbers.counted(outages, 'connection')} broke."
    )


def _outage(here: str, there: str, outages: int) -> str:
    return f"{numbers.counted(outages, 'connection')} to the server broke {here}."


CAUSES = {
    "server_stopped": CauseText(
        "server stopped by a signal",
        "the server's process is in state T",
        "https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html",
        _stopped,
        always(
            "Find who sends SIGSTOP: a debugger, a snapshot or backup tool, a container that is"
            " frozen. It costs nothing."
        ),
    ),
    "server_restarted": CauseText(
        "restart of the server",
        "the server's uptime went back",
        "https://mariadb.com/kb/en/server-status-variables/#uptime",
        _restarted,
        always(
            "See the end of the server's error log: a crash, a lack of memory, a restart by hand."
        ),
    ),
    "outage": CauseText(
        "lost connections",
        "connections of the load were lost",
        "docs/reference/engine.md",
        _outage,
        always("See the server's error log and the network between."),
    ),
}
