"""What the row `known_indexes` of the proof measures with, on real servers, at its smallest size:
statements that servers take, in every transaction, with an expert's indexes and without."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from private_servers import binaries
from tools.proof.proving import measuring
from tools.proof.proving.measuring import NONE, Lengths, Workload
from tools.proof.row import Effort
from tools.proof.rows.proving.known_indexes import CASES, EXPERT, Case

from dbdyno.execute.engine import job

pytestmark = pytest.mark.live


@pytest.mark.parametrize("kind", measuring.KINDS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_both_sets_are_measured_without_an_error(case: Case, kind: str) -> None:
    binaries(kind)
    workload = Workload(case.name, case.text(kind, True))
    sets = {NONE: (), EXPERT: case.expert, "same": case.expert}
    with tempfile.TemporaryDirectory(prefix="dp", dir="/var/tmp") as scratch:
        effort = Effort(True, job.find(), Path(scratch), lambda said: None)
        speeds = measuring.throughputs(effort, workload, sets, Lengths(1, "2s"))
        records = [json.loads(path.read_text()) for path in Path(scratch).rglob("trial.json")]
    assert speeds["same"] == speeds[EXPERT] > 0
    assert speeds[NONE] > 0
    assert len(records) == 2  # equal sets are measured once
    for record in records:
        assert record["status"] == "complete", record["void_reason"]
        assert record["metrics"]["failed_per_s"] == 0, record["warnings"]
