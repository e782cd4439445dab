"""Workloads as an experiment writes them: one file each, found here by the name after `kind:`.

The functions ask the workload of that name; KeyError if there is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dbdyno.experiment.workloads import (
    append,
    bank,
    io,
    kv,
    lua,
    mix,
    oltp,
    register,
    replay,
    tpcc,
)
from dbdyno.experiment.workloads.base import Keys, Options, Workload

WORKLOADS: Mapping[str, Workload] = {
    each.name: each
    for each in (
        oltp.WORKLOAD,
        mix.WORKLOAD,
        kv.WORKLOAD,
        io.WORKLOAD,
        tpcc.WORKLOAD,
        register.WORKLOAD,
        append.WORKLOAD,
        bank.WORKLOAD,
        lua.WORKLOAD,
        replay.WORKLOAD,
    )
}

SCRIPT = lua.WORKLOAD.name
REPLAY = replay.WORKLOAD
TABLES = "tables"  # declared under `setup:` of a target
LOAD_ONLY = (TABLES,)  # workloads of the engine that no group can be of


def of(workload: str) -> Workload:
    """The workload of that name."""
    return WORKLOADS[workload]


def effective(workload: str, options: Options) -> dict[str, Any]:
    """See `Workload.effective`."""
    return of(workload).effective(options)


def meaning(workload: str, options: Options) -> dict[str, Any]:
    """See `Workload.meaning`."""
    return of(workload).meaning(options)


def data_options(workload: str, options: Options) -> dict[str, Any] | None:
    """See `Workload.data_options`."""
    return of(workload).data_options(options)


def changes_data(workload: str, options: Options) -> bool:
    """See `Workload.changes_data`."""
    return of(workload).changes_data(options)


def classes(workload: str, options: Options) -> dict[str, bool]:
    """The user's own classes of statements, with whether each only reads; empty for a workload that
    dbdyno brings."""
    return mix.classes(options) if workload == mix.WORKLOAD.name else {}


def statements(workload: str, options: Options) -> Iterator[tuple[Keys, str]]:
    """The user's own statements that are ever sent, each with the keys that lead to it (positions
    in lists as `0`, `1`); none of a workload that dbdyno brings."""
    if workload == mix.WORKLOAD.name:
        yield from (((*keys, "sql"), each["sql"]) for keys, _, each in mix.sent(options))


def pipeline(workload: str, options: Options) -> int:
    """How many transactions a session may have in flight at once. Presets have none, and that of a
    redacted run is not known."""
    return int(options.get("pipeline") or 1) if workload == kv.WORKLOAD.name else 1


def block_bytes(workload: str, options: Options) -> int:
    """What a transaction moves, where it is a block of a file; 0: it is something else."""
    return int(effective(workload, options)["block_size"]) if workload == io.WORKLOAD.name else 0
