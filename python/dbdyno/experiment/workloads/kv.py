"""`kv`: the core workloads A to F of the Yahoo! Cloud Serving Benchmark, over SQL or by key.

Source: `engine/workloads/src/kv/settings.rs`; a contract test tries each option on the engine.
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
    Need,
    NoFiles,
    Option,
    Options,
    model_of,
    nothing_sent,
)
from dbdyno.kinds.kind import KEY_RANGES, KEY_VALUE, PIPELINING, SQL, TRANSACTIONS

DISTRIBUTIONS = ("uniform", "zipfian", "latest")
PROPORTIONS = ("read", "update", "insert", "scan", "read_modify_write")
WRITING = ("update", "insert", "read_modify_write")
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "a": {"read": 0.5, "update": 0.5, "distribution": "zipfian"},
    "b": {"read": 0.95, "update": 0.05, "distribution": "zipfian"},
    "c": {"read": 1.0, "distribution": "zipfian"},
    "d": {"read": 0.95, "insert": 0.05, "distribution": "latest"},
    "e": {"scan": 0.95, "insert": 0.05, "distribution": "zipfian"},
    "f": {"read": 0.5, "read_modify_write": 0.5, "distribution": "zipfian"},
}
RECORD_BYTES = 60  # of a record on disk without its fields, about: key, its index, heads
FIELD_BYTES = 2
PIPELINED_BYTES_MAX = 64 << 20  # the engine's limit too


def _proportion(name: str, about: str) -> Option:
    return Option(name, NUMBER, f"{about}, as a relative weight", low=0, high=1_000_000_000)


KV: tuple[Option, ...] = (
    Option("preset", WORD, "proportions and distribution to start from", "a", words=tuple(PRESETS)),
    Option("records", INTEGER, "records loaded", 10_000, 1, 100_000_000_000, data=True),
    Option("fields", INTEGER, "fields of a record", 10, 1, 100, data=True),
    Option("field_bytes", INTEGER, "characters of a field", 100, 1, 65_535, data=True),
    _proportion("read", "reads of all fields of a record"),
    _proportion("update", "updates of one field"),
    _proportion("insert", "inserts of new records"),
    _proportion("scan", "scans from a start key"),
    _proportion("read_modify_write", "a read and an update of the same record"),
    Option("scan_length_max", INTEGER, "records of a scan, 1 to this", 100, 1, 1_000_000),
    Option("distribution", WORD, "distribution of requests over records", words=DISTRIBUTIONS),
    Option("zipfian_theta", NUMBER, "exponent; not with `distribution: uniform`", 0.99, 0, 10),
    Option(
        "key_order",
        WORD,
        "order of keys: hashed, or by record number",
        "hashed",
        words=("hashed", "ordered"),
        data=True,
    ),
    Option("transactional", FLAG, "read-modify-write between begin and commit", False),
    Option("table_options", TEXT, "appended to CREATE TABLE", "", data=True),
    Option(
        "pipeline",
        INTEGER,
        "operations that a session sends in one write before it waits for their answers; not with"
        " `read_modify_write`",
        1,
        1,
        1000,
    ),
)


class Kv(NoFiles):
    """See the module."""

    name = "kv"
    needs = (KEY_VALUE,)
    model = model_of("KvOptions", "YCSB's core workloads A to F.", KV)
    options = KV
    presets = PRESETS

    def effective(self, options: Options) -> dict[str, Any]:
        full = dict.fromkeys(PROPORTIONS, 0.0) | super().effective(options)
        return full | {name: float(full[name]) for name in PROPORTIONS}

    def meaning(self, options: Options) -> dict[str, Any]:
        """Proportions as shares; no scan's length without scans, and the like."""
        full = self.effective(options)
        total = sum(full[name] for name in PROPORTIONS)
        if total > 0:
            full |= {name: full[name] / total for name in PROPORTIONS}
        if not full["scan"]:
            del full["scan_length_max"]
        if not full["read_modify_write"]:
            del full["transactional"]
        if full["distribution"] == "uniform":
            del full["zipfian_theta"]
        return full

    def changes_data(self, options: Options) -> bool:
        full = self.effective(options)
        return any(full[name] > 0 for name in WRITING)

    def data_bytes(self, data: Options) -> int:
        record = RECORD_BYTES + data["fields"] * (data["field_bytes"] + FIELD_BYTES)
        return int(data["records"] * record)

    def contradictions(self, options: Options) -> Iterator[Contradiction]:
        full = self.effective(options)
        yield from nothing_sent("proportions", PROPORTIONS, full)
        if "zipfian_theta" in options and full["distribution"] == "uniform":
            yield Contradiction(
                ("zipfian_theta",),
                "`zipfian_theta` belongs to `distribution: zipfian` and `latest`, "
                "but the distribution is uniform",
                "remove it, or set `distribution: zipfian`",
            )
        if full["pipeline"] > 1:
            yield from _pipelined(full)

    def needs_more(self, options: Options) -> Iterator[Need]:
        full = self.effective(options)
        if full["scan"]:
            yield Need(KEY_RANGES, ("scan", "preset"), "for scans")
        if full["transactional"] and full["read_modify_write"]:
            yield Need(TRANSACTIONS, ("transactional",), "for `transactional`")
        if full["table_options"]:
            yield Need(SQL, ("table_options",), "for `table_options`")
        if full["pipeline"] > 1:
            yield Need(
                PIPELINING,
                ("pipeline",),
                "for `pipeline`",
                cause="its driver sends each request after the answer to the one before",
                instead="remove `pipeline`",
            )

    def small(self, options: Options, rows_max: int, tables_max: int) -> dict[str, Any]:
        return {**options, "records": min(self.effective(options)["records"], rows_max)}

    def sent(self, options: Options) -> dict[str, Any]:
        return dict(options)

    def checks(self, options: Options) -> tuple[Check, ...]:
        return ()

    def remarks(self, options: Options) -> tuple[str, ...]:
        return ()


def _pipelined(full: Options) -> Iterator[Contradiction]:
    if full["read_modify_write"]:
        yield Contradiction(
            ("pipeline",),
            "a read-modify-write waits for its read before it writes, so it cannot be sent in a"
            " `pipeline`",
            "remove `pipeline`, or set `read_modify_write: 0`",
        )
    size = full["pipeline"] * full["fields"] * full["field_bytes"]
    if size > PIPELINED_BYTES_MAX:
        yield Contradiction(
            ("pipeline",),
            f"{full['pipeline']} operations on records of {full['fields']} fields of"
            f" {full['field_bytes']} characters may be {size >> 20} MiB, which each session holds",
            f"lower `pipeline`, to {PIPELINED_BYTES_MAX >> 20} MiB at most, or make the records"
            " smaller",
        )


WORKLOAD = Kv()
