"""Sessions that write hot rows, from a YAML file; every error has its place in the file.

sessions: {n1: 2, n2: 2, n3: 2}
rows: 1
length: 10s
times: {pause: 60us, execute: 80us, order: 300us, commit: 100us, apply: 150us, again: 150us}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.experiment.file import document
from dbdyno.experiment.file.document import Node
from dbdyno.experiment.values import units
from dbdyno.models.cluster.conflicts import loads
from dbdyno.models.cluster.conflicts.transaction import TRANSACTIONS_MAX, Costs, Outcome
from dbdyno.models.cluster.files.entries import mapping, text_of, value, wrong

KEYS = ("sessions", "rows", "length", "times")
TIMES = ("pause", "execute", "order", "commit", "apply", "again")
SESSIONS_MAX, ROWS_MAX = 1000, 1_000_000
EXAMPLE = "sessions: {n1: 2, n2: 2}"
LENGTH_S = 10.0


@dataclass(frozen=True)
class Load:
    """A file as read: sessions of each node; times in seconds, by their names in the file."""

    sessions: Mapping[str, int]
    rows: int
    length_s: float
    times: Mapping[str, float]

    def simulate(self) -> Outcome:
        """What becomes of its transactions."""
        return self._of(self.sessions)

    def simulate_single(self) -> Outcome:
        """The same with all sessions on one node."""
        return self._of({"writer": sum(self.sessions.values())})

    def _of(self, sessions: Mapping[str, int]) -> Outcome:
        times = self.times
        costs = Costs(
            order_s=times["order"],
            commit_s=times["commit"],
            apply_s=times["apply"],
            backoff_s=times["again"],
            statement_s=times["execute"],
        )
        draw = loads.hot_rows(self.rows, 1.0)
        return loads.of_sessions(
            sessions, draw, times["execute"], self.length_s, costs, pause_s=times["pause"]
        )


def load(path: Path) -> Load:
    """Reads a file. DynoError, with line and column, if it is none."""
    return parse(text_of(path, "a load", "`sessions` and `times`"), path)


def parse(text: str, file: Path | str = "load") -> Load:
    """The same of text."""
    if not text.strip():
        raise DynoError(f"{file} is empty", fix=f"start with `{EXAMPLE}`")
    root = document.parse(text, file)
    found = mapping(root, "a load", KEYS, example=EXAMPLE)
    for key in ("sessions", "times"):
        if key not in found:
            raise DynoError(f"`{key}` is missing", where=root.where, fix=f"add {_EXAMPLES[key]}")
    nodes = mapping(found["sessions"], "`sessions`", example=EXAMPLE)
    sessions = {name: value(each, _sessions, 0) for name, each in nodes.items()}
    if not 0 < sum(sessions.values()) <= SESSIONS_MAX:
        wrong(found["sessions"], f"there must be 1 to {SESSIONS_MAX:,} sessions", EXAMPLE)
    rows = value(found.get("rows"), _rows, 1)
    length_s = value(found.get("length"), units.duration_s, LENGTH_S)
    times = _times(found["times"])
    cycle_s = sum(times[name] for name in ("pause", "execute", "order", "commit"))
    if (most := sum(sessions.values()) * length_s / cycle_s) > TRANSACTIONS_MAX:
        about = f"these may be {most:,.0f} transactions, more than {TRANSACTIONS_MAX:,}"
        wrong(found.get("length", root), about, "shorten `length`")
    return Load(sessions, rows, length_s, times)


def _times(node: Node) -> dict[str, float]:
    given = mapping(node, "`times`", TIMES, example=_EXAMPLES["times"])
    if missing := [name for name in TIMES if name not in given]:
        wrong(node, f"`times` is without {', '.join(missing)}", f"write {_EXAMPLES['times']}")
    times = {name: value(given[name], units.duration_s, 0.0) for name in TIMES}
    if not times["order"] > 0:
        wrong(given["order"], "a write-set is not ordered in no time", "write `order: 300us`")
    return times


def _sessions(given: object) -> int:
    return _whole(given, 0, SESSIONS_MAX)


def _rows(given: object) -> int:
    return _whole(given, 1, ROWS_MAX)


def _whole(given: object, low: int, high: int) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not low <= given <= high:
        raise ValueError(f"must be a whole number from {low} to {high:,}")
    return given


_EXAMPLES = {
    "sessions": f"`{EXAMPLE}`",
    "times": "`times: {pause: 60us, execute: 80us, order: 300us, commit: 100us, apply: 150us,"
    " again: 150us}`",
}
