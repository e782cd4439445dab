"""Whether the parts of a stored plan are consistent: what the types alone cannot say.

Readers of a plan rely on it: cells are found by number, levels by the names of factors.
"""

from __future__ import annotations

import re

from dbdyno.plan.types import Cell, Factor, Plan

TRIAL_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")
SECONDS_MAX = 1e9  # thirty years
BLOCKS_MAX = 1_000_000
SESSIONS_MAX = 10_000_000


def check(plan: Plan) -> None:
    """ValueError, with what does not fit, for a plan that dbdyno cannot have made."""
    factors = {factor.name: factor for factor in plan.factors}
    _need(len(factors) == len(plan.factors), "plan.factors", "has a name twice")
    for factor in plan.factors:
        _factor(factor)
    for number, cell in enumerate(plan.cells):
        _cell(number, cell, factors)
    _need(0 <= plan.blocks <= BLOCKS_MAX, "plan.blocks", f"is {plan.blocks}")
    _need(0 <= plan.matters < 100, "plan.matters", f"is {plan.matters}")
    _trials(plan)


def _factor(factor: Factor) -> None:
    where = f"factor {factor.name[:60]}"
    _need(bool(factor.levels), where, "has no level")
    _need(len(set(factor.levels)) == len(factor.levels), where, "has a level twice")
    fits = factor.values is None or len(factor.values) == len(factor.levels)
    _need(fits, where, "has another number of values than of levels")


def _cell(number: int, cell: Cell, factors: dict[str, Factor]) -> None:
    where = f"plan.cells[{number}]"
    _need(cell.index == number, where, f"has the index {cell.index}")
    _need(set(cell.levels) == set(factors), f"{where}.levels", "are not those of the factors")
    for name, level in cell.levels.items():
        _need(level in factors[name].levels, f"{where}.levels", f"has no level of {name[:60]}")
    names = [group.name for group in cell.groups]
    _need(bool(names), where, "has no group")
    _need(len(set(names)) == len(names), where, "has a group twice")
    targets = {target.name for target in cell.targets}
    for group in cell.groups:
        _need(0 <= group.sessions <= SESSIONS_MAX, where, f"has {group.sessions} sessions")
    _need(bool(targets), where, "has no target")
    for key in ("warmup_s", "duration_s", "interval_s"):
        _need(0 <= getattr(cell, key) <= SECONDS_MAX, f"{where}.{key}", "is no length of time")


def _trials(plan: Plan) -> None:
    ids = [trial.id for trial in plan.trials]
    _need(len(set(ids)) == len(ids), "plan.trials", "has an id twice")
    for trial in plan.trials:
        _need(bool(TRIAL_ID.fullmatch(trial.id)), "plan.trials", "has an id that is none")
        where = f"plan.trials {trial.id}"
        _need(0 <= trial.cell < len(plan.cells), where, f"is of cell {trial.cell}")
        _need(1 <= trial.block <= plan.blocks, where, f"is of block {trial.block}")


def _need(holds: bool, where: str, what: str) -> None:
    if not holds:
        raise ValueError(f"{where} {what}")
