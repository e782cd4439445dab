"""Numbers and levels in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dbdyno.plan.types import Factor, Plan

# Factors whose levels are names of systems, which need no introduction.
ENGINES = ("engine", "system", "server", "database")


def number(value: float) -> str:
    """Three significant digits, thousands separated: 31234 -> 31,200; 0.01234 -> 0.0123."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        digits = len(str(int(abs(value)))) - 3
        return f"{round(value / 10**digits) * 10**digits:,}"
    return f"{float(f'{value:.3g}'):g}" if abs(value) >= 1e-4 else f"{value:.2e}"


def ratio(value: float) -> str:
    """A ratio to the digits that a reader uses: 0.413 -> 0.41, 12.34 -> 12.3, 1.0034 -> 1.00."""
    if value >= 1000 or value < 0.001:
        return number(value)
    if value < 0.1:
        return f"{value:.3f}"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def bound(value: float) -> str:
    """An end of an interval of ratios; beyond a thousand times either way its size says nothing."""
    if value < 0.001:
        return "under 0.001"
    return "over 1,000" if value > 1000 else ratio(value)


def interval(low: float | None, high: float | None) -> str:
    """`0.38-0.44`, `under 0.001 to 29.7`; open ends are said."""
    if low is None and high is None:
        return "no interval"
    if low is None:
        return f"at most {bound(high or 0.0)}"
    if high is None:
        return f"at least {bound(low)}"
    ends = bound(low), bound(high)
    return (" to " if any(" " in end for end in ends) else "-").join(ends)


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


def listed(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def counted(n: int, noun: str) -> str:
    """`1 block`, `2 blocks`."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
