"""When a server's own log says that it is ready.

Lines carry the time, to the microsecond (MySQL), the millisecond (PostgreSQL) or the second
(MariaDB). Of the latter the time counts at which the line was there.
"""

from __future__ import annotations

import re
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

LOG = str(Path("*", "work", "db", "server.log"))  # below a scratch directory
LOOK_S = 0.005
_READY = re.compile(rb"ready for connections|ready to accept connections")
_STAMP = re.compile(rb"^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d\.\d+)")


class ReadyTimes:
    """Reads the log of the only server below a scratch directory while it is open."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._seen: list[float] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> ReadyTimes:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def after(self, unix_s: float) -> float | None:
        """The first time after another at which it was ready, unix seconds."""
        return min((one for one in self._seen if one > unix_s), default=None)

    def _follow(self) -> None:
        log, read = Path(), 0
        while not self._over.wait(LOOK_S):
            try:
                if not log.name or not log.exists():
                    log, read = next(self._scratch.glob(LOG)), 0
                with log.open("rb") as file:
                    file.seek(read)
                    added = file.read()
            except (OSError, StopIteration):
                log, read = Path(), 0
                continue
            now_s = time.time()
            whole = added[: added.rfind(b"\n") + 1]
            read += len(whole)
            self._seen += [_at(line, now_s) for line in whole.splitlines() if _READY.search(line)]


def _at(line: bytes, now_s: float) -> float:
    stamp = _STAMP.search(line)
    if stamp is None:
        return now_s
    day, clock = stamp[1].decode(), stamp[2].decode()[:15]
    return datetime.fromisoformat(f"{day}T{clock}").replace(tzinfo=UTC).timestamp()
