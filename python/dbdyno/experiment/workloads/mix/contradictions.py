"""What contradicts itself, or the engine's limits, in a `mix`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dbdyno.experiment.file.names import did_you_mean
from dbdyno.experiment.targets import sqltext
from dbdyno.experiment.workloads.base import Contradiction, Keys, Options
from dbdyno.experiment.workloads.mix.model import (
    CHOICES_MAX,
    ENGINES_OWN,
    REPEAT_MAX,
    STATEMENTS_MAX,
)
from dbdyno.experiment.workloads.mix.walk import classes_of, statements_of, steps_of, terms

FRAME = ("begin", "start", "commit", "rollback", "end", "savepoint", "release", "xa")


def contradictions(full: Options) -> Iterator[Contradiction]:
    """All of them; `full` has all three parts."""
    yield from _nothing_sent(full)
    yield from _parameters(full)
    yield from _sums(full["params"])
    yield from _lists(full)
    yield from _choices(full)
    yield from _frames(full)
    yield from _classes(full)


def _classes(full: Options) -> Iterator[Contradiction]:
    """Too many classes of statements, or two of one name."""
    classes = classes_of(full)
    if len(classes) > STATEMENTS_MAX:
        yield Contradiction(
            classes[STATEMENTS_MAX][0],
            f"it has {len(classes)} different statements, and {STATEMENTS_MAX} is the most",
            "give steps that belong together the same `name`, or use several groups",
        )
    names: dict[str, Keys] = {}
    for keys, name in classes:
        other = names.setdefault(name, keys)
        if other != keys and other[:2] != keys[:2]:
            yield Contradiction(
                keys,
                f"two statements are called `{name}`",
                "rename one of them",
            )


def _nothing_sent(full: Options) -> Iterator[Contradiction]:
    parts = [*full["statements"].values(), *full["transactions"].values()]
    if not parts:
        yield Contradiction(
            (),
            "it has neither `statements` nor `transactions`, so nothing would be sent",
            'write `statements: {find: "SELECT ..."}`',
        )
    elif not any(part.get("weight", 1.0) > 0 for part in parts):
        first = "statements" if full["statements"] else "transactions"
        yield Contradiction(
            (first,), "all weights are 0, so nothing would be sent", "raise one of them"
        )


def _choices(full: Options) -> Iterator[Contradiction]:
    shared: dict[tuple[str, str], list[float]] = {}
    for keys, step in steps_of(full):
        if "one_of" not in step:
            continue
        branches = step["one_of"]
        weights = [branch.get("weight", 1.0) for branch in branches]
        named = zip(branches, weights, strict=True)
        if not any(branch.get("sql") is not None and weight > 0 for branch, weight in named):
            yield Contradiction(
                (*keys, "one_of"),
                "it has no statement with a weight above 0, so nothing would be sent",
                "give one of its branches `sql`, and raise its weight",
            )
        most = max((b.get("repeat") or 1 for b in branches), default=1) * (step.get("repeat") or 1)
        if most > REPEAT_MAX:
            yield Contradiction(
                keys,
                f"it would send {most:,} statements in a row, and {REPEAT_MAX:,} is the most",
                "lower a `repeat`",
            )
        choice = step.get("choice")
        if choice is None:
            continue
        if shared.setdefault((keys[1], choice), weights) != weights:
            yield Contradiction(
                (*keys, "choice"),
                f"steps that share the choice `{choice}` have other weights",
                "give all of them as many branches, with the same weights",
            )
        if sum(name == keys[1] for name, _ in shared) > CHOICES_MAX:
            yield Contradiction(
                (*keys, "choice"),
                f"the transaction has more than {CHOICES_MAX} choices that steps share",
                "let some steps choose for themselves",
            )


def _frames(full: Options) -> Iterator[Contradiction]:
    """Statements that would begin or end a transaction, and names that the engine uses."""
    for keys, each in statements_of(full):
        word = sqltext.keyword(each["sql"])
        if word in FRAME:
            yield Contradiction(
                keys,
                f"`{word}` cannot be a statement",
                "begin and commit are sent before and after the `steps` of a transaction",
            )
    for keys, name in classes_of(full):
        if name in ENGINES_OWN:
            yield Contradiction(keys, f"`{name}` is reserved by the engine", "choose another name")


def _parameters(full: Options) -> Iterator[Contradiction]:
    declared = full["params"]
    used: set[str] = set()
    for keys, each in statements_of(full):
        for name in sqltext.parameters(each["sql"]):
            used.add(name)
            if name not in declared:
                known = did_you_mean(name, declared) if declared else "there are none yet"
                yield Contradiction(
                    keys,
                    f"the statement names a parameter `:{name}`, which is not declared",
                    f"declare it under `params:`; {known}",
                )
        for name in sqltext.out_of_reach(each["sql"]):
            yield Contradiction(
                keys,
                f"`:{name}` is in a comment that servers read, where no parameter can be",
                "write a value in its place: hints and `/*! */` are sent unchanged",
            )
    used |= {term for name in used for term in terms(declared.get(name, {}))}
    for name in declared:
        if name not in used:
            yield Contradiction(
                ("params", name),
                f"parameter `{name}` is declared, but no statement names `:{name}`",
                "remove it, or use it",
            )


def _sums(declared: Mapping[str, Any]) -> Iterator[Contradiction]:
    for name, each in declared.items():
        for number, term in enumerate(terms(each)):
            keys = ("params", name, "sum", str(number))
            if term not in declared:
                known = did_you_mean(term, declared)
                yield Contradiction(
                    keys, f"there is no parameter `{term}`", f"declare it next to `{name}`; {known}"
                )
            elif not _adds_up(declared[term], is_first=number == 0):
                what = "numbers, days or moments" if number == 0 else "numbers"
                yield Contradiction(
                    keys,
                    f"`{term}` does not make {what}",
                    "a sum is of a number, day or moment, and of numbers: units, days, seconds",
                )


def _adds_up(param: Mapping[str, Any], *, is_first: bool) -> bool:
    if "sum" in param or "text" in param:
        return False
    if "dates" in param or "times" in param or param.get("as_text"):
        return is_first
    listed = param.get("values", [param["const"]] if "const" in param else [])
    return all(
        value is None or (isinstance(value, int | float) and not isinstance(value, bool))
        for value in listed
    )


def _lists(full: Options) -> Iterator[Contradiction]:
    for keys, each in statements_of(full):
        for number, one in enumerate(each.get("lists") or ()):
            at = (*keys, "lists", str(number), "of")
            if sqltext.occurrences(each["sql"], one["of"]) != 1:
                yield Contradiction(
                    at,
                    f"`{one['of']}` does not occur exactly once in the statement",
                    "give the list's element as `sql` has it: `:id`, `(:a, :b)`",
                )
            elif not sqltext.parameters(one["of"]):
                yield Contradiction(
                    at, "there is no parameter in it", "name its values: `:id`, `(:a, :b)`"
                )
