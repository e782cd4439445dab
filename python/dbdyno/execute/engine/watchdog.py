"""Notices an engine that does not go on: one that is stopped (SIGSTOP), or silent.

A stop is no silence only: a trial that went on after one has a hole in it that no number shows. The
kernel keeps for the parent that a child was stopped, and that it was continued, until somebody asks
(waitpid(2), WUNTRACED and WCONTINUED), so however short a stop was, it is seen. Time is counted in
looks, not by a clock: a machine that slept, or a dyno that was itself stopped, is no silence.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from select import POLLIN, poll
from typing import Any

from dbdyno.hosts.base import Process

LOOK_S = 0.5
START_S = 1800.0  # until the first interval: connecting, preparing, and what a script does there
SILENCE_S = 120.0  # beyond what the plan says
STOPPED_S = 30.0  # how long loading, which is not measured, may lie stopped

_PIECE = 1 << 16


class Watchdog:
    """Reads an engine's lines; kills it, and says why in `reason`, where it does not go on."""

    def __init__(self, process: Process, plan: Mapping[str, Any], look_s: float = LOOK_S) -> None:
        """`plan` is the engine's: it says how often to expect its messages."""
        self._process = process
        self._look_s = look_s
        self._measures = plan.get("job") == "run"
        self._silence_s = SILENCE_S + float(plan.get("drain_s", 0.0))
        self._silence_s += 3 * float(plan.get("interval_s", 0.0)) + _deadline_s(plan)
        self._looks = 0  # in a row without a word
        self._stopped_looks = 0
        self._begun = False
        self._continued = True
        self.reason = ""

    def lines(self) -> Iterator[bytes]:
        """Each line of its standard output, the last one perhaps without an end."""
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        poller = poll()
        poller.register(descriptor, POLLIN)
        rest = b""
        while True:
            heard = bool(poller.poll(self._look_s * 1000))
            self._look(heard)
            if not heard:
                continue
            piece = os.read(descriptor, _PIECE)
            if not piece:
                break
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                self._begun = self._begun or b'"interval"' in line
                yield line + b"\n"
        if rest:
            yield rest

    def _look(self, heard: bool) -> None:
        if self.reason:
            return
        self._see_stops()
        if not self._continued:
            self._stopped_looks += 1
            if self._measures or self._stopped_looks * self._look_s > STOPPED_S:
                self._end("somebody stopped the engine (SIGSTOP)")
            return
        self._looks = 0 if heard else self._looks + 1
        silent_s = self._looks * self._look_s
        # Loading is silent while a server builds an index, for hours.
        most_s = self._silence_s if self._begun else max(START_S, self._silence_s)
        if self._measures and silent_s > most_s:
            self._end(f"the engine said nothing for {silent_s:.0f} s")

    def _see_stops(self) -> None:
        """Both news are kept by the kernel until they are asked for; a stop that is over by now
        has spoilt what is measured, too."""
        options = os.WSTOPPED | os.WCONTINUED | os.WNOHANG
        while True:
            try:
                news = os.waitid(os.P_PID, self._process.pid, options)
            except ChildProcessError:  # it has ended, and somebody has asked how
                return
            if news is None:
                return
            self._continued = news.si_code == os.CLD_CONTINUED
            if self._continued:
                self._stopped_looks = 0
            if self._measures:
                self._end("somebody stopped the engine (SIGSTOP)")
                return

    def _end(self, reason: str) -> None:
        self.reason = reason
        self._process.kill()


def _deadline_s(plan: Mapping[str, Any]) -> float:
    """How long a statement may keep the end waiting."""
    return max(
        (float(group.get("deadline_s") or 0.0) for group in plan.get("groups", ())), default=0.0
    )
