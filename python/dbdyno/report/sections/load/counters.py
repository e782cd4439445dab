"""What the machine and the servers did in each cell: the few numbers that a DBA asks for first.

All counters of all cells are in the CSV files; here are shares and amounts per transaction that say
more than any counter alone. A column that is zero or absent in every cell is omitted. Numbers are
made of means over blocks. Names: MariaDB and MySQL `SHOW GLOBAL STATUS`, PostgreSQL's `pg_stat_*`
views, `/proc` (dbdyno.samplers).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dbdyno import kinds
from dbdyno.analysis.types import CellResult
from dbdyno.kinds.counter import Amount, Counter, Quotient, Share
from dbdyno.plan.types import Plan
from dbdyno.report.context import Context
from dbdyno.report.layout import Layout, grouped
from dbdyno.report.section import Section
from dbdyno.wording import hosts_text
from dbdyno.wording.numbers import sig3

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
    alike: tuple[tuple[Column, str], ...] = ()  # columns whose value is the same in all rows


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


def _over(
    short: str, parts: Sequence[str], whole: str, scale: float = 1.0, made_of: str = ""
) -> Column:
    """The sum of `parts` that are known over `whole`."""

    def value(get: Get) -> float | None:
        known, bottom = [top for part in parts if (top := get(part)) is not None], get(whole)
        return scale * sum(known) / bottom if known and bottom else None

    return Column(short, f"{made_of or ' + '.join(parts)} / {whole}", value)


def _column(counter: Counter) -> Column:
    """A kind's counter as a column."""
    match counter:
        case Amount(head, metric, scale):
            return _plain(head, metric, scale)
        case Share(head, part, others):
            return _share(head, part, *others)
        case Quotient(head, parts, whole, scale, made_of):
            return _over(head, parts, whole, scale, made_of)


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


def view(context: Context) -> list[CounterTable] | None:
    """A table a target and kind of server, then the machine's; none without a column."""
    cells, plan, layout = context.findings.cells, context.plan, context.layout
    tables = []
    unseen = hosts_text.unseen(plan, [name for cell in cells for name in cell.metrics])
    several = max((len(cell.targets) for cell in plan.cells), default=0) > 1
    for name, kind in _servers(plan):
        own = [c for c in cells if (name, kind) in _targets(plan, c.index)]
        columns = (*map(_column, kinds.of(kind).counters), *SERVER, *HOST)
        gets = {c.index: _get(c, plan, name, several) for c in own}
        title = f"{name} ({kind})" if several else kind
        title += ", host not seen" if name in unseen else ""
        tables.append(_table(title, columns, own, gets, layout))
    gets = {c.index: _machine(c) for c in cells}
    title = "machine of the load generator" if hosts_text.elsewhere(plan) else "machine"
    tables.append(_table(title, MACHINE, cells, gets, layout))
    return [table for table in tables if table.columns or table.alike] or None


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
    known = [i for i in range(len(columns)) if any(row[i] for row in values.values())]
    texts = {i: [_text(values[c.index][i]) for c in cells] for i in known}
    alike = [i for i in known if len(cells) > 1 and len(set(texts[i])) == 1]
    kept = [i for i in known if i not in alike]
    rows = tuple(
        (
            tuple(grouped(c.levels[f.name]) for f in layout.factors),
            tuple(texts[i][row] for i in kept),
        )
        for row, c in enumerate(cells)
    )
    return CounterTable(
        title,
        tuple(layout.short(f.name) for f in layout.factors),
        tuple(columns[i] for i in kept),
        rows,
        tuple((columns[i], texts[i][0]) for i in alike),
    )


def _text(value: float | None) -> str:
    return "not measured" if value is None else sig3(value)


SECTION = Section(view, inside="results")
