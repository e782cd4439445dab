"""What the engine is asked: an audit adds a key to groups, and without one not a byte differs from
what was asked before there were audits (commit db25e041)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dbdyno import plan
from dbdyno.execute.engine.request import run_request
from dbdyno.experiment import load
from dbdyno.plan import Machine

EXPERIMENT = """\
experiment: e
targets: {{db: {{kind: mariadb}}}}
workload: {{kind: {kind}, sessions: 4}}
duration: 2s
warmup: 1s
interval: 1s
seed: 1
{audit}
"""
WRITES = "oltp, preset: write_only, tables: 1, rows: 1000"
# What the code of that commit gives for this experiment.
BEFORE = (
    '{"schema_version": 1, "job": "run", "trial": "b01-t001", "directory":'
    ' "/runs/r/trials/b01-t001", "seed": 5481116961522778, "targets": {"db": {"driver":'
    ' "mysql"}}, "warmup_s": 1.0, "duration_s": 2.0, "drain_s": 10.0, "interval_s": 1.0,'
    ' "workers": 0, "cpus": [0], "groups": [{"name": "workload", "target": "db",'
    ' "also_targets": [], "workload": "oltp", "options": {"preset": "write_only", "tables":'
    ' 1, "rows": 1000}, "sessions": 4, "arrivals": null, "think": null, "deadline_s": 60.0,'
    ' "retries": 10}]}'
)


def asked(audit: str, kind: str = WRITES) -> str:
    """The engine's plan of the first trial, as the engine reads it."""
    made = plan.make(
        load(EXPERIMENT.format(audit=audit, kind=kind)),
        Machine(4, 2**34, "6.1", "some CPU", (0, 1, 2, 3)),
        available=lambda target: None,
        data_settings=lambda target: {},
    )
    trial = made.trials[0]
    request = run_request(
        made.cells[trial.cell],
        trial,
        {"db": {"driver": "mysql"}},
        lambda group: (group.target,),
        Path("/runs/r/trials/b01-t001"),
        (0,),
        made.drain_s,
    )
    return json.dumps(request)


@pytest.mark.parametrize("audit", ["", "audit: off"])
def test_without_an_audit_it_is_what_it_was_before_there_were_audits(audit: str) -> None:
    assert asked(audit) == BEFORE


def test_an_audit_of_commits_adds_a_key_to_the_group_and_nothing_else() -> None:
    audited, before = json.loads(asked("audit: commits")), json.loads(BEFORE)
    for group in audited["groups"]:
        assert group.pop("audit") is True
    assert audited == before


def test_a_history_is_recorded_of_the_workload_of_its_audit() -> None:
    [group] = json.loads(asked("audit: register", "register"))["groups"]
    assert group["history"] is True
    assert "audit" not in group
