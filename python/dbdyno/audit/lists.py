"""Identities that a server without SQL keeps: texts `SESSION:N:ATTEMPT`, in any order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dbdyno.audit.identities import Identities
from dbdyno.audit.outcomes import Attempts, packed
from dbdyno.errors import DynoError


def read(pages: Iterable[Sequence[str]]) -> Identities:
    """All of them: 8 bytes each are kept. DynoError for a text that is none."""
    found: dict[int, list[Attempts]] = {}
    for page in pages:
        rows = [text.split(":") for text in page]
        if not rows:
            continue
        try:
            numbers = np.array(rows, np.str_).astype(np.int64)
        except ValueError:
            numbers = np.empty((0, 0), np.int64)
        if numbers.shape != (len(rows), 3):
            raise DynoError(
                "a list of identities holds something else",
                cause="another client has written to keys of the run",
                fix="run the trial again",
            )
        order = np.argsort(numbers[:, 0], kind="stable")
        numbers = numbers[order]
        sessions, starts = np.unique(numbers[:, 0], return_index=True)
        parts = np.split(packed(numbers[:, 1], numbers[:, 2]), starts[1:])
        for session, part in zip(sessions, parts, strict=True):
            found.setdefault(int(session), []).append(part)
    return {session: np.unique(np.concatenate(parts)) for session, parts in found.items()}
