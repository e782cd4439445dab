"""How to run it again."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from dbdyno.report.context import Context
from dbdyno.report.section import Section
from dbdyno.store.run import Run


@dataclass(frozen=True)
class View:
    """The command, and the files that it needs: the experiment's and that of the base it ran
    against; empty if there is none."""

    name: str
    command: str
    experiment: str
    base: str


def view(context: Context) -> View:
    plan = context.plan
    base = plan.against.spec_text if plan.against else ""
    return View(plan.name, command(context.run), plan.spec_text, base)


def command(run: Run) -> str:
    """The command line that repeats the run, as recorded or as it would be typed."""
    recorded = run.manifest.get("command")
    if isinstance(recorded, list) and recorded:
        return shlex.join(map(str, recorded))
    return f"dyno run {run.plan.name}.yaml{' --quick' if run.plan.quick else ''}"


SECTION = Section(view, "Reproduce", brief=100)
