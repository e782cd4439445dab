"""The classic layout that scripts of pt-query-digest's users read: labels, columns and units as
its manual's "OUTPUT" section and its own reports show them. All else is ours.

Numbers are abbreviated by powers of 1024, times as whole microseconds, milliseconds or seconds,
shares are cut to whole percents. Where a number is not known, there is a dash. Statements are
fingerprints, unless the digest has samples.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from dbdyno.digest.document import Class, Distribution, Document, Stats
from dbdyno.report.digest import words
from dbdyno.report.text import visible

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
UNITS = (("", 1), ("k", 1 << 10), ("M", 1 << 20), ("G", 1 << 30), ("T", 1 << 40))
COLUMNS = ("total", "min", "max", "avg", "95%", "stddev", "median")
BAR = 64


def pt(document: Document, *, now_unix_s: float | None = None, hostname: str = "") -> str:
    """The whole report. `now_unix_s` and `hostname` stand in its head, if given."""
    lines = _head(document, now_unix_s, hostname)
    lines += ["", *_profile(document)]
    for one in document.classes:
        lines += ["", *_query(document, one)]
    return "\n".join(lines) + "\n"


def _head(document: Document, now_unix_s: float | None, hostname: str) -> list[str]:
    all_ = document.overall
    lines = [""]
    if now_unix_s is not None:
        lines.append(f"# Current date: {time.strftime('%c', time.localtime(now_unix_s))}")
    if hostname:
        lines.append(f"# Hostname: {words.one_line(hostname)}")
    lines.append(f"# Files: {', '.join(words.one_line(one.path) for one in document.inputs)}")
    lines += [f"# Note: {note}" for note in words.limits(document)]
    total = number(words.calls(all_), "count")
    title = (
        f"# Overall: {total} total, {number(document.classes_total, 'count')} unique,"
        f" {_rates(document, all_)} "
    )
    lines.append(title.ljust(73, "_"))
    lines += _range(all_)
    lines += [
        "# Attribute          total     min     max     avg     95%  stddev  median",
        "# ============     ======= ======= ======= ======= ======= ======= =======",
    ]
    for label, unit, values in _rows(all_):
        cells = " ".join(_cell(values, unit, column).rjust(7) for column in COLUMNS)
        lines.append(f"# {label:<12}     {cells}")
    if all_.statement_bytes:
        lines.append(f"# {'Query size':<12}     {number(all_.statement_bytes, 'bytes'):>7}")
    return lines + _flags(all_)


def _rates(document: Document, stats: Stats) -> str:
    """Per second of the range below. Within one second a log's clock says nothing of rates."""
    if stats.first_unix_s is None:
        seconds = document.seconds
    elif words.moment(stats.first_unix_s) == words.moment(stats.last_unix_s):
        seconds = 0.0
    else:
        seconds = stats.span_s
    if not seconds:
        return f"0 QPS, {'0' if stats.query_time else '-'}x concurrency"
    at_once = _rate(stats.time_s / seconds) if stats.query_time else "-"
    return f"{_rate(words.calls(stats) / seconds)} QPS, {at_once}x concurrency"


def _rate(rate: float) -> str:
    return number(rate, "rate") if rate >= 1024 else f"{rate:.2f}"


def _range(stats: Stats) -> list[str]:
    if stats.first_unix_s is None:
        return []
    ends = [words.moment(s) for s in (stats.first_unix_s, stats.last_unix_s)]
    if ends[0] == ends[1]:
        return [f"# Time range: all events occurred at {ends[0]}"]
    day = ends[0].partition(" ")[0] + " "
    return [f"# Time range: {ends[0]} to {ends[1].removeprefix(day)}"]


def _rows(stats: Stats) -> list[tuple[str, str, Distribution]]:
    rows: list[tuple[str, str, Distribution]] = []
    if stats.query_time:
        rows.append(("Exec time", "ns", stats.query_time))
    known = [name for name in LABELS if name in stats.measures]
    others = [n for n, m in stats.measures.items() if n not in LABELS and m.unit != "flag"]
    for name in (*known, *others):
        measured = stats.measures[name]
        label = LABELS.get(name) or words.one_line(name).replace("_", " ").capitalize()[:12]
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
    found = getattr(values, name)
    return number(found, unit) if found is not None else "-"


def number(value: float, unit: str) -> str:
    """`6us`, `450ms`, `5404s`; `12`, `2.10`, `58.30k`."""
    if unit == "ns":
        if value >= 1:
            return f"{value:.0f}s"
        # What would round to 1000 of a unit is 1 of the next.
        for letters, scale in (("us", 1e6), ("ms", 1e3)):
            if value * scale < 999.5:
                return f"{value * scale:.0f}{letters}" if value else "0"
        return "1s"
    letter, scale_ = next(
        ((u, s) for u, s in reversed(UNITS) if abs(value) >= s and s > 1), UNITS[0]
    )
    scaled = value / scale_
    return f"{scaled:.0f}" if not letter and value == int(value) else f"{scaled:.2f}{letter}"


def identity(one: Class) -> str:
    """The ID people have history of, where there is one; else ours."""
    bare = (one.pt_id or one.id).upper().removeprefix("0X")
    return f"0x{bare}"


def _profile(document: Document) -> list[str]:
    total = document.overall.time_s
    rows = []
    for one in document.classes:
        v_m = "-" if one.v_m is None else f"{one.v_m:.2f}"
        item = words.one_line(one.distill) or words.one_line(one.fingerprint)[:30]
        rows.append((str(one.rank), identity(one), *_shared(one, total), v_m, item))
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


def _shared(stats: Stats, total: float) -> tuple[str, str, str]:
    calls = words.calls(stats)
    if stats.query_time is None:
        return "- -", f"{calls:.0f}", "-"
    part = stats.time_s / total * 100 if total else 0.0
    return f"{stats.time_s:.4f} {part:4.1f}%", f"{calls:.0f}", f"{stats.query_time.mean:.4f}"


def _query(document: Document, one: Class) -> list[str]:
    at = f" at byte {one.sample.offset}" if one.sample else ""
    title = f"# Query {one.rank}: {_rates(document, one)}, ID {identity(one)}{at}"
    lines = [title]
    if one.v_m is not None:
        lines.append(f"# Scores: V/M = {one.v_m:.2f}")
    lines += _range(one)
    lines += [
        "# Attribute    pct   total     min     max     avg     95%  stddev  median",
        "# ============ === ======= ======= ======= ======= ======= ======= =======",
    ]
    calls, all_ = words.calls(one), document.overall
    lines.append(f"# {'Count':<12} {_pct(calls, words.calls(all_))} {number(calls, 'count'):>7}")
    totals = {label: values.sum for label, _, values in _rows(all_)}
    for label, unit, values in _rows(one):
        cells = " ".join(_cell(values, unit, column).rjust(7) for column in COLUMNS)
        lines.append(f"# {label:<12} {_pct(values.sum, totals.get(label, 0.0))} {cells}")
    if one.statement_bytes:
        part = _pct(one.statement_bytes, all_.statement_bytes)
        lines.append(f"# {'Query size':<12} {part} {number(one.statement_bytes, 'bytes'):>7}")
    lines += _flags(one)
    lines += _strings(one)
    lines += _distribution(one.histogram)
    lines += _tables(one)
    lines.append(f"{_statement(one)}\\G")
    return lines


def _pct(part: float, whole: float) -> str:
    return f"{int(part / whole * 100 + 1e-9) if whole else 0:>3}"


def _strings(one: Class) -> list[str]:
    found = (
        ("Databases", one.databases),
        ("Errors", one.error_codes),
        ("Hosts", one.hosts),
        ("Users", one.users),
    )
    lines = [f"# {label:<12} {_names(names)}" for label, names in found if any(names)]
    return ["# String:", *lines] if lines else []


def _names(found: Mapping[str, int]) -> str:
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    if len(ordered) == 1:
        return words.one_line(ordered[0][0])
    total = sum(found.values())
    said = ", ".join(
        f"{words.one_line(name) or '(others)'} ({n}/{int(n / total * 100)}%)"
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
        schema, _, name = words.one_line(table).rpartition(".")
        if not schema and len(one.databases) == 1:
            schema = words.one_line(next(iter(one.databases)))
        here = f"`{schema}`." if schema else ""
        from_ = f" FROM `{schema}`" if schema else ""
        lines.append(f"#    SHOW TABLE STATUS{from_} LIKE '{name}'\\G")
        lines.append(f"#    SHOW CREATE TABLE {here}`{name}`\\G")
    return ["# Tables", *lines] if lines else []


def _statement(one: Class) -> str:
    raw = one.sample.text if one.sample and one.sample.text is not None else one.fingerprint
    return visible(raw)
