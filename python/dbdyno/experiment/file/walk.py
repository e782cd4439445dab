"""Walks the types of an experiment file: which keys a place may have, and what lies below.

A place is a list of types, since a value may have one of several shapes. Models are walked by the
keys of the file (an alias where a key is no name in Python).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, Tag

from dbdyno.experiment.file.document import Node
from dbdyno.experiment.values.unions import Short, is_branch

Types = list[Any]


def down(types: Iterable[Any], loc: Iterable[str | int]) -> Types:
    """The types at the end of `loc`, which may hold tags of branches; empty if there is none."""
    found = list(types)
    for part in loc:
        if is_branch(part):
            found = [inner for each in found for tag, inner in _branches(each) if tag in ("", part)]
        else:
            found = [inner for each in _flat(found) for inner in _child(each, part)]
    return _flat(found)


def keys(types: Iterable[Any]) -> list[str]:
    """The keys that a mapping may have there: none if any word is one, or if it is no mapping."""
    named: dict[str, None] = {}
    for each in _flat(types):
        if _is_model(each):
            named |= dict.fromkeys(_fields(each))
    return list(named)


def is_open(types: Iterable[Any]) -> bool:
    """Whether any word may be a key there."""
    return any(get_origin(each) is dict for each in _flat(types))


def holds_scalars(types: Iterable[Any]) -> bool:
    """Whether it is an open mapping with nothing below its values: a key's own name may then hold
    dots, as settings of servers do."""
    inner = [get_args(each)[1] for each in _flat(types) if get_origin(each) is dict]
    return bool(inner) and not any(keys([each]) or is_open([each]) for each in inner)


def spelt_out(node: Node, types: Iterable[Any]) -> Node:
    """The node with every text that abbreviates a mapping written as that mapping, so that patches
    can be laid over it. Elements of lists, which no path reaches, stay as they are."""
    types = list(types)
    key = next((note.key for each in types for note in _shorts(each)), None)
    if key is not None and isinstance(node.value, str):
        return replace(node, value={key: replace(node, key=None)}, text="", quoted=False)
    if not node.mapping:
        return node
    inner = {
        name: spelt_out(child, [found for each in _flat(types) for found in _child(each, name)])
        for name, child in node.mapping.items()
    }
    return replace(node, value=inner)


def _shorts(annotation: Any) -> list[Short]:
    notes = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    return [note for note in notes if isinstance(note, Short) and note.kind is str]


def _flat(types: Iterable[Any]) -> Types:
    return [inner for each in types for _, inner in _branches(each)]


def _branches(annotation: Any, tag: str = "") -> Iterator[tuple[str, Any]]:
    """What an annotation is once wrappers are taken off, each with the tag of its branch."""
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *notes = get_args(annotation)
        tags = [note.tag for note in notes if isinstance(note, Tag)]
        yield from _branches(inner, tags[0] if tags else tag)
    elif origin in (Union, UnionType):
        for each in get_args(annotation):
            if each is not type(None):
                yield from _branches(each, tag)
    else:
        yield tag, annotation


def _child(kind: Any, part: str | int) -> Sequence[Any]:
    if _is_model(kind):
        fields = _fields(kind)
        return [_whole(fields[str(part)])] if part in fields else []
    origin = get_origin(kind)
    if origin in (dict, Mapping):
        return [get_args(kind)[1]]
    return [get_args(kind)[0]] if origin is list else []


def _whole(field: Any) -> Any:
    """A field's annotation with what pydantic has taken off it."""
    return Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _fields(model: type[BaseModel]) -> dict[str, Any]:
    return {field.alias or name: field for name, field in model.model_fields.items()}
