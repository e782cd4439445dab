"""What parallel replication could bring, as types: the document of
`dyno-engine digest --parallelism`. Layout: `engine/digest/src/parallelism/from_logs.rs`, whose
names these are.

Costs are seconds of query time or bytes of binary log; only their ratios matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import pydantic

from dbdyno.digest import document
from dbdyno.digest.document import Censored, Input

Cost = Literal["seconds", "bytes"]


@dataclass(frozen=True, kw_only=True)
class Schema:
    """A schema's writes (of binary logs: transactions). An empty name: the log does not say."""

    name: str
    count: int
    cost: float


@dataclass(frozen=True, kw_only=True)
class Busy:
    """How long exactly so many schemas are busy; `share` of the longest schema, which is all there
    is."""

    schemas: int
    cost: float
    share: float


@dataclass(frozen=True, kw_only=True)
class Schemas:
    """Writes by schema, the longest first; `bound`: their sum by the longest, which no number of
    workers exceeds."""

    cost: Cost
    schemas: tuple[Schema, ...]
    total: float
    bound: float
    busy: tuple[Busy, ...]

    def at_most(self, workers: int) -> float:
        """What so many workers could bring at most."""
        return min(float(workers), self.bound)


@dataclass(frozen=True, kw_only=True)
class Point:
    """How much faster so many workers are than one."""

    workers: int
    speedup: float


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Speed-up by number of workers. `rule`: what may run at the same time."""

    rule: Literal["schema", "log", "rows"]
    commit_order: bool
    points: tuple[Point, ...]

    def at(self, workers: int) -> float | None:
        """The speed-up with so many; None if it was not tried."""
        return next((p.speedup for p in self.points if p.workers == workers), None)

    @property
    def enough(self) -> int:
        """The fewest workers that are within 1 % of the best."""
        best = max(p.speedup for p in self.points)
        return min(p.workers for p in self.points if p.speedup >= best * 0.99)


@dataclass(frozen=True, kw_only=True)
class Parallelism:
    """The whole. `keyed_share`: of the transactions, whose rows all have known keys;
    `history_rows`: rows whose last change is remembered at a time; `text_share`: of the binary
    logs' statements, logged as text."""

    schema_version: int
    engine_version: str = ""
    inputs: tuple[Input, ...]
    censored: tuple[Censored, ...] = ()
    schemas: Schemas | None = None
    transactions: int = 0
    keyed_share: float = 0.0
    history_rows: int = 0
    histories_cleared: int = 0
    text_share: float = 0.0
    cost: Cost = "bytes"
    curves: tuple[Curve, ...] = ()


def is_one(raw: Any) -> bool:
    """Whether a saved document is of this kind, and not a digest."""
    return isinstance(raw, dict) and "curves" in raw and "classes" not in raw


def parse(raw: Any, source: str = "dyno-engine") -> Parallelism:
    """Types a document; DynoError as `document.parse`."""
    return document.typed(_adapter(), raw, source, "dyno digest LOG --parallelism --json")


@cache
def _adapter() -> pydantic.TypeAdapter[Parallelism]:
    return pydantic.TypeAdapter(Parallelism)
