"""What a group of MySQL does not see, or does not support, once sessions write at several of its
members.

Source: MySQL's reference manual, "Group Replication Limitations".
"""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno import kinds
from dbdyno.experiment import workloads
from dbdyno.experiment.audit import level_of_sessions
from dbdyno.experiment.faults import ALTER
from dbdyno.experiment.file.names import listed
from dbdyno.experiment.targets import sqltext
from dbdyno.experiment.types import PRIMARY, Cell, Target
from dbdyno.experiment.values.faults import Fault

WITH_GAP_LOCKS = "repeatable_read"
DDL = frozenset({"alter", "create", "drop", "rename", "truncate"})


def notes(cells: Sequence[Cell]) -> list[str]:
    """A sentence for each limit that some cell meets, each once."""
    found: dict[str, None] = {}
    for cell in cells:
        for target in cell.targets:
            if target.topology is None or not target.topology.multi_primary:
                continue
            writers = _writers(cell, target)
            found |= dict.fromkeys(_gap_locks(target, writers))
            for fault in cell.faults:
                if fault.target == target.name and _changes_tables(fault):
                    found |= dict.fromkeys(_concurrent(fault, target, writers))
    return list(found)


def _writers(cell: Cell, target: Target) -> list[str]:
    """The nodes at which sessions write, in their order. Behind a router that is one."""
    used = {
        node.name
        for group in cell.groups
        if group.target == target.name and workloads.changes_data(group.kind, group.options)
        for node in target.nodes_for(group.access)
    }
    return [node.name for node in target.nodes if node.name in used]


def _gap_locks(target: Target, writers: Sequence[str]) -> list[str]:
    level = level_of_sessions(target) or kinds.of(target.kind).default_isolation
    if len(writers) < 2 or level != WITH_GAP_LOCKS:
        return []
    return [
        f"Target {target.name}: sessions write at {len(writers)} members at repeatable read, and"
        " certification knows no gap locks: a row that one member locks out of a range, another one"
        " inserts. MySQL's manual recommends `isolation: read_committed`."
    ]


def _changes_tables(fault: Fault) -> bool:
    """Whether it sends a statement that changes a table itself."""
    sent = (fault.sql, *fault.more_sql)
    statements = (one for text in sent for one in sqltext.statements(text))
    return fault.do == ALTER or any(sqltext.keyword(one) in DDL for one in statements)


def _concurrent(fault: Fault, target: Target, writers: Sequence[str]) -> list[str]:
    at = [target.nodes[0].name if name == PRIMARY else name for name in fault.nodes]
    elsewhere = [name for name in writers if [name] != at]
    if not elsewhere:
        return []
    return [
        f"Fault `{fault.do}` changes a table at {listed(at)} while sessions write at"
        f" {listed(elsewhere)}: of a group with several primaries MySQL does not support that for"
        " one table, and certification does not see the conflict. Members may differ afterwards,"
        " which `audit: commits` shows."
    ]
