"""The relay: TCP connections on loopback, passed on under the conditions of a network.

`dyno-engine relay` is one process with any number of listeners, each with a name (that of a node)
and a server behind it. Conditions change while connections run. Its protocol: `dyno-engine relay
--help`.

It needs no guardian: it owns nothing but sockets, and ends with its standard input, which the
kernel closes however we end.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypedDict

from dbdyno.errors import DynoError
from dbdyno.hosts.base import MERGED, PIPE, Host, TimedOut
from dbdyno.systems.process.guarded import is_readable
from dbdyno.systems.process.paths import LOOPBACK

ANSWER_TIMEOUT_S = 20.0
END_TIMEOUT_S = 5.0
SAID_MAX = 2000  # characters of its last words that are kept


class Ways(TypedDict):
    """A value for each direction."""

    to_server: float
    to_client: float


class Swallow(TypedDict):
    """A planted defect, to try an audit with: one in so many commits is answered and undone."""

    protocol: Literal["mysql", "postgres"]
    every: int  # one in so many; 0: none
    seed: int


class Resolve(TypedDict):
    """How new connections find their server: by a name, at a name server."""

    name: str
    server: str  # HOST:PORT on loopback
    port: int  # at the address that the name has
    keep_s: float | None  # how long an answer is kept; None: for its TTL
    patience_s: float | None  # with an address where nobody answers; None: until TCP gives up


class Link(TypedDict, total=False):
    """A change of conditions: what is absent stays. Numbers are of both directions, or `Ways`."""

    delay_s: float | Ways  # of one way
    jitter_s: float | Ways  # up to so much more
    bytes_per_s: int | Ways  # of all connections together; 0: no limit
    loss: float | Ways  # share of packets
    drop: Literal["none", "to_server", "to_client", "both"]  # all packets: a partition
    refuse: bool  # new connections
    swallow: Swallow  # of new connections without TLS
    resolve: Resolve


@dataclass(frozen=True)
class State:
    """What a listener says after a command."""

    port: int  # on loopback
    at_unix_s: float  # when the command took effect
    connections: int  # open ones
    accepted: int  # since it listens
    bytes_to_server: int
    bytes_to_client: int
    swallowed: int  # commits
    lookups: int  # questions to a name server
    cpu_s: float  # of the whole relay, so far


class Relay:
    """A running relay. Its methods may be called from any thread; `stop` ends it and resets all
    connections."""

    def __init__(self, host: Host, engine: Path, cpus: Sequence[int] = ()) -> None:
        """`engine`: the program `dyno-engine` on that host; `cpus`: where it runs, empty: anywhere.
        DynoError if it does not start."""
        only = ["--cpus", ",".join(map(str, cpus))] if cpus else []
        self._lock = threading.Lock()
        self._buffer = b""
        self._said = ""  # what is no answer: its last words
        try:
            self._process = host.start(
                [engine, "relay", *only], stdin=PIPE, stdout=PIPE, stderr=MERGED, cwd="/"
            )
        except OSError as error:
            raise DynoError(
                f"{engine} cannot be started as a relay: {error.strerror}",
                fix="install dbdyno's engine again",
            ) from error

    @property
    def pid(self) -> int:
        """Of its process."""
        return self._process.pid

    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    def listen(
        self, name: str, port: int, link: Link | None = None, *, at: str = LOOPBACK, on: int = 0
    ) -> State:
        """Listens for a node whose server is at a port of loopback: `at` an address of loopback,
        `on` a port, 0: any free one."""
        full = {**(link or {}), "to": f"{LOOPBACK}:{port}"}
        return self._ask("listen", name, link=full, ip=at, port=on)

    def change(self, name: str, link: Link, *, reset: bool = False) -> State:
        """Changes conditions, of open connections too; with `reset` these are reset."""
        return self._ask("change", name, link=dict(link), reset=reset)

    def lead_to(self, name: str, port: int, *, reset: bool = False) -> State:
        """Leads new connections to another server, as an address that follows a primary; open ones
        stay, unless they are reset."""
        return self._ask("change", name, link={"to": f"{LOOPBACK}:{port}"}, reset=reset)

    def reset(self, name: str) -> State:
        """Resets all connections of a node."""
        return self._ask("reset", name)

    def close(self, name: str) -> State:
        """Resets all connections of a node, and listens no more."""
        return self._ask("close", name)

    def state(self, name: str) -> State:
        """What a listener has done so far."""
        return self._ask("status", name)

    def stop(self) -> None:
        """Ends it; nothing happens if it has ended."""
        with self._lock:
            if self._process.stdin is not None:
                with contextlib.suppress(OSError):  # it is gone, and a command was left unsent
                    self._process.stdin.close()
            try:
                self._process.wait(END_TIMEOUT_S)
            except TimedOut:
                self._process.kill()
                self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()

    def _ask(self, do: str, name: str, **more: Any) -> State:
        with self._lock:
            answer = self._exchange({"do": do, "name": name, **more})
        if "error" in answer:
            raise DynoError(f"the relay refuses `{do}` of {name}: {answer['error']}")
        return State(**{field.name: answer[field.name] for field in fields(State)})

    def _exchange(self, command: dict[str, Any]) -> dict[str, Any]:
        stdin = self._process.stdin
        try:
            if stdin is None or stdin.closed:
                raise BrokenPipeError
            stdin.write(json.dumps(command).encode() + b"\n")
            stdin.flush()
        except BrokenPipeError:
            raise self._gone() from None
        deadline = time.monotonic() + ANSWER_TIMEOUT_S
        while True:
            line = self._line(deadline)
            if line.startswith(b"{"):
                answer: dict[str, Any] = json.loads(line)
                return answer
            self._said = (self._said + line.decode(errors="replace"))[-SAID_MAX:]

    def _line(self, deadline: float) -> bytes:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        while b"\n" not in self._buffer:
            left_s = deadline - time.monotonic()
            if left_s <= 0 or not is_readable(descriptor, left_s):
                self._process.kill()  # a late answer would be taken for that of the next command
                raise DynoError(
                    f"the relay did not answer within {ANSWER_TIMEOUT_S:.0f} s",
                    cause="it was stopped (SIGSTOP), or the machine is very busy",
                    fix="let it run undisturbed",
                )
            data = os.read(descriptor, 65536)
            if not data:
                raise self._gone()
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line + b"\n"

    def _gone(self) -> DynoError:
        return DynoError(
            "the relay between load and servers has ended",
            cause=self._said.strip() or "somebody killed it, or the kernel did: see `dmesg`",
            fix="run again; if it stays, report it",
        )
