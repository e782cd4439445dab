"""What it costs: the offers as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from dbdyno.analysis.types import Costs, Offer, Ratio
from dbdyno.plan.types import Plan
from dbdyno.report.context import Context
from dbdyno.report.layout import Layout
from dbdyno.report.section import Section
from dbdyno.wording.costs.costs_text import money
from dbdyno.wording.numbers import sig3
from dbdyno.wording.quantities import edge
from dbdyno.wording.visible import visible


@dataclass(frozen=True)
class Row:
    """An offer, as written."""

    offer: str
    price: str
    best: str  # where it is fastest
    per_s: str
    cost: str
    against: str  # the cheapest
    interval: str
    remark: str


@dataclass(frozen=True)
class View:
    """The section on costs."""

    sentence: str
    paired: bool
    currency: str
    what: str
    under: tuple[str, ...]
    rows: tuple[Row, ...]


def view(context: Context) -> View | None:
    """None without prices."""
    costs, plan = context.findings.costs, context.plan
    if costs is None:
        return None
    rows = tuple(_row(offer, costs, plan, context.layout) for offer in costs.offers)
    return View(costs.sentence, plan.paired, costs.currency, costs.what, costs.under, rows)


def _row(offer: Offer, costs: Costs, plan: Plan, layout: Layout) -> Row:
    best = plan.cells[offer.cell].levels if offer.cell is not None else {}
    rest = {name: level for name, level in best.items() if name not in offer.levels}
    ratio = offer.ratio
    return Row(
        offer=_named(offer.levels, layout),
        price=money(offer.price_per_month),
        best=layout.label(rest),
        per_s=sig3(offer.per_s),
        cost="none" if offer.cost is None else money(offer.cost),
        against="" if ratio is None else f"{ratio.ratio:.3f}×",
        interval=_interval(ratio),
        remark=_remark(offer, costs, layout),
    )


def _interval(ratio: Ratio | None) -> str:
    if ratio is None:
        return ""  # the cheapest, or without a cost: the remark says which
    if ratio.ci_low is None or ratio.ci_high is None:
        return "not judged"
    return f"{edge(ratio.ci_low)}× to {edge(ratio.ci_high)}×"


def _remark(offer: Offer, costs: Costs, layout: Layout) -> str:
    if offer.cell is None:
        return "too slow in every cell"
    if offer is costs.offers[0]:
        return "cheapest"
    if offer.dominated_by:
        by = _named(offer.dominated_by, layout)
        means = "" if offer.judged else " (by the means alone)"
        return f"{by} costs no more and is faster{means}"
    return ""


def _named(levels: Mapping[str, str], layout: Layout) -> str:
    return layout.label(levels) or "all cells"


def form(view: View) -> Iterator[RenderableType]:
    yield Text(visible(view.sentence))


SECTION = Section(view, "Costs", main=40, markdown=60, terminal=50, brief=60, form=form)
