"""Equal things, measured for real, within a run."""

from __future__ import annotations

from dataclasses import dataclass

from tools.proof import runs
from tools.proof.row import Effort, Outcome, Row, Table
from tools.proof.simulating.many import passes, percent, share, upper

from dbdyno.analysis.types import REFUTED, SUPPORTED

BLOCKS = 5  # of the fixed design
LOOKS = "{min: 4, max: 6, until: decided}"
LIMIT = 0.10  # of the upper bound

# The levels differ in a statement that each connection runs once, before the load.
EXPERIMENT = """
experiment: aa
question: Is a thing equal to itself?
targets:
  db: {{{target}, memory: 64Mi}}
workload: {{kind: oltp, preset: {preset}, tables: 1, rows: 1000, sessions: 2}}
factors:
  same:
    one: {{db.session: ["SELECT 1"]}}
    other: {{db.session: ["SELECT 2"]}}
state: {{data: reuse}}
{design}
warmup: 50ms
duration: 200ms
interval: 100ms
claims: ["tps[one] > tps[other]"]
"""


@dataclass(frozen=True)
class System:
    """What is measured."""

    name: str
    target: str
    preset: str
    count: int  # experiments of each design


SYSTEMS = (
    System(
        "SQLite, writes",
        "kind: sqlite, durability: none, isolation: serializable",
        "write_only",
        80,
    ),
    System(
        "MariaDB, reads",
        "kind: mariadb, durability: none, isolation: repeatable_read",
        "point_select",
        20,
    ),
)
DESIGNS = {f"{BLOCKS} blocks": f"blocks: {BLOCKS}", "4 to 6 blocks, with looks": f"trials: {LOOKS}"}
TOTAL = len(DESIGNS) * sum(system.count for system in SYSTEMS)


def measure(effort: Effort) -> Outcome:
    """All systems with both designs."""
    rows: list[tuple[str, ...]] = []
    alarms, total = 0, 0
    for system in SYSTEMS:
        count = 1 if effort.quick else system.count
        for name, design in DESIGNS.items():
            text = EXPERIMENT.format(target=system.target, preset=system.preset, design=design)
            file = effort.scratch / "aa.yaml"
            file.write_text(text)
            wrong = 0
            for number in range(count):
                place = effort.scratch / f"{len(rows)}-{number}"
                found = runs.answer(effort, "run", file, "--dir", place, "--set", f"seed={number}")
                wrong += found["claims"][0]["verdict"] in (SUPPORTED, REFUTED)
            effort.say(f"    {system.name}, {name}: {wrong} of {count}")
            rows.append((system.name, name, str(count), str(wrong)))
            alarms, total = alarms + wrong, total + count
    return Outcome(
        measured=f"{alarms} of {total} decided: {share(alarms, total)}",
        met=None if effort.quick else upper(alarms, total) <= LIMIT,
        tables=(
            Table(
                "Experiments whose claim was decided",
                ("system", "design", "experiments", "decided"),
                tuple(rows),
            ),
        ),
        notes=(
            f"The bar passes a true 5 % in {percent(passes(0.05, LIMIT, TOTAL), 0)} of them,"
            f" a true 20 % in {percent(passes(0.2, LIMIT, TOTAL), 2)}.",
        ),
    )


ROW = Row(
    name="aa",
    claim="Equal things measured for real stay undecided",
    how=(
        "Each experiment is a `dyno run` with two levels that do the same; the claim says that one"
        " is faster. Half have a fixed number of blocks, half go on until the claim is decided."
    ),
    bar=f"the one-sided 95 % upper bound of decided claims is at most {percent(LIMIT, 0)}",
    measure=measure,
    timed=True,
    before=(
        "a bar that passed a true 10 % in 75 % and a true 20 % in 7 % of measurements: the interval"
        " had to reach down to 5 %, of 60 experiments (commit 42ce8be)"
    ),
)
