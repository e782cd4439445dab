"""How many threads of the generator drive the sessions, where servers share its CPUs.

Too few leave a server idle while answers wait for each other's turn; too many take its CPU. Which
it is depends on server, statements and machine. So a probe tries the candidates before the first
trial with so many sessions, and all cells with as many use what it chose: see
docs/decisions/number-of-load-threads.md.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from dbdyno import kinds
from dbdyno.plan.external import unnamed
from dbdyno.plan.types import Cell, LoadThreads, Plan

ROUNDS = 3  # of each candidate, in turns
ROUND_S = 1.0
SETTLE_S = 0.3  # before each of them
SAME = 0.98
SESSIONS_FEW = 8  # a CPU: up to that many the engine chooses all CPUs, above it half of them
PROBE_SHARE = 0.1  # of what the trials measure; a probe that takes more is not made


def sessions_of(cell: Cell) -> int:
    """All sessions of a cell: cells with as many have as many load threads."""
    return sum(group.sessions for group in cell.groups)


def asked(plan: Plan, cell: Cell) -> int:
    """What the engine is asked for; 0: it chooses, by sessions and CPUs."""
    if plan.load_threads or not _is_closed(cell):
        return plan.load_threads
    found = _probed(plan, cell)
    return found.threads if found else 0


def candidates(cpus: int, sessions: int) -> tuple[int, ...]:
    """Numbers worth a try: half of the CPUs, and all of them."""
    return tuple(sorted({min(sessions, n) for n in ((cpus + 1) // 2, cpus)}))


def wants_probe(plan: Plan, cell: Cell, cpus: int) -> bool:
    """Whether the number is open, for a closed loop that shares all CPUs with a server, and the
    trials with as many sessions last long enough for a probe to pay."""
    if plan.load_threads or plan.quick or plan.generator_cpus_of(cell) or _probed(plan, cell):
        return False
    if unnamed([cell], ()):  # schemas that existed before: what a probe writes there would stay
        return False
    if not _is_closed(cell) or any(kinds.of(target.kind).in_engine for target in cell.targets):
        return False
    open_numbers = candidates(cpus, sessions_of(cell))
    alike = {c.index for c in plan.cells if sessions_of(c) == sessions_of(cell)}
    measured_s = sum(plan.cells[t.cell].duration_s for t in plan.trials if t.cell in alike)
    probe_s = len(open_numbers) * ROUNDS * (ROUND_S + SETTLE_S)
    return len(open_numbers) > 1 and probe_s <= PROBE_SHARE * measured_s


def turns(numbers: Sequence[int]) -> list[int]:
    """The order of the rounds: forth and back, so that none is always first."""
    return [n for k in range(ROUNDS) for n in (numbers if k % 2 == 0 else reversed(numbers))]


def best(cpus: int, sessions: int, per_s: Mapping[int, Sequence[float]]) -> LoadThreads:
    """The number with the highest median of its rounds, unless the engine's own choice is within
    `SAME` of it: runs that are compared later should not differ for so little."""
    medians = {threads: statistics.median(rounds) for threads, rounds in sorted(per_s.items())}
    threads = max(medians, key=medians.__getitem__)
    of_rule = min(sessions, cpus if sessions <= SESSIONS_FEW * cpus else (cpus + 1) // 2)
    if medians.get(of_rule, 0.0) >= SAME * medians[threads]:
        threads = of_rule
    return LoadThreads(sessions, threads, {str(n): rate for n, rate in medians.items()})


def sentence(found: LoadThreads) -> str:
    """For readers of the results."""
    rates = [f"{rate:,.0f}/s with {threads}" for threads, rate in found.per_s.items()]
    return (
        f"Load threads for {found.sessions} sessions: {found.threads}, in all cells alike"
        f" (probe before the first trial: {', '.join(rates)})."
    )


def _probed(plan: Plan, cell: Cell) -> LoadThreads | None:
    return next((one for one in plan.probed if one.sessions == sessions_of(cell)), None)


def _is_closed(cell: Cell) -> bool:
    """Whether nothing but answers makes the sessions send: a recording may have its own times."""
    return not any(
        group.arrivals or group.find or group.think or group.workload == "replay"
        for group in cell.groups
    )
