"""Equal things, measured for real, within a run."""

from __future__ import annotations

from dataclasses import dataclass

from tools.proof import runs
from tools.proof.row import Effort, Outcome, Row, Table
from tools.proof.simulating.many import clopper_pearson, share

from dbdyno.analysis.types import REFUTED, SUPPORTED

COUNT, BLOCKS = 15, 5  # experiments of a system and a design, and blocks of the fixed one
LOOKS = "{min: 4, max: 6, until: decided}"
LEVEL = 0.05

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
warmup: 100ms
duration: {duration}
interval: 100ms
claims: ["tps[one] > tps[other]"]
"""


@dataclass(frozen=True)
class System:
    """What is measured."""

    name: str
    target: str
    preset: str


SYSTEMS = (
    System(
        "SQLite, writes", "kind: sqlite, durability: none, isolation: serializable", "write_only"
    ),
    System(
        "MariaDB, reads",
        "kind: mariadb, durability: none, isolation: repeatable_read",
        "point_select",
    ),
)
DESIGNS = {f"{BLOCKS} blocks": f"blocks: {BLOCKS}", "4 to 6 blocks, with looks": f"trials: {LOOKS}"}


def measure(effort: Effort) -> Outcome:
    """All systems with both designs."""
    rows, alarms, total = [], 0, 0
    count = 1 if effort.quick else COUNT
    duration = "200ms" if effort.quick else "500ms"
    for system in SYSTEMS:
        for name, design in DESIGNS.items():
            text = EXPERIMENT.format(
                target=system.target, preset=system.preset, design=design, duration=duration
            )
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
    low, _ = clopper_pearson(alarms, total)
    return Outcome(
        measured=f"{alarms} of {total} decided: {share(alarms, total)}",
        met=None if effort.quick else low <= LEVEL,
        tables=(
            Table(
                "Experiments whose claim was decided",
                ("system", "design", "experiments", "decided"),
                tuple(rows),
            ),
        ),
    )


ROW = Row(
    name="aa",
    claim="Equal things measured for real stay undecided",
    how=(
        "Each experiment is a `dyno run` with two levels that do the same; the claim says that one"
        " is faster. Half have a fixed number of blocks, half go on until the claim is decided."
    ),
    bar="the 95 % Clopper-Pearson interval of decided claims reaches down to 5 %",
    measure=measure,
    timed=True,
)
