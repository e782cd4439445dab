"""dbdyno for Python programs: `dbdyno.open`, `dbdyno.run`, and what they give."""

from __future__ import annotations

from dbdyno.api.frames import Frame
from dbdyno.api.runs import Run, open
from dbdyno.api.starting import run
from dbdyno.errors import DynoError, Where

__all__ = ["DynoError", "Frame", "Run", "Where", "open", "run"]
