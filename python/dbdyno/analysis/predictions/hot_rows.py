"""Whether a group's transactions each change one of so many rows, evenly chosen: what the model of
certification can be asked about."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dbdyno.experiment import workloads
from dbdyno.plan.types import GroupPlan

_UPDATE = re.compile(r"\s*UPDATE\s+\S+\s+SET\s+.+\s+WHERE\s+\w+\s*=\s*:(\w+)\s*", re.I | re.S)
_COUNTS = (
    *("point_selects", "simple_ranges", "sum_ranges", "order_ranges", "distinct_ranges"),
    *("filter_ranges", "delete_inserts", "deletes", "inserts"),
)
_UPDATES = ("index_updates", "non_index_updates")


@dataclass(frozen=True)
class HotRows:
    """`begins`: whether the update stands between BEGIN and COMMIT."""

    rows: int
    begins: bool


def of_group(group: GroupPlan) -> HotRows | None:
    """None for any other load: an open loop, pauses, another statement, an uneven choice."""
    if group.arrivals or group.find or group.think:
        return None
    read = {"mix": _of_mix, "oltp": _of_oltp}.get(group.workload)
    return read(workloads.effective(group.workload, group.options)) if read else None


def _of_oltp(options: Mapping[str, Any]) -> HotRows | None:
    once = sum(options.get(name, 0) for name in _UPDATES) == 1
    alone = not any(options.get(name, 0) for name in _COUNTS)
    if not (once and alone) or options.get("distribution", "uniform") != "uniform":
        return None
    rows = options.get("id_range") or options["rows"]
    return HotRows(rows * options.get("tables", 1), not options.get("skip_trx", False))


def _of_mix(options: Mapping[str, Any]) -> HotRows | None:
    statements = options.get("statements") or {}
    transactions = options.get("transactions") or {}
    if len(statements) + len(transactions) != 1:
        return None
    begins = bool(transactions)
    if begins:
        (whole,) = transactions.values()
        if len(whole["steps"]) != 1 or whole.get("atomic") is False:
            return None
        (step,) = whole["steps"]
    else:
        (step,) = statements.values()
    sql = step if isinstance(step, str) else step.get("sql", "")
    found = _UPDATE.fullmatch(sql or "")
    if found is None or (isinstance(step, Mapping) and step.get("repeat", 1) not in (None, 1)):
        return None
    rows = _even(options.get("params", {}).get(found[1]))
    return None if rows is None else HotRows(rows, begins)


def _even(generator: Any) -> int | None:
    """How many values a parameter has that is drawn evenly from a range of whole numbers."""
    span = generator.get("uniform") if isinstance(generator, Mapping) else None
    if not isinstance(span, list | tuple) or len(span) != 2:
        return None
    if any(isinstance(end, bool) or not isinstance(end, int) for end in span):
        return None
    low, high = span
    return high - low + 1
