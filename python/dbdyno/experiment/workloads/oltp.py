"""`oltp`: point selects, ranges and updates on tables of one shape, after sysbench's.

Source: `engine/workloads/src/oltp/settings.rs`; a contract test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dbdyno.experiment.workloads.base import (
    FLAG,
    INTEGER,
    NUMBER,
    TEXT,
    WORD,
    Check,
    Contradiction,
    NoFiles,
    Option,
    Options,
    misplaced_distribution,
    model_of,
    nothing_sent,
)
from dbdyno.kinds.kind import SQL

ROW_BYTES = 260  # of a row on disk with its indexes, about: 120 + 60 characters, k, pages


SHAPES = ("uniform", "zipfian", "gaussian", "pareto", "special")
RANGE_COUNTS = (
    "simple_ranges",
    "sum_ranges",
    "order_ranges",
    "distinct_ranges",
    "filter_ranges",
)
READ_COUNTS = ("point_selects", *RANGE_COUNTS)
WRITE_COUNTS = ("index_updates", "non_index_updates", "delete_inserts", "deletes", "inserts")
COUNTS = (*READ_COUNTS, *WRITE_COUNTS)

_READS = {
    "point_selects": 10,
    "simple_ranges": 1,
    "sum_ranges": 1,
    "order_ranges": 1,
    "distinct_ranges": 1,
}
_WRITES = {"index_updates": 1, "non_index_updates": 1, "delete_inserts": 1}
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "read_write": {**_READS, **_WRITES, "skip_trx": False},
    "read_only": {**_READS, "skip_trx": False},
    "write_only": {**_WRITES, "skip_trx": False},
    "point_select": {"point_selects": 1, "skip_trx": True},
    "update_index": {"index_updates": 1, "skip_trx": True},
    "update_non_index": {"non_index_updates": 1, "skip_trx": True},
    "insert": {"inserts": 1, "skip_trx": True},
    "delete": {"deletes": 1, "skip_trx": True},
}
DEFAULT_PRESET = "read_write"
_ROWS_MAX = 2_000_000_000


def _count(name: str, about: str) -> Option:
    return Option(name, INTEGER, f"{about} per transaction", low=0, high=10_000)


OLTP: tuple[Option, ...] = (
    Option("preset", WORD, "counts to start from", DEFAULT_PRESET, words=tuple(PRESETS)),
    Option("tables", INTEGER, "number of tables, all of the same size", 1, 1, 4096, data=True),
    Option("rows", INTEGER, "rows per table", 10_000, 1, _ROWS_MAX, data=True),
    Option("id_range", INTEGER, "largest key to draw; default: rows", None, 1, _ROWS_MAX),
    _count("point_selects", "selects by primary key"),
    Option("in_list", INTEGER, "number of keys of a point select", 1, 1, 10_000),
    _count("simple_ranges", "range selects"),
    _count("sum_ranges", "range sums"),
    _count("order_ranges", "sorted range selects"),
    _count("distinct_ranges", "sorted distinct range selects"),
    _count("filter_ranges", "range scans that return one row"),
    Option("range_size", INTEGER, "rows of a range", 100, 1, 10_000_000),
    _count("index_updates", "updates of an indexed column"),
    _count("non_index_updates", "updates of a column without an index"),
    _count("delete_inserts", "deletes with an insert of the same key"),
    _count("deletes", "deletes"),
    _count("inserts", "inserts of new keys"),
    Option("skip_trx", FLAG, "omit BEGIN and COMMIT"),
    Option("distribution", WORD, "distribution of requests over keys", "uniform", words=SHAPES),
    Option("zipfian_theta", NUMBER, "exponent", 0.8, 0, 10, of_distribution="zipfian"),
    Option(
        "gaussian_iterations", INTEGER, "draws averaged", 12, 1, 1000, of_distribution="gaussian"
    ),
    Option("pareto_h", NUMBER, "share of hot keys", 0.2, 0.001, 0.999, of_distribution="pareto"),
    Option("special_iterations", INTEGER, "draws averaged", 12, 1, 1000, of_distribution="special"),
    Option("special_pct", INTEGER, "hot part of the keys, %", 1, 1, 100, of_distribution="special"),
    Option("special_res", INTEGER, "draws from it, %", 75, 0, 100, of_distribution="special"),
    Option("k_distribution", WORD, "distribution of column k", "uniform", words=SHAPES, data=True),
    Option("table_options", TEXT, "appended to CREATE TABLE", "", data=True),
)


class Oltp(NoFiles):
    """See the module."""

    name = "oltp"
    needs = (SQL,)
    model = model_of("OltpOptions", "Selects, ranges and updates on tables of one shape.", OLTP)
    options = OLTP
    presets = PRESETS

    def effective(self, options: Options) -> dict[str, Any]:
        full = dict.fromkeys(COUNTS, 0) | super().effective(options)
        full.setdefault("id_range", full["rows"])
        return full

    def meaning(self, options: Options) -> dict[str, Any]:
        """A range's size means nothing without ranges, a parameter only with its distribution."""
        full = self.effective(options)
        if not any(full[name] for name in RANGE_COUNTS):
            del full["range_size"]
        if not full["point_selects"]:
            del full["in_list"]
        for option in OLTP:
            if option.of_distribution and option.of_distribution != full["distribution"]:
                del full[option.name]
        return full

    def changes_data(self, options: Options) -> bool:
        full = self.effective(options)
        return any(full[name] > 0 for name in WRITE_COUNTS)

    def data_bytes(self, data: Options) -> int:
        return int(data["tables"] * data["rows"] * ROW_BYTES)

    def contradictions(self, options: Options) -> Iterator[Contradiction]:
        full = self.effective(options)
        if full["id_range"] > full["rows"]:
            yield Contradiction(
                ("id_range",),
                f"`id_range` {full['id_range']} is more than `rows` {full['rows']}",
                "keys are drawn from 1 to id_range: lower it or raise rows",
            )
        yield from nothing_sent("counts of operations", COUNTS, full)
        yield from misplaced_distribution(options, OLTP, full["distribution"])

    def small(self, options: Options, rows_max: int, tables_max: int) -> dict[str, Any]:
        full = self.effective(options)
        cut = {
            "rows": min(full["rows"], rows_max),
            "tables": min(full["tables"], tables_max),
        }
        if "id_range" in options:
            cut["id_range"] = min(options["id_range"], cut["rows"])
        return {**options, **cut}

    def sent(self, options: Options) -> dict[str, Any]:
        return dict(options)

    def checks(self, options: Options) -> tuple[Check, ...]:
        return ()

    def remarks(self, options: Options) -> tuple[str, ...]:
        return ()


WORKLOAD = Oltp()
