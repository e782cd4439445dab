"""The JSON Schema for editors is the committed one, and agrees with what loads."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from ruamel.yaml import YAML

from dbdyno.experiment import json_schema, load, types
from dbdyno.systems import base
from fixtures.schemas import validator

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "schemas" / "experiment.schema.json"
FILES = [
    *sorted((Path(__file__).parent / "experiments").glob("*.yaml")),
    *sorted((ROOT / "studies").glob("*.yaml")),
]


@pytest.fixture(scope="module")
def schema() -> jsonschema.protocols.Validator:
    return validator("experiment")


def test_the_committed_schema_is_current() -> None:
    committed = json.loads(SCHEMA.read_text())
    assert committed == json_schema(), f"update it with: python {__file__}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_experiments_fit_the_schema(path: Path, schema: jsonschema.protocols.Validator) -> None:
    data = YAML(typ="safe", pure=True).load(path)
    schema.validate(data)


def test_other_tools_words_fit_the_schema_as_they_load(
    schema: jsonschema.protocols.Validator,
) -> None:
    text = (
        "name: other-words\ntargets: {db: {kind: sqlite}}\n"
        "workload: {kind: oltp, threads: 4}\n"
        "claims: [throughput > 10, latency_p95 < 5s]\n"
    )
    for written in (text, text.replace("threads", "clients")):
        schema.validate(YAML(typ="safe", pure=True).load(written))
        assert load(written).cells[0].groups[0].sessions == 4
    for twice in ("experiment: again\n", "workload: {kind: oltp, threads: 0}\n"):
        changed = YAML(typ="safe", pure=True).load(text) | YAML(typ="safe", pure=True).load(twice)
        with pytest.raises(jsonschema.ValidationError):
            schema.validate(changed)


@pytest.mark.parametrize(
    "change",
    [{"blokcs": 3}, {"blocks": 0}, {"blocks": "many"}, {"duration": "30"}, {"targets": {}}],
)
def test_the_schema_refuses_what_loading_refuses(
    change: dict[str, object], schema: jsonschema.protocols.Validator
) -> None:
    data = YAML(typ="safe", pure=True).load(FILES[0])
    with pytest.raises(jsonschema.ValidationError):
        schema.validate({**data, **change})


def test_words_agree_with_the_systems() -> None:
    # `experiment` may not import `systems`, so the words are in both.
    assert types.DURABILITY == base.DURABILITY
    assert types.ISOLATION == base.ISOLATION


if __name__ == "__main__":
    SCHEMA.write_text(json.dumps(json_schema(), indent=2) + "\n")
