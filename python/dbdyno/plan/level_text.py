"""Factors and levels of a plan, as words in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dbdyno.plan.types import Factor, Plan

# Factors whose levels are names of systems, which need no introduction.
ENGINES = ("engine", "system", "server", "database")


def factor_word(name: str, factors: Sequence[Factor]) -> str:
    """A factor's name as short as it is unique: `readers.sessions` -> `sessions`."""
    last = name.rpartition(".")[2]
    same = [factor for factor in factors if factor.name.rpartition(".")[2] == last]
    return last if len(same) == 1 else name


def level(plan: Plan, name: str, value: str) -> str:
    """A level in a sentence: `16 sessions`, `cache off`, `journal_mode WAL`, `rows=1000`."""
    factor = next((factor for factor in plan.factors if factor.name == name), None)
    word = factor_word(name, plan.factors)
    if word == "sessions":
        return f"{value} session" if value == "1" else f"{value} sessions"
    if word == "rate":  # which has its unit
        return f"rate {value}"
    if factor is not None and factor.values is not None:
        return f"{word}={value}"
    if word in ENGINES:
        return value
    return f"{word} {value}"


def levels(plan: Plan, chosen: Mapping[str, str]) -> str:
    """Several levels in a row; empty for none."""
    return ", ".join(level(plan, name, value) for name, value in chosen.items())
