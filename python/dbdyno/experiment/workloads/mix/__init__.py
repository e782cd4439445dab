"""`mix`: the user's own statements and transactions, weighted, with typed parameters.

Source: `engine/workloads/src/mix/`. It loads nothing itself: see `setup:` of its target.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from dbdyno.experiment.targets import sqltext
from dbdyno.experiment.targets.read_only.statements import refusal
from dbdyno.experiment.values.scalars import Strict
from dbdyno.experiment.workloads.base import Check, Contradiction, Keys, NoFiles, Option, Options
from dbdyno.experiment.workloads.mix.contradictions import contradictions
from dbdyno.experiment.workloads.mix.model import CLASSES_MAX, MixOptions
from dbdyno.experiment.workloads.mix.walk import (
    class_of,
    classes_of,
    reads,
    statements_of,
    terms,
)
from dbdyno.kinds.kind import SQL

PREPARED = ("select", "insert", "update", "delete", "replace", "with", "values")


class Mix(NoFiles):
    """See the module."""

    name = "mix"
    needs = (SQL,)
    model: type[Strict] = MixOptions
    options: tuple[Option, ...] = ()
    presets: Mapping[str, Mapping[str, Any]] = MappingProxyType({})

    def effective(self, options: Options) -> dict[str, Any]:
        return {key: options.get(key, {}) for key in ("params", "statements", "transactions")}

    def meaning(self, options: Options) -> dict[str, Any]:
        """What has no weight is never sent, and a parameter that only it names never drawn."""
        full = self.effective(options)
        for part in ("statements", "transactions"):
            full[part] = {k: v for k, v in full[part].items() if v.get("weight", 1.0) > 0}
        used = {name for _, each in statements_of(full) for name in sqltext.parameters(each["sql"])}
        used |= {term for name in used for term in terms(full["params"].get(name, {}))}
        full["params"] = {k: v for k, v in full["params"].items() if k in used}
        return full

    def data_options(self, options: Options) -> None:
        return None

    def changes_data(self, options: Options) -> bool:
        return any(not reads(each) for _, each in statements_of(self.meaning(options)))

    def escapes_guard(self, options: Options, kind: str) -> str:
        for keys, each in statements_of(self.meaning(options)):
            why = refusal(each["sql"], kind)
            if why:
                return f"{'.'.join(keys)}: {why}"
        return ""

    def data_bytes(self, data: Options) -> int:
        return 0

    def contradictions(self, options: Options) -> Iterator[Contradiction]:
        yield from contradictions(self.effective(options))

    def small(self, options: Options, rows_max: int, tables_max: int) -> dict[str, Any]:
        """The same: how large its tables are is not its own business."""
        return dict(options)

    def sent(self, options: Options) -> dict[str, Any]:
        return self.effective(options)

    def checks(self, options: Options) -> tuple[Check, ...]:
        return ()

    def remarks(self, options: Options) -> tuple[str, ...]:
        count = len(classes_of(self.meaning(options)))
        if count <= CLASSES_MAX:
            return ()
        return (
            f"The workload has {count} classes of statements, and a trial keeps the latencies of"
            f" {CLASSES_MAX}, begin and commit counted: the last ones in the file are `other`"
            " together.",
        )


WORKLOAD = Mix()


def columns(options: Options) -> dict[str, Mapping[str, Any]]:
    """Parameters whose values are queried, by name."""
    params: Mapping[str, Any] = options.get("params", {})
    return {name: each for name, each in params.items() if "column" in each}


def statements(options: Options) -> Iterator[tuple[str, str]]:
    """Every statement that is ever sent: its place, and its text."""
    for keys, _, each in sent(options):
        yield ".".join(keys), each["sql"]


def classes(options: Options) -> dict[str, bool]:
    """Classes of statements that are ever sent, with whether all statements of each only read."""
    found: dict[str, bool] = {}
    for _, name, each in sent(options):
        found[name] = found.get(name, True) and reads(each)
    return found


def sent(options: Options) -> Iterator[tuple[Keys, str, Mapping[str, Any]]]:
    """Every statement that is ever sent: the keys that lead to it (positions of steps as `0`, `1`),
    its class, and what is written of it."""
    for keys, each in statements_of(WORKLOAD.meaning(options)):
        yield keys, class_of(keys, each), each


def prepared(options: Options) -> dict[str, str]:
    """Statements that are ever sent and may be prepared to see whether a server takes them, which
    runs nothing: by their text, the first place of each."""
    found: dict[str, str] = {}
    for place, sql in statements(options):
        if sqltext.keyword(sql) in PREPARED:
            found.setdefault(sql, place)
    return found
