"""`dyno run --history DIR`: the run next to its predecessors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from dbdyno.cli.running import gate as gates
from dbdyno.cli.runs import past
from dbdyno.cli.runs.stored import stored
from dbdyno.cli.terminal.console import Shown
from dbdyno.plan.types import Plan
from dbdyno.store.manifest import INTERRUPTED
from dbdyno.store.run import Run


def announce(history: Path | None, plan: Plan, environment: Mapping[str, Any]) -> None:
    """Says before anything is measured whether there will be a verdict, where there will not."""
    if history is None:
        return
    from dbdyno.analysis import between_runs as across

    if not history.is_dir():
        click.echo(
            f"history: {history} is not there yet, which is where a history begins", err=True
        )
        return
    now = across.reduce(plan, (), {"environment": environment}, "this run", "planned")
    with stored(history):
        count = len(across.predecessors(now, past.read_all(history, like=now.fingerprint)[0]))
    if count < across.RUNS_MIN:
        click.echo(
            f"history: {count} of the {across.RUNS_MIN} earlier runs of this plan that a verdict"
            " needs: this one will be the next",
            err=True,
        )


def after(
    run: Run,
    code: int,
    history: Path | None,
    reference: Path | None,
    gate: gates.Gate | None,
    as_json: bool,
) -> int:
    """Prints the run next to its predecessors, on stderr if stdout holds JSON, and what the gate
    says; the exit code, which is `code` if that is not 0."""
    if history is None or run.status == INTERRUPTED:
        return code
    from dbdyno.report.between_runs.comparison import compared_text
    from dbdyno.wording import runs
    from dbdyno.wording.catalogue import worded

    now = past.reduced(run, run.path.name)
    if now.unusable:
        return code or _without(f"{now.name}: {worded(now.unusable)}", gate)
    limit = gate.limit if gate else None
    with stored(history):
        there = history.is_dir()
        earlier, unread = past.read_all(history, like=now.fingerprint) if there else ([], [])
        named = [past.read(reference).run] if reference else []
        compared = runs.judge(now, earlier, matters=limit, unread=unread, reference=named)
    if compared is None:
        alone = _without(f"no earlier run of this plan on this machine in {history}", gate)
        return code or alone
    console = Shown(stderr=as_json)
    console.print()
    console.print(compared_text(compared, run.plan))
    judged = gates.verdict(compared) if gate else 0
    return code or judged


def _without(why: str, gate: gates.Gate | None) -> int:
    if gate:
        return gates.cannot(why)
    click.echo(f"history: {why}: nothing to judge by", err=True)
    return 0
