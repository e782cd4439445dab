"""What the machine and the servers did in each cell: the few numbers that a DBA asks for first.

All counters of all cells are in the CSV files; here are shares and amounts per transaction that say
more than any counter alone. A column that is zero or absent in every cell is left out. Numbers are
made of means over blocks. Names: MariaDB and MySQL `SHOW GLOBAL STATUS`, PostgreSQL's `pg_stat_*`
views, `/proc` (dbdyno.samplers).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dbdyno.analysis.types import CellResult
from dbdyno.plan.types import Plan
from dbdyno.report.layout import Layout, grouped
from dbdyno.report.setting import hosts
from dbdyno.report.text.numbers import MISSING, sig3

Get = Callable[[str], float | None]  # a metric's mean in a cell; None where it was not measured

MIB = 1048576.0


@dataclass(frozen=True)
class Column:
    """A column: its head, how it is made (shown on hover), and its value in a cell."""

    short: str
    made_of: str
    value: Callable[[Get], float | None]


@dataclass(frozen=True)
class CounterTable:
    """Cells of one kind of server, or all cells for the machine."""

    title: str
    factors: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]  # levels, values


def _plain(short: str, name: str, scale: float = 1.0) -> Column:
    def value(get: Get) -> float | None:
        found = get(name)
        return None if found is None else found * scale

    return Column(short, name, value)


def _share(short: str, part: str, *others: str) -> Column:
    """`part` as a percentage of itself and `others`; nothing where one of them is not known."""

    def value(get: Get) -> float | None:
        found = [value for name in (part, *others) if (value := get(name)) is not None]
        if len(found) <= len(others) or sum(found) <= 0:
            return None
        return 100 * found[0] / sum(found)

    return Column(short, f"{part} / ({' + '.join((part, *others))})", value)


def _over(short: str, part: str, whole: str, scale: float = 1.0) -> Column:
    """`part` over `whole`; `transactions` and `operations` are those of the target's groups."""

    def value(get: Get) -> float | None:
        top, bottom = get(part), get(whole)
        return None if top is None or not bottom else scale * top / bottom

    return Column(short, f"{part} / {whole}", value)


_READS = ("key", "first", "last", "next", "prev", "rnd", "rnd_next")


def _rows_read(get: Get) -> float | None:
    found = [get(f"status.Handler_read_{name}") for name in _READS]
    known, operations = [value for value in found if value is not None], get("operations")
    return sum(known) / operations if known and operations else None


# Of look-ups in the query cache, not of Com_select: MariaDB counts hits there too, MySQL did not.
_QC, _POOL = "status.Qcache_", "status.Innodb_buffer_pool_"
_MYSQL = (
    _share("query cache hits %", f"{_QC}hits", f"{_QC}inserts", f"{_QC}not_cached"),
    _plain("query cache prunes/s", f"{_QC}lowmem_prunes"),
    _over("buffer pool misses %", f"{_POOL}reads", f"{_POOL}read_requests", 100),
    _plain("fsyncs/s", "status.Innodb_data_fsyncs"),
    _over("fsyncs/tx", "status.Innodb_data_fsyncs", "transactions"),
    Column("row reads/op", "Handler_read_* / operations", _rows_read),
    _plain("row lock waits/s", "status.Innodb_row_lock_waits"),
    _plain("deadlocks/s", "status.Innodb_deadlocks"),
    _plain("log waits/s", "status.Innodb_log_waits"),
    _plain("disk temp tables/s", "status.Created_tmp_disk_tables"),
    _plain("threads running", "status.Threads_running"),
)
_DATABASE, _WAL = "status.pg_stat_database.", "status.pg_stat_wal."
_POSTGRES = (
    _share("buffer misses %", f"{_DATABASE}blks_read", f"{_DATABASE}blks_hit"),
    _over("WAL syncs/tx", f"{_WAL}wal_sync", "transactions"),
    _over("WAL kB/tx", f"{_WAL}wal_bytes", "transactions", 1e-3),
    _over("rows returned/op", f"{_DATABASE}tup_returned", "operations"),
    _plain("rollbacks/s", f"{_DATABASE}xact_rollback"),
    _plain("deadlocks/s", f"{_DATABASE}deadlocks"),
    _plain("temp files/s", f"{_DATABASE}temp_files"),
    _plain("checkpoints asked for/s", "status.pg_stat_bgwriter.checkpoints_req"),
)
_SQLITE = (
    _plain("database MiB", "status.database_bytes", 1 / MIB),
    _plain("WAL MiB", "status.wal_bytes", 1 / MIB),
)
KINDS: Mapping[str, tuple[Column, ...]] = {
    "mariadb": _MYSQL,
    "mysql": _MYSQL,
    "postgres": _POSTGRES,
    "sqlite": _SQLITE,
}
SERVER = (
    _plain("server cores busy", "server.cpu_cores"),
    _plain("server RSS MiB", "server.rss_bytes", 1 / MIB),
)
HOST = (  # of an external server
    _plain("server cores busy", "host.server.cpu_cores"),
    _plain("server RSS MiB", "host.server.rss_bytes", 1 / MIB),
    _plain("host CPU busy %", "host.cpu.busy", 100),
    _plain("host CPU stolen %", "host.cpu.steal_percent"),
    _plain("host disk writes/s", "host.disk.writes_per_s"),
    _plain("host disk reads/s", "host.disk.reads_per_s"),
    _plain("host flushes/s", "host.disk.flushes_per_s"),
    _plain("host write wait ms", "host.disk.write_await_ms"),
    _plain("host disk busy %", "host.disk.util", 100),
    _plain("host retransmits/s", "host.network.retransmits_per_s"),
)
MACHINE = (
    _plain("CPU busy %", "cpu.busy", 100),
    _plain("CPU stolen %", "cpu.steal_percent"),
    _plain("load threads", "generator.load_threads"),
    _plain("busiest load thread %", "generator.busy_max", 100),
    _plain("lag p99 µs", "generator.lag_ms_p99", 1e3),
    _plain("disk writes/s", "disk.writes_per_s"),
    _plain("disk reads/s", "disk.reads_per_s"),
    _plain("flushes/s", "disk.flushes_per_s"),
    _plain("write wait ms", "disk.write_await_ms"),
    _plain("disk busy %", "disk.util", 100),
    _plain("retransmits/s", "network.retransmits_per_s"),
)


def counter_tables(cells: Sequence[CellResult], plan: Plan, layout: Layout) -> list[CounterTable]:
    """A table a target and kind of server, then the machine's; none without a column."""
    tables = []
    unseen = hosts.unseen(plan, [name for cell in cells for name in cell.metrics])
    several = max((len(cell.targets) for cell in plan.cells), default=0) > 1
    for name, kind in _servers(plan):
        own = [c for c in cells if (name, kind) in _targets(plan, c.index)]
        columns = (*KINDS.get(kind, ()), *SERVER, *HOST)
        gets = {c.index: _get(c, plan, name, several) for c in own}
        title = f"{name} ({kind})" if several else kind
        title += ", host not seen" if name in unseen else ""
        tables.append(_table(title, columns, own, gets, layout))
    gets = {c.index: _machine(c) for c in cells}
    title = "machine of the load generator" if hosts.elsewhere(plan) else "machine"
    tables.append(_table(title, MACHINE, cells, gets, layout))
    return [table for table in tables if table.columns]


def _servers(plan: Plan) -> list[tuple[str, str]]:
    return list(dict.fromkeys(pair for cell in plan.cells for pair in _targets(plan, cell.index)))


def _targets(plan: Plan, index: int) -> list[tuple[str, str]]:
    return [(target.name, target.kind) for target in plan.cells[index].targets]


def _machine(cell: CellResult) -> Get:
    def get(name: str) -> float | None:
        found = cell.metrics.get(name)
        return None if found is None else found.mean

    return get


def _get(cell: CellResult, plan: Plan, target: str, several: bool) -> Get:
    """Metrics of one target in one cell, its groups' rates under `transactions`, `operations`."""
    groups = plan.cells[cell.index].groups
    mean = _machine(cell)

    def get(name: str) -> float | None:
        if name in ("transactions", "operations"):
            metric = f"{name}_per_s"
            own = [
                mean(f"{group.name}.{metric}" if len(groups) > 1 else metric)
                for group in groups
                if group.target == target
            ]
            return sum(value or 0.0 for value in own) or None
        return mean(f"{target}.{name}" if several else name)

    return get


def _table(
    title: str,
    columns: Sequence[Column],
    cells: Sequence[CellResult],
    gets: Mapping[int, Get],
    layout: Layout,
) -> CounterTable:
    values = {c.index: [column.value(gets[c.index]) for column in columns] for c in cells}
    kept = [i for i in range(len(columns)) if any(row[i] for row in values.values())]
    rows = tuple(
        (
            tuple(grouped(c.levels[f.name]) for f in layout.factors),
            tuple(MISSING if v is None else sig3(v) for v in (values[c.index][i] for i in kept)),
        )
        for c in cells
    )
    factors = tuple(layout.short(f.name) for f in layout.factors)
    return CounterTable(title, factors, tuple(columns[i] for i in kept), rows)
