"""The statements and transactions of a group of a log's workload, as lines of YAML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from dbdyno.digest.workload.branching.slots import Branched, Slot
from dbdyno.digest.workload.carried import Chosen
from dbdyno.digest.workload.profile import Unit
from dbdyno.digest.workload.values import keys
from dbdyno.digest.workload.values.parameters import Names, Parameters
from dbdyno.digest.workload.yamltext import comment, scalar
from dbdyno.experiment.targets import sqltext
from dbdyno.wording.plurals import count

_LOCKS = re.compile(
    r"\bfor\s+(?:no\s+key\s+)?(?:update|share|key\s+share)\b|\block\s+in\s+share\s+mode\b"
    r"|\b(?:next|set)val\s*\(",
    re.IGNORECASE,
)


def reads(sql: str) -> bool:
    """Whether it may go to a session that is read-only: locks and sequences may not."""
    return sqltext.reads(sql) and not _LOCKS.search(sql)


def written(database: str, chosen: Chosen, params: Parameters) -> Iterator[str]:
    """What a group sends to one database."""
    names = Names()
    units = chosen.units[database]
    alone = [unit for unit in units if _is_alone(unit)]
    if alone:
        yield "    statements:"
    for unit in alone:
        number = unit.steps[0].statement
        yield from _about(chosen, number, 6)
        mapping = _statement(chosen, number, params.of_unit(unit)[number])
        mapping["weight"] = unit.count
        yield f"      {names.new(_word(chosen, number))}: {scalar(mapping)}"
    together = [unit for unit in units if not _is_alone(unit)]
    if together:
        yield "    transactions:"
    for unit in together:
        if isinstance(unit, Branched):
            yield from _branched(unit, chosen, params, names)
        else:
            yield from _plain(unit, chosen, params, names)


def _is_alone(unit: Unit) -> bool:
    return not unit.is_transaction and len(unit.steps) == 1 and unit.steps[0].repeat == 1


def _plain(unit: Unit, chosen: Chosen, params: Parameters, names: Names) -> Iterator[str]:
    words = list(dict.fromkeys(_word(chosen, step.statement) for step in unit.steps))
    yield f"      {names.new('_then_'.join(words))}:"
    yield f"        weight: {unit.count}"
    if not unit.is_transaction:
        yield "        atomic: false  # each commits by itself; the first is always followed so"
    yield "        steps:"
    given: dict[int, str] = {}
    texts, kept = params.of_unit(unit), params.handed(unit).kept
    for step in unit.steps:
        number = step.statement
        if number not in given:
            yield from _about(chosen, number, 10)
            given[number] = names.new(_word(chosen, number))
        mapping = {"name": given[number], **_statement(chosen, number, texts[number])}
        if step.repeat > 1:
            mapping["repeat"] = step.repeat
        yield f"          - {scalar(mapping)}"
        yield from _kept(kept, number, names)


def _branched(unit: Branched, chosen: Chosen, params: Parameters, names: Names) -> Iterator[str]:
    words = {slot.of: _word(chosen, *slot.statements) for slot in unit.slots}
    what = "transaction" if unit.is_transaction else "statement"
    yield from comment(
        f"{count(len(unit.units), f'different {what}')} of the log in one: each step sends one of"
        " its branches, by weight; steps that went together have the same `choice`.",
        6,
    )
    yield f"      {names.new('_then_'.join(dict.fromkeys(words.values())))}:"
    yield f"        weight: {unit.count}"
    if not unit.is_transaction:
        yield "        atomic: false  # each commits by itself"
    yield "        steps:"
    given = {of: names.new(word) for of, word in words.items()}
    told: set[int] = set()
    texts, kept = params.of_unit(unit), params.handed(unit).kept
    for slot in unit.slots:
        mappings = []
        for branch in slot.branches:
            mapping: dict[str, Any] = {}
            if branch.statement is not None:
                of = _statement(chosen, branch.statement, texts[branch.statement])
                mapping = {"name": given[slot.of], **of}
            if branch.repeat > 1:
                mapping["repeat"] = branch.repeat
            mappings.append(mapping | ({} if slot.is_plain else {"weight": branch.weight}))
        yield from _slot(slot, mappings, chosen, told)
        for number in slot.statements:
            yield from _kept(kept, number, names)


def _kept(kept: Mapping[int, str], number: int, names: Names) -> Iterator[str]:
    """The step that keeps the key that the server has made in a statement."""
    if number in kept:
        yield from comment("Keeps the key that the server has made, for the rows that need it.", 10)
        yield f"          - {scalar({'name': names.new('keep_key'), 'sql': kept[number]})}"


def _slot(
    slot: Slot, mappings: list[dict[str, Any]], chosen: Chosen, told: set[int]
) -> Iterator[str]:
    indent = 10
    if not slot.is_plain:
        head = [f"choice: {slot.choice}"] if slot.choice is not None else []
        head += [f"repeat: {slot.repeat}"] if slot.repeat > 1 else []
        for at, line in enumerate([*head, "one_of:"]):
            yield f"          {'  ' if at else '- '}{line}"
        indent = 14
    for branch, mapping in zip(slot.branches, mappings, strict=True):
        if branch.statement is not None and branch.statement not in told:
            told.add(branch.statement)
            yield from _about(chosen, branch.statement, indent)
        nothing = "" if branch.statement is not None else "  # nothing is sent"
        yield f"{' ' * indent}- {scalar(mapping)}{nothing}"


def _word(chosen: Chosen, *numbers: int) -> str:
    """What to call statements of one kind: their verb, and what the names of their first tables
    begin with."""
    tables = []
    for number in numbers:
        one = chosen.classes.get(chosen.statements[number].id)
        tables.append(one.tables[0].rpartition(".")[2] if one is not None and one.tables else "")
    verb = sqltext.keyword(chosen.statements[numbers[0]].template)
    table = tables[0] if len({*tables}) == 1 else _stem(tables) or tables[0]
    return f"{verb}_{table}" if table else verb


def _stem(names: Sequence[str]) -> str:
    """What names begin with, without the numbers at its end."""
    alike = takewhile(lambda chars: len({*chars}) == 1, zip(*names, strict=False))
    return "".join(chars[0] for chars in alike).rstrip("_0123456789")


def _about(chosen: Chosen, number: int, indent: int) -> Iterator[str]:
    statement = chosen.statements[number]
    one = chosen.classes.get(statement.id)
    said = f"{statement.id[:8]}: {count(statement.count, 'call')}"
    if one is not None and one.time_s:
        said += f", {1000 * one.time_s / one.count:.3g} ms on average"
    if statement.template_share < 0.9995:
        said += (
            f"; this form is {statement.template_share:.1%} of them, others differ in NULLs or the"
            " like"
        )
    yield from comment(said, indent)


def _statement(chosen: Chosen, number: int, made: Mapping[str, Any]) -> dict[str, Any]:
    template = chosen.statements[number].template
    does_read = reads(template)
    return {**made, **keys.expected(chosen, number)} | (
        {} if does_read == sqltext.reads(template) else {"reads": does_read}
    )
