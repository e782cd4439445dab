"""What can be proved, as levels of a factor: an index, a setting, a rewrite, a version, any SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dbdyno import kinds
from dbdyno.errors import DynoError
from dbdyno.experiment.targets import sqltext

TODAY = "today"
NAME_MAX = 48  # characters of a level and of an index: PostgreSQL cuts names at 63
_PART = r'(?:\w+|`[^`]+`|"[^"]+")'
_TABLE = rf"{_PART}(?:\.{_PART})?"
_INDEX = re.compile(rf"\s*(?P<table>{_TABLE})\s*(?P<rest>\(.*\).*?)\s*;?\s*", re.DOTALL)
_CREATE = re.compile(
    rf"\s*create\s+(?P<unique>unique\s+)?index\s+(?:concurrently\s+)?(?:if\s+not\s+exists\s+)?"
    rf"(?:{_PART}\s+)?on\s+(?:only\s+)?(?P<table>{_TABLE})\s*(?P<rest>(?:using\s+\w+\s*)?\(.*\).*?)"
    r"\s*;?\s*",
    re.IGNORECASE | re.DOTALL,
)
_DROP = re.compile(rf"(?P<table>{_TABLE})\.(?P<index>{_PART})")


@dataclass(frozen=True)
class Candidate:
    """A change to today's server. `name`: its level; `what`: it in words; `after`: statements on
    the loaded data; `target`: keys of the target; `rewrites`: new SQL by class of statements, all
    of one group; `index`: the index that `after` makes, and `table` its table. `removes`: it takes
    something away, and is shown if nothing becomes slower."""

    name: str
    what: str
    after: tuple[str, ...] = ()
    target: Mapping[str, Any] = field(default_factory=dict)
    rewrites: Mapping[str, str] = field(default_factory=dict)
    index: str = ""
    table: str = ""
    removes: bool = False


def index(text: str, language: str) -> Candidate:
    """From `TABLE (COLUMN, ...)`, with whatever may follow (`WHERE ...`, `INCLUDE (...)`), or from
    a CREATE INDEX. DynoError for anything else."""
    found = _CREATE.fullmatch(text) or _INDEX.fullmatch(text)
    if found is None or len(sqltext.statements(text)) != 1:
        raise DynoError(
            f"--index {text!r} names no index",
            cause="an index is written as a table with its columns in parentheses",
            fix="such as --index 'orders (customer_id, created)', or a CREATE INDEX statement",
        )
    table = _within(found["table"], language)
    rest = " ".join(found["rest"].split())
    name = identifier(f"{bare(table)}_{rest}")
    unique = "UNIQUE " if found.groupdict().get("unique") else ""
    return Candidate(
        name,
        f"{unique.lower()}index {rest} on {bare(table)}",
        (f"CREATE {unique}INDEX {name} ON {table} {rest}",),
        index=name,
        table=table,
    )


def dropped(text: str, language: str) -> Candidate:
    """From `TABLE.INDEX`."""
    found = _DROP.fullmatch(text.strip())
    if found is None:
        raise DynoError(
            f"--drop-index {text!r} names no index of a table",
            fix="such as --drop-index orders.by_created",
        )
    table, name = _within(found["table"], language), found["index"]
    on = "" if language == kinds.POSTGRES else f" ON {table}"
    return Candidate(
        identifier(f"without_{bare(name)}"),
        f"dropping index {bare(name)} of {bare(table)}",
        (f"DROP INDEX {name}{on}",),
        removes=True,
    )


def setting(text: str) -> Candidate:
    """From `NAME=VALUE`."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not re.fullmatch(r"[\w.-]+", name):
        raise DynoError(
            f"--set {text!r} is no setting",
            fix="such as --set innodb_flush_log_at_trx_commit=2",
        )
    called = identifier(f"{name}_{value}")
    return Candidate(called, f"{name} = {value}", target={"config": {name: value}})


def version(text: str) -> Candidate:
    """From the leading numbers of an installed version."""
    return Candidate(identifier(f"version_{text}"), f"version {text}", target={"version": text})


def change(sql: str) -> Candidate:
    """From statements that change tables."""
    parts = tuple(part.strip() for part in sqltext.statements(sql))
    if not parts:
        raise DynoError("--change holds no statement", fix="such as --change 'ALTER TABLE ...'")
    return Candidate(identifier(parts[-1]), "; ".join(parts), parts)


def rewrite(class_: str, sql: str, source: str) -> Candidate:
    """New SQL for a class of statements; `source`: where it comes from, in a word."""
    return Candidate(
        identifier(f"{class_}_{source}"),
        f"{class_} as in {source}",
        rewrites={class_: sql.strip().rstrip(";")},
    )


def named_apart(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """The same, with levels that differ from each other and from today's."""
    taken, found = {TODAY}, []
    for one in candidates:
        name, number = one.name, 2
        while name in taken:
            name, number = f"{one.name}_{number}", number + 1
        taken.add(name)
        found.append(_renamed(one, name))
    return tuple(found)


def _renamed(one: Candidate, name: str) -> Candidate:
    if one.index != one.name:
        return replace(one, name=name)
    after = tuple(sql.replace(f"INDEX {one.index} ON", f"INDEX {name} ON") for sql in one.after)
    return replace(one, name=name, index=name, after=after)


def together(candidates: Iterable[Candidate]) -> Candidate:
    """Several indexes as one change."""
    all_ = tuple(candidates)
    if len(all_) == 1:
        return all_[0]
    return Candidate(
        "proposed",
        "; ".join(one.what for one in all_),
        tuple(sql for one in all_ for sql in one.after),
    )


def identifier(text: str) -> str:
    """A name of letters, digits and `_`."""
    name = re.sub(r"[\W_]+", "_", text.lower(), flags=re.ASCII).strip("_")[:NAME_MAX].rstrip("_")
    return name if name[:1].isalpha() else f"c_{name}".rstrip("_")


def bare(name: str) -> str:
    """A name without quotes."""
    return name.replace("`", "").replace('"', "")


def _within(table: str, language: str) -> str:
    """The table as it is called in the private copy: MySQL's databases have another name there."""
    return table.rpartition(".")[2] if language == kinds.MYSQL else table
