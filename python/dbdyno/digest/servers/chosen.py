"""Which classes of a sampled server are shown, and how they are made: the options that
`dyno-engine digest` takes for logs, as far as a server's view knows what they need."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from dbdyno.digest.servers.counted import Counted
from dbdyno.errors import DynoError

LIMIT = "95%:20"
GROUPS = ("fingerprint", "db", "user")
NONE = "(none)"  # as logs call what has no database or no user
_LIMIT = re.compile(r"(?:(\d+(?:\.\d+)?)%)?:?(\d+)?")


@dataclass(frozen=True)
class Choice:
    """See `make`."""

    group_by: str = "fingerprint"
    order_by: str = "query_time"
    share_max: float = 0.95
    classes_max: int | None = 20
    db: str | None = None
    user: str | None = None

    def takes(self, row: Counted) -> bool:
        """Whether the filters let it pass."""
        return (self.db is None or row.database == self.db) and (
            self.user is None or row.user == self.user
        )

    def name_of(self, row: Counted, text: str) -> str:
        """What identifies its class: its text, database or user."""
        if self.group_by == "db":
            return row.database or NONE
        if self.group_by == "user":
            return row.user or NONE
        return text

    def limited(
        self, classes: list[dict[str, Any]]
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Those to be shown, in order, and the others."""
        ordered = sorted(classes, key=lambda one: (-self._size(one), one["id"]))
        total = sum(self._size(one) for one in ordered)
        shown, at = 0, 0.0
        for one in ordered:
            if self.classes_max is not None and shown >= self.classes_max:
                break
            if shown and self.share_max < 1 and at >= self.share_max * total:
                break
            at += self._size(one)
            shown += 1
        return ordered[:shown], ordered[shown:]

    def _size(self, one: dict[str, Any]) -> float:
        if self.order_by == "count":
            return float(one["count"])
        if self.order_by == "query_time":
            return float(one["query_time"]["sum"])
        measured = one["measures"].get(self.order_by)
        if measured is None:
            known = ", ".join(["query_time", "count", *sorted(one["measures"])])
            raise DynoError(
                f"`--order-by {self.order_by}`: the server does not count it",
                fix=f"one of {known}",
            )
        return float(measured["sum"])


def make(
    *,
    group_by: str | None,
    order_by: str | None,
    limit: str | None,
    db: str | None,
    user: str | None,
) -> Choice:
    """From options as typed. DynoError for what a server's view does not have."""
    if group_by is not None and group_by not in GROUPS:
        raise DynoError(
            f"`--group-by {group_by}` is for logs: a server's view does not have it",
            fix=f"one of {', '.join(GROUPS)}",
        )
    share, most = _limit(limit or LIMIT)
    return Choice(
        group_by or "fingerprint", order_by or "query_time", share, most, db or None, user or None
    )


def _limit(text: str) -> tuple[float, int | None]:
    if text == "all":
        return 1.0, None
    found = _LIMIT.fullmatch(text)
    if not text or found is None or not any(found.groups()):
        raise DynoError(f"`--limit {text}` is no limit", fix="such as 95%:20, 10 or all")
    share = float(found[1]) / 100 if found[1] else 1.0
    return share, int(found[2]) if found[2] else None
