"""Statement classes among the facts: read without their literals, and taken apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dbdyno import kinds
from dbdyno.facts.fact import Facts
from dbdyno.facts.gathered import Gathered
from dbdyno.facts.secret import HIDDEN
from dbdyno.sql.parts import Statement
from dbdyno.sql.schema import Schema
from dbdyno.sql.statement import read, without_literals

LITERALS = {"mysql": kinds.MYSQL, "mariadb": kinds.MYSQL, "postgres": kinds.POSTGRES}
_LOCKS = ("lock_time", "innodb_rec_lock_wait")
NOT_COLLECTED = "a bundle omits statement classes: see --statements"


@dataclass(frozen=True, kw_only=True)
class Class:
    """`share`: of the time of all classes; `examined`, `sent`, `changed`: rows an execution, on
    average; `blocks`: pages an execution (PostgreSQL); `scans`, `disk_tables`: whole tables that it
    reads, and temporary ones on disk, an execution; `locked_s`: of its time, waiting for locks.
    None: the source does not have it."""

    id: str
    text: str
    statement: Statement
    count: int
    time_s: float
    share: float
    examined: float | None = None
    sent: float | None = None
    blocks: float | None = None
    changed: float | None = None
    scans: float | None = None
    disk_tables: float | None = None
    locked_s: float | None = None


def kept(rows: Iterable[Mapping[str, Any]], engine: str, found: Gathered) -> list[dict[str, Any]]:
    """Rows of classes without any literal, whatever the server or log left in their texts. What
    cannot be read, or is of no rows, is only counted."""
    made, others = [], 0
    for row in rows:
        text = without_literals(str(row["sql"] or ""), dialect(engine))
        if text is None:
            others += 1
        else:
            made.append({**row, "sql": text})
    if others:
        found.lacks("other statements", f"{others:,} classes are of no rows, or cannot be read")
    return made


def classes(facts: Facts, schema: Schema) -> list[Class]:
    """Those that can be read, the heaviest first. Missing if they were not collected."""
    rows = facts.table("statements").rows
    totals = facts.table("statements_total").rows
    total = sum(_number(row["time_s"]) or 0.0 for row in totals)
    found = []
    for row in rows:
        if row["sql"] == HIDDEN:
            continue
        statement = read(str(row["sql"]), dialect(facts.engine), schema)
        if statement is None:
            continue
        count = int(_number(row["count"]) or 0)
        time_s = _number(row["time_s"]) or 0.0
        found.append(
            Class(
                id=str(row["id"])[:16],
                text=str(row["sql"]),
                statement=statement,
                count=count,
                time_s=time_s,
                share=time_s / total if total else 0.0,
                examined=_each(row, "rows_examined", count),
                sent=_each(row, "rows_sent", count),
                blocks=_each(row, "blocks", count),
                changed=_each(row, "rows_affected", count),
                scans=_each(row, "full_scan", count),
                disk_tables=_most(
                    _each(row, name, count) for name in ("tmp_disk_tables", "tmp_table_on_disk")
                ),
                # Lock_time counts row locks in some versions, and Percona Server these alone.
                locked_s=_most(_number(row.get(name)) for name in _LOCKS),
            )
        )
    return sorted(found, key=lambda one: (-one.time_s, one.id))


def dialect(engine: str) -> str:
    """The language of an engine, or of either of two."""
    return LITERALS[engine.partition("|")[0]]


def _most(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _each(row: Mapping[str, Any], name: str, count: int) -> float | None:
    value = _number(row.get(name))
    return None if value is None or not count else value / count


def _number(value: object) -> float | None:
    try:
        return None if value is None else float(str(value))
    except ValueError:
        return None
