"""`require:` at work: which of a run's conditions a trial does not meet."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from dbdyno.spec.claim_parser import parse_bare_condition


def unmet(
    require: Sequence[str], metrics: Mapping[str, float], at_least: Container[str] = ()
) -> list[str]:
    """Why a trial with these metrics is void, a sentence for each condition not met.

    `require` holds conditions as a plan does, with canonical names. A condition on a metric that
    was not measured is not met: it would otherwise be ignored where it matters. One of `at_least`,
    known only to be that large or larger, is below nothing.
    """
    reasons = []
    for text in require:
        condition = parse_bare_condition(text)
        value = metrics.get(condition.metric)
        if value is None:
            reasons.append(f"{condition.metric} was not measured, and `{text}` is required")
        elif condition.metric in at_least and condition.operator in ("<", "<="):
            reasons.append(f"{condition.metric} is {value:g} or more, and `{text}` is required")
        elif not condition.holds(value):
            reasons.append(f"{condition.metric} is {value:g}, and `{text}` is required")
    return reasons
