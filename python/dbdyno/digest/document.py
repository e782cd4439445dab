"""The document of a digest as types: what `dyno-engine digest` prints, and what samples of a server
become. Layout: `engine/digest/src/document.rs`, whose names these are.

Times are seconds, moments Unix seconds (UTC). None: the source does not have it, which is not 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pydantic

from dbdyno import diskfiles
from dbdyno.errors import DynoError
from dbdyno.store.text import json as jsontext

SCHEMA_VERSION = 1
SAVED_BYTES_MAX = 256 << 20
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """Values of one measure. Samples of a server know neither `min` nor `max`."""

    count: int
    sum: float
    min: float | None = None
    max: float | None = None
    mean: float
    stddev: float | None = None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    quantile_error: float | None = None
    sketched: float | None = None


@dataclass(frozen=True, kw_only=True)
class Measured(Distribution):
    """A measure with its unit: `ns` (values in seconds), `count`, `bytes` or `flag`."""

    unit: str


@dataclass(frozen=True, kw_only=True)
class Stats:
    """Sums of some events."""

    count: int
    weighted_count: float
    errors: int = 0
    statement_bytes: int = 0
    query_time: Distribution | None = None
    measures: Mapping[str, Measured] = field(default_factory=dict)
    first_unix_s: float | None = None
    last_unix_s: float | None = None

    @property
    def time_s(self) -> float:
        """Query time of all; 0 where none is known."""
        return self.query_time.sum if self.query_time else 0.0

    @property
    def span_s(self) -> float:
        """From the first end of an event to the last."""
        if self.first_unix_s is None or self.last_unix_s is None:
            return 0.0
        return max(0.0, self.last_unix_s - self.first_unix_s)


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Where the slowest event of a class is."""

    input: int
    offset: int
    end_unix_s: float | None = None
    query_time_s: float | None = None
    text: str | None = None
    is_cut: bool = False


@dataclass(frozen=True, kw_only=True)
class Class(Stats):
    """Events that are alike."""

    rank: int
    id: str
    pt_id: str | None = None
    fingerprint: str
    distill: str = ""
    tables: tuple[str, ...] = ()
    time_share: float | None = None
    v_m: float | None = None
    users: Mapping[str, int] = field(default_factory=dict)
    hosts: Mapping[str, int] = field(default_factory=dict)
    databases: Mapping[str, int] = field(default_factory=dict)
    error_codes: Mapping[str, int] = field(default_factory=dict)
    plans: Mapping[str, int] = field(default_factory=dict)
    histogram: tuple[int, ...] | None = None
    timeline_s: tuple[float, ...] | None = None
    sample: Sample | None = None


@dataclass(frozen=True, kw_only=True)
class NotUnderstood:
    """A piece of a log that is no event."""

    offset: int
    line: int | None = None
    bytes: int
    why: str


@dataclass(frozen=True, kw_only=True)
class Input:
    """One log, or one server that was sampled. `servers`: all that a log names, in its order."""

    path: str
    format: str
    server: str | None = None
    servers: tuple[str, ...] = ()
    bytes: int = 0
    events: int = 0
    filtered: int = 0
    bytes_not_understood: int = 0
    pieces_not_understood: int = 0
    not_understood: tuple[NotUnderstood, ...] = ()

    @property
    def all_servers(self) -> tuple[str, ...]:
        """Whatever is known about who wrote it."""
        return self.servers or ((self.server,) if self.server else ())


@dataclass(frozen=True, kw_only=True)
class Censored:
    """Statements are missing by the log's own settings."""

    input: int
    kind: str  # threshold | sampled
    value: float
    evidence: str  # said | seen


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """Equal stretches of time: how many statements ended in each, and the time that statements ran
    in it (of samples of a server, all the time of those that ended). `gap_s` is empty where it
    cannot be known."""

    begin_unix_s: float
    bucket_s: float
    count: tuple[int, ...]
    time_s: tuple[float, ...]
    gap_s: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Concurrency:
    """Seconds with exactly so many statements at once, from 0. `clock_s`: resolution of the log's
    times; 1 for full seconds."""

    seconds: tuple[float, ...]
    max: int
    clock_s: float = 0.0
    caveat: str | None = None


@dataclass(frozen=True, kw_only=True)
class Mergeable:
    """How many classes there are, and how many there would be with `--merge-names`."""

    classes: int
    merged: int


@dataclass(frozen=True, kw_only=True)
class Document:
    """A digest of one or more logs, or of a server over some time."""

    schema_version: int
    engine_version: str = ""
    group_by: str = "fingerprint"
    order_by: str = "query_time"
    inputs: tuple[Input, ...]
    censored: tuple[Censored, ...] = ()
    overall: Stats
    classes_total: int
    merges_names: bool = False
    mergeable: Mergeable | None = None
    classes: tuple[Class, ...]
    rest: Stats | None = None
    timeline: Timeline | None = None
    concurrency: Concurrency | None = None
    notes: tuple[str, ...] = ()  # notes on the sampling of a server

    @property
    def is_sampled(self) -> bool:
        """Whether it comes from samples of a server, not from logs."""
        return any(one.format in SAMPLED for one in self.inputs)

    @property
    def classes_not_listed(self) -> int:
        """How many classes it has the sums of only, in `rest`."""
        return max(0, self.classes_total - len(self.classes))

    @property
    def clock_s(self) -> float:
        """Resolution of the log's times, seconds; 1 for full seconds."""
        return self.concurrency.clock_s if self.concurrency else 0.0

    @property
    def told_concurrency(self) -> Concurrency | None:
        """How many statements ran at once; None where a clock of full seconds puts all those of a
        second side by side."""
        return None if self.clock_s else self.concurrency

    @property
    def longest_gap_s(self) -> float:
        """The longest time without an end of a statement, as far as the log's clock shows; 0 where
        it cannot."""
        longest = max(self.timeline.gap_s, default=0.0) if self.timeline else 0.0
        return longest if longest > self.clock_s else 0.0

    @property
    def seconds(self) -> float:
        """How long it was sampled: the timeline's length for samples, else from first to last."""
        if self.is_sampled and self.timeline:
            return self.timeline.bucket_s * len(self.timeline.count)
        return self.overall.span_s


class OfLogs(Protocol):
    """Any document that says what logs it comes from."""

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The logs."""

    @property
    def censored(self) -> tuple[Censored, ...]:
        """Why some statements are missing."""


SAMPLED = ("performance_schema", "pg_stat_statements")  # formats of documents made of samples


def parse(raw: Any, source: str = "dyno-engine") -> Document:
    """Types a document. DynoError, with the first wrong key, if it is none, or of a later layout;
    `source` says in it where it came from."""
    return typed(_adapter(), raw, source, "dyno digest LOG --json")


def typed(adapter: pydantic.TypeAdapter[T], raw: Any, source: str, made_by: str) -> T:
    """A document of any kind as its types; `made_by`: the command that makes one."""
    version = raw.get("schema_version") if isinstance(raw, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise DynoError(
            f"{source}: a digest of layout {version}; this dyno reads {SCHEMA_VERSION}",
            cause="a newer dyno wrote it",
            fix="install that version, or digest the log again",
        )
    try:
        return adapter.validate_python(raw)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        at = ".".join(map(str, first["loc"])) or "the whole"
        raise DynoError(
            f"{source} is no digest: {at}: {first['msg'].lower()}",
            cause="it was cut or edited, or it is another JSON file",
            fix=f"make one with `{made_by}`",
        ) from None


@cache
def _adapter() -> pydantic.TypeAdapter[Document]:
    return pydantic.TypeAdapter(Document)


def saved(path: Path) -> Any | None:
    """The JSON of a saved document; None if the file is something else, such as a log. DynoError
    if it cannot be read."""
    try:
        with diskfiles.opened(path, links=True) as file:
            head = file.read(4096).lstrip()
        if not head.startswith(b"{") or b'"schema_version"' not in head:
            return None
        return jsontext.loads(diskfiles.read(path, SAVED_BYTES_MAX, links=True))
    except OSError as error:
        raise DynoError(
            f"cannot read {path}: {error.strerror}",
            cause="a misspelt path, or no permission",
            fix="name a log, or a document of `dyno digest --json`",
        ) from None
    except ValueError:  # JSON logs begin with a brace too
        return None
