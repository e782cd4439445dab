"""`dyno status`: how far a run is, from another terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dbdyno.cli.runs import latest
from dbdyno.cli.runs.stored import stored

if TYPE_CHECKING:
    from dbdyno.plan.types import Plan
    from dbdyno.store.record import TrialRecord
    from dbdyno.store.run import Run


@click.command()
@latest.arguments
@click.option("--watch", is_flag=True, help="Show it again and again, until the run ends.")
@click.option("--json", "as_json", is_flag=True, help="Print the same as JSON.")
def status(run: Path | None, directory: Path | None, watch: bool, as_json: bool) -> int:
    """Show the progress of a run.

    RUN is a run directory or a bundle; without it, the latest run. Shown: trials done, trial under
    way, its last interval.
    """
    from dbdyno.cli import unprivileged
    from dbdyno.share.opened import opened

    if watch and as_json:
        raise click.UsageError("--watch shows a run to people, --json to programs: give one")
    place = latest.chosen(run, directory)
    if run is None and not as_json:
        click.echo(f"run directory: {place}", err=True)
    if watch:
        from dbdyno.cli.runs.watch import watched

        return watched(place, _facts, _lines)

    def read() -> dict[str, Any]:
        with opened(place) as found:
            return _facts(found, found.records())

    with stored(place):
        facts = unprivileged.reading(read, [place])
    if as_json:
        json.dump(facts, sys.stdout, indent=1)
        click.echo()
    else:
        click.echo("\n".join(_lines(facts)))
    return 0


def _lines(facts: dict[str, Any]) -> list[str]:
    from dbdyno.cli.running.watching.text import duration

    by = f" (pid {facts['pid']})" if facts["pid"] else ""
    void = f", {facts['trials_void']} void" if facts["trials_void"] else ""
    rest = ""
    if facts["trials_done"] < facts["trials"]:
        rest = f"; the rest takes at least {duration(facts['left_s_min'])}"
    lines = [
        f"{facts['experiment']}: {facts['status']}{by}",
        f"{facts['trials_done']} of {facts['trials']} trials done{void}{rest}",
    ]
    if facts["current"]:
        current = facts["current"]
        levels = " ".join(f"{name}={level}" for name, level in current["levels"].items())
        lines.append(f"now: {current['trial']}, block {current['block']}: {levels}")
        lines += [f"  {line}" for line in current["last_interval"]]
    return lines


def _facts(run: Run, over: Sequence[TrialRecord]) -> dict[str, Any]:
    from dbdyno.plan.outlook import estimate

    plan = run.plan
    records = {record.id: record for record in over}
    left = [trial for trial in plan.trials if trial.id not in records]
    return {
        "experiment": plan.name,
        "status": run.status,
        "pid": run.pid,
        "trials": len(plan.trials),
        "trials_done": len(records),
        "trials_void": sum(record.status == "void" for record in records.values()),
        "left_s_min": sum(estimate.run_s_min(plan.cells[t.cell]) for t in left),
        "current": _current(run, plan, left[0]) if left and run.status == "running" else None,
    }


def _current(run: Run, plan: Plan, trial: Any) -> dict[str, Any]:
    from dbdyno.cli.running.watching.text import interval_line

    cell = plan.cells[trial.cell]
    sessions = {group.name: group.sessions for group in cell.groups}
    lines: list[str] = []
    for event in run.each_event(trial.id):
        if event.get("event") == "interval":
            lines = [
                interval_line(event, name, group, sessions)
                for name, group in event["groups"].items()
            ]
    return {
        "trial": trial.id,
        "block": trial.block,
        "levels": dict(cell.levels),
        "last_interval": lines,
    }
