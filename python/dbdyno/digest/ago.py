"""Moments before now, as `--since -2h` has them."""

from __future__ import annotations

from dbdyno.errors import DynoError
from dbdyno.experiment.values import units

EXAMPLE = "such as -2h, -30m or -1d for a time before now, 2026-01-31T12:00:00Z, or Unix seconds"


def resolved(option: str, typed: str | None, now_s: float) -> str | None:
    """`-2h` as Unix seconds; other moments as they were typed."""
    if typed is None:
        return None
    before_s = _duration_s(typed.removeprefix("-"))
    if typed.startswith("-") and before_s is not None:
        return f"{now_s - before_s:.3f}"
    if before_s is not None:
        raise DynoError(
            f"`{option} {typed}` is no moment",
            cause="a length of time without a sign: before or after now?",
            fix=f"for {typed} ago: {option} -{typed}",
        )
    if typed.startswith("-") and not units.is_number(typed):
        raise DynoError(f"`{option} {typed}` is no moment", fix=EXAMPLE)
    return typed


def _duration_s(text: str) -> float | None:
    """None: no length of time with its unit."""
    try:
        return None if units.is_number(text) else units.duration_s(text)
    except ValueError:
        return None
