"""SQL from the user's files into a server: line by line, confined to one schema.

Servers of the network take it through their own client program, whose reading of dumps is the one
that dumps are made for (COPY data, DELIMITER, conditional comments); it gets everything on standard
input and its password through an anonymous file in memory. Files may come from strangers, so what
would leave the schema, or let the client run commands, is refused before it is sent.

Sources: the manuals' pages on the clients `mariadb`, `mysql` (--binary-mode) and `psql`
(\\restrict, -f -), and on mysqldump's and pg_dump's output.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn, Protocol

from dbdyno.hosts.base import DEVNULL, PIPE, Host, TimedOut

STOP_TIMEOUT_S = 10.0
SAID_BYTES_MAX = 8192  # of what a client says
SEEN_BYTES = 4096  # of a line that are checked: statements are known by how they begin


class Rejected(Exception):
    """A line was refused, by us or by the server. `line` counts from 1; None if unknown."""

    def __init__(self, line: int | None, what: str, cause: str = "", fix: str = "") -> None:
        super().__init__(what)
        self.line = line
        self.what = what
        self.cause = cause
        self.fix = fix


class Importer(Protocol):
    """Takes a file line by line. `finish` or `abort` ends it. Both methods that take something in
    raise Rejected, perhaps about an earlier line."""

    def feed(self, line: bytes) -> None:
        """One line with its end."""

    def finish(self) -> None:
        """There are no more lines; returns when all of them are done."""

    def abort(self) -> None:
        """The rest is not needed."""

    def stop(self) -> None:
        """The same from a signal's handler, while another call waits: that one ends soon, perhaps
        by raising Rejected."""


@dataclass(frozen=True)
class Rule:
    """A kind of line that is refused. `pattern` is matched at the line's beginning."""

    pattern: re.Pattern[bytes]
    why: str
    fix: str


@dataclass(frozen=True)
class Program:
    """How a client program is called. `{secret}` in a word is the path of the secret file."""

    command: Sequence[str]
    environment: Mapping[str, str]
    secret: str  # content of a file that only the program can read; empty: none
    failure: re.Pattern[str]  # its last complaint: groups `line`, `what`
    preamble: bytes = b""  # sent first: whole lines


class ClientImporter:
    """An importer through a client program."""

    def __init__(self, host: Host, program: Program) -> None:
        self._program = program
        self._shift = program.preamble.count(b"\n")
        self._said = os.memfd_create("dyno-said", os.MFD_CLOEXEC)
        secret = os.memfd_create("dyno-secret", os.MFD_CLOEXEC)
        try:
            os.fchmod(secret, 0o600)  # clients do not read what others could have written
            os.write(secret, program.secret.encode())
            path = f"/proc/self/fd/{secret}"
            self._process = host.start(
                [word.replace("{secret}", path) for word in program.command],
                environment={
                    k: v.replace("{secret}", path) for k, v in program.environment.items()
                },
                stdin=PIPE,
                stdout=DEVNULL,
                stderr=self._said,
                pass_fds=(secret,),
                cwd="/",
            )
        except BaseException:
            os.close(self._said)
            raise
        finally:
            os.close(secret)
        self._send(program.preamble)

    def feed(self, line: bytes) -> None:
        self._send(line)

    def finish(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._ended()

    def abort(self) -> None:
        self._process.kill()
        self._close()

    def stop(self) -> None:
        self._process.kill()

    def _send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(data)
        except BrokenPipeError:
            self._ended()
            raise Rejected(None, "the client ended before the file did") from None

    def _ended(self) -> None:
        """Waits for the program; Rejected if it failed."""
        code = self._process.wait()
        said = os.pread(self._said, SAID_BYTES_MAX, max(0, self._size() - SAID_BYTES_MAX))
        self._close()
        if code != 0:
            raise self._rejected(said.decode("utf-8", "replace").strip(), code)

    def _size(self) -> int:
        return os.fstat(self._said).st_size

    def _rejected(self, said: str, code: int) -> Rejected:
        found = list(self._program.failure.finditer(said))
        if not found:
            lines = said.splitlines()
            return Rejected(None, lines[-1] if lines else f"the client ended with status {code}")
        last = found[-1]
        line, what = last["line"], last["what"] or last[0]
        return Rejected(int(line) - self._shift if line else None, what.strip())

    def _close(self) -> None:
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        with contextlib.suppress(TimedOut):
            self._process.wait(STOP_TIMEOUT_S)
        if self._said >= 0:
            os.close(self._said)
            self._said = -1


class Confined:
    """Checks each line before another importer gets it."""

    def __init__(self, inner: Importer, rules: Sequence[Rule]) -> None:
        self._inner = inner
        self._rules = rules
        self._line = 0

    def feed(self, line: bytes) -> None:
        self._line += 1
        self.check(line[:SEEN_BYTES])
        self._inner.feed(line)

    def check(self, line: bytes) -> None:
        """Rejected if a rule forbids the line."""
        for each in self._rules:
            if each.pattern.match(line):
                self.refuse(line, each)

    def refuse(self, line: bytes, broken: Rule) -> NoReturn:
        """Raises what the rule says of this line."""
        raise Rejected(self._line, f"`{_shown(line)}` {broken.why}", fix=broken.fix)

    def finish(self) -> None:
        self._inner.finish()

    def abort(self) -> None:
        self._inner.abort()

    def stop(self) -> None:
        self._inner.stop()


def rule(pattern: str, why: str, fix: str) -> Rule:
    """A rule for lines that begin so, small or large letters."""
    return Rule(re.compile(rb"\s*" + pattern.encode(), re.IGNORECASE), why, fix)


def _shown(line: bytes) -> str:
    text = line.decode("utf-8", "replace").strip()
    return text if len(text) <= 60 else f"{text[:60]}..."
