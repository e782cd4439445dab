"""The same thing run again and again, each run judged by its predecessors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tools.proof import runs
from tools.proof.row import Effort, Outcome, Row, Table
from tools.proof.simulating.many import clopper_pearson, share

RUNS, BEFORE = 20, 6  # runs in all, and predecessors of the first that is judged
LEVEL = 0.05

EXPERIMENT = """
experiment: again
question: How much do runs of one plan differ?
targets:
  db: {kind: sqlite, isolation: serializable, memory: 64Mi, config: {journal_mode: WAL}}
workload: {kind: oltp, preset: write_only, tables: 1, rows: 1000, sessions: 1}
factors:
  sync:
    full: {db.config.synchronous: FULL}
    off: {db.config.synchronous: OFF}
"""
LENGTHS = {
    False: "blocks: 3\nwarmup: 200ms\nduration: 500ms\ninterval: 100ms\n",
    True: "blocks: 1\nwarmup: 0s\nduration: 200ms\ninterval: 100ms\n",
}


def measure(effort: Effort) -> Outcome:
    """Runs, then a comparison of each with the one before it, and with the first one."""
    file = effort.scratch / "again.yaml"
    file.write_text(EXPERIMENT + LENGTHS[effort.quick])
    history = effort.scratch / "runs"
    count = BEFORE + 1 if effort.quick else RUNS
    made = [history / f"r{number:02d}" for number in range(1, count + 1)]
    for place in made:
        runs.dyno(effort, "run", file, "--dir", place)
    rows, alarms, older = [], 0, 0
    for index in range(BEFORE, count):
        found = _compared(effort, made[index - 1], made[index], history)
        first = _compared(effort, made[0], made[index], history)
        alarms, older = alarms + bool(_decided(found)), older + bool(_decided(first))
        ratio, wide = found["rows"][0]["ratio"], found["rows"][0]["spread"]
        said = "; ".join(_decided(found)) or "not clear"
        rows.append((made[index].name, f"{ratio:.3f}", f"{wide:.1%}", said))
        effort.say(f"    {made[index].name}: {said}")
    judged = len(rows)
    low, _ = clopper_pearson(alarms, judged)
    return Outcome(
        measured=f"{alarms} of {judged} runs called different: {share(alarms, judged)}",
        met=None if effort.quick else low <= LEVEL,
        tables=(
            Table(
                f"Runs {BEFORE + 1} to {count}, each against the one before it; all rows of a"
                " comparison share one error budget",
                ("run", "tps, both cells, over the run before", "spread between runs", "verdict"),
                tuple(rows),
            ),
        ),
        notes=(
            f"Each against the first run instead, by the spread of all before: {older} of {judged}"
            " called different. There, what the machine drifted in between counts.",
        ),
    )


def _compared(effort: Effort, a: Path, b: Path, history: Path) -> dict[str, Any]:
    found = runs.answer(effort, "compare", a, b, "--history", history)
    if not found["judged"]:
        raise RuntimeError(f"{b.name} was not judged: {found['unjudged_because']}")
    return found


def _decided(found: dict[str, Any]) -> list[str]:
    return [
        f"{row['metric']} {row['verdict']}"
        for row in found["rows"]
        if row["verdict"] not in ("", "not clear")
    ]


ROW = Row(
    name="aa_history",
    claim="Equal runs are not called different",
    how=(
        "One SQLite experiment run twenty times; from the seventh on, each run is judged by"
        " `dyno compare --history` against the run before it. Counted is a run with a verdict on"
        " any metric of any cell."
    ),
    bar="the 95 % Clopper-Pearson interval of such runs reaches down to 5 %",
    measure=measure,
    timed=True,
)
