"""Lengths of time as values of options."""

from __future__ import annotations

import click


def seconds(context: click.Context, parameter: click.Parameter, value: str) -> float:
    """Callback: the seconds of `90s`, `2min`. BadParameter for what is no length of time."""
    if context.resilient_parsing:  # for a Tab
        return 0.0
    from dbdyno.experiment.values import units

    try:
        return units.duration_s(value)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from None
