"""What sampling costs: samplers on and off as a factor of an ordinary experiment."""

from __future__ import annotations

from typing import Any

from tools.proof import runs, unrest
from tools.proof.row import Effort, Outcome, Row, Table

from dbdyno.analysis.types import SUPPORTED

CPU = "generator_cpu_us_per_op"
CLAIMS = (f"{CPU}[on] / {CPU}[off] < 1.01", "tps[on] ~= tps[off] within 1%")
FULL = {"trials": "{min: 10, max: 40, until: decided}", "warmup": "500ms", "duration": "3s"}
QUICK = {"blocks": "3", "warmup": "100ms", "duration": "200ms"}

EXPERIMENT = """
experiment: meter
question: Do the samplers cost what they measure?
targets:
  db: {{kind: mariadb, durability: none, isolation: repeatable_read, memory: 128Mi}}
workload: {{kind: oltp, preset: read_only, tables: 1, rows: 10000, sessions: 8}}
factors:
  meter:
    on: {{sampling: 1s}}
    off: {{sampling: off}}
interval: 100ms
{design}
claims:
{claims}
"""


def measure(effort: Effort) -> Outcome:
    """One experiment, and how steady the CPUs are."""
    steadiness = [_steadiness(cpu, effort) for cpu in unrest.usable()]
    found = runs.answer(effort, "run", _file(effort), "--dir", effort.scratch / "run")
    rows = [_row(claim) for claim in found["claims"]]
    verdicts = [claim["verdict"] for claim in found["claims"]]
    supported = sum(verdict == SUPPORTED for verdict in verdicts)
    return Outcome(
        measured=f"{supported} of {len(CLAIMS)} claims supported: "
        + "; ".join(f"{row[0]} {row[1]} ({row[2]})" for row in rows),
        met=None if effort.quick else supported == len(CLAIMS),
        tables=(
            Table(
                "Samplers on against off",
                ("metric", "ratio", "interval", "blocks", "claim", "verdict"),
                tuple(rows),
            ),
            Table(
                "The same loop on each CPU, alone, rounds a second",
                ("CPU", "slowest second", "median", "fastest second", "fastest / slowest"),
                tuple(steadiness),
            ),
        ),
        notes=(
            "Generator and server have CPUs of their own; left to share them, the scheduler pairs"
            " sessions with the server's threads, or not, for whole trials at a time, and"
            " throughput jumps by half between the two.",
            "Equality within 1 % asks for a machine whose own speed can be averaged to that: the"
            " second table shows what it does when nothing else is run.",
        ),
    )


def _steadiness(cpu: int, effort: Effort) -> tuple[str, ...]:
    seconds, part_s = (3, 0.05) if effort.quick else (20, 1.0)
    turns = sorted(unrest.turns(cpu, seconds, part_s))
    slow, middle, fast = (turns[at] / part_s for at in (0, len(turns) // 2, -1))
    return (str(cpu), f"{slow:,.0f}", f"{middle:,.0f}", f"{fast:,.0f}", f"{fast / slow:.2f}")


def _file(effort: Effort) -> str:
    """The experiment's path."""
    design = {**(QUICK if effort.quick else FULL)}
    first, *others = unrest.usable()
    if others:
        design["cpus"] = f"{{generator: [{first}], servers: {others}}}"
    file = effort.scratch / "meter.yaml"
    file.write_text(
        EXPERIMENT.format(
            design="\n".join(f"{key}: {value}" for key, value in design.items()),
            claims="\n".join(f"  - {claim}" for claim in CLAIMS),
        )
    )
    return str(file)


def _row(claim: dict[str, Any]) -> tuple[str, ...]:
    [part] = claim["parts"]
    ratio, low, high = (part.get(key) for key in ("ratio", "ci_low", "ci_high"))
    return (
        str(part["left"]).partition("[")[0],
        "-" if ratio is None else f"{ratio:.4f}",
        "-" if low is None or high is None else f"{low:.4f} to {high:.4f}",
        str(part.get("n", 0)),
        f"`{claim['text']}`",
        str(claim["verdict"]),
    )


ROW = Row(
    name="meter",
    claim="The meter costs next to nothing",
    how=(
        "An ordinary experiment on MariaDB, whose factor is `sampling`: every second and never,"
        " alternating within blocks, judged by dbdyno's own claims."
    ),
    bar="generator CPU an operation < 1 % more; throughput equivalent within 1 %",
    measure=measure,
    timed=True,
)
