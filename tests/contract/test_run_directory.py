"""A run leaves on disk exactly what the reference and the schemas say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from dbdyno.cli.main import dyno
from fixtures.schemas import valid

ROOT = Path(__file__).parents[2]
DYNO = Path(sys.executable).with_name("dyno")
EXPERIMENT = """
experiment: nothing
question: Is a server that answers at once faster than one that does not?
targets:
  db: {kind: null, durability: full, isolation: serializable, memory: 64Mi}
workload: {kind: oltp, preset: read_only, sessions: 2, rows: 100}
factors:
  delay:
    none: {db.options: {delay_us: 100}}
    some: {db.options: {delay_us: 300}}
blocks: 3
warmup: 100ms
duration: 300ms
interval: 100ms
require: [generator_cpu_us_per_op >= 0]
claims: ["tps[none] > tps[some]", "tps[none] > 1e12"]
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete run against nothing."""
    place = tmp_path_factory.mktemp("run")
    (place / "nothing.yaml").write_text(EXPERIMENT)
    done = subprocess.run(
        [DYNO, "run", "nothing.yaml", "--dir", "out"],
        cwd=place,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return place / "out"


def documented() -> list[str]:
    """File names of the reference's first table."""
    page = (ROOT / "docs/reference/run-directory.md").read_text()
    return re.findall(r"^\| `([^`]+)` \|", page.partition("## Status")[0], re.MULTILINE)


def test_every_file_is_documented(run: Path) -> None:
    known = documented()
    assert len(known) > 10
    found = {
        re.sub(r"^trials/[^/]+/", "trials/ID/", str(path.relative_to(run)))
        for path in run.rglob("*")
        if path.is_file()
    }
    assert found <= set(known)
    optional = {
        "trials/ID/audit.log",
        "trials/ID/history.log",
        "trials/ID/engine.log",
        "trials/ID/faults.ndjson",
        "trials/ID/roles.ndjson",
        "trials/ID/probe-N/",
        "trials/ID.void-N",
        "trials/ID.partial-N",
    }
    optional |= {"redacted/", "aliases.json"}  # made by `dyno report --redact`
    optional |= {"brief.html", "report.pdf"}  # of `dyno report --brief` and `--pdf`
    optional |= {"sysbench.ndjson"}  # of `dyno sysbench --dyno-out`
    optional |= {
        name
        for name in known
        if "hooks" in name or name in ("applied.json", "left-on-servers.json", "annotations.json")
    }
    assert set(known) - optional <= found


def test_manifest_and_result_fit_their_schemas(run: Path) -> None:
    valid("manifest", json.loads((run / "manifest.json").read_text()))
    result = json.loads((run / "result.json").read_text())
    valid("result", result)
    assert [len(cell["levels"]) for cell in result["cells"]] == [1, 1]
    assert result["claims"][1]["verdict"] == "refuted"


def test_trials_fit_their_schemas(run: Path) -> None:
    trials = sorted((run / "trials").iterdir())
    assert len(trials) == 6
    for trial in trials:
        valid("engine-plan", json.loads((trial / "plan.json").read_text()))
        events = [json.loads(line) for line in (trial / "events.ndjson").read_text().splitlines()]
        for event in events:
            valid("engine-event", event)
        assert [event["event"] for event in (events[0], events[-1])] == ["start", "end"]


def test_every_metric_is_documented(run: Path) -> None:
    page = (ROOT / "docs/reference/metrics.md").read_text()
    for record in run.glob("trials/*/trial.json"):
        for name in json.loads(record.read_text())["metrics"]:
            assert f"`{name}`" in page or name.startswith(("status.", "sessions.")), name


def test_strict_says_no(run: Path) -> None:
    done = CliRunner().invoke(dyno, ["report", str(run), "--strict"], standalone_mode=False)
    assert done.exception is None and done.return_value == 1
