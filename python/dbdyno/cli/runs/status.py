"""`dyno status`: how far a run is, from another terminal; or all runs below a directory."""

from __future__ import annotations

import contextlib
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


LISTED_MAX = 30


@click.command()
@latest.arguments
@click.option("--watch", is_flag=True, help="Show it again and again, until the run ends.")
@click.option("--json", "as_json", is_flag=True, help="Print the same as JSON.")
def status(run: Path | None, directory: Path | None, watch: bool, as_json: bool) -> int:
    """Show the progress of a run.

    RUN is a run directory or a bundle; without it, the latest run. Shown: trials done, trial under
    way, its last interval. Of a directory of runs each is listed, the newest first.
    """
    from dbdyno.cli import unprivileged
    from dbdyno.share.opened import opened

    if watch and as_json:
        raise click.UsageError("--watch shows a run to people, --json to programs: give one")
    if run is not None and run.is_dir() and not _is_run(run):
        if watch:
            raise click.UsageError("--watch shows one run: name it")
        lines = _below(run)
        if not _is_run(run):  # it may have begun meanwhile
            return _listed(run, lines, as_json)
    meant = latest.chosen(run, directory)
    place = meant.path
    if run is None and not as_json:
        meant.announce()
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


def _is_run(path: Path) -> bool:
    from dbdyno.store.lock import LOCK
    from dbdyno.store.manifest import MANIFEST

    return any((path / name).exists() for name in (MANIFEST, LOCK))


def _below(directory: Path) -> list[dict[str, Any]]:
    """The runs below a directory, of its catalogue."""
    from dbdyno.cli import unprivileged
    from dbdyno.share.below import RUNS_MAX, bring_up_to_date
    from dbdyno.store import catalogue
    from dbdyno.store.catalogue import Catalogue, Wanted

    def read() -> list[dict[str, Any]]:
        with contextlib.closing(Catalogue(directory)) as found:
            bring_up_to_date(found, directory)
            lines, _ = found.search(Wanted(), most=RUNS_MAX)
        return [catalogue.as_json(line) for line in lines]

    with stored(directory):
        return unprivileged.reading(read, [directory])


def _listed(directory: Path, lines: Sequence[dict[str, Any]], as_json: bool) -> int:
    """Prints a line a run."""
    from dbdyno.wording.visible import visible

    if not lines:
        raise latest.none_below(directory)
    if as_json:
        click.echo(json.dumps(lines, indent=1))
        return 0
    width = max((len(visible(line["name"])) for line in lines), default=0)
    for line in lines[:LISTED_MAX]:
        click.echo(f"{visible(line['name']):<{width}}  {_in_short(line)}")
    if len(lines) > LISTED_MAX:
        click.echo(f"{len(lines) - LISTED_MAX:,} older ones: --json, or dyno serve {directory}")
    return 0


def _in_short(line: dict[str, Any]) -> str:
    """`running       3 of 24 trials`; `complete     24 of 24 trials  supported 2, refuted 1`."""
    from dbdyno.wording.visible import visible

    if line["problem"]:
        return f"{line['status']:<11}  {visible(line['problem'])}"
    trials = f"{line['done']} of {line['trials']} trials"
    claims = ", ".join(f"{verdict} {count}" for verdict, count in line["verdicts"].items())
    return f"{line['status']:<11}  {trials:<16}  {claims}".rstrip()


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
