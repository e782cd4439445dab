"""What metric names of an experiment may start with, from its cells: those of a spec or a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Protocol

from dbdyno.experiment.claims.metrics import Scope
from dbdyno.experiment.drills import RESTORE
from dbdyno.experiment.types import Arrivals, Find, Target
from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.experiment.workloads import block_bytes, pipeline


class _Group(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def arrivals(self) -> Arrivals | None: ...
    @property
    def find(self) -> Find | None: ...
    @property
    def options(self) -> Mapping[str, Any]: ...


class _Cell(Protocol):
    @property
    def groups(self) -> Sequence[_Group]: ...
    @property
    def targets(self) -> Sequence[Target]: ...
    @property
    def faults(self) -> Sequence[Fault]: ...
    @property
    def audit(self) -> str | None: ...


def of(cells: Sequence[_Cell], workload: Callable[[Any], str] = attrgetter("kind")) -> Scope:
    """Groups prefix their metrics if there are several; targets theirs (`db.status.NAME`) if some
    cell has several at once. `workload` gives a group's."""
    at_once = any(len(cell.targets) > 1 for cell in cells)
    targets = dict.fromkeys(target.name for cell in cells for target in cell.targets)
    groups = [group for cell in cells for group in cell.groups]
    return Scope(
        groups=tuple(group.name for group in cells[0].groups),
        targets=tuple(targets) if at_once else (),
        open_loops=tuple(dict.fromkeys(g.name for g in groups if g.arrivals or g.find)),
        closed_loops=tuple(dict.fromkeys(g.name for g in groups if not g.arrivals and not g.find)),
        searches=tuple(dict.fromkeys(g.name for g in groups if g.find)),
        faulted=tuple(dict.fromkeys(g.name for c in cells if c.faults for g in c.groups)),
        audited=tuple(dict.fromkeys(g.name for cell in cells if cell.audit for g in cell.groups)),
        restored=tuple(
            dict.fromkeys(g.name for c in cells if _restores(c.faults) for g in c.groups)
        ),
        routed=tuple(dict.fromkeys(g.name for c in cells if _examines(c) for g in c.groups)),
        audits=tuple(dict.fromkeys(cell.audit for cell in cells if cell.audit)),
        blocks=tuple(dict.fromkeys(g.name for g in groups if block_bytes(workload(g), g.options))),
        pipelined=tuple(
            dict.fromkeys(g.name for g in groups if pipeline(workload(g), g.options) > 1)
        ),
    )


def _restores(faults: Sequence[Fault]) -> bool:
    return any(fault.do == RESTORE for fault in faults)


def _examines(cell: _Cell) -> bool:
    """Whether a router of a cell is asked which node runs what."""
    return any(target.router and target.router.conformance for target in cell.targets)
