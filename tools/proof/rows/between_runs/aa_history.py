"""The same thing run again and again, each run judged by its predecessors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tools.proof import runs
from tools.proof.row import Effort, Outcome, Row, Table
from tools.proof.simulating.many import passes, percent, share, upper

RUNS, BEFORE = 96, 6  # runs in all, and predecessors of the first that is judged
LIMIT = 0.10  # of the upper bound

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
    False: "blocks: 2\nwarmup: 100ms\nduration: 300ms\ninterval: 100ms\n",
    True: "blocks: 1\nwarmup: 0s\nduration: 200ms\ninterval: 100ms\n",
}


def measure(effort: Effort) -> Outcome:
    """Runs, then a comparison of each with those before it."""
    file = effort.scratch / "again.yaml"
    file.write_text(EXPERIMENT + LENGTHS[effort.quick])
    history = effort.scratch / "runs"
    count = BEFORE + 1 if effort.quick else RUNS
    made = [history / f"r{number:02d}" for number in range(1, count + 1)]
    for place in made:
        runs.dyno(effort, "run", file, "--dir", place)
    rows, alarms = [], 0
    for index in range(BEFORE, count):
        found = _compared(effort, made[index - 1], made[index], history)
        alarms += bool(_decided(found))
        ratio, wide = found["rows"][0]["ratio"], found["rows"][0]["spread"]
        said = "; ".join(_decided(found)) or "not clear"
        rows.append((made[index].name, f"{ratio:.3f}", f"{wide:.1%}", said))
        effort.say(f"    {made[index].name}: {said}")
    judged = len(rows)
    return Outcome(
        measured=f"{alarms} of {judged} runs called different: {share(alarms, judged)}",
        met=None if effort.quick else upper(alarms, judged) <= LIMIT,
        tables=(
            Table(
                f"Runs {BEFORE + 1} to {count}, each against the one before it; all rows of a"
                " comparison share one error budget",
                ("run", "tps, both cells, over the run before", "spread between runs", "verdict"),
                tuple(rows),
            ),
        ),
        notes=(
            "A verdict of one run alone counts, in either direction; a gate waits for a second"
            " one.",
            f"The bar passes a true 1.5 % (what chance does at most, over this many runs) in"
            f" {percent(passes(0.015, LIMIT, RUNS - BEFORE), 0)} of measurements, a true 5 % in"
            f" {percent(passes(0.05, LIMIT, RUNS - BEFORE), 0)} and a true 20 % in"
            f" {percent(passes(0.2, LIMIT, RUNS - BEFORE), 2)}.",
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
        "One SQLite experiment run again and again; from the seventh on, each run is judged by"
        " `dyno compare --history`. Counted is a run with a verdict on"
        " any metric of any cell."
    ),
    bar=f"the one-sided 95 % upper bound of such runs is at most {percent(LIMIT, 0)}",
    measure=measure,
    timed=True,
    before=(
        "a bar that passed a true 20 % in 70 % of measurements: the interval had to reach down"
        " to 5 %,"
        " of 14 runs (commit 42ce8be)"
    ),
)
