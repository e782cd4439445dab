"""The table of identities: one row for each attempt that carries one.

Its key begins with the session, so that sessions insert into pages of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dbdyno.audit.outcomes import Attempts, packed

TABLE = "dbdyno_audit"
CREATE = (
    f"DROP TABLE IF EXISTS {TABLE}",
    f"CREATE TABLE {TABLE} (session BIGINT NOT NULL, n BIGINT NOT NULL,"
    " attempt INTEGER NOT NULL, PRIMARY KEY (session, n, attempt))",
)
COUNT = f"SELECT count(*) FROM {TABLE}"
PAGE_ROWS = 100_000

Ask = Callable[[str], Sequence[Sequence[Any]]]
"""Rows of a query on one node."""
Identities = Mapping[int, Attempts]
"""Attempts by session, ascending."""


def read(ask: Ask, page_rows: int = PAGE_ROWS) -> Identities:
    """All rows of a node, a page at a time: 8 bytes each are kept."""
    found: dict[int, list[Attempts]] = {}
    after: tuple[int, int, int] | None = None
    while True:
        rows = ask(_page(after, page_rows))
        if not rows:
            break
        page = np.array([[int(value) for value in row] for row in rows], np.int64)
        attempts = packed(page[:, 1], page[:, 2])
        numbers, starts = np.unique(page[:, 0], return_index=True)
        for number, part in zip(numbers, np.split(attempts, starts[1:]), strict=True):
            found.setdefault(int(number), []).append(part)
        if len(rows) < page_rows:
            break
        after = (int(page[-1, 0]), int(page[-1, 1]), int(page[-1, 2]))
    return {session: np.concatenate(parts) for session, parts in found.items()}


def _page(after: tuple[int, int, int] | None, rows: int) -> str:
    """The query of the rows behind `after`. Its first condition bounds the search for planners that
    do not see it in the second."""
    where = ""
    if after is not None:
        session, n, attempt = after
        behind = f"n > {n} OR (n = {n} AND attempt > {attempt})"
        where = (
            f" WHERE session >= {session} AND (session > {session} OR"
            f" (session = {session} AND ({behind})))"
        )
    order = "session, n, attempt"
    return f"SELECT {order} FROM {TABLE}{where} ORDER BY {order} LIMIT {rows}"
