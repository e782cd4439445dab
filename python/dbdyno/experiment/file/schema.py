"""The JSON Schema of an experiment, for editors; committed as `schemas/experiment.schema.json`.

It knows shapes and names. What depends on other parts of the file (claims, factors) only `load`
can check.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from dbdyno.experiment.file import synonyms
from dbdyno.experiment.model import (
    WORD_PATTERN,
    ClaimModel,
    GroupModel,
    HeadModel,
    SetupModel,
    Strict,
)
from dbdyno.experiment.targets.hooks import (
    HookModel,
    HooksModel,
    LevelHooksModel,
    MomentModel,
    WaitModel,
)
from dbdyno.experiment.types import Scalar

SYNONYM = "x-synonym-of"  # keyword of a key that is a word for another one


class SetForm(Strict):
    """One list of values for one or several paths."""

    set: str | list[str] | None = Field(None, description="path or paths; default: the name")
    levels: list[Scalar] = Field(min_length=2)


def _as_written(model: type[Strict], command: type[Strict], extra: str) -> type[BaseModel]:
    """A model of commands as a file may give them: text, a mapping, a list of either."""
    fields: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        one: Any = MomentModel if name == "during_trial" else str | command
        fields[name] = (one | list[one], Field([], description=field.description))
    config = ConfigDict(extra=extra)  # type: ignore[typeddict-item]
    return create_model(model.__name__, __config__=config, __doc__=model.__doc__, **fields)


Hooks = _as_written(HooksModel, HookModel, "forbid")
Level = _as_written(LevelHooksModel, WaitModel, "allow")  # its other keys are paths


class Experiment(HeadModel, SetupModel):
    """An experiment of dbdyno."""

    groups: dict[Annotated[str, Field(pattern=WORD_PATTERN)], GroupModel] | None = Field(  # type: ignore[valid-type,assignment]
        None, description="workloads by name; `workload` for a single one"
    )
    workload: GroupModel | None = Field(None, description="single group, instead of `groups`")  # type: ignore[valid-type]
    claims: list[str | ClaimModel] = Field(  # type: ignore[assignment]
        [], description="claims that the experiment tests"
    )
    hooks: Hooks | None = None  # type: ignore[valid-type,assignment]
    factors: dict[str, list[Scalar] | SetForm | dict[str, Level | None]] = Field(  # type: ignore[valid-type]
        {}, description="factors: levels as patches, or values of a path"
    )


@cache
def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of an experiment file. It is made once: no caller changes it."""
    schema = Experiment.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "dbdyno experiment"
    _take_synonyms(schema["properties"], synonyms.OF_FILE)
    for model in schema["$defs"].values():
        if model.get("title", "").endswith("Group"):
            _take_synonyms(model["properties"], synonyms.OF_GROUP)
    schema["required"].remove("experiment")
    words = [word for word, key in synonyms.OF_FILE.items() if key == "experiment"]
    schema["allOf"] = [_one_of("experiment", *words), _one_of("workload", "groups")]
    return schema


def _take_synonyms(properties: dict[str, Any], words: Mapping[str, str]) -> None:
    """Adds the words of other tools, so that an editor does not mark them as mistakes."""
    for word, key in words.items():
        described = {SYNONYM: key, "description": f"the same as `{key}`, in another tool's word"}
        kept = {name: each for name, each in properties[key].items() if name != "default"}
        properties[word] = kept | {"title": word.capitalize()} | described


def _one_of(*keys: str) -> dict[str, Any]:
    return {"oneOf": [{"required": [key]} for key in keys]}
