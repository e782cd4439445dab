"""Turns what pydantic found wrong into the words of the file, at the place in the file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from dbdyno import kinds
from dbdyno.errors import DynoError, DynoErrors
from dbdyno.experiment.file import walk
from dbdyno.experiment.file.document import Node, shown
from dbdyno.experiment.file.names import did_you_mean, listed
from dbdyno.experiment.values import unions

_TYPES = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "list_type": "a list",
}
_LIMITS = {
    "greater_than_equal": ("ge", "at least"),
    "less_than_equal": ("le", "at most"),
    "greater_than": ("gt", "above"),
    "less_than": ("lt", "below"),
}
_PATTERNS = {
    "experiment": "at most 100 small letters, digits and `-`, such as query-cache",
    "tls": "verify, require, prefer, off or ca:FILE",
}


def translate(
    error: ValidationError, root: Node, model: type[BaseModel], prefix: str = ""
) -> DynoError:
    """What is wrong in `root`, validated by `model`, as a user reads it: all of it, a mistake a
    place."""
    found: dict[tuple[str | int, ...], DynoError] = {}
    branches: dict[tuple[str | int, ...], str | int] = {}
    for one in error.errors(include_url=False):
        if _is_another_branch(one["loc"], branches):
            continue
        loc = tuple(part for part in one["loc"] if part != "[key]" and not _is_branch(part))
        found.setdefault(loc, _one(one, loc, root, model, prefix))
    return DynoErrors(list(found.values())) if len(found) > 1 else next(iter(found.values()))


def _one(
    first: Any, loc: tuple[str | int, ...], root: Node, model: type[BaseModel], prefix: str
) -> DynoError:
    node, depth = root.find(loc)
    path = _path(loc, prefix)
    kind = first["type"]
    if kind == "extra_forbidden":
        return DynoError(
            f"there is no key `{loc[-1]}` in {_owner(loc[:-1], prefix)}",
            where=node.place,
            fix=did_you_mean(str(loc[-1]), walk.keys(walk.down([model], first["loc"][:-1]))),
        )
    short = depth == len(loc) - 1 and node.is_scalar  # a text that abbreviates a mapping
    if kind == "missing" or (depth < len(loc) and not short):
        return DynoError(f"`{path}` is missing", where=node.place, fix=f"add `{loc[-1]}:` to it")
    if "[key]" in first["loc"]:
        return DynoError(
            f"`{str(loc[-1])[:64]}` cannot be a name",
            where=node.place,
            fix="a name is a letter or `_`, then letters, digits, `_` and `-`: at most 64",
        )
    what, fix = _wrong(kind, first.get("ctx", {}), node, str(loc[-1]) if loc else "")
    is_kind = (loc[:1], loc[-1:]) == (("targets",), ("kind",))
    if kind == "literal_error" and is_kind and node.text in kinds.ONLY_CHECKED:
        return _only_checked(kinds.ONLY_CHECKED[node.text], path, node, first["ctx"])
    where = node.place if node.value is None and not node.text else node.where
    return DynoError(f"`{path}` {what}" if path else what, where=where, fix=fix)


def _only_checked(kind: kinds.Kind, path: str, node: Node, context: dict[str, Any]) -> DynoError:
    """Of a target of a kind that `dyno check` alone reads."""
    return DynoError(
        f"`{path}` is {kind.title}, which is not tested here",
        where=node.where,
        cause=kind.untested,
        fix=f"use {listed(_words(context))}; `dyno check {kind.schemes[0]}://HOST` reads a server",
    )


def _words(context: dict[str, Any]) -> list[str]:
    """Those that a literal may be."""
    return re.findall(r"'([^']*)'", str(context["expected"]))


def _wrong(kind: str, context: dict[str, Any], node: Node, key: str) -> tuple[str, str]:
    value = shown(node)
    if kind in _TYPES:
        return f"must be {_TYPES[kind]}, not {value}", ""
    if kind in _LIMITS:
        name, words = _LIMITS[kind]
        return f"must be {words} {context[name]}, not {value}", ""
    if kind == "literal_error":
        words_known = _words(context)
        fix = did_you_mean(node.text, words_known) if node.is_scalar else listed(words_known)
        return f"cannot be {value}", fix
    if kind == "string_pattern_mismatch":
        return f"cannot be {value}", f"use {_PATTERNS.get(key, context['pattern'])}"
    if kind == "value_error":
        seen = f", not {value}" if node.is_scalar else ""
        return f"{context['error']}{seen}", ""
    if kind == "string_too_short":
        return "is empty", "write something there"
    if kind in ("too_short", "too_long") and isinstance(node.value, tuple):
        least, most = context.get("min_length"), context.get("max_length")
        return f"must have {f'at least {least}' if least else f'at most {most}'} entries", ""
    if kind == "too_short":
        return "must name at least one", "add an entry"
    return f"cannot be {value}", ""


def _is_another_branch(
    loc: tuple[str | int, ...], branches: dict[tuple[str | int, ...], str | int]
) -> bool:
    """Whether an error is of another type of a union than the first that was tried there: it says
    of the same value what else it is not."""
    tried = [(loc[:depth], part) for depth, part in enumerate(loc) if _is_branch(part)]
    return any(branches.setdefault(above, part) != part for above, part in tried)


def _is_branch(part: str | int) -> bool:
    """Pydantic puts the type it tried into the path of a union; the file has no such key."""
    return unions.is_branch(part) or part in ("str", "int", "float", "bool", "none")


def _path(loc: Sequence[str | int], prefix: str) -> str:
    parts = [str(part) for part in loc]
    return ".".join([prefix, *parts] if prefix else parts)


def _owner(loc: Sequence[str | int], prefix: str) -> str:
    path = _path(loc, prefix)
    return f"`{path}`" if path else "an experiment"
