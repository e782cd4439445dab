"""A fact, and all facts of one subject.

A fact that is missing is not a fact that is false: asking for it raises `Missing`, whose reason a
rule passes on as "not known".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Version = tuple[int, ...]  # (10, 11, 6); empty: not known
Row = Mapping[str, Any]  # of a table, by column

SETTING, STATUS, HOST = "setting", "status", "host"  # what keys begin with: `setting.port`
SESSION = "session"  # of what the connection itself shows: `session.tls`
EITHER = "mysql|mariadb"  # an option file does not say whose it is
ENGINES = ("mysql", "mariadb", "postgres", "redis", "mongodb", "ferretdb", "kubernetes", "linux")

_OFF = ("0", "off", "no", "false", "")
_ON = ("1", "on", "yes", "true")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgtpe]?)i?b?", re.IGNORECASE)


class Missing(Exception):
    """A fact that was asked for and is not there."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(f"{key}: {reason}")
        self.key = key
        self.reason = reason


@dataclass(frozen=True)
class Fact:
    """One thing that is known. `place`: the statement that told it, or file:line:column."""

    key: str
    value: Any  # str | int | float | bool | None, or a list of those
    place: str
    unit: str = ""
    read_unix_s: float = 0.0

    @property
    def text(self) -> str:
        """The value as text; empty for none."""
        return "" if self.value is None else str(self.value)

    @property
    def on(self) -> bool:
        """A switch. Missing: it is neither on nor off."""
        word = self.text.strip().lower()
        if word in _OFF:
            return False
        if word in _ON:
            return True
        raise Missing(self.key, f"`{self.text}` is neither on nor off")

    @property
    def number(self) -> float:
        """A number, of bytes where it ends in K, M, G, T (powers of 1024, as servers read them)."""
        found = _SIZE.fullmatch(self.text.strip())
        if found is None:
            try:
                return float(self.text)
            except ValueError:
                raise Missing(self.key, f"`{self.text}` is no number") from None
        return float(found[1]) * 1024.0 ** " kmgtpe".index(found[2].lower() or " ")


@dataclass(frozen=True)
class Table:
    """Rows: accounts, tables, indexes, lines of a file. Values are scalars; `place` of a row, where
    it has one, wins over the table's."""

    rows: tuple[Row, ...]
    place: str
    read_unix_s: float = 0.0

    def fact(self, row: Row, column: str, key: str = "") -> Fact:
        """One value of a row as evidence."""
        place = str(row.get("place") or self.place)
        return Fact(key or column, row.get(column), place, read_unix_s=self.read_unix_s)


@dataclass(frozen=True)
class Facts:
    """All that is known of one subject. `subject` names it without a secret; `source`: `server`,
    `file`, `manifest`, `log`, `directory`, `host` (of one of those, on this machine), `dump` (of a
    schema), `digest` (of statements, whose tables another subject has), `vschema` (of Vitess)."""

    subject: str
    source: str
    engine: str
    version: Version = ()
    facts: Mapping[str, Fact] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)  # key or table -> why

    def fact(self, key: str) -> Fact:
        """Missing, with the reason, if it is not there."""
        if key not in self.facts:
            raise Missing(key, self.missing.get(key, self._why(key)))
        return self.facts[key]

    def get(self, key: str) -> Fact | None:
        """The fact, or None."""
        return self.facts.get(key)

    def setting(self, name: str) -> Fact:
        """A setting by its name."""
        return self.fact(f"{SETTING}.{name}")

    def status(self, name: str) -> Fact:
        """A counter by its name, in small letters."""
        return self.fact(f"{STATUS}.{name}")

    def settings(self) -> Iterator[Fact]:
        """All settings, by name."""
        prefix = f"{SETTING}."
        yield from (fact for key, fact in sorted(self.facts.items()) if key.startswith(prefix))

    def table(self, name: str) -> Table:
        """Missing if it was not read."""
        if name not in self.tables:
            raise Missing(name, self.missing.get(name, self._why(name)))
        return self.tables[name]

    @property
    def is_server(self) -> bool:
        """Whether a running server said all this."""
        return self.source == "server"

    @property
    def tells_options(self) -> bool:
        """Whether all options are here that it was started with: it has its defaults of others."""
        return "options" in self.tables

    @property
    def is_replica(self) -> bool:
        """Whether it is known to replicate from another server."""
        return "replicas" in self.tables and bool(self.tables["replicas"].rows)

    def _why(self, key: str) -> str:
        if key.startswith(f"{HOST}."):
            return "the host is not seen: see --memory"
        if key.startswith("needle"):
            return "no value was written: see --write-needle"
        if self.is_server and not (self.tells_options and key.startswith(f"{SETTING}.")):
            return "the server does not tell it"
        if key == "validated":
            return "the server's program was not asked: see --server"
        if key.startswith(f"{SETTING}."):
            return "it is not set here, so the server's default holds"
        return f"a {self.source} does not tell it"


def setting_name(fact: Fact) -> str:
    """`port` of `setting.port`."""
    return fact.key.removeprefix(f"{SETTING}.")


def version_of(text: str) -> Version:
    """The first dotted number: `5.5.5-10.11.6-MariaDB` is MariaDB 10.11.6."""
    found = re.search(r"(\d+(?:\.\d+)+)", text.removeprefix("5.5.5-"))
    found = found or re.search(r"(\d+)", text)
    return tuple(int(part) for part in found[1].split(".")[:4]) if found else ()
