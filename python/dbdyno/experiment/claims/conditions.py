"""Conditions on a trial's metrics, compared with what was measured: `require:`, and `while` of a
search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from dbdyno.errors import DynoError, Where
from dbdyno.experiment.claims.metrics import is_outcome, values_needed
from dbdyno.experiment.claims.parser import parse_bare_condition
from dbdyno.experiment.claims.types import Condition
from dbdyno.experiment.values.bounds import AT_LEAST, AT_MOST

# What is known about a condition.
HOLDS = "holds"
BROKEN = "broken"
UNKNOWN = "unknown"  # its metric was not measured, or is bounded on the other side

_NONE: Mapping[str, str] = MappingProxyType({})
_OF = {AT_LEAST: "or more", AT_MOST: "or less", "": ""}


def state(text: str, metrics: Mapping[str, float], bounds: Mapping[str, str] = _NONE) -> str:
    """HOLDS, BROKEN or UNKNOWN. `bounds` of metrics that are known on one side only: a value of 10
    or more is not below 9, may be below 20, and is above 5."""
    condition = parse_bare_condition(text)
    value = metrics.get(condition.metric)
    if value is None:
        return UNKNOWN
    bound = bounds.get(condition.metric, "")
    holds = condition.holds(value)
    upwards = condition.operator in (">", ">=")  # what raises the value keeps it holding
    certain = AT_LEAST if holds == upwards else AT_MOST
    return (HOLDS if holds else BROKEN) if bound in ("", certain) else UNKNOWN


def unmet(
    conditions: Sequence[str], metrics: Mapping[str, float], bounds: Mapping[str, str] = _NONE
) -> list[str]:
    """A sentence for each condition that is not shown to hold.

    `conditions` as a plan has them, with canonical names. One on a metric that was not measured is
    not met: it would otherwise be ignored where it matters.
    """
    return [
        told(text, metrics, bounds) for text in conditions if state(text, metrics, bounds) != HOLDS
    ]


def told(text: str, metrics: Mapping[str, float], bounds: Mapping[str, str] = _NONE) -> str:
    """Why a condition is not met, in a sentence."""
    metric = parse_bare_condition(text).metric
    value = metrics.get(metric)
    if value is None:
        needed = values_needed(metric)
        why = f" (it needs {needed:,} transactions)" if needed > 1 else ""
        return f"{metric} was not measured{why}, and `{text}` is required"
    known = f"{value:g} {_OF[bounds.get(metric, '')]}".rstrip()
    return f"{metric} is {known}, and `{text}` is required"


def of_surroundings(condition: Condition, where: Where) -> Condition:
    """The condition of `require:`; DynoError if it is about an outcome of the workload. To drop
    trials by what is compared drops those of the side that has more bad ones."""
    if is_outcome(condition.metric):
        raise DynoError(
            f"`{condition.text}` is about an outcome of the workload",
            where=where,
            cause="bad trials would be void and run again, and the side with more of them would"
            " appear better than it is",
            fix="move it to `claims:`; `require:` takes conditions of a trial's environment:"
            " `cpu.steal_percent <= 5`, `generator.lag_ms_p99 < 1`",
        )
    return condition
