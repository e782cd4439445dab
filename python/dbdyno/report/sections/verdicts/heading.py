"""What the report is about: the question, who asked, and whether anything here is judged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from rich.console import RenderableType
from rich.text import Text

from dbdyno.analysis.estimates.estimate import BLOCKS_MIN
from dbdyno.analysis.types import ANY, UNDECIDED, Findings
from dbdyno.experiment.types import About
from dbdyno.plan.types import Plan
from dbdyno.report.context import Context
from dbdyno.report.section import Section
from dbdyno.report.sections.setting.tested import moment
from dbdyno.wording.visible import visible

QUICK = (
    "Smoke test, not judged: too short and too few trials for any conclusion."
    " Run it in full before believing a number."
)
TOO_FEW = "Not judged: fewer than 3 blocks were measured, so no interval or verdict can be given."
# One trial in which something was lost answers a claim that nothing is (`analysis.claims.counts`).
BUT_COUNTS = (
    "Fewer than 3 blocks were measured: nothing is judged but claims that a single trial answers."
)
TOO_FEW_IMPORTED = (
    f"Not judged: fewer than {BLOCKS_MIN} runs of each cell were imported, so no interval or"
    " verdict can be given."
)


@dataclass(frozen=True)
class View:
    """The page's head. `loud`: why nothing here is judged; empty where claims are."""

    name: str
    question: str
    about: About
    started: str
    loud: str
    logo: str = ""  # an image as a data: URL

    @property
    def whose(self) -> str:
        """For whom and by whom: "for Blue, by Ann"."""
        sides = (("for", self.about.customer), ("by", self.about.author))
        return ", ".join(f"{word} {name}" for word, name in sides if name)


def view(context: Context) -> View:
    plan = context.plan
    started = moment(min((r.started_unix_s for r in context.records), default=0.0))
    loud = _loud(plan, context.findings)
    added = context.annotations
    about = replace(
        plan.about,
        customer=added.customer or plan.about.customer,
        author=added.author or plan.about.author,
    )
    return View(plan.name, plan.question or plan.name, about, started, loud, added.logo)


def _loud(plan: Plan, findings: Findings) -> str:
    if plan.quick:
        return QUICK
    if findings.judged:
        return ""
    counted = (part for claim in findings.claims for part in claim.parts if part.kind == ANY)
    if any(part.verdict != UNDECIDED for part in counted):
        return BUT_COUNTS
    return TOO_FEW if plan.imported is None else TOO_FEW_IMPORTED


def form(view: View) -> Iterator[RenderableType]:
    yield Text(visible(view.question), style="bold")
    if view.whose:
        yield Text(visible(view.whose), style="dim")
    yield Text()
    if view.loud:
        yield from (Text(view.loud, style="bold yellow"), Text())


SECTION = Section(view, header=10, markdown=10, terminal=10, brief=10, form=form)
