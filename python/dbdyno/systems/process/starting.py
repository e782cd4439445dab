"""What starting a server takes, whichever it is: a port, patience, and words for a failure."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from dbdyno.errors import DynoError
from dbdyno.systems import portable_options
from dbdyno.systems.base import Resolved
from dbdyno.systems.process.guarded import Guarded
from dbdyno.systems.process.logtail import LogTail
from dbdyno.systems.process.paths import check_port, free_port

START_TIMEOUT_S = 120.0  # redo of a large log after a kill takes its time
STOP_TIMEOUT_S = 120.0  # writes back the caches
HUNG_TIMEOUT_S = 10.0  # for a server that does not answer
DISCARD_TIMEOUT_S = 3.0  # for one whose files are not needed
CONTROL_TIMEOUT_S = 10
SETTLE_TIMEOUT_S = 600
TRIES = 4

Hints = tuple[tuple[str, str, str], ...]  # (pattern in the log, likely cause, next step)


class Starting(Protocol):
    """A server whose process has just been made."""

    def wait_until_ready(self) -> None: ...
    def check_settings(self, resolved: Resolved) -> None: ...
    def stop(self, *, discard: bool = False) -> bool: ...


S = TypeVar("S", bound=Starting)


class PortTaken(DynoError):
    """Someone was faster; with a port of our own choice we try another."""


def asked_port(settings: Mapping[str, str], kind: str) -> int | None:
    """The port that the user wants, which must be free; None if any will do."""
    if "port" not in settings:
        return None
    port = portable_options.port_number(settings["port"], kind)
    check_port(port, "port")
    return port


def start(launch: Callable[[int], S], resolved: Resolved, asked: int | None) -> S:
    """The server that `launch(port)` makes, once it answers and is what was asked for."""
    for attempt in range(1, TRIES + 1):
        server = launch(asked or free_port())
        try:
            server.wait_until_ready()
            server.check_settings(resolved)
        except PortTaken:
            server.stop()
            if asked or attempt == TRIES:
                raise
        except BaseException:
            server.stop()
            raise
        else:
            return server
    raise AssertionError("unreachable: the last attempt returns or raises")


def until_ready(
    name: str,
    process: Guarded,
    log: LogTail,
    hints: Hints,
    answers: Callable[[], None],
    errors: tuple[type[Exception], ...],
    message: Callable[[Exception | None], str] = str,
) -> None:
    """Calls `answers` until it raises none of `errors`; DynoError with the end of the log if the
    server dies or is silent for too long."""
    deadline = time.monotonic() + START_TIMEOUT_S
    error: Exception | None = None
    while time.monotonic() < deadline:
        if not process.alive():
            raise _died(name, process, log, hints)
        try:
            answers()
        except errors as caught:
            error = caught
            time.sleep(0.02)
        else:
            return
    raise DynoError(
        f"{name} did not answer within {START_TIMEOUT_S:.0f} s: {message(error)}",
        cause="a long recovery, a very slow disk, or a server that hangs",
        fix=f"its log ends:\n{log.text()}",
    )


def _died(name: str, process: Guarded, log: LogTail, hints: Hints) -> DynoError:
    status = process.status()
    how = f"signal {-status}" if status is not None and status < 0 else f"status {status}"
    cause, fix = log.explain(hints)
    kind: type[DynoError] = PortTaken if "port is in use" in cause else DynoError
    return kind(
        f"{name} ended at its start with {how}; its log ends:\n{log.text()}", cause=cause, fix=fix
    )
