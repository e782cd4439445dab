"""What is compared: the experiment's claims, or without claims its leading metric between levels,
as comparisons of the run that the noise is taken from."""

from __future__ import annotations

from dataclasses import dataclass

from dbdyno.analysis.claims.cases import Case, case_of
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.headlines.headline import headline_metric
from dbdyno.errors import DynoError
from dbdyno.experiment.claims import grammar, metrics
from dbdyno.experiment.claims.grammar import CELL, ResolvedPart, Side
from dbdyno.plan.claims import scope
from dbdyno.plan.two_versions.against import held_at
from dbdyno.plan.types import Cell, Plan


@dataclass(frozen=True)
class Question:
    """One comparison, in words and as a case of the run."""

    text: str
    part: ResolvedPart
    case: Case


def questions(experiment: Plan, measured: Measured) -> list[Question]:
    """Every comparison that the experiment will judge. DynoError if the run has other cells."""
    texts = [text for text in experiment.claims if text not in experiment.untested]
    if texts:
        found = [one for text in texts for one in _parts(text, experiment, measured)]
    else:
        found = _levels(experiment, measured)
    return [Question(text, part, case_of(measured, part)) for text, part in found]


def _parts(text: str, experiment: Plan, measured: Measured) -> list[tuple[str, ResolvedPart]]:
    """Each comparison of a claim, distinguished by its levels if there are several."""
    parts = _resolved(text, experiment, measured)
    if len(parts) == 1:
        return [(text, parts[0])]
    extra = _extra(experiment, measured.plan)
    found = []
    for part in parts:
        at = ", ".join(f"{name}={level}" for name, level in part.at.items() if name not in extra)
        found.append((f"{text} ({at})", part))
    return found


def _resolved(text: str, experiment: Plan, measured: Measured) -> tuple[ResolvedPart, ...]:
    plan, claim = measured.plan, grammar.parse(text)
    for factor, level in _extra(experiment, plan).items():
        claim = held_at(claim, factor, level)
    try:
        return grammar.resolve(claim, plan.factors, plan.cells, scope(plan))
    except DynoError as error:
        raise DynoError(
            f"claim `{text}` cannot be found in the run {plan.name}: {error.what}",
            cause="the run was measured for another experiment, or without some cells",
            fix="remove --from, so that a pilot of this experiment is run",
        ) from None


def _extra(experiment: Plan, plan: Plan) -> dict[str, str]:
    """Factors that only the run has (copies of cells in a pilot), each with its first level."""
    known = {factor.name for factor in experiment.factors}
    return {each.name: each.levels[0] for each in plan.factors if each.name not in known}


def _levels(experiment: Plan, measured: Measured) -> list[tuple[str, ResolvedPart]]:
    """Each level of each factor against the factor's first level, in the leading metric."""
    plan, extra = measured.plan, _extra(experiment, measured.plan)
    metric = headline_metric(measured, ())
    by_levels = {tuple(sorted(cell.levels.items())): cell for cell in plan.cells}

    def cell(levels: dict[str, str]) -> Cell | None:
        return by_levels.get(tuple(sorted({**levels, **extra}.items())))

    found = []
    for factor in experiment.factors:
        for one in experiment.cells:
            level = one.levels[factor.name]
            if level == factor.levels[0]:
                continue
            left, right = (
                cell({**one.levels, factor.name: name}) for name in (level, factor.levels[0])
            )
            if left is None or right is None:
                continue
            at = {name: other for name, other in one.levels.items() if name != factor.name}
            short = metrics.short(metric)
            sides = [
                Side(CELL, metric, f"{short}[{each.levels[factor.name]}]", each.index)
                for each in (left, right)
            ]
            where = ", ".join(f"{name}={other}" for name, other in at.items())
            text = f"{sides[0].text} / {sides[1].text}{f' at {where}' if where else ''}"
            found.append((text, ResolvedPart(at, sides[0], sides[1], ">", 1.0)))
    return found
