"""Redacts a plan: each field by what it holds. A text in a field that is not listed here goes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from dbdyno.errors import DynoError
from dbdyno.plan.types import Plan
from dbdyno.share.redact import vocabulary
from dbdyno.share.redact.claims import claim
from dbdyno.share.redact.experiment import experiment, nested
from dbdyno.share.redact.texts import LEFT_OUT, Texts

T = TypeVar("T")
Rule = Callable[[Texts, str], str]


def _of_kind(kind: str) -> Rule:
    return lambda texts, text: texts.name(kind, text)


def _whole(kind: str) -> Rule:
    return lambda texts, text: texts.whole(kind, text)


def _keep(texts: Texts, text: str) -> str:
    return text


def _source(texts: Texts, text: str) -> str:
    """What a base was read from: a file, `the run DIR` or `the study NAME`. Notes name it, too, and
    a relative path is not known for one there. Studies are shipped: their names identify nobody."""
    if text.startswith("the study "):
        return text
    run = "the run " if text.startswith("the run ") else ""
    place = text.removeprefix(run)
    alias = texts.path(place)
    if place:
        texts.aliases.also(place, alias)
    return run + alias


NOTE = (
    "Redacted: `host-1` and the like stand for the same name everywhere; literals, comments,"
    " context and notes are omitted."
)

# Class and field -> what its texts are. `*` means any class.
RULES: Mapping[str, Rule] = {
    "Plan.name": Texts.label,
    "Plan.question": Texts.prose,
    "Plan.claims": claim,
    "Plan.untested": Texts.prose,
    "Plan.claim_words": lambda texts, text: "",
    "Plan.require": claim,
    "Plan.notes": Texts.prose,
    "Plan.spec_text": experiment,
    "About.author": _of_kind("author"),
    "About.customer": _of_kind("customer"),
    "About.context": lambda texts, text: LEFT_OUT if text else "",
    "About.notes": lambda texts, text: LEFT_OUT if text else "",
    "Factor.name": Texts.label,
    "Factor.levels": Texts.label,
    "Skipped.what": Texts.prose,
    "Skipped.why": Texts.prose,
    "Skipped.fix": Texts.prose,
    "Cell.levels": Texts.label,
    "Cell.hard": Texts.label,
    "Cell.data_key": _whole("value"),
    "Cell.audit": _keep,
    "State.data": _keep,
    "State.cache": _keep,
    "TrialPlan.id": _keep,
    "GroupPlan.name": Texts.label,
    "GroupPlan.workload": _keep,
    "GroupPlan.target": Texts.label,
    "GroupPlan.node": _keep,
    "GroupPlan.route": Texts.label,
    "Arrivals.process": _keep,
    "Find.conditions": claim,
    "Find.process": _keep,
    "Think.distribution": _keep,
    "Think.per": _keep,
    "Target.name": Texts.label,
    "Target.kind": _keep,
    "Target.durability": _keep,
    "Target.isolation": _keep,
    "Target.basedir": Texts.path,
    "Target.version": _keep,
    "Target.protocol": _keep,
    "Target.tls": Texts.prose,
    "Target.transport": _keep,
    "Target.session": Texts.sql,
    "Target.url": Texts.url,
    "Target.read_urls": Texts.url,
    "Target.existing": _of_kind("schema"),
    "Target.host": Texts.url,
    "Topology.kind": _keep,
    "Topology.sst": _keep,
    "Router.kind": _keep,
    "Router.pool_mode": _keep,
    "Volume.filesystem": _keep,
    "Volume.mount_options": _keep,
    "Volume.flushes": _keep,
    "Setup.template": Texts.path,
    "Setup.dump": Texts.path,
    "Setup.sql": Texts.path,
    "Setup.after": Texts.sql,
    "Setup.schema": _of_kind("schema"),
    "Hook.run": _whole("command"),
    "Hook.on": Texts.url,
    "MomentHook.run": _whole("command"),
    "MomentHook.on": Texts.url,
    "Fault.do": _keep,
    "Fault.nodes": Texts.label,
    "Fault.peers": Texts.label,
    "Fault.one_way": _keep,
    "Fault.target": Texts.label,
    "Fault.sql": Texts.sql,
    "Fault.more_sql": Texts.sql,
    "Fault.of": _keep,
    "Fault.tool": _keep,
    "Fault.table": _of_kind("table"),
    "Fault.record": _keep,
    "Fault.logs": _keep,
    "Fault.version": _keep,
    "Fault.basedir": Texts.path,
    "Fault.kind": _keep,
    "Prices.currency": _keep,
    "Prices.under": claim,
    "Imported.tools": Texts.prose,
    "Against.factor": Texts.label,
    "Against.base": Texts.label,
    "Against.new": Texts.label,
    "Against.source": _source,
    "Against.spec_text": experiment,
}
# Mappings whose keys are claims.
_OF_CLAIMS = frozenset({"Plan.untested", "Plan.claim_words"})
# Mappings whose keys are settings, which are the system's own names and say what a value is.
_SETTINGS = frozenset({"Target.config", "Router.config"})
# Nested values as in the experiment's file, each judged by its key.
_NESTED = frozenset({"GroupPlan.options", "Target.options", "Setup.tables"})


def plan(texts: Texts, original: Plan) -> Plan:
    """The plan with everything replaced that identifies its author. DynoError if that would make
    two of its names the same."""
    _learn(texts, original)
    made = _walk(texts, original, "")
    assert isinstance(made, Plan)
    _check(original, made)
    return replace(made, notes=(*made.notes, NOTE))


def _learn(texts: Texts, original: Plan) -> None:
    """The experiment's own names, and those of people, before any text that may hold them."""
    labels = {original.name, *(f.name for f in original.factors)}
    labels |= {level for f in original.factors for level in f.levels}
    for cell in original.cells:
        labels |= {target.name for target in cell.targets} | {group.name for group in cell.groups}
        texts.heads |= {target.name.casefold() for target in cell.targets}
        texts.heads |= {group.name.casefold() for group in cell.groups}
        for group in cell.groups:
            for key in ("statements", "transactions"):
                labels |= set(group.options.get(key, ()))
    texts.words(labels)
    for kind in ("customer", "author"):
        name = getattr(original.about, kind)
        if name:
            alias = texts.name(kind, name)
            for word in re.findall(r"[^\W\d_]{3,}", name):
                if word.casefold() not in vocabulary.OWN:
                    texts.aliases.also(word, alias)
    for cell in original.cells:
        for target in cell.targets:  # urls first: labels may hold their hosts
            _walk(texts, target, "")


def _walk(texts: Texts, value: Any, place: str) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        name = type(value).__name__
        changed = {
            field.name: _walk(texts, getattr(value, field.name), f"{name}.{field.name}")
            for field in fields(value)
        }
        return replace(value, **changed)
    if place in _NESTED:
        return nested(texts, value, place.rpartition(".")[2])
    if isinstance(value, Mapping):
        if place in _SETTINGS:
            return {
                key: texts.setting(key, item) if isinstance(item, str) else item
                for key, item in value.items()
            }
        rule = claim if place in _OF_CLAIMS else Texts.label
        return keyed({rule(texts, key): _walk(texts, v, place) for key, v in value.items()}, value)
    if isinstance(value, list | tuple):
        return tuple(_walk(texts, item, place) for item in value)
    if isinstance(value, str):
        return RULES.get(place, _whole("text"))(texts, value)
    return value


def keyed(made: dict[str, T], original: Mapping[str, Any]) -> dict[str, T]:
    """`made`, if no two keys of `original` became one."""
    if len(made) != len(original):
        raise collision(original)
    return made


def collision(names: Any) -> DynoError:
    """Two names of the experiment would read the same."""
    return DynoError(
        f"redaction would make two of these names the same: {', '.join(map(str, names))}",
        cause="they differ only in redacted text, or in upper and lower case",
        fix="rename one of them in the experiment's file and run it again,"
        " or give the report without --redact",
    )


def _check(original: Plan, made: Plan) -> None:
    for before, after in zip(original.factors, made.factors, strict=True):
        if len(set(after.levels)) != len(before.levels):
            raise collision(before.levels)
    names = [factor.name for factor in made.factors]
    if len(set(names)) != len(names):
        raise collision([factor.name for factor in original.factors])
    for cell, before_cell in zip(made.cells, original.cells, strict=True):
        for kind in ("groups", "targets"):
            after_names = {each.name for each in getattr(cell, kind)}
            before_names = [each.name for each in getattr(before_cell, kind)]
            if len(after_names) != len(before_names):
                raise collision(before_names)
