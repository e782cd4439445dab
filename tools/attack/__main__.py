"""`python -m tools.attack [--most N] [ROW...]`: tries rows and writes `docs/attack.md`."""

from __future__ import annotations

import argparse
import datetime
import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # thousands of processes, a little of each

from tools.attack import page
from tools.attack.families import rows
from tools.attack.row import Effort

from dbdyno.execute.engine import job

MOST = 2500  # of the tens of thousands of ways to damage a run
DOCS = Path(__file__).resolve().parents[2] / "docs"


def main() -> int:
    """0 if everything that was tried was survived, else 1."""
    parser = argparse.ArgumentParser(prog="make attack", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="try these only")
    parser.add_argument("--most", type=int, default=MOST, metavar="N", help="attacks a row, drawn")
    parser.add_argument("--seed", type=int, default=0, help="draws them")
    parser.add_argument("--docs", type=Path, default=DOCS, help="where attack.md goes")
    parser.add_argument("--draw", action="store_true", help="write the page, try nothing")
    asked = parser.parse_args()
    known = {row.name: row for row in rows()}
    if unknown := [name for name in asked.rows if name not in known]:
        parser.error(f"no row {unknown[0]}; there are {', '.join(known)}")
    chosen = [] if asked.draw else [known[name] for name in asked.rows or known]
    failed = 0
    for number, row in enumerate(chosen, 1):
        say(f"[{number}/{len(chosen)}] {row.name}: {row.attack}")
        with tempfile.TemporaryDirectory(prefix="attack-") as scratch:
            effort = Effort(asked.most, asked.seed, job.find(), Path(scratch), say)
            tally = row.run(effort)
        say(f"    {tally.tried} tried, {tally.failed} failed")
        for failure in tally.failures:
            say(f"    {failure}")
        failed += tally.failed
        page.save(asked.docs / "attack", row, tally, facts(row.name, asked.most))
    asked.docs.mkdir(parents=True, exist_ok=True)
    (asked.docs / "attack.md").write_text(page.page(rows(), asked.docs / "attack"))
    return int(failed > 0)


def facts(name: str, most: int) -> dict[str, str]:
    """When, and how to repeat it."""
    return {
        "when": datetime.date.today().isoformat(),
        "command": f'make attack ROWS="{name}"' + (f" MOST={most}" if most != MOST else ""),
    }


def say(text: str) -> None:
    """Talk goes to stderr."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
