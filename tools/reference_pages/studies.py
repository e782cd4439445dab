"""Every shipped study, from its file."""

from __future__ import annotations

import itertools
from pathlib import Path

from dbdyno.cli import studies
from dbdyno.experiment import load
from dbdyno.experiment.claims.grammar import Claim
from dbdyno.imports import read_head
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.plan.outlook import estimate
from reference_pages.markdown import block, cell, code, sections, table

# The estimate of two cores and plenty of memory, whatever machine writes this page.
MACHINE = Machine(cores=2, memory_bytes=16 << 30, kernel="", cpu_model="", cpus=(0, 1))


def page() -> str:
    """docs/reference/studies.md"""
    return sections(
        "# Studies",
        "`dyno run NAME` runs one, `dyno run NAME --quick` tries it in under a minute. The files are in `studies/`.",
        *(_study(name) for name in studies.names()),
        "## On imported results",
        "`dyno import --experiment NAME` makes a report of published measurements, whose table is next to the file in `studies/imported/`.",
        table(
            ("name", "question", "claims"),
            ((code(path.stem), *_imported(path)) for path in studies.imported()),
        ),
    )


def _imported(path: Path) -> tuple[str, str]:
    head = read_head(path).model
    return cell(head.question), "; ".join(code(entry.claim) for entry in head.claims)


def _study(name: str) -> str:
    path = studies.find(name)
    loaded = load(path, [])
    cost = estimate.of(make(loaded, MACHINE))
    minutes = max(1, round(cost.total_s / 60))
    return sections(
        f"## {name}",
        cell(loaded.question),
        _comment(path),
        f"{cost.cells} cells x {cost.blocks} blocks = {cost.trials} trials, about {minutes} min.",
        table(
            ("factor", "levels"),
            ((code(f.name), ", ".join(code(level) for level in f.levels)) for f in loaded.factors),
        ),
        "Claims:",
        block("\n".join(_claim(claim) for claim in loaded.claims)),
    )


def _claim(claim: Claim) -> str:
    """A claim below its author's words, if it has some."""
    return f"# {claim.say}\n{claim.text}" if claim.say else claim.text


def _comment(path: Path) -> str:
    """What the file says of itself before its first key."""
    lines = itertools.takewhile(lambda line: line.startswith("#"), path.read_text().splitlines())
    return "\n".join(line.removeprefix("#").strip() for line in lines)
