"""The end of a server's log, and what its messages usually mean."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

LINES = 12
READ_BYTES_MAX = 16384

Hint = tuple[str, str, str]
"""(pattern in the log, likely cause, next step); the latter two may refer to groups."""


_TELLING = re.compile(
    r"error|fatal|panic|hint:|cannot|can't|could not|failed|no space|denied|not found",
    re.IGNORECASE,
)


def telling(output: str, lines: int = LINES) -> str:
    """Of a set-up program's output the last lines that sound like a reason, indented; without any,
    the last lines."""
    every = [line.rstrip() for line in output.splitlines() if line.strip()]
    chosen = [line for line in every if _TELLING.search(line)] or every
    return "\n".join(f"    {line}" for line in chosen[-lines:])


class LogTail:
    """What a server logged since this object was made (just before its start)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._start = path.stat().st_size if path.exists() else 0

    def text(self, lines: int = LINES) -> str:
        """The last lines, indented; empty if there is no log."""
        try:
            with self.path.open("rb") as file:
                size = self.path.stat().st_size
                file.seek(max(self._start, size - READ_BYTES_MAX))
                text = file.read(READ_BYTES_MAX).decode(errors="replace")
        except OSError:
            return ""
        return "\n".join(f"    {line}" for line in text.splitlines()[-lines:])

    def explain(self, hints: Sequence[Hint]) -> tuple[str, str]:
        """Likely cause and next step, by the first hint that fits."""
        text = self.text(60)
        for pattern, cause, fix in hints:
            found = re.search(pattern, text, re.IGNORECASE)
            if found:
                return found.expand(cause), found.expand(fix)
        return "the server refused to start; the reason is in its log, above", "correct `config:`"
