"""A program that copies what a server logs, as it is written."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.systems.backups.base import POLL_S, Logs, Site

NOTICES_S = 30.0  # in which it has read the rest, and notices that the server is gone
ENDS_S = 5.0  # in which it ends after a signal
STARTS_S = 60.0  # in which it begins to write


class LogReader:
    """One that runs, from its start until the server is gone."""

    def __init__(
        self, site: Site, command: Sequence[str | Path], log: str, has_begun: Callable[[], bool]
    ) -> None:
        """Starts it. `log`: the name of the file of what it says; `has_begun`: whether it has begun
        to write. DynoError if it does not."""
        self._site = site
        self._log = site.given.directory / log
        self._process = site.begin(command, self._log)
        try:
            self._wait(has_begun)
        except BaseException:
            self.stop()
            raise

    def _wait(self, has_begun: Callable[[], bool]) -> None:
        deadline = time.monotonic() + STARTS_S
        while not has_begun():
            self._site.check()
            if time.monotonic() > deadline or not self._process.alive():
                raise DynoError(
                    f"no program reads the server's log: {self._said()}",
                    cause="the server refuses it, or the machine is very busy",
                    fix="see its message; or write `logs: kept`",
                )
            time.sleep(POLL_S)

    def _said(self) -> str:
        text = self._log.read_text(errors="replace") if self._log.exists() else ""
        return " ".join(text.split())[-300:] or "no message"

    def must_run(self) -> None:
        """See `Logs`."""
        if not self._process.alive():
            raise DynoError(
                f"the program that reads the server's log has ended: {self._said()}",
                cause="the server ended its session, or the disk is full",
                fix="see its message; or write `logs: kept`",
            )

    def finish(self) -> None:
        """Ends it once it has noticed that the server is gone."""
        self._process.wait(NOTICES_S)
        self.stop()

    def stop(self) -> None:
        """Ends it."""
        self._process.stop(ENDS_S)


@contextmanager
def closing(logs: Logs | None) -> Iterator[None]:
    """While a backup is taken: if that fails, nothing reads its logs any more."""
    try:
        yield
    except BaseException:
        if logs is not None:
            logs.close()
        raise
