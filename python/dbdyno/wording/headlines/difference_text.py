"""What moved with the difference between the two cells that the answer compares, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.plan import level_text
from dbdyno.plan.types import Plan
from dbdyno.wording import numbers, plurals

Levels = Mapping[str, str]


PLAIN = {
    "takes_more_cpu": "With {more:levels}, an operation takes {most:number} µs of server CPU,"
    " against {least:number} with {less:levels}.",
}


def waits_more(
    plan: Plan, state: str, of: int, most: float, more: Levels, least: float, less: Levels
) -> str:
    """Sessions in a state, of so many."""
    does = f"are in “{state}”"
    if state.startswith("waiting: "):
        does = f"wait for “{state.removeprefix('waiting: ')}”"
    return (
        f"With {level_text.levels(plan, more)}, {numbers.number(most)} of"
        f" {plurals.count(of, 'session')} on average {does}, against {numbers.number(least)}"
        f" with {level_text.levels(plan, less)}."
    )


def counts_more(
    plan: Plan, counter: str, most: float, more: Levels, least: float, less: Levels
) -> str:
    """What the server or the disk counts, per operation."""
    return (
        f"With {level_text.levels(plan, more)}, {_counter(counter)} per operation:"
        f" {numbers.number(most)}, against {numbers.number(least)} with"
        f" {level_text.levels(plan, less)}."
    )


def _counter(name: str) -> str:
    """`Innodb_data_fsyncs`, `Innodb_data_fsyncs of db`, `disk flushes`."""
    before, family, counter = f".{name}".rpartition(".status.")
    if family:
        return f"{counter} of {before[1:]}" if before else counter
    return f"disk {name.rpartition('.')[2].removesuffix('_per_s').replace('_', ' ')}"
