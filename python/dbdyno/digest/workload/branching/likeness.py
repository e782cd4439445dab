"""Which units are alike: their statements are of the same kinds in the same order.

Statements are of one kind if they differ in the names of their tables, or in numbers within names
(`sbtest1` to `sbtest8`, `orders_eu` and `orders_us`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from dbdyno.digest.document import Class
from dbdyno.digest.workload.profile import Statement, Step, Unit

_NAME = re.compile(
    r"""(?P<place>:p\d+\b)|(?P<text>'(?:[^']|'')*')|"(?:[^"]|"")*"|`(?:[^`]|``)*`|[^\W\d][\w$]*""",
    re.VERBOSE,
)
_NUMBER = re.compile(r"\d+")

Kind = Callable[[int], str]  # of a statement, by its position
Run = tuple[Step, ...]  # steps of one kind, one after the other


@dataclass
class Group:
    """Units side by side: `columns` are the kinds of their steps in order, by number; each row is a
    unit with its run in some of the columns."""

    is_transaction: bool
    columns: list[tuple[int, str]]
    rows: list[tuple[Unit, Mapping[int, Run]]] = field(default_factory=list)

    @property
    def kinds(self) -> list[str]:
        """Of its columns."""
        return [kind for _, kind in self.columns]

    @property
    def calls(self) -> int:
        """Of all its units."""
        return sum(calls for unit, _ in self.rows for _, calls in unit.calls())


def kinds(statements: Sequence[Statement], classes: Mapping[str, Class]) -> list[str]:
    """The kind of each statement."""
    return [
        _masked(one.template, classes[one.id].tables if one.id in classes else ())
        for one in statements
    ]


def _masked(template: str, tables: Iterable[str]) -> str:
    named = {table.rpartition(".")[2].lower() for table in tables}

    def mask(match: re.Match[str]) -> str:
        if match["place"] or match["text"]:
            return "?" if match["place"] else match.group()
        bare = match.group().strip('"`')
        return "~" if bare.lower() in named else _NUMBER.sub("#", match.group())

    return _NAME.sub(mask, template)


def groups(units: Iterable[Unit], kind: Kind) -> list[Group]:
    """Units that have the same kinds in the same order, those with the most calls first."""
    found: dict[tuple[bool, tuple[str, ...]], Group] = {}
    for unit in units:
        split = runs(unit, kind)
        key = (unit.is_transaction, tuple(of for of, _ in split))
        group = found.get(key)
        if group is None:
            group = found[key] = Group(unit.is_transaction, list(enumerate(key[1])))
        group.rows.append((unit, {at: run for at, (_, run) in enumerate(split)}))
    return sorted(found.values(), key=lambda group: -group.calls)


def runs(unit: Unit, kind: Kind) -> list[tuple[str, Run]]:
    """A unit's steps, those of one kind together."""
    by_kind = groupby(unit.steps, key=lambda step: kind(step.statement))
    return [(of, tuple(steps)) for of, steps in by_kind]
