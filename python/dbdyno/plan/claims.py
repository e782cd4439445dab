"""The claims of a plan, resolved to its cells: what the analysis judges."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter

from dbdyno.experiment.claims import grammar
from dbdyno.experiment.claims import scope as scopes
from dbdyno.experiment.claims.metrics import Scope
from dbdyno.experiment.claims.types import Claim
from dbdyno.plan.types import Plan


@dataclass(frozen=True)
class Resolved:
    """A claim with its comparisons; none, and why, if it is not tested here."""

    text: str
    parts: tuple[grammar.ResolvedPart, ...]
    untested: str = ""


def words_of(claims: Iterable[Claim]) -> dict[str, str]:
    """The authors' words by the texts of the claims that have some."""
    return {claim.text: claim.say for claim in claims if claim.say}


def scope(plan: Plan) -> Scope:
    """What metric names of this plan may start with."""
    return scopes.of(plan.cells, attrgetter("workload"))


def resolved_claims(plan: Plan) -> tuple[Resolved, ...]:
    """All claims of a plan, in the order of the file."""
    names = scope(plan)
    found = []
    for text in plan.claims:
        if text in plan.untested:
            found.append(Resolved(text, (), plan.untested[text]))
            continue
        claim = grammar.parse(text)
        parts = grammar.resolve(claim, plan.factors, plan.cells, names)
        found.append(Resolved(text, parts))
    return tuple(found)
