"""What every sampler is: something that is opened, read once an interval, and closed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

Reading = Mapping[str, float]
Pids = int | Sequence[int] | Callable[[], int | Sequence[int] | None]
"""A server's main processes: numbers, or what gives those of now (a server may start again)."""


class Sampled(Protocol):
    """What is asked of a server here, or of several alike as one (`systems.base.Server`)."""

    @property
    def pid(self) -> int | Sequence[int] | None: ...
    @property
    def directory(self) -> Path | None: ...
    def counters(self) -> Mapping[str, float]: ...
    def gauges(self) -> frozenset[str]: ...
    def sessions_by_state(self) -> Mapping[str, int]: ...


class Sampler(Protocol):
    """One source of metrics.

    `source` heads its metrics' names (`cpu` -> `cpu.user`). A sampler keeps what it saw last and
    answers with rates since then, or levels. It may raise any `Exception`: the runner notes a gap.
    """

    source: str
    about: str
    quick: bool  # cheap enough to be read several times an interval, so that short stalls show

    def open(self) -> None:
        """Opens what it reads and takes the first readings, which rates need."""

    def sample(self, elapsed_s: float) -> Mapping[str, float]:
        """Values since the last call, `elapsed_s` ago (> 0); may be empty."""

    def close(self) -> None:
        """Releases what `open` took; safe to call twice."""


class ProcFile:
    """A small file of /proc or /sys that is kept open: reading it again costs two system calls."""

    def __init__(self, path: Path | str, size_max: int = 1 << 16) -> None:
        self._path = str(path)
        self._size_max = size_max
        self._descriptor: int | None = None

    def open(self) -> None:
        """Opens it; OSError if it is not there."""
        self.close()
        self._descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)

    def text(self) -> str:
        """Its content now. A read ends at a page of memory where the kernel makes the file line by
        line (/proc/net/dev of many interfaces), so it is read until nothing is left."""
        if self._descriptor is None:
            raise OSError(f"{self._path} is not open")
        content = b""
        while part := os.pread(self._descriptor, self._size_max - len(content), len(content)):
            content += part
        return content.decode()

    def close(self) -> None:
        """Closes it; safe to call twice."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class ProcSampler:
    """A sampler of one file: the levels that `parse` reads from its text, or with `rates(last, now,
    elapsed_s)` what has changed between two readings."""

    def __init__(
        self,
        file: ProcFile,
        parse: Callable[[str], Reading],
        rates: Callable[[Reading, Reading, float], Reading] = lambda last, now, elapsed_s: now,
    ) -> None:
        self._file, self._parse, self._rates = file, parse, rates

    def open(self) -> None:
        self._file.open()
        self._last = self._parse(self._file.text())

    def sample(self, elapsed_s: float) -> Reading:
        now = self._parse(self._file.text())
        last, self._last = self._last, now
        return self._rates(last, now, elapsed_s)

    def close(self) -> None:
        self._file.close()


def numbers_of(pids: Pids) -> tuple[int, ...]:
    """The numbers of now. OSError if no process runs."""
    found = pids() if callable(pids) else pids
    if found is None:
        raise OSError("no process of the server runs")
    return (found,) if isinstance(found, int) else tuple(found)


def prefixed(target: str, source: str) -> str:
    """`db.status` where a cell has several targets (`target` is empty where it has one)."""
    return f"{target}.{source}" if target else source


__all__ = ["Pids", "ProcFile", "ProcSampler", "Sampled", "Sampler", "numbers_of", "prefixed"]
