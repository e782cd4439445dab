"""The one error a user sees: what, where, likely cause, next step."""

from __future__ import annotations

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

    def __str__(self) -> str:
        lines = [f"{self.where}: {self.what}" if self.where else self.what]
        if self.cause:
            lines.append(f"  likely cause: {self.cause}")
        if self.fix:
            lines.append(f"  next step: {self.fix}")
        return "\n".join(lines)
