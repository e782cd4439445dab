"""Tables as CSV: RFC 4180 except for bare newlines, UTF-8, a header, nothing rounded.

Names of levels, statements and messages come from others, and a spreadsheet runs a cell that begins
like a formula: such a cell gets an apostrophe before it (OWASP, "CSV Injection").
"""

from __future__ import annotations

import csv
from typing import TextIO

from dbdyno.experiment.values import units
from dbdyno.share.tables import Source, Table, Value

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def write(source: Source, table: Table, out: TextIO) -> int:
    """Writes a table, row by row; returns how many rows that were, without the header."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_cell(column.name) for column in table.columns(source.plan)])
    count = 0
    for row in table.of(source):
        writer.writerow([_cell(value) for value in row])
        count += 1
    return count


def _cell(value: Value) -> Value:
    """Python writes a float so that reading gives it back; flags as in JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and value.startswith(_FORMULA) and not units.is_number(value):
        return f"'{value}"
    return value
