"""A log of transactions as CSV: `node,start,commit,keys`, times in seconds.

    node,start,commit,keys
    n1,0.000,0.004,accounts:1
    n2,0.001,0.003,accounts:1:update accounts:7:exclusive

Keys are separated by blanks; a type of certification key may end one (default: update).
"""

from __future__ import annotations

import csv
import difflib
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError, Where
from dbdyno.models.cluster.conflicts.keys import TYPES, UPDATE
from dbdyno.models.cluster.conflicts.transaction import TRANSACTIONS_MAX, Transaction

HEAD = ["node", "start", "commit", "keys"]
BYTES_MAX = 64 << 20


def load(path: Path) -> list[Transaction]:
    """Transactions in order of their start. DynoError, with its line, for one that is none."""
    try:
        if path.stat().st_size > BYTES_MAX:
            raise DynoError(f"{path} is larger than {BYTES_MAX >> 20} MiB", fix="take a part of it")
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _read(csv.reader(file), path)
    except OSError as error:
        raise DynoError(
            f"{path} cannot be read: {error.strerror}",
            cause="a misspelt path, or no permission",
            fix=f"give a CSV file with the columns {', '.join(HEAD)}",
        ) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise DynoError(f"{path} is no CSV file: {error}", fix="save it as UTF-8 text") from None


def _read(rows: Any, path: Path) -> list[Transaction]:
    head: list[str] = next(rows, [])
    if [cell.strip() for cell in head] != HEAD:
        raise DynoError(
            f"the columns are {', '.join(head) or 'missing'}",
            where=Where(path, 1, 1),
            fix=f"the first line must be `{','.join(HEAD)}`",
        )
    found = []
    for row in rows:
        if not row:
            continue
        try:
            found.append(_transaction(row))
        except ValueError as error:
            where = Where(path, rows.line_num, 1)
            raise DynoError(str(error), where=where, fix="write `n1,0.001,0.004,t:1`") from None
        if len(found) > TRANSACTIONS_MAX:
            raise DynoError(f"{path} has more than {TRANSACTIONS_MAX:,} transactions")
    if not found:
        raise DynoError(f"{path} has no transactions", fix="write `n1,0.001,0.004,t:1`")
    return sorted(found, key=lambda one: one.start_s)


def _transaction(row: list[str]) -> Transaction:
    if len(row) != len(HEAD):
        raise ValueError(f"{len(row)} columns instead of {len(HEAD)}")
    node, start, commit, keys = (cell.strip() for cell in row)
    if not node:
        raise ValueError("no node is named")
    named = dict(_key(key) for key in keys.split())
    begin, end = _seconds(start), _seconds(commit)
    if not (begin >= 0 and end < 1e9):
        raise ValueError("times are seconds from 0 on")
    return Transaction(node, begin, end, named)


def _key(text: str) -> tuple[str, str]:
    """`accounts:1` is a key, `accounts:1:shared` one with its type."""
    name, _, kind = text.rpartition(":")
    if not name or kind in TYPES:
        return (name, kind) if name else (text, UPDATE)
    if close := difflib.get_close_matches(kind.lower(), TYPES, 1, 0.75):
        raise ValueError(
            f"`{kind}` of `{text}` is no type of key: is it {close[0]}? (there are"
            f" {', '.join(TYPES)}; if it is part of the key, write `{text}:{UPDATE}`)"
        )
    return text, UPDATE


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"`{text}` is no time: seconds without a unit, such as 0.004") from None
