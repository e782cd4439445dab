"""Messages between the two programs, and their files, follow `schemas/`.

The Rust side parses the same examples in `engine/core/tests/schemas.rs` and holds the schemas of
plan and events to its types; `tests/unit/test_experiment_schema.py` does so for experiments.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from jsonschema import Draft202012Validator

from dbdyno.digest import document as documents
from dbdyno.digest import parallelism
from dbdyno.execute.engine import job as engine
from dbdyno.execute.engine import request
from dbdyno.experiment import load
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.plan.types import Plan
from dbdyno.store.run import Run
from dbdyno.systems import null
from dbdyno.systems.base import TargetPlan
from fixtures import digests
from fixtures import parallelism as parallelism_fixture

ROOT = Path(__file__).parents[2]
SCHEMAS = sorted((ROOT / "schemas").glob("*.schema.json"))
EXAMPLES = sorted((ROOT / "schemas" / "examples").glob("*.json"))
OF_EXAMPLE = {"plan": "engine-plan", "event": "engine-event"}
MACHINE = Machine(cores=2, memory_bytes=16 << 30, kernel="", cpu_model="", cpus=(0, 1))

EXPERIMENT = """
experiment: nothing
targets:
  db: {kind: null, options: {delay_us: 200, error_every: 50}}
groups:
  readers: {kind: oltp, preset: read_only, sessions: 2, rows: 100}
  writers: {kind: oltp, preset: write_only, sessions: 2, rows: 100, rate: 100/s, deadline: 2s}
factors:
  readers.sessions: [1, 2]
blocks: 1
warmup: 200ms
duration: 300ms
interval: 100ms
claims: ["readers.tps[2] > readers.tps[1]"]
"""


@cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads((ROOT / f"schemas/{name}.schema.json").read_text()))


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    file = tmp_path / "experiment.yaml"
    file.write_text(EXPERIMENT)
    return make(load(file, []), MACHINE)


def drive(job: dict[str, Any]) -> list[dict[str, Any]]:
    """Events of a job of the engine."""
    done = subprocess.run(
        [engine.find(), "run"], input=json.dumps(job), capture_output=True, text=True, timeout=60
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def null_target(directory: Path, target: TargetPlan) -> dict[str, Any]:
    system = null.SYSTEM
    resolved = system.resolve(target)
    server = system.start(system.find(None), directory, resolved, cpus=())
    return server.engine_target(target, resolved, request.DATABASE)


def test_there_is_a_schema_of_each_kind() -> None:
    names = {path.name.removesuffix(".schema.json") for path in SCHEMAS}
    assert names == {
        *("engine-plan", "engine-event", "experiment", "manifest", "result"),
        *("compare", "history", "planning", "digest", "parallelism", "model", "pool"),
        *("annotations", "check", "facts", "tablespace"),
    }


# That of experiments is by far the largest.
LONG = {"experiment.schema.json": pytest.mark.long}


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.name, marks=LONG.get(path.name, ())) for path in SCHEMAS],
)
def test_schemas_are_schemas(path: Path) -> None:
    schema = json.loads(path.read_text())
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"]
    assert list(references(schema)) == [r for r in references(schema) if resolves(schema, r)]


def references(node: Any) -> Iterator[str]:
    """Every `$ref` of a schema."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref" and isinstance(value, str):
                yield value
            else:
                yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def resolves(schema: dict[str, Any], reference: str) -> bool:
    """Whether a reference leads to a part of the same schema."""
    part: Any = schema
    for step in reference.removeprefix("#/").split("/"):
        part = part.get(step) if isinstance(part, dict) else None
    return reference.startswith("#/") and part is not None


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_valid(path: Path) -> None:
    name = OF_EXAMPLE[path.stem.partition("-")[0]]
    validator(name).validate(json.loads(path.read_text()))


def test_the_rust_tests_parse_the_examples() -> None:
    text = (ROOT / "engine/core/tests/schemas.rs").read_text()
    for prefix in OF_EXAMPLE:
        assert f'examples("{prefix}-")' in text


def test_schemas_refuse_what_is_wrong() -> None:
    for path in EXAMPLES:
        value = json.loads(path.read_text())
        name = OF_EXAMPLE[path.stem.partition("-")[0]]
        key = "event" if name == "engine-event" else "targets"
        del value[key]
        with pytest.raises(jsonschema.ValidationError):
            validator(name).validate(value)


def test_a_trial_speaks_the_schemas(plan: Plan, tmp_path: Path) -> None:
    seen: set[str] = set()
    for number, trial in enumerate(plan.trials):
        directory = tmp_path / f"t{number}"
        directory.mkdir()
        cell = plan.cells[trial.cell]
        targets = {target.name: null_target(tmp_path, target) for target in cell.targets}
        job = request.run_request(
            cell, trial, targets, lambda group: (group.target,), directory, (), plan.drain_s
        )
        validator("engine-plan").validate(job)
        events = drive(job)
        for event in events:
            validator("engine-event").validate(event)
        assert events[-1]["event"] == "end"
        seen |= {event["event"] for event in events}
    assert {"start", "statement", "ready", "interval", "error", "end"} <= seen


def test_loading_and_failing_speak_the_schemas(tmp_path: Path) -> None:
    target = {"driver": "sqlite", "address": {"file": str(tmp_path / "x.db")}, "options": {}}
    job = request.load_request(
        "db", target, [("oltp", {"tables": 2, "rows": 3000})], 1, tmp_path, 2
    )
    validator("engine-plan").validate(job)
    events = drive(job)
    assert events[-1]["event"] == "loaded", events[-1]
    failed = drive({**job, "groups": [{**job["groups"][0], "workload": "none"}]})
    assert failed[-1]["event"] == "failed"
    for event in (*events, *failed):
        validator("engine-event").validate(event)


SLOW_LOG = """\
# User@Host: app[app] @ web1 [10.0.0.1]  Id: 7
# Query_time: 0.250000  Lock_time: 0.000100 Rows_sent: 1  Rows_examined: 900
use shop;
SET timestamp=1700000000;
update stock set q = q - 1 where item = 'x';
# User@Host: app[app] @ web1 [10.0.0.1]  Id: 7
# Query_time: 0.004000  Lock_time: 0.000100 Rows_sent: 1  Rows_examined: 1
SET timestamp=1700000003;
select q from stock where item = 'x';
"""


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (("--samples=raw", "--limit=1"), "digest"),
        (("--group-by=user",), "digest"),
        (("--merge-names",), "digest"),
        (("--db=nowhere",), "digest"),
        (("--parallelism",), "parallelism"),
    ],
)
def test_documents_of_digests_speak_the_schemas(
    options: tuple[str, ...], name: str, tmp_path: Path
) -> None:
    log = tmp_path / "slow.log"
    log.write_text(SLOW_LOG)
    done = subprocess.run(
        [engine.find(), "digest", *options, log], capture_output=True, text=True, timeout=60
    )
    *progress, last = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(event["event"] == "progress" for event in progress)
    made = last["document" if name == "digest" else name]
    validator(name).validate(made)
    typed = documents.parse(made) if name == "digest" else parallelism.parse(made)
    assert typed.inputs[0].events == 2


def test_documents_of_samples_speak_the_schema_too() -> None:
    sampled = digests.shop()
    sampled["notes"] = ["the server was started anew"]
    for one in (sampled["overall"], *sampled["classes"]):
        one["query_time"] |= {"min": None, "max": None}
    for made in (sampled, digests.hostile(), digests.empty(), digests.untimed()):
        validator("digest").validate(made)
    for raw in (parallelism_fixture.published(), parallelism_fixture.binary_log()):
        validator("parallelism").validate(raw)


def test_a_new_runs_manifest_is_valid(plan: Plan, tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", plan, {"kernel": "x"}):
        manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
        validator("manifest").validate(manifest)
        assert next(iter(manifest)) == "schema_version"
