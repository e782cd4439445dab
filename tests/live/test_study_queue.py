"""All statements of the study `queue`, of which `--quick` runs a few. What each of them changes is
checked by `expect`: a job that two workers took would be an error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from private_servers import CORE, binaries
from ruamel.yaml import YAML
from running import Place, complete_trials, has, result

from dbdyno.cli import studies

pytestmark = pytest.mark.live

JOBS = 200
TRANSACTIONS = 700  # among so many are races that are lost


def of_kind(kind: str) -> dict[str, Any]:
    """The study with one system, few jobs, and four workers who do not pause."""
    study: dict[str, Any] = YAML(typ="safe", pure=True).load(studies.find("queue").read_text())
    for place, value in study["factors"].pop("engine")[kind].items():
        *before, last = place.split(".")
        inner = study["targets"] if before[0] == "db" else study
        for key in before:
            inner = inner[key]
        inner[last] = value
    del study["factors"]["workers"], study["claims"]
    study["targets"]["db"]["setup"]["tables"]["jobs"]["rows"] = JOBS
    study["workload"] |= {"sessions": 4, "retries": 0}
    del study["workload"]["think"]
    short = {"blocks": 1, "warmup": "100ms", "duration": "60s", "interval": "100ms"}
    return study | short | {"seed": 1}


@pytest.mark.parametrize("kind", CORE)
def test_each_way_takes_every_job_once(kind: str, there: Place) -> None:
    binaries(kind)
    (there.path / "experiment.yaml").write_text(json.dumps(of_kind(kind)))
    done = there.dyno_until(has(TRANSACTIONS), "run", "experiment.yaml", "--dir", "r")
    assert done.returncode == 0, done.stdout + done.stderr
    assert there.until_clean() == []
    found = {cell["levels"]["claim"]: cell["metrics"] for cell in result(there.path / "r")["cells"]}
    assert found.keys() == {"skip_locked", "for_update", "token", "optimistic"}
    assert all(each["transactions_per_s"]["mean"] > 0 for each in found.values())
    for name in ("skip_locked", "for_update"):
        assert found[name]["failed_per_s"]["mean"] == 0, name
    assert found["optimistic"]["failed_per_s"]["mean"] > 0  # lost races
    assert len(complete_trials(there.path / "r")) == 4
