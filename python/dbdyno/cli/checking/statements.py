"""The statement classes of logs that are checked, as `dyno-engine digest` reads them.

Logs of one language and form are one server's, rotated: they have one digest, as `dyno digest` of
all of them, and their findings are of one subject.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dbdyno.digest import reading
from dbdyno.errors import DynoError
from dbdyno.facts import keyleaks, targets
from dbdyno.facts.fact import Facts, Table
from dbdyno.facts.files import digest, logs
from dbdyno.facts.gathered import Gathered
from dbdyno.facts.targets import Asked

PACKS = frozenset({"distribution", "indexes", "statements"})  # whose rules need classes
EVENTS = "events"
NAMED = 3  # of several logs, as many are named

Form = tuple[str, str]  # whose log of statements it is, and its form
Read = Sequence[tuple[str, Sequence[Facts]]]  # targets, with their facts


def with_classes(read: Read, asked: Asked) -> list[tuple[str, list[Facts]]]:
    """The facts of all targets, and of logs of statements their classes with what their lines told,
    at the first of those that belong together. Where they cannot be digested, the reason."""
    together: dict[Form, list[Facts]] = {}
    for target, several in read:
        for one in several:
            if (form := _form(one, target, asked)) is not None:
                known = together.setdefault(form, [])
                known += [] if one.subject in [each.subject for each in known] else [one]
    made: list[tuple[str, list[Facts]]] = []
    for target, several in read:
        facts: list[Facts] = []
        for one in several:
            form = _form(one, target, asked)
            if form is None:
                facts.append(one)
                continue
            if one.table(EVENTS).rows:
                facts.append(_without_secrets(one))
            if form in together:
                facts.append(_digested(together.pop(form), form[0], asked))
        made.append((target, facts))
    return made


def _form(one: Facts, target: str, asked: Asked) -> Form | None:
    """None for what is no log that was read here, and where no rule needs its classes."""
    whose, form = one.get(logs.STATEMENTS), one.get(logs.FORM)
    is_this = one.source == "log" and one.subject == str(Path(target))
    if whose is None or form is None or not is_this or PACKS.isdisjoint(asked.packs):
        return None
    return whose.text, form.text


def _digested(several: Sequence[Facts], engine: str, asked: Asked) -> Facts:
    paths = [one.subject for one in several]
    name, found = _named(paths), Gathered()
    try:
        made = digest.of_log(_read(paths, asked), name, found)
    except DynoError as error:
        found.lacks("statements", error.what)
        made = found.facts(name, "log", engine)
    return targets.completed(_joined(made, several), asked)


def _named(paths: Sequence[str]) -> str:
    """The logs as one subject."""
    if len(paths) <= NAMED:
        return ", ".join(paths)
    return f"{paths[0]} ... {paths[-1]} ({len(paths)} logs)"


def _read(paths: Sequence[str], asked: Asked) -> Mapping[str, Any]:
    """DynoError if they cannot be digested."""
    progress = asked.progress or (lambda done, total: None)
    raw, code = reading.read(["--limit=all", "--samples=raw", "--", *paths], on_progress=progress)
    if code == reading.INTERRUPTED:
        raise KeyboardInterrupt
    return raw


def _without_secrets(lines: Facts) -> Facts:
    """Those of the audit subsystem and of InnoDB: secrets are found once."""
    tables = {name: table for name, table in lines.tables.items() if name != keyleaks.TABLE}
    return replace(lines, tables=tables)


def _joined(classes: Facts, several: Sequence[Facts]) -> Facts:
    """With the places of secrets, which the lines of all told."""
    first, *others = several
    facts, tables = dict(first.facts), dict(first.tables)
    for one in others:
        there, more = facts[keyleaks.COUNT], one.facts[keyleaks.COUNT]
        facts[keyleaks.COUNT] = replace(there, value=there.value + more.value)
        rows = (*tables[keyleaks.TABLE].rows, *one.tables[keyleaks.TABLE].rows)
        tables[keyleaks.TABLE] = Table(rows[: keyleaks.ROWS_MAX], classes.subject)
    kept = {key: fact for key, fact in facts.items() if key not in (logs.STATEMENTS, logs.FORM)}
    lacking = {key: why for one in several for key, why in one.missing.items()}
    return replace(
        classes,
        facts={**kept, **classes.facts},
        tables={**tables, **classes.tables},
        missing={**lacking, **classes.missing},
    )
