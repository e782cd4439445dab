"""The one error a user sees: what, where, likely cause, next step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

TRACEBACK = "DYNO_TRACEBACK"  # environment variable: prints where an error of others' data came up


@dataclass(frozen=True)
class Where:
    """A place in a file the user wrote; lines and columns count from 1."""

    file: Path | str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class DynoError(Exception):
    """Something the user can act on.

    `what` is one sentence; `where` points into the user's file if it can; `cause` is the likely
    reason; `fix` the next step. The CLI prints it without a traceback and exits with `exit_code`
    (2: the user must change something; 3: interrupted and resumable).
    """

    exit_code = 2

    def __init__(
        self,
        what: str,
        *,
        where: Where | None = None,
        cause: str = "",
        fix: str = "",
    ) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.cause = cause
        self.fix = fix

    @property
    def each(self) -> tuple[DynoError, ...]:
        """What it is made of: itself, or several errors."""
        return (self,)

    def __str__(self) -> str:
        lines = [f"{self.where}: {self.what}" if self.where else self.what]
        if self.cause:
            lines.append(f"  likely cause: {self.cause}")
        if self.fix:
            lines.append(f"  next step: {self.fix}")
        return "\n".join(lines)


class DynoErrors(DynoError):
    """Several mistakes of one file, by line. It stands for the first where one is asked for."""

    def __init__(self, errors: Sequence[DynoError]) -> None:
        first = errors[0]
        super().__init__(first.what, where=first.where, cause=first.cause, fix=first.fix)
        self._errors = tuple(errors)

    @property
    def each(self) -> tuple[DynoError, ...]:
        """All of them, by line."""
        return self._errors

    def __str__(self) -> str:
        return "\n".join(map(str, self._errors))


class Mistakes:
    """Collects the errors of parts that do not depend on each other, so that a user sees all."""

    def __init__(self) -> None:
        self._found: list[DynoError] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Keeps a DynoError that arises within, and goes on behind it."""
        try:
            yield
        except DynoError as error:
            self.add(error)

    def add(self, error: DynoError) -> None:
        """Keeps an error, or all of several; one at a place and of a text once."""
        said = {str(one) for one in self._found}
        self._found += [one for one in error.each if str(one) not in said]

    def stop(self) -> None:
        """Raises what was found: one error as it is, several by line."""
        if len(self._found) == 1:
            raise self._found[0]
        if self._found:
            raise DynoErrors(sorted(self._found, key=_place))


def _place(error: DynoError) -> tuple[str, int, int]:
    where = error.where
    return (str(where.file), where.line, where.column) if where else ("", 0, 0)
