"""The cheapest offer, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.analysis.types import Costs, Offer
from dbdyno.plan import level_text
from dbdyno.plan.types import Plan
from dbdyno.wording import numbers, plurals


def costs(plan: Plan, found: Costs) -> str:
    """The cheapest offer, and by how much the next one is dearer."""
    limit = f" with {numbers.listed(found.under)}" if found.under else ""
    first = found.offers[0]
    if first.cell is None:
        return f"No level was fast enough{limit}."
    assert first.cost is not None
    price = f"{money(first.cost)} {found.currency} a billion {found.what}"
    if not first.levels:
        return f"At best{limit}, {price}."
    name = level_text.levels(plan, first.levels)
    return f"Cheapest{limit}: {name}, {price}{_next(plan, found.offers)}"


def _next(plan: Plan, offers: Sequence[Offer]) -> str:
    second = next((offer for offer in offers[1:] if offer.ratio is not None), None)
    if second is None or second.ratio is None:
        return "."
    name = level_text.levels(plan, second.levels)
    ratio = second.ratio
    dearer = f"{name} costs {(ratio.ratio - 1) * 100:.3g} % more"
    if ratio.ci_low is None or ratio.ci_high is None:
        counted = plurals.count(ratio.n, plan.repeats)
        return f"; {dearer} (not judged: no interval from {counted})."
    if ratio.ci_low <= 1 <= ratio.ci_high:
        return f"; {name} does not differ significantly from it ({dearer.partition(' costs ')[2]})."
    return f"; {dearer}."


def money(value: float) -> str:
    """An amount to a tenth of a cent below ten, else to a cent."""
    return f"{value:,.3f}" if value < 10 else f"{value:,.2f}"
