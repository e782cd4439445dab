"""Counted nouns."""

from __future__ import annotations


def count(number: int, one: str, many: str | None = None) -> str:
    """1 trial, 7,061 calls."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
