"""Where the space of a directory is: in total, by schema and by file, those first that a rebuild
would shrink most. Plain data that each form draws."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.facts.fact import Facts
from dbdyno.wording.numbers import size

FILES_MAX, SCHEMAS_MAX = 15, 10
HEAD = ("", "on disk", "length", "free", "reserved", "rebuild gives back")
TOTALS = ("files", "apparent_bytes", "allocated_bytes", "free_bytes", "disk_gain_bytes")
FILE = (
    *("path", "kind", "allocated_bytes", "apparent_bytes", "free_bytes", "reserved_bytes"),
    *("disk_gain_bytes", "rebuild_bytes", "rebuild_unknown", "next_growth_bytes", "leaf_fill"),
)


@dataclass(frozen=True)
class Space:
    """`rows`: texts in the order of `HEAD`."""

    subject: str
    rows: Sequence[Sequence[str]]


def views(subjects: Sequence[Facts]) -> list[Space]:
    """Of the directories among the subjects whose files were read."""
    return [
        Space(facts.subject, [*_totals(facts), *_schemas(facts), *_files(facts)])
        for facts in subjects
        if "tablespaces" in facts.tables
    ]


def document(facts: Facts) -> dict[str, Any] | None:
    """The same in bytes; None of other subjects."""
    if "tablespaces" not in facts.tables:
        return None
    return {
        "totals": {name: facts.fact(f"space.{name}").value for name in TOTALS},
        "schemas": [dict(row) for row in facts.table("schemas").rows],
        "files": [{name: row[name] for name in FILE} for row in _sorted(facts)],
    }


def _totals(facts: Facts) -> Iterator[Sequence[str]]:
    total = {name: facts.fact(f"space.{name}").value for name in TOTALS}
    yield _line(f"all {total['files']:,} files", total)


def _schemas(facts: Facts) -> Iterator[Sequence[str]]:
    for row in facts.table("schemas").rows[:SCHEMAS_MAX]:
        if row["schema"]:
            yield _line(f"{row['schema']}: {row['files']:,} files", row)


def _files(facts: Facts) -> Iterator[Sequence[str]]:
    for row in _sorted(facts)[:FILES_MAX]:
        yield _line(str(row["path"]), row)


def _sorted(facts: Facts) -> list[Mapping[str, Any]]:
    def order(row: Mapping[str, Any]) -> tuple[int, int, str]:
        return -int(row["disk_gain_bytes"]), -int(row["allocated_bytes"]), str(row["path"])

    return sorted(facts.table("tablespaces").rows, key=order)


def _line(name: str, row: Mapping[str, Any]) -> Sequence[str]:
    reserved, unknown = row.get("reserved_bytes"), row.get("rebuild_unknown")
    return (
        name,
        *(size(row[one]) for one in ("allocated_bytes", "apparent_bytes", "free_bytes")),
        "" if reserved is None else size(reserved),
        f"not known: {unknown}" if unknown else size(row["disk_gain_bytes"]),
    )
