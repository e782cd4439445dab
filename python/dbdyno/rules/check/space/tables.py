"""What a rebuild of a table's file would give back, and what it costs while it works.

The engine predicts the new file by the model of a sorted index build (docs/guide/tablespace.md).
What counts is what the file system gets back: space allocated today less the whole new file. Of a
sparse file or on a compressing file system that is less than the difference in length, so the gain
is given as a lower bound.

A rebuild is worth a finding from `LEAST` bytes and `SHARE` of the file on; it is of medium severity
if it gives back `MUCH` bytes. A table that was loaded once and changed since lies below: pages that
were split are about 70 % full.

Sources: the MySQL manual, "OPTIMIZE TABLE Statement", "Sorted Index Builds", "Online DDL
Operations" and "Management of Partitions"; MariaDB's page "OPTIMIZE TABLE".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dbdyno.facts.fact import Fact, Facts, Table
from dbdyno.rules.check.rule import Fix, Found, Rule, edits
from dbdyno.wording.numbers import percent, size

LEAST, SHARE, MUCH = 8 << 20, 0.4, 10 << 30
SPARSE = 0.9  # allocated of its length; below, the gain is a lower bound
WHILE_IT_WORKS = (
    "Run it when few write: rows can change meanwhile, but it waits for a lock of the table at its"
    " begin and end, and a table with a full-text index is copied under a lock.",
    "Replicas execute it too, after the source, and lag by about as long as it takes.",
)
_NOTHING = edits("Nothing to undo: no row changes; the file grows again as rows do.")


def _slack(facts: Facts) -> Iterator[Found]:
    table, room = facts.table("tablespaces"), facts.fact("space.available_bytes")
    for row in table.rows:
        gain, taken = float(row["disk_gain_bytes"]), float(row["allocated_bytes"])
        if gain >= LEAST and gain >= SHARE * taken and row["table"]:
            yield _found(table, row, room)


def _found(table: Table, row: Mapping[str, Any], room: Fact) -> Found:
    gain, taken, new = (
        float(row[f"{name}_bytes"]) for name in ("disk_gain", "allocated", "rebuild")
    )
    is_sparse = taken < SPARSE * float(row["apparent_bytes"])
    fits = new <= room.number
    evidence = [table.fact(row, f"{name}_bytes") for name in _EVIDENCE]
    if row["leaf_fill"] is not None:
        evidence.append(table.fact(row, "leaf_fill"))
    return Found(
        what=f"{_name(row)}: {percent(gain / taken)} of {size(taken)} on disk holds no rows",
        evidence=(*evidence, room),
        effect=f"a rebuild gives back {'at least ' if is_sparse else 'about '}{size(gain)}; while"
        f" it works it needs {size(new)} for the new file, in addition to the old one"
        + ("" if fits else f", and the file system has {size(room.number)} left"),
        fix=_rebuild(row) if fits else _elsewhere(new),
        undo=_NOTHING,
        about=str(row["path"]),
        severity="medium" if gain >= MUCH else "low",
    )  # fmt: skip


_EVIDENCE = ("allocated", "apparent", "free", "reserved", "rebuild")


def _name(row: Mapping[str, Any]) -> str:
    part = f" partition {row['partition']}" if row["partition"] else ""
    return f"{row['schema']}.{row['table']}{part}"


def _rebuild(row: Mapping[str, Any]) -> Fix:
    """Of one partition alone: OPTIMIZE PARTITION rebuilds the whole table."""
    name = f"{_quoted(row['schema'])}.{_quoted(row['table'])}"
    statement = f"OPTIMIZE TABLE {name}"
    if row["partition"]:
        statement = f"ALTER TABLE {name} REBUILD PARTITION {_quoted(row['partition'])}"
    return Fix(
        statements=(statement,),
        edits=WHILE_IT_WORKS,
    )


def _quoted(name: object) -> str:
    return "`" + str(name).replace("`", "``") + "`"


def _elsewhere(new: float) -> Fix:
    return edits(
        f"Make room first: {size(new)} must be free while it works. Rebuild small tables before"
        " large ones, or load the table from a dump.",
    )


RULES = (
    Rule(
        id="innodb-table-slack",
        pack="space",
        title="A rebuild would shrink this table's file",
        about="A table's or partition's file of which a rebuild gives back at least 8 MiB and"
        " 40 % of what it takes on disk; medium from 10 GiB on. Free extents, pages that indexes"
        " have reserved and half-empty pages all count; holes of sparse files do not.",
        severity="low",
        applies=("mysql", "mariadb"),
        sources=("directory",),
        needs=("tablespaces",),
        judge=_slack,
        source="https://dev.mysql.com/doc/refman/8.4/en/optimize-table.html",
        proof="sizes of the file before and after, on a copy of the table",
    ),
)  # fmt: skip
