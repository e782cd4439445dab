"""`io`: blocks of plain files, read, written and made durable.

Source: `engine/workloads/src/io/settings.rs`; a contract test tries each option on the engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dbdyno.experiment.workloads.base import (
    INTEGER,
    NUMBER,
    SIZE,
    WORD,
    Check,
    Contradiction,
    NoFiles,
    Option,
    Options,
    misplaced_distribution,
    model_of,
)
from dbdyno.kinds.kind import IO

DEFAULT_PRESET = "random_read"
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "random_read": {"access": "random", "read_share": 1.0},
    "random_write": {"access": "random", "read_share": 0.0},
    "random_mixed": {"access": "random", "read_share": 0.6},
    "sequential_read": {"access": "sequential", "read_share": 1.0},
    "sequential_write": {"access": "sequential", "read_share": 0.0},
}
FILE_BYTES_MIN = 16 << 10  # the engine's limits too
PAGE_BYTES = 4096  # sizes of files are whole multiples of it
SMALL_ROW_BYTES = 256  # what a row of other workloads is worth, for a smoke test

OPTIONS: tuple[Option, ...] = (
    Option(
        "preset",
        WORD,
        "access and share of reads to start from",
        DEFAULT_PRESET,
        words=tuple(PRESETS),
    ),
    Option("files", INTEGER, "number of files", 4, 1, 512, data=True),
    Option(
        "total_size", SIZE, "size of all files together", 128 << 20, 16 << 10, 1 << 49, data=True
    ),
    Option(
        "block_size",
        SIZE,
        "size of a block, the unit of one operation",
        16 << 10,
        512,
        64 << 20,
    ),
    Option("access", WORD, "order of blocks", words=("sequential", "random")),
    Option(
        "read_share", NUMBER, "share of the transactions that read; the others write", low=0, high=1
    ),
    Option(
        "distribution",
        WORD,
        "distribution of requests over blocks; with `access: random`",
        "uniform",
        words=("uniform", "zipfian"),
    ),
    Option("zipfian_theta", NUMBER, "exponent", 0.99, 0, 10, of_distribution="zipfian"),
    Option(
        "sync_every",
        INTEGER,
        "writes of a session between two syncs; 0: no syncs",
        0,
        0,
        1_000_000_000,
    ),
    Option("sync_call", WORD, "system call of a sync", "fsync", words=("fsync", "fdatasync")),
)


class Io(NoFiles):
    """See the module."""

    name = "io"
    needs = (IO,)
    model = model_of("IoOptions", "Blocks of plain files.", OPTIONS)
    options = OPTIONS
    presets = PRESETS

    def effective(self, options: Options) -> dict[str, Any]:
        full = super().effective(options)
        return full | {"read_share": float(full["read_share"])}

    def meaning(self, options: Options) -> dict[str, Any]:
        """Without a distribution in order, a call that is never made, and the like."""
        full = self.effective(options)
        if full["access"] == "sequential":
            del full["distribution"]
        if full.get("distribution") != "zipfian":
            del full["zipfian_theta"]
        if full["read_share"] == 1 or not full["sync_every"]:
            del full["sync_every"], full["sync_call"]
        return full

    def changes_data(self, options: Options) -> bool:
        return bool(self.effective(options)["read_share"] < 1)

    def data_bytes(self, data: Options) -> int:
        return _file_bytes(data) * int(data["files"])

    def contradictions(self, options: Options) -> Iterator[Contradiction]:
        full = self.effective(options)
        if _file_bytes(full) < FILE_BYTES_MIN:
            yield Contradiction(
                ("total_size",) if "total_size" in options else ("files",),
                f"{full['files']} files of {full['total_size']} bytes together are less than "
                "16 KiB each",
                "make them larger, or fewer",
            )
        elif full["block_size"] > _file_bytes(full):
            yield Contradiction(
                ("block_size",) if "block_size" in options else ("total_size",),
                f"a block of {full['block_size']} bytes is more than a file has, "
                f"{_file_bytes(full)} bytes",
                "make the blocks smaller, or the files larger or fewer",
            )
        if "distribution" in options and full["access"] == "sequential":
            yield Contradiction(
                ("distribution",),
                "`distribution` belongs to `access: random`, but the access is sequential",
                "remove it, or set `access: random`",
            )
        yield from misplaced_distribution(options, OPTIONS, full["distribution"])

    def small(self, options: Options, rows_max: int, tables_max: int) -> dict[str, Any]:
        full = self.effective(options)
        least = full["files"] * max(full["block_size"], FILE_BYTES_MIN)
        size = max(least + full["files"] * PAGE_BYTES, rows_max * SMALL_ROW_BYTES)
        return {**options, "total_size": min(full["total_size"], size)}

    def sent(self, options: Options) -> dict[str, Any]:
        return dict(options)

    def checks(self, options: Options) -> tuple[Check, ...]:
        return ()

    def remarks(self, options: Options) -> tuple[str, ...]:
        return ()


def _file_bytes(data: Options) -> int:
    """Bytes of each file."""
    return int(data["total_size"] // data["files"] // PAGE_BYTES * PAGE_BYTES)


WORKLOAD = Io()
