"""Engines with ranges of versions, as text: `mariadb >=10.1.7`, `mysql >=8.0 <8.0.21`, `redis`."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence

from dbdyno.facts.fact import ENGINES, Facts, Missing, Version

_BOUND = re.compile(r"(>=|<)(\d+(?:\.\d+)*)")
_COMPARE = {">=": operator.ge, "<": operator.lt}


def matches(applies: Sequence[str], facts: Facts) -> bool:
    """Whether one of them covers a subject. Missing: that depends on what is not known."""
    found = {_one(applies, engine, facts.version) for engine in facts.engine.split("|")}
    if found == {True}:
        return True
    if found == {False}:
        return False
    names = ", ".join(applies)
    raise Missing("version", f"it depends on engine and version ({names}): see --engine")


def _one(applies: Sequence[str], engine: str, version: Version) -> bool | None:
    """None: not known."""
    of_engine = [parsed for text in applies if (parsed := parse(text))[0] == engine]
    if any(not bounds for _, bounds in of_engine):
        return True
    if not of_engine:
        return False
    if not version:
        return None
    return any(
        all(_COMPARE[sign](version, bound) for sign, bound in bounds) for _, bounds in of_engine
    )


def parse(text: str) -> tuple[str, list[tuple[str, Version]]]:
    """(engine, bounds). ValueError if the text is none."""
    engine, *bounds = text.split()
    found = [_BOUND.fullmatch(bound) for bound in bounds]
    if engine not in ENGINES or None in found:
        raise ValueError(f"{text!r} is no engine with a range of versions")
    return engine, [
        (one[1], tuple(int(part) for part in one[2].split("."))) for one in found if one
    ]
