"""A proof from its arguments to its answer: candidates are examined, measured, and judged."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import click

from dbdyno.cli.logs.reading import seconds
from dbdyno.cli.proving import asked, printing, sources
from dbdyno.cli.proving.measuring import Measuring
from dbdyno.cli.proving.selecting import select
from dbdyno.cli.running.detail import detail
from dbdyno.cli.terminal import login
from dbdyno.errors import DynoError
from dbdyno.execute.control import Interrupted
from dbdyno.execute.engine import job
from dbdyno.experiment.values import units
from dbdyno.plan.outlook import estimate
from dbdyno.prove import catalogue, examining, finding, planner
from dbdyno.prove.answer import Answer, answers
from dbdyno.prove.bench import bench
from dbdyno.prove.candidates import Candidate, together
from dbdyno.prove.examining import Examined
from dbdyno.prove.experiment import Proof
from dbdyno.prove.finding import Found
from dbdyno.store.naming import unnamed
from dbdyno.systems.process.scratch import scratch_root
from dbdyno.wording.plurals import count

INTERRUPTED = 3


@dataclass
class _Progress:
    """What was found on the way to the answer."""

    found: Found | None = None
    rejected: dict[str, str] | None = None


def proved(typed: Mapping[str, Any]) -> int:
    """What `dyno prove` does; its exit code."""
    try:
        return _proved(typed)
    except Interrupted:
        click.echo("interrupted: nothing is left on this machine but what is measured", err=True)
        return INTERRUPTED


def _proved(typed: Mapping[str, Any]) -> int:
    begun = time.monotonic() + _watched_s(typed)
    path = typed["directory"] or unnamed("prove")
    file = sources.beside(typed, path)
    base = sources.read(typed, file)
    proof = Proof("prove", _command(), base, asked.read(typed, base), seed=typed["seed"])
    measuring = Measuring(
        path,
        file,
        scratch_root(typed["scratch"]),
        detail(verbose=typed["verbose"], quiet=typed["quiet"]),
        typed["blocks"],
        begun + typed["total_s"],
    )
    if typed["dry_run"]:
        return _dry_run(proof, measuring)
    job.find()
    measuring.claim_file()
    if proof.candidates:
        return _named(proof, measuring, as_json=typed["as_json"])
    return _found(proof, measuring, typed)


def _watched_s(typed: Mapping[str, Any]) -> float:
    """How long a server's counts are watched before anything else."""
    return seconds("--for", typed["for_"]) if typed["for_"] is not None else 0.0


def _dry_run(proof: Proof, measuring: Measuring) -> int:
    if not proof.candidates:
        raise click.UsageError(
            "candidates are found on a server, which --dry-run does not start: name some, such as"
            " --index 'TABLE (COLUMN, ...)'"
        )
    click.echo(measuring.text(proof), nl=False)
    return 0


def _named(proof: Proof, measuring: Measuring, *, as_json: bool) -> int:
    """Candidates that the user has named: all against today, in one run."""
    examined = _examined(proof, measuring)
    refused = {
        one.name: examined[one.name] for one in proof.candidates if examined[one.name].differing
    }
    kept = tuple(one for one in proof.candidates if one.name not in refused)
    for one in proof.candidates:
        if one.name in refused:
            measuring.say(printing.refusal(one, refused[one.name]))
    if not kept:
        one = proof.candidates[0]
        class_, sql = next(iter(refused[one.name].differing.items()))
        raise DynoError(
            f"{one.what}: results are not those of today, so there is nothing to prove",
            cause=f"{class_} has other rows with: {sql}",
            fix="correct the statement, so that both answer the same question",
        )
    noted = [note for one in kept if (note := printing.note(one, examined[one.name]))]
    proof = replace(
        proof,
        candidates=kept,
        served={one.name: [*examined[one.name].served] for one in kept},
        notes=tuple(noted),
    )
    findings = measuring.measured(proof, measuring.path)
    return _answered(answers(proof, findings, examined), measuring, _Progress(), as_json=as_json)


def _examined(proof: Proof, measuring: Measuring) -> dict[str, Examined]:
    """Each candidate on a private server of its own data."""
    plan = measuring.plan(proof)
    found: dict[str, Examined] = {}
    with bench(plan, job.find(), measuring.listener, measuring.scratch) as made:
        measuring.say("examining today's server and its plans")
        before = examining.today(made, plan.cells[0], proof.candidates, plan.seed)
        for number, one in enumerate(proof.candidates):
            if number and not one.rewrites:
                made.start(plan.cells[0])
            measuring.say(f"examining {one.what}")
            found[one.name] = examining.examine(made, before, plan.cells[number + 1], one)
    return found


def _found(proof: Proof, measuring: Measuring, typed: Mapping[str, Any]) -> int:
    """Indexes that are proposed, ranked by the planner, selected by measurements, and confirmed
    together."""
    found, differing = _ranked(proof, measuring, typed)
    if differing:
        measuring.say(printing.differs(differing))
    selected = select(proof, measuring, found.ranked)
    chosen = selected.kept
    progress = _Progress(found, {**found.left, **selected.left})
    if not chosen:
        return _answered((), measuring, progress, as_json=typed["as_json"])
    all_ = together(one.candidate for one in chosen)
    examined = Examined(
        served={key: ratio for one in chosen for key, ratio in one.served.items()},
        bytes=sum(one.bytes for one in chosen),
    )
    final = replace(
        proof,
        candidates=(all_,),
        served={all_.name: [*examined.served]},
        notes=(printing.note(all_, examined),),
    )
    measuring.say(f"confirming {count(len(chosen), 'index', 'indexes')} against today")
    findings = measuring.measured(final, measuring.path)
    return _answered(
        answers(final, findings, {all_.name: examined}),
        measuring,
        progress,
        as_json=typed["as_json"],
    )


def _ranked(
    proof: Proof, measuring: Measuring, typed: Mapping[str, Any]
) -> tuple[Found, Mapping[str, str]]:
    """Proposals that the planner would use, and classes whose results differ with them."""
    plan = measuring.plan(proof)
    space = units.size_bytes(typed["space"]) if typed["space"] else None
    with bench(plan, job.find(), measuring.listener, measuring.scratch) as made:
        measuring.say("examining today's server and its plans")
        before = examining.today(made, plan.cells[0], (), plan.seed)
        if made.first_start_s is not None:
            measuring.pace.seen(made.first_start_s, estimate.overhead_s(plan.cells[:1], 1))
        if not planner.can_plan(made):
            raise DynoError(
                f"indexes are not found for {made.kind}",
                cause="its planner tells no cost",
                fix="name candidates: --index 'TABLE (COLUMN, ...)'",
            )
        proposals = finding.proposed(made, before, catalogue.schema(made))
        number = count(len(proposals.candidates), "index", "indexes")
        measuring.say(f"{number} proposed; building them")
        found = finding.rank(
            *(made, before, plan.cells[0], proposals, typed["most"], space, measuring.say)
        )
        after = examining.examine(made, before, plan.cells[0], Candidate("", ""))
    return found, after.differing


def _answered(
    found: Sequence[Answer], measuring: Measuring, progress: _Progress, *, as_json: bool
) -> int:
    printing.show(found, measuring, progress.found, progress.rejected or {}, as_json=as_json)
    return 0 if found and all(one.shown for one in found) else 1


def _command() -> str:
    arguments = login.without_commands(sys.argv[1:])
    return f"dyno {shlex.join(arguments)}" if arguments[:1] == ["prove"] else "dyno prove"
