"""The defect and the healthy twin that every rule comes with (`tests/fixtures/rules`), judged."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from tools.proof.checks.counting import Count

from dbdyno.facts.fact import Facts
from dbdyno.rules.check.packs import PACKS, RULES
from dbdyno.rules.check.rule import FOUND, Rule

TESTS = Path(__file__).resolve().parents[3] / "tests"


def counts() -> list[Count]:
    """A count for each pack and engine: `alarms` are rules that speak of their own healthy twin."""
    cases = _cases()
    found = []
    for pack in PACKS:
        by_word: dict[str, list[Rule]] = {}
        for rule in RULES:
            if rule.pack == pack:
                by_word.setdefault(rule.id.partition("-")[0], []).append(rule)
        found += [_count(pack, f"rules {word}-*", its, cases) for word, its in by_word.items()]
    return found


def _cases() -> Mapping[str, Any]:
    sys.path.append(str(TESTS))
    try:
        found: Mapping[str, Any] = import_module("fixtures.rules.cases").CASES
        return found
    finally:
        sys.path.remove(str(TESTS))


def _count(pack: str, where: str, rules: Sequence[Rule], cases: Mapping[str, Any]) -> Count:
    return Count(
        pack,
        where,
        frozenset(rule.id for rule in rules),
        frozenset(rule.id for rule in rules if not _speaks(rule, cases[rule.id].bad)),
        frozenset(),
        frozenset(rule.id for rule in rules if _speaks(rule, cases[rule.id].good)),
    )


def _speaks(rule: Rule, facts: Facts | Sequence[Facts]) -> bool:
    several = [facts] if isinstance(facts, Facts) else list(facts)
    if rule.judge_all is not None:
        return rule.look_together(several).state == FOUND
    return rule.look(several[0]).state == FOUND
