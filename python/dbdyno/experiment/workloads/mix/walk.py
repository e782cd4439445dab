"""The statements of a `mix` as written, each with the keys that lead to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dbdyno.experiment.targets import sqltext
from dbdyno.experiment.workloads.base import Keys, Options


def statements_of(full: Options) -> Iterator[tuple[Keys, Mapping[str, Any]]]:
    """Every statement, with the keys that lead to it (positions of steps as `0`, `1`)."""
    for name, statement in full["statements"].items():
        yield ("statements", name), statement
    for keys, step in steps_of(full):
        if "one_of" not in step:
            yield keys, step
        for number, branch in enumerate(step.get("one_of", ())):
            if branch.get("sql") is not None:
                yield (*keys, "one_of", str(number)), branch


def steps_of(full: Options) -> Iterator[tuple[Keys, Mapping[str, Any]]]:
    for name, transaction in full["transactions"].items():
        for number, step in enumerate(transaction["steps"]):
            yield ("transactions", name, "steps", str(number)), step


def classes_of(full: Options) -> list[tuple[Keys, str]]:
    """Every class of statement that the engine keeps a histogram of, once, with its place."""
    found: dict[tuple[Keys, str], Keys] = {}
    for keys, each in statements_of(full):
        found.setdefault((keys[:2], class_of(keys, each)), keys)
    return [(keys, name) for (_, name), keys in found.items()]


def class_of(keys: Keys, each: Mapping[str, Any]) -> str:
    """The name of the class of a statement."""
    if keys[0] == "statements":
        return keys[1]
    positions = (str(int(key) + 1) for key in keys[3::2])
    return each.get("name") or "_".join((keys[1], *positions))


def reads(each: Mapping[str, Any]) -> bool:
    declared = each.get("reads")
    return sqltext.reads(each["sql"]) if declared is None else bool(declared)


def terms(param: Mapping[str, Any]) -> tuple[str, ...]:
    """The parameters that a sum is made of."""
    return tuple(param.get("sum", ()))
