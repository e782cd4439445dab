"""Two runs held against each other, in sentences.

The ratio is marked *unblocked*; a verdict has the interval that it was read off next to it.
"""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.analysis.between_runs.judging import a_month
from dbdyno.analysis.between_runs.types import (
    NOT_CLEAR,
    NOT_JUDGED,
    SUSPECTED,
    WORSE,
    Claimed,
    Compared,
    Row,
)
from dbdyno.plan.types import Plan
from dbdyno.wording import names, numbers
from dbdyno.wording.numbers import percent
from dbdyno.wording.plurals import count
from dbdyno.wording.verdicts import headline as in_words
from dbdyno.wording.visible import visible

_RATES = ("transactions_per_s", "operations_per_s", "rate_max_per_s", "rows_per_s")


def sentence(compared: Compared, plan: Plan) -> str:
    """The ratio of the first metric in words: B is 1.08 times as fast as A (unblocked; ...)."""
    metric = compared.rows[0].metric
    rows = [row for row in compared.rows if row.metric == metric]
    known = names.describe(metric, names.groups_of(plan))
    ratios = sorted(row.ratio for row in rows if row.ratio is not None and row.cells == 1)
    if not ratios:
        return f"The ratio of B to A in {known.column} is not estimable: {rows[0].problem}."
    edges = told(rows[0]) if len(rows) == 1 else ()
    ends = dict.fromkeys((numbers.ratio(ratios[0], *edges), numbers.ratio(ratios[-1], *edges)))
    ratio, over = " to ".join(ends), ""
    if rows[0].cells > 1 and rows[0].ratio is not None:
        ratio = numbers.ratio(rows[0].ratio, *told(rows[0]))
        between = f": {' to '.join(ends)}" if len(ends) > 1 else ""
        over = f"mean over {rows[0].cells} cells{between}; "
    fast = any(metric == name or metric.endswith(f".{name}") for name in _RATES)
    group = f" in {visible(known.group)}" if known.group else ""
    text = f"B is {ratio} times as fast as A{group}"
    if not fast:
        text = f"{known.column} of B is {ratio} times that of A"
    return f"{text} ({over}unblocked; {_spread(rows)})"


def claim(one: Claimed) -> str:
    """`Supported in A, refuted in B: WORDS (CLAIM)`; of a claim without words, the claim alone."""
    verdict = in_words.sized(one.b.verdict, one.b.small)
    before = in_words.sized(one.a.verdict, one.a.small) if one.a else ""
    if before == verdict:
        said = f"{verdict} in both"
    else:
        said = f"{before} in A, {verdict} in B" if before else f"{verdict} in B"
    return in_words.line(said, one.b.say, one.b.text)


def of_ratios(rows: Sequence[Row]) -> str:
    """Why rows over several cells have no A and B; empty without any."""
    if all(row.cells == 1 for row in rows):
        return ""
    return "The row over several cells is the mean of their ratios: it has no A and B of its own."


def told(row: Row) -> tuple[float, ...]:
    """What the ratio of a row was estimated from."""
    return () if row.verdict in (NOT_JUDGED, NOT_CLEAR) else (1.0,)


def _spread(rows: Sequence[Row]) -> str:
    shown = rows[:1] if rows[0].cells > 1 else rows
    spreads = sorted(row.spread for row in shown if row.spread is not None)
    if not spreads:
        return "spread between runs not known"
    ends = [percent(float(f"{share:.2g}")) for share in (spreads[0], spreads[-1])]
    span = ends[0] if ends[0] == ends[1] else f"{ends[0].removesuffix(' %')} to {ends[1]}"
    return f"between-run spread ±{span}"


def referred(compared: Compared) -> bool:
    return any(row.reference for row in compared.rows)


def verdicts(compared: Compared) -> str:
    """How many rows got which verdict, and what they were judged by."""
    counts: dict[str, int] = {}
    for row in compared.rows:
        words = f"{row.verdict}, but small" if row.small else row.verdict or "not judged"
        counts[words] = counts.get(words, 0) + 1
    said = ", ".join(f"{words} in {number}" for words, number in counts.items())
    said = said[:1].upper() + said[1:]
    levels = {row.estimate.level for row in compared.rows if row.estimate}
    runs = f"{visible(compared.before[0])} to {visible(compared.before[-1])}"
    number = len(compared.before)
    text = (
        f"{said} of {count(len(compared.rows), 'row')}, by the {number} runs before B ({runs}):"
        f" their last ones{_reference(compared)}.\nThe rows share one error budget: intervals"
        " at up to"
        f" {percent(max(levels))}."
    )
    if compared.matters:
        text += f" Small: up to {percent(compared.matters)}."
    if seen := [row.seen for row in compared.rows if row.seen is not None]:
        ends = dict.fromkeys(percent(float(f"{one:.2g}")) for one in (min(seen), max(seen)))
        text += f" Changes seen in 80 % of runs: from {' to '.join(ends)}, by row."
    if any(row.verdict in (SUSPECTED, WORSE) for row in compared.rows):
        suspected, confirmed = a_month(number)
        text += (
            "\nSuspected is what one run shows, worse what a second one in turn confirms. By"
            f" chance, with a run each night: at most {suspected:.2g} a month are suspected and"
            f" {confirmed:.2g} confirmed."
        )
    return text


def _reference(compared: Compared) -> str:
    if not referred(compared):
        return ""
    if compared.reference:
        return f", and the reference {', '.join(map(visible, compared.reference))}"
    return ", and as reference the first ones at the best level"
