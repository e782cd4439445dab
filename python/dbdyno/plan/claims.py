"""The claims of a plan, resolved to its cells: what the analysis judges."""

from __future__ import annotations

from dataclasses import dataclass

from dbdyno.plan.types import Plan
from dbdyno.spec import claims
from dbdyno.spec.metrics import Scope


@dataclass(frozen=True)
class Resolved:
    """A claim with its comparisons; none, and why, if it is not tested here."""

    text: str
    parts: tuple[claims.ResolvedPart, ...]
    untested: str = ""


def scope(plan: Plan) -> Scope:
    """What metric names of this plan may start with.

    Groups prefix their metrics if there are several; targets theirs (`db.status.NAME`) if some cell
    has several at once.
    """
    groups = tuple(group.name for group in plan.cells[0].groups)
    at_once = any(len(cell.targets) > 1 for cell in plan.cells)
    targets = {target.name: None for cell in plan.cells for target in cell.targets}
    return Scope(groups, tuple(targets) if at_once else ())


def resolved_claims(plan: Plan) -> tuple[Resolved, ...]:
    """All claims of a plan, in the order of the file."""
    names = scope(plan)
    found = []
    for text in plan.claims:
        if text in plan.untested:
            found.append(Resolved(text, (), plan.untested[text]))
            continue
        claim = claims.parse(text)
        parts = claims.resolve(claim, plan.factors, plan.cells, names)
        found.append(Resolved(text, parts))
    return tuple(found)
