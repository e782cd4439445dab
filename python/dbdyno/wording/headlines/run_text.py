"""About a run as a whole: what its first sentence must begin with, and its warnings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dbdyno.analysis.types import Partial
from dbdyno.plan import level_text
from dbdyno.plan.types import Plan
from dbdyno.wording import numbers, plurals

PLAIN = {
    "befell": "{said} [{count} of {trials} trials]",
    "void_trials": "{n:count trial} void in every attempt (first: {trial}: {reason})",
    "outages": "outages in {n:count trial} (first: {first}): ratios with their cells are not"
    " estimable",
    "bound_only": "only {bound:bound}",
    "tools_differ": "This compares results of {tools:list}, which count and time otherwise.",
}


def missing_trials(missing: int, trials: int, blocks: int, early: tuple[int, int] | None) -> str:
    """Of a run that is not finished. `early`: whole blocks and all, where these were fixed."""
    how = ""
    if early:
        how = (
            f", so that claims are judged at what {early[0]} of"
            f" {plurals.count(early[1], 'block')} may spend of the error budget"
        )
    return (
        f"{missing} of {trials} trials are missing, in {plurals.count(blocks, 'block')}: the run"
        f" is not finished{how}"
    )


def of_trials(found: Partial) -> str:
    """A metric that some trials of a cell do not have, and why."""
    return f"of {found.trials} of {plurals.count(found.of, 'trial')}: of the others: {found.why}"


def plan_differs(plan: Plan, statement: str, kind: str, cells: Sequence[int]) -> str:
    """A statement that a server executes in several ways."""
    names = [level_text.levels(plan, plan.cells[at].levels) or f"cell {at}" for at in cells]
    on = f" on {kind}" if kind else ""
    return (
        f"the plan of {statement}{on} differs between cells (EXPLAIN):"
        f" {numbers.listed([f'[{name}]' for name in names])}"
    )


Case = tuple[Mapping[str, str], str, float, float, int, int]


def overload(plan: Plan, cases: Sequence[Case], over: int, loops: int) -> str:
    """`The system could not hold the rate in 2 of 4 cells: at rate 20000/s 8,012 of 20,000/s were
    achieved.` Of each case: levels, group, rates achieved and due, in so many of its trials."""
    said = []
    for levels, group, achieved, due, trials, count in cases:
        of = f" of {group}" if group else ""
        at = level_text.levels(plan, levels)
        some = f" in {trials} of {plurals.count(count, 'trial')}" if trials < count else ""
        held = f"{numbers.number(achieved)} of {numbers.number(due)}/s{of}"
        said.append(f"{f'at {at} ' if at else ''}{held} were achieved{some}")
    more = f", and {over - len(cases)} more" if over > len(cases) else ""
    where = f" in {over} of {loops} cells" if loops > 1 else ""
    return f"The system could not hold the rate{where}: {'; '.join(said)}{more}."
