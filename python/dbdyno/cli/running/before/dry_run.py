"""`--dry-run`: what would happen, and what it would cost."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Sequence
from dataclasses import asdict

import click

from dbdyno.cli.running.watching.text import duration
from dbdyno.digest.workload.yamltext import visible
from dbdyno.plan import cpus, external
from dbdyno.plan.outlook import estimate
from dbdyno.plan.outlook.commands import commands
from dbdyno.plan.outlook.estimate import Estimate, Touched
from dbdyno.plan.stored import json as plan_json
from dbdyno.plan.two_versions.differences import differences
from dbdyno.plan.types import Plan
from dbdyno.rules import machine as machine_checks
from dbdyno.wording.plurals import count
from dbdyno.wording.verdicts.headline import quoted


def show(
    plan: Plan,
    findings: Sequence[machine_checks.Finding],
    as_json: bool,
    write_to: Collection[str] = (),
    warned: Sequence[str] = (),
) -> int:
    """Prints the resolved plan, and what the checks of this machine found, to stdout; returns the
    exit code. `write_to`: schemas that the command line lets groups change; `warned`: what of the
    statements will fail."""
    cost = estimate.of(plan)
    if as_json:
        found = {
            "estimate": asdict(cost),
            "warnings": list(warned),
            "checks": [asdict(finding) for finding in findings],
            "plan": plan_json.to_json(plan),
        }
        json.dump(found, sys.stdout, indent=1)
        click.echo()
        return 0
    click.echo(f"{plan.name}: {plan.question}")
    for line in (*_lines(plan, cost), *machine_checks.lines(findings, external.places(plan.cells))):
        click.echo(line)
    for line in warned:
        click.echo(f"warning: {visible(line)}")
    for schema in external.unnamed(plan.cells, write_to):
        click.echo(f"to run it: add --write-to {schema}, an existing schema that groups change")
    return 0


def _lines(plan: Plan, cost: Estimate) -> list[str]:
    lines = [
        f"{count(cost.cells, 'cell')} x {count(cost.blocks, 'block')} = "
        f"{count(cost.trials, 'trial')}",
        f"seed {plan.seed} (to repeat its order, requests and rows: --set seed={plan.seed})",
        *_looks(plan, cost),
        "factors: "
        + "; ".join(
            f"{f.name} ({'hard' if f.hard else 'easy'}): {', '.join(f.levels)}"
            for f in plan.factors
        ),
        f"time: {_time(cost)} (setting up {duration(cost.setup_s)}, "
        f"each block {_block(cost)})"
        + (
            f", if each search takes all of its {cost.probes_max} probes"
            if cost.probes_max > 1
            else ""
        ),
        f"servers started {count(cost.restarts, 'time')}, "
        f"data loaded {count(cost.loads, 'time')}, restored {count(cost.restores, 'time')}",
        f"disk: about {_size(cost.disk_bytes)}; memory: about {_size(cost.memory_bytes)}",
    ]
    lines += [_touched(touched) for touched in cost.touched]
    for where, generator, servers in cpus.said(plan):
        at = f"CPUs at {where}" if where else "CPUs"
        if generator:
            lines.append(f"{at}: generator {generator}, servers {servers}")
        elif any(not touched.place for touched in cost.touched):
            lines.append(f"{at}: generator and servers share all of them")
    lines += [f"differs: {difference}" for difference in differences(plan)]
    lines += [f"skipped: {skipped.what}: {skipped.why}" for skipped in plan.skipped]
    lines += [
        f"not tested here: {quoted(plan.claim_words.get(claim, ''), claim)}: {why}"
        for claim, why in plan.untested.items()
    ]
    lines += [f"note: {note}" for note in plan.notes]
    lines += _commands(plan)
    lines.append("order (block: trials):")
    starts = cost.restarts > 0  # of external servers none is started
    for block in range(1, plan.blocks + 1):
        order = [t for t in plan.trials if t.block == block]
        shown = ["*" * (starts and t.fresh_servers) + _levels(plan, t.cell) for t in order]
        lines.append(f"  {block}: {', '.join(shown)}")
    if starts:
        lines.append("(* servers started afresh)")
    return lines


def _looks(plan: Plan, cost: Estimate) -> list[str]:
    """Where the run ends when all is decided: from when on."""
    if plan.looks is None:
        return []
    return [
        f"ends once every claim is decided: interim looks from block {plan.looks.first} on, after"
        f" each block, {count(cost.blocks, 'block')} at most"
    ]


def _block(cost: Estimate) -> str:
    most = duration(cost.block_s)
    return f"at most {most}" if cost.trials_end_early else most


def _time(cost: Estimate) -> str:
    most = f"about {duration(cost.total_s)}"
    if cost.total_s_min == cost.total_s:
        return most
    return f"about {duration(cost.total_s_min)} at least, {duration(cost.total_s)} at most"


def _commands(plan: Plan) -> list[str]:
    """The user's commands, whole, since this is where they can be checked without running."""
    found = commands(plan)
    if not found:
        return []
    lines = ["commands (their time is not in the estimate above):"]
    for planned in found:
        hook = planned.hook
        where = f" on {hook.on}" if hook.on else ""
        head = f"  {planned.when}{where}, at most {duration(hook.deadline_s)}: "
        lines.append(head + hook.run.strip().replace("\n", "\n" + " " * len(head)))
    return lines


def _levels(plan: Plan, cell: int) -> str:
    return "/".join(plan.cells[cell].levels.values()) or "the only cell"


def _touched(touched: Touched) -> str:
    words = [f"{word} {value}" for word, value in touched.words.items()]
    settings = [
        f"{name} = {' | '.join(str(value) for value in values)}"
        for name, values in touched.config.items()
    ]
    given = [f"set up: {', '.join(touched.setup)}"] if touched.setup else []
    given += [f"each connection runs `{'; '.join(touched.session)}`"] if touched.session else []
    if touched.place:
        return "; ".join([_there(touched, words, settings), *given])
    what = "; ".join(words + settings) or "defaults"
    servers = " or ".join(str(count) for count in touched.instances)
    private = f"a private {touched.kind}" if servers == "1" else f"{servers} {touched.kind} alike"
    if touched.topologies:
        private = f"{servers} {touched.kind} as {' or '.join(touched.topologies)}"
    return "; ".join(
        [f"target {touched.target}: {private}, schema {touched.schema}; {what}", *given]
    )


def _there(touched: Touched, words: list[str], settings: list[str]) -> str:
    schema = (
        f"schema {touched.schema}, which is there"
        if touched.existing
        else f"schema {touched.schema}, made for the run and dropped at its end"
    )
    changed = f"set for the run, then restored: {', '.join(settings)}" if settings else ""
    what = "; ".join(filter(None, [schema, *words, changed or "no setting is changed"]))
    return f"target {touched.target}: {touched.kind} at {touched.place}, which is there; {what}"


def _size(size_bytes: float) -> str:
    """1.5 GiB, 300 MiB."""
    gib = size_bytes / 2**30
    return f"{gib:.1f} GiB" if gib >= 1 else f"{size_bytes / 2**20:.0f} MiB"
