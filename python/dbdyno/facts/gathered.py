"""Collects facts of one subject, without their secrets."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dbdyno.facts.fact import SETTING, Fact, Facts, Table, Version
from dbdyno.facts.secret import told


class Gathered:
    """Every value passes `secret.told`: what looks like a secret is not kept."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._facts: dict[str, Fact] = {}
        self._tables: dict[str, Table] = {}
        self._missing: dict[str, str] = {}

    def add(self, key: str, value: Any, place: str, unit: str = "") -> None:
        """One fact; a later one of its key replaces it, as a later line of a file does."""
        name = key.partition(".")[2] or key
        self._facts[key] = Fact(key, told(name, value), place, unit, self._clock())

    def setting(self, name: str, value: Any, place: str) -> None:
        """A setting by its name."""
        self.add(f"{SETTING}.{name}", value, place)

    def table(self, name: str, rows: Iterable[Mapping[str, Any]], place: str) -> None:
        """Rows, by columns in small letters. A row of a setting (`name`, `value`) is hidden by its
        name, any other by its columns' names."""
        made = tuple(
            {
                column: told(
                    str(row.get("name", "")) if column in ("value", "spelled_value") else column,
                    value,
                )
                for column, value in row.items()
            }
            for row in rows
        )
        self._tables[name] = Table(made, place, self._clock())

    def lacks(self, key: str, reason: str) -> None:
        """Why a fact or table is missing."""
        self._missing[key] = reason

    def facts(self, subject: str, source: str, engine: str, version: Version = ()) -> Facts:
        """What was collected."""
        return Facts(subject, source, engine, version, self._facts, self._tables, self._missing)
