"""Counted nouns, for what the digest itself says; reports have theirs in `report/numbers.py`."""

from __future__ import annotations


def many(number: int, noun: str) -> str:
    """1 call, 7,061 calls."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
