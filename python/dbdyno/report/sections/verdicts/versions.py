"""Two versions that ran in the same blocks, as the reader meets them: first of all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rich.console import RenderableType
from rich.text import Text

from dbdyno.analysis.types import ClaimPart, ClaimResult
from dbdyno.plan.two_versions.differences import Difference, differences
from dbdyno.plan.types import Plan
from dbdyno.report.context import Context
from dbdyno.report.section import Section
from dbdyno.report.sections.setting.tested import identity
from dbdyno.report.sections.verdicts import claims
from dbdyno.report.sections.verdicts.claims import ClaimView
from dbdyno.store.record import TrialRecord
from dbdyno.wording import names
from dbdyno.wording.visible import visible

DIFFERENCES_SHOWN = 6  # the rest is folded away
NOTHING = "nothing that the experiments' files say: what is compared is the machine's noise"


@dataclass(frozen=True)
class View:
    """The verdict and its comparisons, drawn as a claim is, and in what the versions differ."""

    claim: ClaimView
    sentence: str
    base: str  # what the base was read from
    differ: tuple[str, ...]  # "db.config.journal_mode: DELETE → WAL"

    @property
    def is_long(self) -> bool:
        return len(self.differ) > DIFFERENCES_SHOWN

    @property
    def in_short(self) -> str:
        """In what they differ, in a line."""
        more = len(self.differ) - DIFFERENCES_SHOWN
        shown = "; ".join(self.differ[:DIFFERENCES_SHOWN]) or NOTHING
        return f"{shown}; and {more} more" if more > 0 else shown


def view(context: Context) -> View | None:
    """What to show first of a run with two versions; None of another run."""
    found, plan, groups = context.findings.versions, context.plan, context.groups
    if found is None or plan.against is None:
        return None
    parts = tuple(_where(part, groups) for part in found.parts)
    drawn = claims.judged(ClaimResult("", found.verdict, parts, "", ()), context.layout, groups)
    differ = [_shown(each) for each in differences(plan)]
    return View(
        claim=drawn,
        sentence=found.sentence,
        base=found.source,
        differ=(*_servers(plan, context.complete), *differ),
    )


def _where(part: ClaimPart, groups: Sequence[str]) -> ClaimPart:
    """The part with its group among its levels, if there are several."""
    group, _ = names.base_name(part.metric, groups)
    return replace(part, at={"group": group, **part.at}) if group else part


def _shown(each: Difference) -> str:
    return str(each).replace(" -> ", " → ")


def _servers(plan: Plan, records: Sequence[TrialRecord]) -> list[str]:
    """Servers whose version, as measured, is not the same: what the files do not say."""
    assert plan.against is not None
    factor = plan.against.factor
    seen: dict[str, dict[str, dict[str, None]]] = {}
    for record in records:
        side = plan.cells[record.cell].levels[factor]
        for target, facts in record.targets.items():
            seen.setdefault(target, {}).setdefault(side, {})[identity(facts)] = None
    told = []
    for target, sides in seen.items():
        base, new = (list(sides.get(level, ())) for level in (plan.against.base, plan.against.new))
        if base and new and base != new:
            told.append(f"{target}: {', '.join(base)} → {', '.join(new)}")
    return told


def form(view: View) -> Iterator[RenderableType]:
    """The verdict on the new version, and in what it differs from the base."""
    claim = view.claim
    head = Text(f"{claim.mark} {claim.verdict}", style=f"bold {claims.STYLE[claim.css]}")
    head.append(f"  {visible(view.sentence)}", style="default")
    if len(claim.parts) > 1:
        claims.add_parts(head, claim)
    head.append(f"\nBase: {visible(view.base)}. Differs in {visible(view.in_short)}.", style="dim")
    yield from (head, Text())


SECTION = Section(view, header=20, markdown=20, terminal=20, brief=20, form=form)
