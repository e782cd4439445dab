"""What to say when a server does not answer any more."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from dbdyno.errors import DynoError
from dbdyno.systems.process import Guarded

P = ParamSpec("P")
R = TypeVar("R")


class Watched(Protocol):
    """A server that we started: it has a process and a log."""

    process: Guarded

    def log_tail(self) -> str:
        """The end of its log."""


class Asked(Protocol):
    """A server of either sort."""

    def unanswered(self, error: Exception) -> DynoError:
        """The error for a client library's."""


S = TypeVar("S", bound=Asked)
Method = Callable[Concatenate[S, P], R]


def answered(
    errors: tuple[type[Exception], ...],
) -> Callable[[Method[S, P, R]], Method[S, P, R]]:
    """Turns a client library's `errors` in a method into what the server has to say of them."""

    def decorate(method: Method[S, P, R]) -> Method[S, P, R]:
        @functools.wraps(method)
        def asked(self: S, *args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return method(self, *args, **kwargs)
            except errors as error:
                raise self.unanswered(error) from error

        return asked

    return decorate


def lost(kind: str, server: Watched, error: Any) -> DynoError:
    """The error for a server of ours that did not answer, with the end of its log."""
    if server.process.alive():
        return DynoError(
            f"{kind} does not answer: {error}",
            cause="it hangs, or the machine is very busy",
            fix=f"its log ends:\n{server.log_tail()}",
        )
    status = server.process.status()
    how = f"was killed by signal {-status}" if status and status < 0 else "ended"
    return DynoError(
        f"{kind} {how} while dyno talked to it: {error}",
        cause="the kernel's OOM killer, somebody's kill, or a defect of the server",
        fix=f"look at `dmesg` and at the end of its log:\n{server.log_tail()}",
    )


def refused(kind: str, statement: str, said: str) -> DynoError:
    """The error for a statement of the user's that a server refused."""
    short = " ".join(statement.split())
    shown = short if len(short) <= 200 else f"{short[:200]}..."
    return DynoError(f"{kind} refused `{shown}`: {said}", fix="correct the statement")
