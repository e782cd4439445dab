"""How fast servers that work together come up and go."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from tools.proof import runs
from tools.proof.lab.cluster import Times, up_and_down
from tools.proof.lab.setups import GALERA, GROUP, PAIRS, missing
from tools.proof.row import Effort, Outcome, Row, Table

REPEATS = 7
UP_MAX_S = {GALERA.name: 15.0, GROUP.name: 40.0}
DOWN_MAX_S = 5.0


def measure(effort: Effort) -> Outcome:
    """Each set-up several times, in turn."""
    setups = (GALERA,) if effort.quick else (GALERA, GROUP, *PAIRS)
    setups = tuple(setup for setup in setups if not missing(setup))
    took: dict[str, list[Times]] = {setup.name: [] for setup in setups}
    for number in range(1 if effort.quick else REPEATS):
        for setup in setups:
            effort.say(f"    {setup.name}, {number + 1}")
            took[setup.name].append(up_and_down(setup, runs.place(effort)))
    judged = [name for name in UP_MAX_S if name in took]
    kept = len(judged) == len(UP_MAX_S) and all(
        max(one.up_s for one in took[name]) < UP_MAX_S[name] for name in judged
    )
    down = max(one.down_s for every in took.values() for one in every)
    return Outcome(
        measured="; ".join(
            [
                *(f"{name}: up in {_range([one.up_s for one in took[name]])} s" for name in judged),
                f"down in {down:.2g} s at most",
            ]
        ),
        met=None if effort.quick else kept and down < DOWN_MAX_S,
        tables=(
            Table(
                "Seconds, median (shortest to longest)",
                ("servers", "times", "up", "of these until data is prepared", "nodes", "down"),
                tuple(_row(name, every) for name, every in took.items()),
            ),
        ),
        notes=(
            "Up: from an empty directory to nodes that all say that they work together. Down: until"
            " all processes have ended and all files are removed. Servers have 64 MiB of buffers"
            " and `durability: full`.",
            *(f"Not tested here: {why}." for one in (GALERA, GROUP) if (why := missing(one))),
        ),
    )


def _row(name: str, every: Sequence[Times]) -> tuple[str, ...]:
    parts = ("up_s", "prepared_s", "ready_s", "down_s")
    return (
        *(name, str(len(every))),
        *(_range([getattr(one, part) for one in every]) for part in parts),
    )


def _range(seconds: Sequence[float]) -> str:
    return f"{median(seconds):.1f} ({min(seconds):.1f} to {max(seconds):.1f})"


ROW = Row(
    name="topology_times",
    claim="Clusters come up and go while one waits",
    how=(
        "Each topology is brought up from an empty directory and down again, several times in turn"
        " with the others, by the code that does it for a run."
    ),
    bar="three Galera nodes up in < 15 s, a group of three MySQL servers in < 40 s; down in < 5 s",
    measure=measure,
    timed=True,
)
