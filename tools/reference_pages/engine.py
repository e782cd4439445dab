"""`dyno-engine` as it describes itself: commands, drivers, their options."""

from __future__ import annotations

import functools
import json
import subprocess
from typing import Any

from dbdyno.execute.engine import job
from reference_pages.markdown import block, code, sections, table

INTRO = """The load engine: one job a call. `dyno` calls it; people need it by hand only to measure it. A job's plan
(`schemas/engine-plan.schema.json`) goes in on standard input, events (`schemas/engine-event.schema.json`) come out on
standard output, one JSON object a line; examples of all are in `schemas/examples/`."""

BOUNDS = """What a server may make the engine take: in trials rows are counted and dropped, also within a row, and a transaction has its deadline; the end comes in time whatever a server sends. What is
read whole (errors, definitions) has 1 MiB at most. While loading, the answer to a statement has 6 hours and 1 GiB, and a message that has begun must go on by 4 KiB a minute
([why](../decisions/answers-have-bounds.md)). For scripts see [`dyno sysbench`](sysbench.md#time-rate-and-end)."""


def page() -> str:
    """docs/reference/engine.md"""
    return sections(
        "# dyno-engine",
        INTRO,
        block(said("--help")),
        block(said("null-server", "--help")),
        block(said("tablespace", "--help")),
        "## Bounds on answers",
        BOUNDS,
        "## Drivers",
        "A driver is chosen by the system (`kind:`). Its options are written as `options:` of a target.",
        *(_driver(driver) for driver in listed()["drivers"]),
    )


def _driver(driver: dict[str, Any]) -> str:
    options = ((code(o["name"]), code(o["default"]), o["about"]) for o in driver["options"])
    return sections(
        f"### {driver['name']}",
        f"{driver['about'][0].upper()}{driver['about'][1:]}.",
        table(("option", "default", "meaning"), options) or "No options.",
    )


@functools.cache
def listed() -> dict[str, Any]:
    """What `dyno-engine list --json` says."""
    found: dict[str, Any] = json.loads(said("list", "--json"))
    return found


def said(*arguments: str) -> str:
    """What the engine prints."""
    return subprocess.run(
        [job.find(), *arguments], capture_output=True, text=True, check=True, timeout=20
    ).stdout
