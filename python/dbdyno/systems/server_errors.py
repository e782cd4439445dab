"""What to say when a server does not answer any more."""

from __future__ import annotations

import functools
import inspect
import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from dbdyno.errors import TRACEBACK, DynoError
from dbdyno.systems.process.guarded import Guarded

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")


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


def understood(cls: type[C]) -> type[C]:
    """No answer of a server is a defect of dbdyno: what its words cannot be made into (a version
    that is NULL, a counter that is a word, a row less) is a DynoError that names the server, in
    every public method of a class. What else these raise passes through."""
    for name in dir(cls):
        method = getattr(cls, name)
        if not name.startswith("_") and inspect.isfunction(method):
            setattr(cls, name, _understanding(method))
    return cls


def _understanding(method: Callable[..., R]) -> Callable[..., R]:
    @functools.wraps(method)
    def asked(self: Any, *args: Any, **kwargs: Any) -> R:
        with understanding(self.place, f"`{method.__name__}`"):
            return method(self, *args, **kwargs)

    return asked


@contextmanager
def understanding(place: str, asked: str) -> Iterator[None]:
    """The same for what is made of answers elsewhere; `asked`: what for."""
    try:
        yield
    except (LookupError, TypeError, ValueError, ArithmeticError) as error:
        if os.environ.get(TRACEBACK):
            traceback.print_exc()
        said = (str(error).splitlines() or [""])[0][:200]
        raise DynoError(
            f"{place} answers what makes no sense, asked for {asked}: {said}",
            cause="another kind of server listens there, or something between changes what it says",
            fix="ask it by its own client; if that is content, set "
            f"{TRACEBACK}=1 to see what was not understood, and report that",
        ) from error


def lost(kind: str, server: Watched, error: Any) -> DynoError:
    """The error for a managed server that did not answer, with the end of its log."""
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
