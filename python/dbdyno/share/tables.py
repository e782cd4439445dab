"""A run as tidy tables: one row an observation, with the levels of its cell.

Three tables: `trials` (a row a metric of a trial), `intervals` (a row a group and interval),
`samples` (a row a sampled value). Rows are made trial by trial, so that memory is bounded by the
largest trial. Tidy data: H. Wickham, Journal of Statistical Software 59 (10), 2014.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dbdyno.experiment.claims.units import unit_of
from dbdyno.plan.types import Plan
from dbdyno.store.record import TrialRecord

TEXT, INTEGER, NUMBER, FLAG = "text", "integer", "number", "flag"

Value = str | int | float | bool | None
Row = tuple[Value, ...]


class Source(Protocol):
    """What tables are made from: a run, on disk or in memory."""

    @property
    def plan(self) -> Plan:
        """The resolved plan."""

    def records(self) -> list[TrialRecord]:
        """Trials that are over."""

    def events(self, trial: str) -> list[dict[str, Any]]:
        """The engine's events."""

    def samples(self, trial: str) -> list[dict[str, Any]]:
        """What was sampled during the load."""


@dataclass(frozen=True)
class Column:
    """A column. Empty where a value is unknown or does not apply."""

    name: str
    type: str  # TEXT | INTEGER | NUMBER | FLAG
    about: str
    unit: str = ""


@dataclass(frozen=True)
class Table:
    """A table of a run. `rows` gives what follows the columns of `KEYS` and the levels."""

    name: str
    about: str
    own: tuple[Column, ...]
    rows: Callable[[Source, TrialRecord], Iterator[Row]]

    def columns(self, plan: Plan) -> tuple[Column, ...]:
        """All columns, in order; one a factor after those that say which trial it is."""
        return (*KEYS, *levels(plan), *self.own)

    def of(self, source: Source) -> Iterator[Row]:
        """All rows, in the order of the plan."""
        position = {trial.id: trial.position for trial in source.plan.trials}
        for record in source.records():
            cell = source.plan.cells[record.cell]
            chosen = tuple(cell.levels[factor.name] for factor in source.plan.factors)
            place = position.get(record.id)
            key = (source.plan.name, record.id, record.block, place, record.cell, record.status)
            for row in self.rows(source, record):
                yield (*key, *chosen, *row)


KEYS = (
    Column("experiment", TEXT, "name of the experiment"),
    Column("trial", TEXT, "ID of the trial"),
    Column("block", INTEGER, "pass over all cells, from 1"),
    Column("position", INTEGER, "position in the order of the run, from 1"),
    Column("cell", INTEGER, "combination of levels, from 0"),
    Column("status", TEXT, "`complete`, or `void`: it did not meet `require:`, or failed"),
)


def levels(plan: Plan) -> tuple[Column, ...]:
    """One column a factor: `level.NAME`."""
    return tuple(
        Column(f"level.{factor.name}", TEXT, f"level of {factor.name}") for factor in plan.factors
    )


# -- trials --------------------------------------------------------------------------------------


def _trials(source: Source, record: TrialRecord) -> Iterator[Row]:
    groups = {group.name for group in source.plan.cells[record.cell].groups}
    for name, value in record.metrics.items():
        head, _, rest = name.partition(".")
        group, metric = (head, rest) if rest and head in groups else ("", name)
        bound = record.bounds.get(name, "")
        yield record.started_unix_s, group, metric, unit_of(metric), value, bound


# -- intervals -----------------------------------------------------------------------------------

_COUNTS = ("transactions", "operations", "errors", "retries", "lost")
_QUANTILES = ("p50", "p95", "p99", "p999")


def _latencies(kind: str, about: str) -> tuple[Column, ...]:
    return (
        Column(f"{kind}_ns_mean", NUMBER, f"{about}, mean", "ns"),
        *(Column(f"{kind}_ns_{q}", INTEGER, f"{about}, {q}", "ns") for q in _QUANTILES),
        Column(f"{kind}_ns_max", INTEGER, f"{about}, largest", "ns"),
    )


def _summary(latency: Mapping[str, Any] | None) -> Row:
    if not latency:
        return (None,) * (len(_QUANTILES) + 2)
    quantiles = (latency.get(f"{q}_ns") for q in _QUANTILES)
    return (latency.get("mean_ns"), *quantiles, latency.get("max_ns"))


def _intervals(source: Source, record: TrialRecord) -> Iterator[Row]:
    zero = None
    for event in source.events(record.id):
        if event.get("event") == "ready":
            zero = event["measure_unix_s"]
        if event.get("event") != "interval":
            continue
        generator = event.get("generator") or {}  # an imported run has none, and counts less
        busy = max(generator.get("busy", ()), default=None)
        at = None if zero is None else zero + event["t_s"]
        for name, group in event["groups"].items():
            open_ = group.get("open") or {}
            yield (
                at,
                event["t_s"],
                event["length_s"],
                event["phase"],
                name,
                *(group.get(count) for count in _COUNTS),
                *_summary(group.get("latency")),
                open_.get("due"),
                open_.get("backlog"),
                *_summary(open_.get("response")),
                busy,
                generator.get("lag_p99_ns"),
            )


# -- samples -------------------------------------------------------------------------------------


def _samples(source: Source, record: TrialRecord) -> Iterator[Row]:
    for sample in source.samples(record.id):
        for name, value in sample.get("values", {}).items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                unit = unit_of(name)
                yield sample["t_s"], sample["length_s"], sample["source"], name, unit, float(value)


TABLES: Mapping[str, Table] = {
    table.name: table
    for table in (
        Table(
            "trials",
            "one row per metric of a trial",
            (
                Column("started_unix_s", NUMBER, "start of the trial", "s"),
                Column("group", TEXT, "the group; empty for metrics of all groups together"),
                Column("metric", TEXT, "canonical name, without the group"),
                Column("unit", TEXT, "unit of `value`"),
                Column("value", NUMBER, "value over the measured phase"),
                Column("bound", TEXT, "`>=` or `<=`: `value` is a lower or upper bound"),
            ),
            _trials,
        ),
        Table(
            "intervals",
            "one row per interval and group, including the warm-up",
            (
                Column("unix_s", NUMBER, "end of the interval, Unix time", "s"),
                Column("t_s", NUMBER, "end of the interval; the measured phase begins at 0", "s"),
                Column("length_s", NUMBER, "actual length of the interval", "s"),
                Column("phase", TEXT, "`warmup` (excluded from results) or `measure`"),
                Column("group", TEXT, "name of the group"),
                Column("transactions", INTEGER, "committed transactions"),
                Column("operations", INTEGER, "operations of committed transactions"),
                Column("errors", INTEGER, "failed attempts, retried or not"),
                Column("retries", INTEGER, "retries after failed attempts"),
                Column("lost", INTEGER, "sessions without a connection at the end of the interval"),
                *_latencies("service", "service time of transactions"),
                Column("due", INTEGER, "open loop: arrivals due in the interval"),
                Column("backlog", INTEGER, "open loop: arrivals due but not begun at its end"),
                *_latencies("response", "open loop: response time of transactions"),
                Column("generator_busy_max", NUMBER, "busiest load thread, 0 to 1"),
                Column(
                    "generator_lag_ns_p99",
                    INTEGER,
                    "upper bound of the time that answers waited",
                    "ns",
                ),
            ),
            _intervals,
        ),
        Table(
            "samples",
            "one row per sample during the load: machine, servers, counters",
            (
                Column(
                    "t_s", NUMBER, "end of the sampled time; the measured phase begins at 0", "s"
                ),
                Column("length_s", NUMBER, "length of the sampled time", "s"),
                Column(
                    "source", TEXT, "name of the sampler, after its target if there are several"
                ),
                Column("name", TEXT, "name of the sample; `SOURCE.NAME` is the metric"),
                Column("unit", TEXT, "unit of `value`, if the name ends in one"),
                Column("value", NUMBER, "rate, share or level"),
            ),
            _samples,
        ),
    )
}


def named(names: Sequence[str]) -> tuple[Table, ...]:
    """The tables of these names; all of them if none is given."""
    return tuple(TABLES[name] for name in (names or TABLES))
