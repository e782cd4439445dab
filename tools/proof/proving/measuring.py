"""What `dyno prove` finds for a workload, and how fast sets of indexes are, in the same blocks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tools.proof.row import Effort, Table
from tools.proof.runs import answer, dyno

from dbdyno.experiment import load

KINDS = ("mariadb", "postgres")
NEAR = 0.10
NONE, FOUND = "none", "found"
TIMEOUT_S = 3600.0


@dataclass(frozen=True)
class Workload:
    """`text`: an experiment whose target is called `db`, with its data and a mix."""

    name: str
    text: str


@dataclass(frozen=True)
class Lengths:
    """Of the measurement of all sets: blocks, and a trial."""

    blocks: int
    trial: str


def found(effort: Effort, workload: Workload, total_s: int, most: int) -> tuple[str, ...]:
    """The CREATE INDEX statements that `dyno prove` answers with; none, if it finds nothing."""
    effort.say(f"    {workload.name}: dyno prove")
    file = effort.scratch / f"{workload.name}.yaml"
    file.write_text(workload.text)
    said = dyno(
        *(effort, "prove", "--workload", file.name, "--time", f"{total_s}s", "--most", most),
        *("--seed", 7, "--dir", f"found-{workload.name}", "--json", "-q"),
        codes=(0, 1),
        timeout_s=TIMEOUT_S,
    )
    return tuple(one for each in json.loads(said)["candidates"] for one in each["statements"])


def throughputs(
    effort: Effort, workload: Workload, sets: Mapping[str, Sequence[str]], lengths: Lengths
) -> dict[str, float]:
    """Mean transactions a second with each set of indexes, all in the same blocks. Equal sets are
    measured once."""
    effort.say(f"    {workload.name}: {len(sets)} sets of indexes")
    setup = load(workload.text).cells[0].targets[0].setup
    before = setup.after if setup is not None else ()
    names: dict[tuple[str, ...], str] = {}
    for name, statements in sets.items():
        names.setdefault(tuple(statements), name)
    patches = {
        name: {"db.setup.after": [*before, *statements]} if statements else {}
        for statements, name in names.items()
    }
    levels = "\n".join(f"    {name}: {json.dumps(patch)}" for name, patch in patches.items())
    text = f"{workload.text}factors:\n  indexes:\n{levels}\n"
    text += f"blocks: {lengths.blocks}\nwarmup: 300ms\nduration: {lengths.trial}\n"
    text += "interval: 100ms\n"
    file = effort.scratch / f"sets-{workload.name}.yaml"
    file.write_text(text)
    said: Mapping[str, Any] = answer(
        *(effort, "run", file.name, "--dir", f"sets-{workload.name}", "-q"), timeout_s=TIMEOUT_S
    )
    measured = {
        cell["levels"]["indexes"]: cell["metrics"]["transactions_per_s"]["mean"]
        for cell in said["cells"]
    }
    return {name: measured[names[tuple(statements)]] for name, statements in sets.items()}


def near(speeds: Mapping[str, float]) -> float:
    """The found set's throughput over that of the best."""
    return speeds[FOUND] / max(speeds.values())


def table(
    title: str, chosen: Sequence[str], speeds: Mapping[str, float], most: int | None = None,
    others: Mapping[str, Sequence[str]] = {},
) -> Table:  # fmt: skip
    """The found set, what `others` have found by their names, none, and the best ones, at most
    `most`."""
    ranked = sorted(speeds, key=lambda name: -speeds[name])
    shown = dict.fromkeys([FOUND, *others, NONE, *ranked[:most]])
    best = speeds[ranked[0]]
    named = {
        name: f"{name}: {'; '.join(map(_plain, statements)) or 'nothing'}"
        for name, statements in {FOUND: chosen, **others}.items()
    }
    return Table(
        title,
        ("set", "transactions a second", "of the best"),
        tuple(
            (named.get(name, name.replace("_", ", ")), f"{speeds[name]:,.0f}",
             f"{speeds[name] / best:.0%}")
            for name in shown
        ),
    )  # fmt: skip


def _plain(statement: str) -> str:
    """`CREATE INDEX x ON t (a)` as `t (a)`."""
    return statement.partition(" ON ")[2]
