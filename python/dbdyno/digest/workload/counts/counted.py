"""A statement as a server counts it: its text, its class, how often it came, and rows a call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from dbdyno.digest.servers.chosen import Choice
from dbdyno.digest.servers.counted import Counted
from dbdyno.digest.servers.identity import Identity
from dbdyno.digest.servers.watch import Sampled, is_sql

RETURNED = ("rows_sent", "rows")  # measures of rows that come back
CHANGED = ("rows_affected", "rows")


@dataclass(frozen=True, kw_only=True)
class Statement:
    """`sent`, `changed`, `examined`: rows a call, on average; None: the server does not count
    them. `scans`: the share of calls that read a whole table."""

    text: str
    identity: Identity
    database: str
    count: int
    time_s: float
    sent: float | None = None
    changed: float | None = None
    examined: float | None = None
    scans: float | None = None


def statements(sampled: Sampled, choice: Choice) -> Iterator[Statement]:
    """Each text in each database, of all users together."""
    rows: dict[tuple[str, str], Counted] = {}
    for row in filter(choice.takes, sampled.seen.rows.values()):
        text = sampled.seen.texts.get(row.statement, "")
        if not row.statement or not is_sql(text) or text not in sampled.known:
            continue
        key = (text, row.database)
        rows[key] = rows[key].plus(row) if key in rows else row
    for (text, database), row in sorted(rows.items()):
        yield Statement(
            text=text,
            identity=sampled.known[text],
            database=database,
            count=row.count,
            time_s=row.time_s,
            sent=_each(row, RETURNED),
            changed=_each(row, CHANGED),
            examined=_each(row, ("rows_examined",)),
            scans=_each(row, ("full_scan",)),
        )


def _each(row: Counted, names: Iterable[str]) -> float | None:
    measures: Mapping[str, float] = row.measures
    found = next((measures[name] for name in names if name in measures), None)
    return None if found is None or not row.count else found / row.count
