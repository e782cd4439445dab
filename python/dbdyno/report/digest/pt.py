"""The classic layout that scripts of pt-query-digest's users read: labels, columns and units as its
manual's "OUTPUT" section and its own reports show them. All else is dbdyno's.

Numbers are abbreviated by powers of 1024, but how many statements there are, and rates, by powers
of 1000, as there; times are whole microseconds, milliseconds or seconds, shares cut to percents.
Deviations are those of a sample (n - 1), as there. Where a number is not known, there is a dash.
Statements are fingerprints, unless the digest has samples.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence

from dbdyno import kinds
from dbdyno.digest.document import Class, Distribution, Document, Stats
from dbdyno.report.digest.cut import middle
from dbdyno.wording.digest import amounts, words
from dbdyno.wording.visible import visible

LABELS = {
    "lock_time": "Lock time",
    "rows_sent": "Rows sent",
    "rows_examined": "Rows examine",
    "rows_affected": "Rows affecte",
    "rows_read": "Rows read",
    "bytes_sent": "Bytes sent",
    "merge_passes": "Merge passes",
    "tmp_tables": "Tmp tables",
    "tmp_disk_tables": "Tmp disk tbl",
    "tmp_bytes": "Tmp tbl size",
}
# Percona Server's, below a head of their own.
INNODB = {
    "read_bytes": "IO r bytes",
    "pages_read": "IO r ops",
    "innodb_io_r_wait": "IO r wait",
    "pages_used": "pages distin",
    "innodb_queue_wait": "queue wait",
    "innodb_rec_lock_wait": "rec lock wai",
}
# MariaDB's names of some of these, and others of its own.
MARIADB = {
    "engine_time": "Engine time",
    "old_rows_read": "Old rows rea",
    "pages_used": "Pages access",
    "pages_read": "Pages read",
    "innodb_io_r_wait": "Pages read t",
}
FLAGS = {
    "filesort": "Filesort",
    "filesort_on_disk": "Filesort on ",
    "full_join": "Full join",
    "full_scan": "Full scan",
    "qc_hit": "QC Hit",
    "tmp_table": "Tmp table",
    "tmp_table_on_disk": "Tmp table on",
}
BUCKETS = ("1us", "10us", "100us", "1ms", "10ms", "100ms", "1s", "10s+")
LETTERS = ("", "k", "M", "G", "T")
COMMAND = "command: "  # what fingerprints of commands that are no statements begin with
SIZE = "Query size"
COLUMNS = ("total", "min", "max", "avg", "95%", "stddev", "median")
BAR = 64


def pt(
    document: Document,
    *,
    now_unix_s: float | None = None,
    hostname: str = "",
    brief: bool = False,
) -> str:
    """The whole report. `now_unix_s` and `hostname` are in its head, if given. `brief`: without a
    part for each class."""
    lines = _head(document, now_unix_s, hostname)
    lines += ["", *_profile(document)]
    for one in () if brief else document.classes:
        lines += ["", *_query(document, one)]
    return "\n".join(lines) + "\n"


def _head(document: Document, now_unix_s: float | None, hostname: str) -> list[str]:
    all_ = document.overall
    lines = [""]
    if now_unix_s is not None:
        lines.append(f"# Current date: {time.strftime('%c', time.localtime(now_unix_s))}")
    if hostname:
        lines.append(f"# Hostname: {amounts.one_line(hostname)}")
    lines.append(f"# Files: {', '.join(amounts.one_line(one.path) for one in document.inputs)}")
    lines += [f"# Note: {note}" for note in words.limits(document)]
    title = (
        f"# Overall: {number(amounts.calls(all_), 'rate')} total,"
        f" {number(document.classes_total, 'rate')} unique, {_rates(document, all_)} "
    )
    lines.append(title.ljust(74, "_"))
    lines += _range(all_)
    lines += [
        "# Attribute          total     min     max     avg     95%  stddev  median",
        "# ============     ======= ======= ======= ======= ======= ======= =======",
    ]
    lines += _attributes(document, all_, lambda label, total: "   ")
    return lines + _flags(all_)


def _attributes(document: Document, stats: Stats, part: Callable[[str, float], str]) -> list[str]:
    """A line a measure, with its `part` of all before its values."""
    lines = [_attribute(row, part) for row in _rows(stats)]
    if stats.statement_bytes:
        mean = number(stats.statement_bytes / amounts.calls(stats), "bytes")
        cells = [number(stats.statement_bytes, "bytes"), "-", "-", mean, "-", "-", "-"]
        said = " ".join(cell.rjust(7) for cell in cells)
        lines.append(f"# {SIZE:<12} {part(SIZE, stats.statement_bytes)} {said}")
    labels = _of_engine(document)
    of_engine = [
        (label, stats.measures[name].unit, stats.measures[name])
        for name, label in labels.items()
        if name in stats.measures
    ]
    if of_engine and labels is INNODB:
        lines.append("# InnoDB:")
    return lines + [_attribute(row, part) for row in of_engine]


def _attribute(row: tuple[str, str, Distribution], part: Callable[[str, float], str]) -> str:
    label, unit, values = row
    cells = " ".join(_cell(values, unit, column).rjust(7) for column in COLUMNS)
    return f"# {label:<12} {part(label, values.sum)} {cells}"


def _of_engine(document: Document) -> Mapping[str, str]:
    """How the engine's measures are called by the server that these logs are of."""
    percona = {"innodb_rec_lock_wait", "innodb_queue_wait"}
    return INNODB if percona & document.overall.measures.keys() else MARIADB


def _rates(document: Document, stats: Stats) -> str:
    """Per second of the range below. Within one second a log's clock says nothing about rates."""
    if stats.first_unix_s is None:
        seconds = document.seconds
    elif amounts.moment(stats.first_unix_s) == amounts.moment(stats.last_unix_s):
        seconds = 0.0
    else:
        seconds = stats.span_s
    if not seconds:
        return f"0 QPS, {'0' if stats.query_time else '-'}x concurrency"
    at_once = number(stats.time_s / seconds, "rate") if stats.query_time else "-"
    return f"{number(amounts.calls(stats) / seconds, 'rate')} QPS, {at_once}x concurrency"


def _range(stats: Stats) -> list[str]:
    if stats.first_unix_s is None:
        return []
    ends = [amounts.moment(s) for s in (stats.first_unix_s, stats.last_unix_s)]
    if ends[0] == ends[1]:
        return [f"# Time range: all events occurred at {ends[0]}"]
    day = ends[0].partition(" ")[0] + " "
    return [f"# Time range: {ends[0]} to {ends[1].removeprefix(day)}"]


def _rows(stats: Stats) -> list[tuple[str, str, Distribution]]:
    rows: list[tuple[str, str, Distribution]] = []
    if stats.query_time:
        rows.append(("Exec time", "ns", stats.query_time))
    known = [name for name in LABELS if name in stats.measures]
    apart = LABELS.keys() | INNODB.keys() | MARIADB.keys()
    others = [n for n, m in stats.measures.items() if n not in apart and m.unit != "flag"]
    for name in (*known, *others):
        measured = stats.measures[name]
        label = LABELS.get(name) or amounts.one_line(name).replace("_", " ").capitalize()[:12]
        rows.append((label, measured.unit, measured))
    return rows


def _flags(stats: Stats) -> list[str]:
    lines = []
    for name, label in FLAGS.items():
        measured = stats.measures.get(name)
        if measured is not None and measured.sum:
            yes = measured.mean * 100
            lines.append(f"# {label:<12} {int(yes):>3}% yes, {int(100 - yes):>3}% no")
    return ["# Boolean:", *lines] if lines else []


def _cell(values: Distribution, unit: str, column: str) -> str:
    name = {"total": "sum", "avg": "mean", "95%": "p95", "median": "p50"}.get(column, column)
    found = _deviation(values) if column == "stddev" else getattr(values, name)
    return number(found, unit) if found is not None else "-"


def _deviation(values: Distribution) -> float | None:
    """That of a sample."""
    return None if values.stddev is None else values.stddev * math.sqrt(_of_sample(values))


def _of_sample(values: Distribution) -> float:
    """What makes the variance of a population that of a sample: n / (n - 1)."""
    n = values.sum / values.mean if values.mean else values.count
    return n / (n - 1) if n > 1.5 else 1.0


def number(value: float, unit: str) -> str:
    """`6us`, `450ms`, `5404s`; `12`, `2.10`, `58.30k`. `rate`: by powers of 1000."""
    if unit == "ns":
        if value >= 1:
            return f"{value:.0f}s"
        # What would round to 1000 of a unit is 1 of the next.
        for letters, scale in (("us", 1e6), ("ms", 1e3)):
            if value * scale < 999.5:
                return f"{value * scale:.0f}{letters}" if value else "0"
        return "1s"
    base = 1000 if unit == "rate" else 1024
    power = 0
    while power + 1 < len(LETTERS) and abs(value) >= base ** (power + 1):
        power += 1
    if not power and value == int(value):
        return f"{value:.0f}"
    return f"{value / base**power:.2f}{LETTERS[power]}"


def identity(one: Class) -> str:
    """The ID people have history of, if there is one; else dbdyno's."""
    bare = (one.pt_id or one.id).upper().removeprefix("0X")
    return f"0x{bare}"


def _profile(document: Document) -> list[str]:
    total = document.overall.time_s
    rows = []
    for one in document.classes:
        rows.append((str(one.rank), identity(one), *_shared(one, total), _v_m(one), _item(one)))
    hidden = document.classes_not_listed
    if document.rest and hidden > 0:
        rows.append(("MISC", "0xMISC", *_shared(document.rest, total), "0.0", f"<{hidden} ITEMS>"))
    heads = ("Rank", "Query ID", "Response time", "Calls", "R/Call", "V/M", "Item")
    widths = [max([len(head), *(len(row[i]) for row in rows)]) for i, head in enumerate(heads)]
    lines = ["# Profile"]
    lines.append("# " + " ".join(h.ljust(w) for h, w in zip(heads, widths, strict=True)).rstrip())
    lines.append("# " + " ".join("=" * w for w in widths))
    for row in rows:
        cells = [
            cell.ljust(w) if i in (1, 6) else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("# " + " ".join(cells).rstrip())
    return lines


def _v_m(one: Class) -> str:
    if one.v_m is None or one.query_time is None:
        return "-"
    return f"{one.v_m * _of_sample(one.query_time):.2f}"


def _item(one: Class) -> str:
    if command := _command(one):
        return f"ADMIN {command.upper()}"
    return amounts.one_line(one.distill) or middle(amounts.one_line(one.fingerprint), 30)


def _command(one: Class) -> str:
    """The name of a command that is no statement."""
    name = one.fingerprint.removeprefix(COMMAND)
    is_name = name != one.fingerprint and name.replace(" ", "").isalpha()
    return name if is_name else ""


def _shared(stats: Stats, total: float) -> tuple[str, str, str]:
    calls = amounts.calls(stats)
    if stats.query_time is None:
        return "- -", f"{calls:.0f}", "-"
    part = stats.time_s / total * 100 if total else 0.0
    return f"{stats.time_s:.4f} {part:4.1f}%", f"{calls:.0f}", f"{stats.query_time.mean:.4f}"


def _query(document: Document, one: Class) -> list[str]:
    at = f" at byte {one.sample.offset}" if one.sample else ""
    title = f"# Query {one.rank}: {_rates(document, one)}, ID {identity(one)}{at}"
    lines = [title]
    if one.v_m is not None:
        lines.append(f"# Scores: V/M = {_v_m(one)}")
    lines += _range(one)
    lines += [
        "# Attribute    pct   total     min     max     avg     95%  stddev  median",
        "# ============ === ======= ======= ======= ======= ======= ======= =======",
    ]
    calls, all_ = amounts.calls(one), document.overall
    lines.append(f"# {'Count':<12} {_pct(calls, amounts.calls(all_))} {calls:>7.0f}")
    totals = {label: values.sum for label, _, values in _rows(all_)}
    engine = _of_engine(document)
    totals |= {label: all_.measures[n].sum for n, label in engine.items() if n in all_.measures}
    totals[SIZE] = all_.statement_bytes
    lines += _attributes(document, one, lambda label, total: _pct(total, totals.get(label, 0.0)))
    lines += _flags(one)
    lines += _strings(document, one)
    lines += _distribution(one.histogram)
    lines += _tables(one)
    lines.append(f"{_statement(one)}\\G")
    return lines


def _pct(part: float, whole: float) -> str:
    return f"{int(part / whole * 100 + 1e-9) if whole else 0:>3}"


def _strings(document: Document, one: Class) -> list[str]:
    is_mysql = any(log.format.startswith(kinds.MYSQL) for log in document.inputs)
    errors = dict(one.error_codes)
    if errors and is_mysql and one.count > one.errors:
        errors["0"] = one.count - one.errors
    found = (
        ("Databases", one.databases),
        ("Hosts", one.hosts),
        ("Last errno" if is_mysql else "Errors", errors),
        ("Users", one.users),
    )
    lines = [f"# {label:<12} {_names(names)}" for label, names in found if any(names)]
    return ["# String:", *lines] if lines else []


def _names(found: Mapping[str, int]) -> str:
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    if len(ordered) == 1:
        return amounts.one_line(ordered[0][0])
    total = sum(found.values())
    said = ", ".join(
        f"{amounts.one_line(name) or '(others)'} ({n}/{int(n / total * 100)}%)"
        for name, n in ordered[:3]
    )
    return said + (f"... {len(ordered) - 3} more" if len(ordered) > 3 else "")


def _distribution(histogram: Sequence[int] | None) -> list[str]:
    """Eight buckets: what is below 1 us counts with 1 us."""
    if not histogram:
        return []
    counts = [histogram[0] + histogram[1], *histogram[2:]]
    top = max(counts) or 1
    bars = ["#" * max(1, int(n / top * BAR)) if n else "" for n in counts]
    rows = [f"# {name:>5}  {bar}".rstrip() for name, bar in zip(BUCKETS, bars, strict=True)]
    return ["# Query_time distribution", *rows]


def _tables(one: Class) -> list[str]:
    """Which statements show the tables; of MySQL's family, whose names may hold backticks."""
    lines = []
    for table in one.tables:
        schema, _, name = amounts.one_line(table).rpartition(".")
        if not schema and len(one.databases) == 1:
            schema = amounts.one_line(next(iter(one.databases)))
        here = f"`{schema}`." if schema else ""
        from_ = f" FROM `{schema}`" if schema else ""
        lines.append(f"#    SHOW TABLE STATUS{from_} LIKE '{name}'\\G")
        lines.append(f"#    SHOW CREATE TABLE {here}`{name}`\\G")
    return ["# Tables", *lines] if lines else []


def _statement(one: Class) -> str:
    if command := _command(one):
        return f"administrator command: {command}"
    raw = one.sample.text if one.sample and one.sample.text is not None else one.fingerprint
    return visible(raw)
