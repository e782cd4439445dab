"""Claims as the reader meets them: a verdict, a ratio in words, a dot against its threshold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from dbdyno.analysis.claims.equivalence import edges_of
from dbdyno.analysis.estimates.estimate import CONFIDENCE
from dbdyno.analysis.types import (
    AGREE,
    ANY,
    BETTER,
    NOT_TESTED,
    PEAK,
    RATIO,
    REFUTED,
    SAME,
    SHARE,
    SUPPORTED,
    UNDECIDED,
    VALUE,
    WORSE,
    ClaimPart,
    ClaimResult,
    Findings,
)
from dbdyno.experiment.claims.grammar import EQUAL, within
from dbdyno.experiment.values.bounds import AT_LEAST, AT_MOST
from dbdyno.plan.types import Plan
from dbdyno.report.charts.dots import ratio_dot
from dbdyno.report.charts.scale import ratio_range, reach
from dbdyno.report.context import Context
from dbdyno.report.figures import Figure, metric_figures
from dbdyno.report.layout import Layout
from dbdyno.report.section import Section
from dbdyno.report.text.table import terminal_table
from dbdyno.wording import names
from dbdyno.wording.numbers import percent, sig3
from dbdyno.wording.quantities import edge
from dbdyno.wording.verdicts import counts_text
from dbdyno.wording.verdicts import headline as in_words
from dbdyno.wording.verdicts import verdict_text as why
from dbdyno.wording.visible import visible

# verdict -> (CSS class, mark that shows it without colour)
MARKS: Mapping[str, tuple[str, str]] = {
    SUPPORTED: ("supported", "✓"),
    REFUTED: ("refuted", "✗"),
    UNDECIDED: ("undecided", "?"),
    NOT_TESTED: ("untested", "–"),
    BETTER: ("supported", "▲"),
    WORSE: ("refuted", "▼"),
    SAME: ("supported", "="),
}
_BOUNDS = {"": "", AT_LEAST: "≥ ", AT_MOST: "≤ "}  # before an estimate made of bounds
_RATIOS = frozenset({RATIO, PEAK})  # kinds of part that are ratios
_COUNTS = frozenset({ANY, SHARE})  # whose interval belongs to the reason
CLAIMED = "†"  # behind the interval of a ratio that a claim is about
NONE = "none"  # a number that cannot be given; the reason next to it says why
# Parts of one claim that are listed before the rest is folded away.
SHOWN = 4
BRIEF_MAX = 6  # claims of the short form

_DETAIL = re.compile(r" \([^()]*\)$")
# "generator-bound (lag)" has its explanation among the warnings; it is not repeated for each claim.
_NAMED = re.compile(r"^(generator-bound \([^()]*\)): .*$", re.DOTALL)
_NUMBERS_FIRST = re.compile(r"^(?:[<>]= )?[\d.,]+\S* [^():]*\([^()]*\): ")
STYLE = {"supported": "green", "refuted": "red", "undecided": "yellow", "untested": "dim"}


@dataclass(frozen=True)
class PartView:
    """One comparison of a claim."""

    at: str
    left: str
    right: str
    verdict: str
    css: str
    mark: str
    ratio: str  # "2.61×"
    interval: str  # "2.48× to 2.75×"
    words: str  # the whole in one phrase
    brief: str  # value and interval, for a list whose foot says the rest
    why: str
    dot: Markup


@dataclass(frozen=True)
class ClaimView:
    """A claim, its verdict, and its parts."""

    text: str
    verdict: str
    css: str
    mark: str
    small: bool
    why: str
    warnings: tuple[str, ...]
    parts: tuple[PartView, ...]
    foot: str  # of several parts: confidence of the intervals and what they are compared with
    figures: str = ""  # AGREE or CONTRADICT: what imported figures say of a claim left open
    checks: tuple[str, ...] = ()  # what other methods say, a line a comparison
    say: str = ""  # the author's words for it

    @property
    def lead(self) -> str:
        """What stands before the author's words."""
        return in_words.lead(self.verdict_text)

    @property
    def headline(self) -> str:
        """The author's words behind the verdict; empty without words."""
        return in_words.headline(self.verdict_text, self.say)

    @property
    def verdict_text(self) -> str:
        """The words on the chip."""
        if self.figures:
            says = "agree with" if self.figures == AGREE else "contradict"
            return f"{self.verdict}; the figures {says} it"
        return in_words.sized(self.verdict, self.small)

    @property
    def shown(self) -> tuple[PartView, ...]:
        return self.parts[:SHOWN]

    @property
    def folded(self) -> tuple[PartView, ...]:
        return self.parts[SHOWN:]


@dataclass(frozen=True)
class View:
    """Claims and their verdicts, next to the chart of the headline's metric."""

    claims: list[ClaimView]
    figures: list[Figure]  # one, or none
    looking: str  # number of interim looks
    more: int = 0  # claims that the short form omits


def view(context: Context) -> View | None:
    """None of a run that claims nothing and measured nothing."""
    looking = context.findings.looking
    shown = views(context.plan, context.findings, context.layout)
    figures = headline(context)[:1]
    if not shown and not figures:
        return None
    return View(shown, figures, looking.sentence if looking else "")


def shortened(view: View) -> View:
    """The first claims: their verdicts and the chart are a page at most."""
    return replace(view, claims=view.claims[:BRIEF_MAX], more=len(view.claims[BRIEF_MAX:]))


def headline(context: Context) -> list[Figure]:
    """The charts of the headline's metric: one a panel."""
    findings = context.findings
    metric = names.describe(findings.headline_metric, context.groups)
    return metric_figures(findings.cells, context.layout, metric, sweeps=findings.sweeps)


def views(plan: Plan, findings: Findings, layout: Layout) -> list[ClaimView]:
    """All claims in the order of the file; those that were not tested say why."""
    groups = names.groups_of(plan)
    shown = [judged(claim, layout, groups) for claim in findings.claims]
    named = {claim.text for claim in findings.claims}
    for text in plan.claims:
        if text in plan.untested and text not in named:
            say = plan.claim_words.get(text, "")
            untested = ClaimResult(text, NOT_TESTED, (), plan.untested[text], (), say=say)
            shown.append(judged(untested, layout, groups))
    return shown


def levels_note(findings: Findings) -> str:
    """At which level the intervals of ratios are, and why some are at another one."""
    one = findings.together
    said = []
    if one.count == 1:
        said.append(f"Interval at {percent(one.level)}.")
    elif one.count:
        said.append(
            f"Intervals at {percent(one.level)}: all {one.count} ratios that no claim is about hold"
            f" together with {percent(CONFIDENCE)}."
        )
    parts = [part for claim in findings.claims for part in claim.parts]
    whose = "claim"
    if findings.versions:
        parts, whose = [*parts, *findings.versions.parts], "verdict"
    ratios = [part.estimate for part in parts if part.estimate and part.kind == RATIO]
    levels = [one.level for one in ratios if one.ci_low is not None]
    if levels and any(row.claimed for row in findings.comparisons):
        low, high = (percent(level) for level in (min(levels), max(levels)))
        at = high if low == high else f"{low.removesuffix(' %')} to {high}"
        said.append(
            f"{CLAIMED}: a {whose} is about this ratio and shares one error budget with the others;"
            f" its interval, at {at}, is the same in both places."
        )
    if findings.looking is not None and findings.looking.taken > 1:
        said.append("All intervals allow for the looks at the run.")
    return " ".join(said)


def short_warning(text: str) -> str:
    """A warning in a line: without its detail, which is among the warnings, but with its count.

    "generator-bound (CPU): a load thread ...; the system may be faster [6 of 48 trials]"
    """
    said, bracket, counted = text.rpartition(" [")
    said = _DETAIL.sub("", (said or text).partition("; ")[0])
    said = _NAMED.sub(r"\1", said)
    return f"{said} [{counted}" if bracket else said


def judged(claim: ClaimResult, layout: Layout, groups: Sequence[str]) -> ClaimView:
    """A claim that was judged."""
    css, mark = MARKS.get(claim.verdict, MARKS[UNDECIDED])
    span = _span(claim.parts)
    estimated = [i for i, part in enumerate(claim.parts) if part.estimate]
    # The axis is under the last dot of what is shown, and of what is folded away.
    ends = {max((i for i in estimated if i < SHOWN), default=-1), max(estimated, default=-1)}
    parts = tuple(
        _part(part, layout, groups, span, axis=i in ends) for i, part in enumerate(claim.parts)
    )
    return ClaimView(
        claim.text,
        claim.verdict,
        css,
        mark,
        claim.small,
        _reason(claim),
        tuple(dict.fromkeys(map(short_warning, claim.warnings))),
        parts,
        _foot(claim),
        claim.figures,
        tuple(_checks(part, layout) for part in claim.parts if part.checks),
        claim.say,
    )


def _checks(part: ClaimPart, layout: Layout) -> str:
    """ "sessions 4: permutation p 0.031, BCa interval 1.02x to 1.10x: the same verdict" """
    at = ", ".join(layout.level(name, level) for name, level in part.at.items())
    found = "; ".join(why.checked(check, part) for check in part.checks)
    same = all(check.agrees for check in part.checks)
    verdict = "the same verdict" if same else "not the same verdict throughout"
    return f"{at}: {found} ({verdict})" if at else f"{found} ({verdict})"


def _reason(claim: ClaimResult) -> str:
    """Why, without the numbers right above it ("3.51x (3.39-3.65): all of it ...")."""
    if len(claim.parts) != 1 or claim.parts[0].estimate is None:
        return claim.why[:1].upper() + claim.why[1:]
    rest = _NUMBERS_FIRST.sub("", claim.why)
    return rest[:1].upper() + rest[1:]


def _foot(claim: ClaimResult) -> str:
    """What holds for all of several parts: "99.2 % intervals, against > 1"."""
    levels = {
        p.estimate.level
        for p in claim.parts
        if p.estimate and p.estimate.ci_low is not None and p.kind not in _COUNTS
    }
    held = {_asked(p) for p in claim.parts if p.kind != PEAK}
    said = []
    if len(levels) == 1:
        said = [f"{percent(levels.pop())} intervals"]
    elif levels:
        # What only a later step of Holm's decided is at the level of that step.
        low, high = percent(min(levels)), percent(max(levels))
        at = high if low == high else f"{low.rstrip(' %')} to {high}"
        said = [f"intervals at {at}, adjusted for the number of ratios"]
    said += [f"against {held.pop()}"] if len(held) == 1 else []
    return ", ".join(said)


def _asked(part: ClaimPart) -> str:
    """What an estimate is compared with: "≥ 2.5", "1 within 3 %"."""
    if part.operator == EQUAL:
        return f"{part.threshold:g} within {percent(part.margin)}"
    if part.kind == SHARE:
        return f"more than {percent(part.threshold)}"
    sign = {">=": "≥", "<=": "≤"}.get(part.operator, part.operator)
    return f"{sign} {part.threshold:g}"


def _margin(part: ClaimPart) -> tuple[float, float] | None:
    """What still counts as equal; None unless the claim is of equality."""
    return within(part.threshold, part.margin) if part.operator == EQUAL else None


def _span(parts: tuple[ClaimPart, ...]) -> tuple[float, float]:
    """One axis for all parts of a claim; ratios keep 1 on it, values that reach down to zero begin
    there."""
    values = [part.threshold for part in parts]
    for part in parts:
        values += _margin(part) or ()
        if part.estimate:
            e = part.estimate
            ends = (e.ci_low, e.ci_high)
            if part.kind in _RATIOS:
                ends = (reach(e.ratio, e.ci_low), reach(e.ratio, e.ci_high))
            values += [v for v in (e.ratio, *ends) if v is not None]
    are_ratios = all(part.kind in _RATIOS for part in parts)
    if not are_ratios and min(values) <= 0 < max(values):
        return 0.0, 1.08 * max(values)
    return ratio_range(values, unity=are_ratios)


def _part(
    part: ClaimPart,
    layout: Layout,
    groups: Sequence[str],
    span: tuple[float, float],
    *,
    axis: bool,
) -> PartView:
    css, mark = MARKS.get(part.verdict, MARKS[UNDECIDED])
    at = ", ".join(layout.level(name, level) for name, level in part.at.items())
    e = part.estimate
    ratio, low, high = (e.ratio, e.ci_low, e.ci_high) if e else (None, None, None)
    unit = _unit(part, groups)
    words = _words(part, unit)
    dot = ratio_dot(
        ratio,
        low,
        high,
        span=span,
        threshold=part.threshold,
        margin=_margin(part),
        css=css,
        title=words,
        axis=axis,
        unit="×" if part.kind in _RATIOS else "",
    )
    edges, decided = edges_of(part), _decided(part)
    ends = edge if unit == "×" else sig3
    written = (
        f"{ends(low, *edges)}{unit} to {ends(high, *edges)}{unit}"
        if low is not None and high is not None
        else ""
    )
    bound = _BOUNDS[e.bound] if e else ""
    reason = part.why
    if part.verdict == UNDECIDED and part.blocks_needed and "block" not in reason:
        reason = f"{reason} {why.more(part).capitalize()}.".strip()
    brief = (part.why or words) if e is None else f"{bound}{sig3(ratio, *decided)}{unit}"
    value = NONE if ratio is None else f"{bound}{sig3(ratio, *decided)}{unit}"
    if e is not None and part.kind in _COUNTS:
        low = high = None
        value = brief = counts_text.counted(part)
        written = ""
    if low is not None and high is not None:
        brief += f" ({ends(low, *edges)} to {ends(high, *edges)})"
        if part.verdict == UNDECIDED:  # an uncertain ratio is not reported by its middle
            brief = written
    return PartView(
        at,
        part.left,
        part.right,
        part.verdict,
        css,
        mark,
        value,
        written,
        words,
        brief,
        reason,
        dot,
    )


def _decided(part: ClaimPart) -> tuple[float, ...]:
    """What a part was estimated from."""
    return () if part.verdict == UNDECIDED else edges_of(part)


def _unit(part: ClaimPart, groups: Sequence[str]) -> str:
    """What follows the claim's numbers: × for ratios, the metric's unit for values."""
    if part.kind in _RATIOS:
        return "×"
    if part.kind == VALUE and part.metric:
        unit = names.describe(part.metric, groups).unit
        return f" {unit}" if unit else ""
    return ""


def _words(part: ClaimPart, unit: str) -> str:
    """The estimate in a phrase: "2.61 times (98.3 % interval 2.48 to 2.75), against ≥ 2.5"."""
    e = part.estimate
    if e is None:
        return ""  # the reason says it
    if part.kind in _COUNTS:
        return f"{counts_text.counted(part)}, against {_asked(part)}"
    edges = edges_of(part)
    text = f"{sig3(e.ratio, *_decided(part))}{' times' if unit == '×' else unit}"
    text = f"{_BOUNDS[e.bound]}{text}"
    if e.ci_low is not None and e.ci_high is not None:
        ends = edge if unit == "×" else sig3
        interval = f"{percent(e.level)} interval {ends(e.ci_low, *edges)}"
        interval += f" to {ends(e.ci_high, *edges)}"
        open_ = part.verdict == UNDECIDED  # an uncertain ratio is not reported by its middle
        text = f"{interval}{unit}" if open_ else f"{text} ({interval})"
    if part.kind == PEAK:
        return f"{text}: best level that the claim allows over the best that it rules out"
    return f"{text}, against {_asked(part)}"


def form(view: View) -> Iterator[RenderableType]:
    if view.claims:
        yield from (Text(), _claim_table(view.claims))
        if view.looking:
            yield Text(view.looking, style="dim")


def _claim_table(views: list[ClaimView]) -> Table:
    shown = terminal_table("", show_header=False)
    shown.title, shown.title_style = "Claims", "bold"
    shown.add_column(max_width=18)
    shown.add_column(overflow="fold")
    for claim in views:
        style = STYLE[claim.css]
        verdict = Text(f"{claim.mark} {claim.verdict_text}", style=style)
        body = Text(visible(claim.text))
        if claim.say:
            verdict = Text(claim.mark, style=style)
            body = Text.assemble((f"{claim.lead} ", style), visible(claim.say))
            body.append(f"\n{visible(claim.text)}", style="dim")
        words = claim.parts[0].words if len(claim.parts) == 1 else ""
        if words and claim.css != "undecided":  # whose reason says its interval
            body.append(f"\n{visible(words)}", style="dim")
        elif len({part.verdict for part in claim.parts}) > 1:
            add_parts(body, claim)
        if claim.why:
            body.append(f"\n{visible(_short(claim.why))}", style="dim")
        shown.add_row(verdict, body)
    return shown


def add_parts(body: Text, claim: ClaimView) -> None:
    """The parts of a claim whose verdicts differ; where all agree, the claim's says it."""
    for part in claim.shown:
        body.append(f"\n{part.mark} {visible(part.at)}: {visible(part.brief)}", style="dim")
    if claim.folded:
        body.append(f"\n{len(claim.folded)} more in the report", style="dim")


def _short(why: str) -> str:
    """A reason without what the report says of the run's reach."""
    return "; ".join(
        part for part in why.split("; ") if not part.startswith("with this much noise")
    )


SECTION = Section(view, main=10, markdown=80, terminal=80, brief=40, form=form, shortened=shortened)
