"""Statements of `session:` that would let a session write to data that is only to be read."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from tools.attack.row import Effort, Row, Tally

_TESTS = Path(__file__).resolve().parents[3] / "tests" / "live" / "test_read_only.py"
_NAME = "test_no_session_statement_lifts_the_guard"
_SAMPLE = "mariadb and BEGIN"


def _run(effort: Effort) -> Tally:
    """The tests are the attacks: as a user who may do everything, straight to the engine."""
    report = effort.scratch / "report.xml"
    chosen = _NAME if effort.most is None or effort.most > 20 else f"{_NAME} and {_SAMPLE}"
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", str(_TESTS), "-k", chosen, f"--junitxml={report}"],
        check=False,
        stdout=subprocess.DEVNULL,
    )
    tally = Tally()
    for case in ElementTree.parse(report).iter("testcase"):
        failed = [str(one.get("message"))[:300] for one in case if one.tag in ("failure", "error")]
        if not any(one.tag == "skipped" for one in case):
            tally.add(str(case.get("name")), failed)
    return tally


ROW = Row(
    name="read_only_sessions",
    attack="`session:` statements and functions that would lift the guard of data which is only"
    " read, on MariaDB, MySQL and PostgreSQL, as a user who may do everything",
    survived="no row is written or changed",
    run=_run,
)
