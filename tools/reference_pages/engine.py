"""`dyno-engine` as it describes itself: commands, drivers, their options."""

from __future__ import annotations

import functools
import json
import subprocess
from typing import Any

from dbdyno.execute.engine import job
from reference_pages.markdown import block, code, sections, table

INTRO = """The load engine runs one job per call. `dyno` calls it; manual calls are useful only to measure the engine itself. It reads the plan of a job
(`schemas/engine-plan.schema.json`) from standard input and writes events (`schemas/engine-event.schema.json`) to standard output, one JSON object
per line. Examples are in `schemas/examples/`."""

BOUNDS = """The engine bounds the answers of servers. In trials it counts and discards rows, even incomplete ones, and each transaction has a deadline, so a trial ends in time whatever a server sends.
Messages that are stored (errors, definitions) have at most 1 MiB. During loading, the answer to a statement has at most 6 hours and 1 GiB, and a partial message must progress by 4 KiB per minute
([why](../decisions/answers-have-bounds.md)). For scripts see [`dyno sysbench`](sysbench.md#time-rate-and-end)."""


def page() -> str:
    """docs/reference/engine.md"""
    return sections(
        "# dyno-engine",
        INTRO,
        block(said("--help")),
        block(said("null-server", "--help")),
        block(said("relay", "--help")),
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
