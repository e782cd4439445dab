"""A model's docstring, taken apart: the page that people read is what is computed.

    First line: the question.

    Paragraphs about it.

    Formula:
        NAME [KIND] = EXPRESSION
            what it is

    Assumptions:
        One paragraph each, as in the sections that follow.

    Versions:
    Source:
    Trap:

All six parts are there in every model. Lines of the formula are computed in their order.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass

from dbdyno.models.expression import Expression, parsed
from dbdyno.models.kinds import KINDS, Kind

SECTIONS = ("Formula", "Assumptions", "Versions", "Source", "Trap")
_STEP = re.compile(r"(\w+) \[(\w+)\] = (.+)")


@dataclass(frozen=True)
class Step:
    """A line of the formula."""

    name: str
    kind: Kind
    expression: Expression
    about: str


@dataclass(frozen=True)
class Document:
    """The parts; those of text as paragraphs."""

    question: str
    prose: tuple[str, ...]
    steps: tuple[Step, ...]
    assumptions: tuple[str, ...]
    versions: tuple[str, ...]
    source: tuple[str, ...]
    trap: tuple[str, ...]


def read(docstring: str | None) -> Document:
    """ValueError names what a docstring is missing."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    parts: dict[str, list[str]] = {"": []}
    name = ""
    for line in lines:
        head = line.rstrip().removesuffix(":")
        if line == f"{head}:" and head in SECTIONS:
            name = head
            parts[name] = []
        else:
            parts[name].append(line)
    missing = [section for section in SECTIONS if not "".join(parts.get(section, ())).strip()]
    if missing:
        raise ValueError(f"the docstring has no {', '.join(missing)}:")
    question, *prose = _paragraphs(parts[""])
    return Document(
        question=question,
        prose=tuple(prose),
        steps=_steps(parts["Formula"]),
        **{section.lower(): _paragraphs(parts[section]) for section in SECTIONS[1:]},
    )


def _paragraphs(lines: list[str]) -> tuple[str, ...]:
    blocks = "\n".join(line.strip() for line in lines).split("\n\n")
    return tuple(" ".join(block.split()) for block in blocks if block.strip())


def _steps(lines: list[str]) -> tuple[Step, ...]:
    """A line indented once begins a step, deeper ones go on with it: a formula until its brackets
    are closed, then what it is."""
    grouped: list[list[str]] = []
    for line in inspect.cleandoc("\n" + "\n".join(lines)).splitlines():
        if line and not line[0].isspace():
            grouped.append([line])
        elif line.strip():
            grouped[-1].append(line.strip())
    return tuple(_step(group) for group in grouped)


def _step(lines: list[str]) -> Step:
    found = _STEP.fullmatch(lines[0])
    if found is None or found.group(2) not in KINDS:
        raise ValueError(
            f"`{lines[0]}` is no step: NAME [KIND] = EXPRESSION, with KIND one of "
            + ", ".join(KINDS)
        )
    name, kind, text = found.groups()
    rest = lines[1:]
    while text.count("(") > text.count(")") and rest:
        text += " " + rest.pop(0)
    return Step(name, KINDS[kind], parsed(text), " ".join(rest))
