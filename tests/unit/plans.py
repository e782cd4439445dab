"""Small plans for tests of what comes after planning."""

from __future__ import annotations

import itertools

from dbdyno.plan.types import Cell, Factor, GroupPlan, Plan, State, TrialPlan
from dbdyno.systems.base import TargetPlan


def group(name: str = "workload", target: str = "db", sessions: int = 1) -> GroupPlan:
    return GroupPlan(name, "oltp", target, sessions, 60.0, 10, {"preset": "point_select"})


def plan(
    factors: dict[str, tuple[str, ...]] | None = None,
    *,
    blocks: int = 3,
    hard: tuple[str, ...] = (),
    claims: tuple[str, ...] = (),
    groups: tuple[str, ...] = ("workload",),
    matters: float = 0.03,
    quick: bool = False,
    untested: dict[str, str] | None = None,
    notes: tuple[str, ...] = (),
    kind: str = "mariadb",
) -> Plan:
    """A plan with one target, all combinations of `factors`, every block in the same order."""
    factors = factors or {"cache": ("on", "off")}
    cells = []
    for index, levels in enumerate(itertools.product(*factors.values())):
        chosen = dict(zip(factors, levels, strict=True))
        cells.append(
            Cell(
                index=index,
                levels=chosen,
                hard=",".join(f"{name}={chosen[name]}" for name in hard),
                targets=(TargetPlan("db", kind, config={"a": 1, "b": None}),),
                groups=tuple(group(name) for name in groups),
                state=State("reuse", "warm"),
                warmup_s=10.0,
                duration_s=30.0,
                interval_s=1.0,
                data_key="data",
            )
        )
    trials = []
    for block in range(1, blocks + 1):
        for nth, cell in enumerate(cells, start=1):
            trials.append(
                TrialPlan(
                    id=f"b{block:02}-t{nth:03}",
                    block=block,
                    position=len(trials) + 1,
                    cell=cell.index,
                    seed=1000 * block + nth,
                    fresh_servers=nth == 1,
                )
            )
    return Plan(
        version=1,
        name="test",
        question="Does the cache help?",
        factors=tuple(
            Factor(name, levels, _values(levels), name in hard) for name, levels in factors.items()
        ),
        cells=tuple(cells),
        trials=tuple(trials),
        blocks=blocks,
        seed=42,
        claims=claims,
        untested=untested or {},
        matters=matters,
        require=(),
        generator_cpus=(0,),
        server_cpus=(1,),
        quick=quick,
        skipped=(),
        notes=notes,
        spec_text="experiment: test\n",
    )


def _values(levels: tuple[str, ...]) -> tuple[float, ...] | None:
    try:
        return tuple(float(level) for level in levels)
    except ValueError:
        return None
