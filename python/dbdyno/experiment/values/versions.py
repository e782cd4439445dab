"""Versions of servers, by their leading numbers."""

from __future__ import annotations

import re


def numbers(version: str) -> tuple[int, ...]:
    """(10, 11, 14) of `10.11.14-MariaDB` or `MySQL 10.11.14`; empty if it has none."""
    found = re.search(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()


def is_older(version: str, than: str) -> bool:
    """Whether a version is older than another, as far as both say their numbers: 11 is not older
    than 11.8."""
    one, other = numbers(version), numbers(than)
    length = min(len(one), len(other))
    return one[:length] < other[:length]
