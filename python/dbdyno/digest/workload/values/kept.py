"""Texts that are part of the question (`$.color` in JSON_VALUE, the format of a date, an interval):
kept on request, where all calls had the same one, as a call of the log has it.

A shape holds no text, so it is read from the class's slowest statement, which the engine gives with
`--samples raw`. One that does not have the template's form has no information.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dbdyno.digest.workload.profile import Statement
from dbdyno.digest.workload.values.places import Places, look, pieces

SAMPLE_MAX = 20_000  # characters of a statement
_LITERAL = (
    r"(?:[NBXE]?'(?:[^'\\]|''|\\.)*'|\"(?:[^\"\\]|\"\"|\\.)*\"|[+-]?\.?\d[\w.]*|null|true|false)"
)
# No quote, no backslash, no line's end: it is SQL, unchanged.
_HARMLESS = re.compile(r"'[\w$.\[\]*{},:%/+ -]{1,200}'", re.ASCII)


def looked(statement: Statement, sample: str | None) -> Places:
    """The places of a statement, with the texts that are part of its question put in."""
    places = look(statement.template, statement.parameters)
    if not places.asked or sample is None or len(sample) > SAMPLE_MAX:
        return places
    alike = [n for n in places.asked if statement.parameters[n - 1].distinct == 1]
    found = _literals(statement.template, sample)
    texts = {n: found[n] for n in alike if _HARMLESS.fullmatch(found.get(n, ""))}
    texts = {n: text for n, text in texts.items() if not re.search(r":p\d", text)}
    return look(statement.template, statement.parameters, texts) if texts else places


def _literals(template: str, sample: str) -> Mapping[int, str]:
    """The literals of a statement by the numbers of their places; empty if it is of another
    form."""
    made, numbers = [], []
    for text, number in pieces(template):
        if number is not None:
            numbers.append(number)
        made.append(re.escape(text) if number is None else f"({_LITERAL})")
    match = re.fullmatch(r"\s*" + r"\s*".join(made) + r"\s*;?\s*", sample, re.IGNORECASE)
    return dict(zip(numbers, match.groups(), strict=True)) if match is not None else {}
