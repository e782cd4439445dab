"""Values that may be written in several shapes, in models and in the schema for editors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from operator import or_
from typing import Annotated, Any

from pydantic import BaseModel, Discriminator, GetCoreSchemaHandler, GetJsonSchemaHandler, Tag
from pydantic_core import CoreSchema, core_schema

BRANCH = "~"  # begins the tag of a union's branch; pydantic puts tags into the places of errors


class Short:
    """Annotation: a text (or a list of them) abbreviates the mapping in which `key` has it."""

    def __init__(self, key: str, kind: type[str] | type[list[str]] = str) -> None:
        self.key = key
        self.kind = kind

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        def spelt_out(value: object) -> object:
            return {self.key: value} if isinstance(value, self.kind) else value

        return core_schema.no_info_before_validator_function(spelt_out, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        text = {"type": "string"}
        short = text if self.kind is str else {"type": "array", "items": text}
        return {"anyOf": [short, handler(schema)]}


class _WithoutFallback:
    """Annotation: leaves the branch that only explains what is missing out of the schema."""

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        whole = dict(handler(schema))
        return {**whole, "oneOf": whole["oneOf"][:-1]}


def one_of(
    branches: Iterable[tuple[str, type[BaseModel]]],
    choose: Callable[[Any], str | None],
    *,
    explains: bool = True,
) -> Any:
    """The type of a value that one of several models describes. `choose` names the branch for a
    value; None takes the last, whose errors say what is missing. `explains`: the last does nothing
    else, so that it is no part of the schema."""
    named = list(branches)
    tagged: list[Any] = [Annotated[model, Tag(BRANCH + name)] for name, model in named]

    def tag(value: Any) -> str:
        for name, model in named:
            if type(value) is model:  # asked again when it is written out
                return BRANCH + name
        chosen = choose(value) if isinstance(value, dict) else None
        return BRANCH + (named[-1][0] if chosen is None else chosen)

    union: Any = Annotated[reduce(or_, tagged), Discriminator(tag)]
    return Annotated[union, _WithoutFallback()] if explains else union


def is_branch(part: str | int) -> bool:
    """Whether a step of an error's place is a tag."""
    return isinstance(part, str) and part.startswith(BRANCH)
