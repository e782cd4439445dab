"""`python -m tools.proof [--quick] [ROW...]`: measures rows and writes `docs/proof.md`."""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import sys
import tempfile
from pathlib import Path

from tools.proof import page
from tools.proof.row import Effort
from tools.proof.rows import rows

from dbdyno.execute.engine import job
from dbdyno.plan.machine import Machine
from dbdyno.systems.process.scratch import scratch_root

DOCS = Path(__file__).resolve().parents[2] / "docs"


def main() -> int:
    """0 if every bar that was measured is met, else 1."""
    parser = argparse.ArgumentParser(prog="make proof", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="measure these only")
    parser.add_argument("--quick", action="store_true", help="fill every table, judge nothing")
    parser.add_argument("--docs", type=Path, default=DOCS, help="where proof.md goes")
    parser.add_argument("--draw", action="store_true", help="write the page, measure nothing")
    asked = parser.parse_args()
    known = {row.name: row for row in rows()}
    if unknown := [name for name in asked.rows if name not in known]:
        parser.error(f"no row {unknown[0]}; there are {', '.join(known)}")
    chosen = [] if asked.draw else [known[name] for name in asked.rows or known]
    failed = False
    for number, row in enumerate(chosen, 1):
        say(f"[{number}/{len(chosen)}] {row.name}: {row.claim}")
        with tempfile.TemporaryDirectory(prefix="proof-", dir=scratch_root(None)) as scratch:
            effort = Effort(asked.quick, job.find(), Path(scratch), say)
            outcome = row.measure(effort)
        say(f"    {outcome.measured}: {page.MET[outcome.met]}")
        failed = failed or outcome.met is False
        page.save(asked.docs / "proof", row, outcome, facts(row.name))
    asked.docs.mkdir(parents=True, exist_ok=True)
    (asked.docs / "proof.md").write_text(page.page(rows(), asked.docs / "proof"))
    return int(failed and not asked.quick)


def facts(name: str) -> dict[str, str]:
    """When, on what machine, and how to repeat it: with the priority that it had over others."""
    machine = Machine.read()
    software = f"Linux {platform.release().partition('-')[0]}, Python {platform.python_version()}"
    priority = f"nice -n {os.nice(0)} " if os.nice(0) else ""
    return {
        "when": datetime.date.today().isoformat(),
        "machine": f"{len(machine.cpus)} CPUs ({machine.cpu_model}), {software}",
        "command": f'{priority}make proof ROWS="{name}"',
    }


def say(text: str) -> None:
    """Talk goes to stderr."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
