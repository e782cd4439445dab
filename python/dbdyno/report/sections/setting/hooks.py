"""What was done around the trials: the user's commands, how often they ran, how they ended."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import median

from dbdyno.plan.outlook.commands import commands
from dbdyno.report.context import Context
from dbdyno.report.section import Section
from dbdyno.store.hooklog import OK, HookLog, HookRun
from dbdyno.store.manifest import RUNNING
from dbdyno.store.run import Run
from dbdyno.wording.plurals import count
from dbdyno.wording.quantities import seconds

REASONS_MAX = 3  # different ways to fail that are named of one command


@dataclass(frozen=True)
class Row:
    """One command of the experiment. `ended` says how, `log` where its last output is."""

    when: str
    on: str
    run: str
    times: int
    ended: str
    failed: bool
    took: str
    log: str


@dataclass(frozen=True)
class Around:
    """The section: a row a command, and what a reader must know about them."""

    rows: tuple[Row, ...]
    warnings: tuple[str, ...]


def view(context: Context) -> Around | None:
    return around(context.run)


def around(run: Run) -> Around | None:
    """The section, or None for an experiment without commands."""
    log = HookLog(run.path)
    done = log.runs()
    rows = []
    for planned in commands(run.plan):
        key = (planned.point, planned.of, planned.hook.run, planned.hook.on, planned.at_s)
        own = [d for d in done if (d.point, d.of, d.run, d.on, d.at_s) == key]
        rows.append(_row(run, planned.when, planned.hook.run, planned.hook.on, own))
    if not rows:
        return None
    return Around(tuple(rows), tuple(_warnings(run, log, done)))


def _row(run: Run, when: str, text: str, on: str | None, own: list[HookRun]) -> Row:
    bad = [done for done in own if done.outcome != OK]
    log = own[-1].log if own and (run.path / own[-1].log).is_file() else ""
    return Row(
        when=when,
        on=on or "here",
        run=text.strip(),
        times=len(own),
        ended=_ended(own, bad),
        failed=bool(bad),
        took=_took([done.seconds for done in own]) + _began(own),
        log=log,
    )


def _ended(own: list[HookRun], bad: list[HookRun]) -> str:
    if not own:
        return "never ran"
    good = len(own) - len(bad)
    parts = [f"{good} with status 0"] if bad and good else []
    reasons = Counter(done.reason for done in bad).most_common(REASONS_MAX)
    parts += [f"{number} {reason}" for reason, number in reasons]
    return "; ".join(parts) or "status 0"


def _took(lengths: list[float]) -> str:
    if not lengths:
        return ""
    middle, longest = median(lengths), max(lengths)
    text, most = _length(middle), _length(longest)
    return text if most == text else f"{text} (at most {most})"


def _began(own: list[HookRun]) -> str:
    """When commands with a moment began, on the clocks of their trials."""
    began = sorted(f"{done.started_s:.2f}" for done in own if done.started_s is not None)
    if not began:
        return ""
    return f"; began at {began[0]}" + (f" to {began[-1]}" if began[0] != began[-1] else "") + " s"


def _length(value: float) -> str:
    return f"{value * 1000:.0f} ms" if value < 1 else seconds(round(value, 1 if value < 10 else 0))


def _warnings(run: Run, log: HookLog, done: list[HookRun]) -> list[str]:
    found = []
    bad = sum(one.outcome != OK for one in done)
    if bad:
        found.append(f"{count(bad, 'command')} did not succeed. A trial that this spoilt is void.")
    if run.status != RUNNING:
        found += [
            f"{a.factor}={a.level} was applied and has not been undone:"
            " dyno run --resume undoes it first."
            for a in log.applied()
        ]
    return found


SECTION = Section(view)
