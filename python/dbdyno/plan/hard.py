"""Which factors are hard: their levels need another server or another data set."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol

from dbdyno.plan import data
from dbdyno.plan.types import GroupPlan
from dbdyno.systems.base import TargetPlan

# What a connection decides for itself: the same server serves all values of these.
EASY_FIELDS = ("protocol", "tls", "transport", "options", "session", "optional", "host")
EASY_LIMITS = ("network",)  # of `limits`: a relay's, which changes while the server runs
ONLY = "all"  # the hard combination where no factor is hard


class Combined(Protocol):
    """What is asked of a cell here."""

    @property
    def levels(self) -> Mapping[str, str]: ...
    @property
    def targets(self) -> tuple[TargetPlan, ...]: ...
    @property
    def groups(self) -> tuple[GroupPlan, ...]: ...
    @property
    def process(self) -> tuple[Any, ...]: ...  # how servers are started: their CPUs, their caches


def factors(
    names: Sequence[str], cells: Sequence[Combined], hooked: Iterable[str] = ()
) -> frozenset[str]:
    """The names of the hard factors: two cells that differ only in one need different servers.

    `hooked` have levels that commands apply: what those change (a mount, a kernel's setting) a
    running server may not notice, so its servers start afresh too."""
    needs = [_needs(cell) for cell in cells]
    found = set(hooked)
    for name in names:
        by_rest: dict[tuple[tuple[str, str], ...], str] = {}
        for cell, need in zip(cells, needs, strict=True):
            rest = tuple((key, level) for key, level in cell.levels.items() if key != name)
            if by_rest.setdefault(rest, need) != need:
                found.add(name)
                break
    return frozenset(found)


def combination(levels: Mapping[str, str], hard: frozenset[str]) -> str:
    """The hard part of a cell's levels: `cache=on, engine=mariadb`."""
    return ", ".join(f"{name}={level}" for name, level in levels.items() if name in hard) or ONLY


def _needs(cell: Combined) -> str:
    """The servers and the data that a cell needs, as text that can be compared."""
    servers: list[Any] = [cell.process]
    for target in cell.targets:
        fields = {k: v for k, v in asdict(target).items() if k not in EASY_FIELDS}
        fields["limits"] = {k: v for k, v in fields["limits"].items() if k not in EASY_LIMITS}
        servers.append([fields, data.data_sets(cell.groups, target)])
    return json.dumps(servers, sort_keys=True, default=str)
