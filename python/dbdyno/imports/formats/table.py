"""A table of results: CSV with a header, one row a trial.

A column whose head is a metric of dbdyno (canonical name or short form: `tps`, `p95 ms`) or is
mapped to one by `--map` holds numbers; `block` and `rep` number passes and repetitions; every other
column holds levels. `sessions` or `threads` also says how many sessions there were. Separators:
comma, semicolon, tab. Source: RFC 4180.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence

from dbdyno.errors import DynoError
from dbdyno.experiment.claims import metrics
from dbdyno.experiment.file.names import did_you_mean
from dbdyno.imports.found import TOOL, Found, Part
from dbdyno.imports.text import Line, Text, number

BLOCK, REPETITION = "block", "rep"
SESSIONS = ("sessions", "threads", "clients", "users")
LEFT_OUT = "-"  # `--map note=-`
ROWS_MAX = 100_000
COLUMNS_MAX = 500
DELIMITERS = ",;\t"


class _Table:
    name = "a table (CSV with a header)"

    def recognises(self, head: list[Line]) -> bool:
        lines = [text for _, text in head if text.strip()]
        delimiter = _delimiter(lines[0])
        if not delimiter or len(lines) < 2:
            return False
        widths = [len(row) for row in csv.reader(lines[:2], delimiter=delimiter)]
        return widths[0] > 1 and len(widths) == 2 and widths[0] == widths[1]

    def read(self, text: Text, columns: Mapping[str, str]) -> list[Found]:
        rows = _rows(text)
        line, header = next(rows)
        kinds = _kinds(text, line, [name.strip() for name in header], columns)
        found = [_row(text, at, row, kinds) for at, row in rows]
        if not found:
            text.refuse(line, "the table has a header and no rows")
        return found


FORMAT = _Table()


def _delimiter(line: str) -> str:
    """The separator that the header has most of; empty if none."""
    best = max(DELIMITERS, key=line.count)
    return best if best in line else ""


def _rows(text: Text) -> Iterator[tuple[int, list[str]]]:
    """(line, fields) of each row that is not blank, the header first."""
    first = next(line for _, line in text.lines() if line.strip())
    reader = csv.reader(
        (line for _, line in text.lines()), delimiter=_delimiter(first), strict=True
    )
    width = count = 0
    try:
        for row in reader:
            if not any(field.strip() for field in row):
                continue
            width = width or len(row)
            count += 1
            if len(row) != width:
                text.refuse(
                    reader.line_num, f"{len(row)} fields in this row, {width} in the header"
                )
            if width > COLUMNS_MAX or count > ROWS_MAX:
                text.refuse(reader.line_num, f"more than {COLUMNS_MAX} columns or {ROWS_MAX} rows")
            yield reader.line_num, row
    except csv.Error as error:
        text.refuse(reader.line_num, f"this is not CSV: {error}")


def _kinds(
    text: Text, line: int, header: Sequence[str], mapped: Mapping[str, str]
) -> list[tuple[str, str]]:
    """(kind, name) a column: ("metric", canonical), ("level", head), ("block" | "rep", ""), or ("",
    "") for one that is omitted."""
    if len(set(header)) < len(header) or not all(header):
        text.refuse(line, "a column of the table has no name, or two have the same")
    if unknown := [name for name in mapped if name not in header]:
        text.refuse(
            line,
            f"`--map` names a column `{unknown[0]}`, and there is none",
            fix=did_you_mean(unknown[0], header),
        )
    kinds = [_kind(name, mapped.get(name)) for name in header]
    names = [name for kind, name in kinds if kind == "metric"]
    if not names:
        text.refuse(
            line,
            "no column of the table is a metric",
            cause=f"its columns are {', '.join(header)[:200]}",
            fix="name one `tps`, `qps`, `p95 ms` or the like, or give `--map COLUMN=tps`",
        )
    if len(set(names)) < len(names):
        text.refuse(line, "two columns of the table are the same metric")
    return kinds


def _kind(name: str, mapped: str | None) -> tuple[str, str]:
    if mapped == LEFT_OUT:
        return ("", "")
    if mapped is not None:
        return ("metric", metric(mapped))
    if name.lower() in (BLOCK, REPETITION):
        return (name.lower(), "")
    try:
        return ("metric", metric(name))
    except DynoError:
        return ("level", name)


def metric(name: str) -> str:
    """The canonical name of a metric as written. DynoError if there is none."""
    if name.startswith(TOOL):
        return name
    return metrics.canonical(name, metrics.Scope())


def _row(text: Text, at: int, row: Sequence[str], kinds: Sequence[tuple[str, str]]) -> Found:
    values: dict[str, float] = {}
    levels: dict[str, str] = {}
    passes = {BLOCK: "", REPETITION: ""}
    for field, (kind, name) in zip(row, kinds, strict=True):
        value = field.strip()
        if kind == "metric" and value:
            values[name] = _number(text, at, value, name)
        elif kind == "level":
            if not value:
                text.refuse(at, f"column `{name}` is empty in this row, so its level is not known")
            levels[name] = value
        elif kind in passes:
            passes[kind] = value
    if not values:
        text.refuse(at, "this row has no number")
    sessions = next((levels[name] for name in SESSIONS if name in levels), "")
    return Found(
        tool="table",
        version="",
        file=text.path,
        line=at,
        parts={"": Part(values)},
        said=levels,
        sessions=int(sessions) if re.fullmatch(r"\d{1,6}", sessions) else 0,
        repetition=passes[REPETITION],
        block=passes[BLOCK],
        row=True,
    )


def _number(text: Text, at: int, value: str, name: str) -> float:
    """A number as spreadsheets write it. DynoError, with the line, for anything else."""
    try:
        found = number(value.replace(" ", "").replace("_", ""))
    except ValueError:
        text.refuse(
            at,
            f"`{value[:40]}` is not a number, and the column is the metric {name}",
            cause="a thousands separator, a decimal comma, a unit, or a cell without a value",
            fix="write plain numbers (`1234.5`) and an empty cell for a missing value",
        )
    if found < 0:
        text.refuse(at, f"{name} cannot be negative: `{value[:40]}`")
    return found
