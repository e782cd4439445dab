"""The answer in two sentences of plain English, made of effect sizes, never of adjectives."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from dbdyno.analysis import single_values
from dbdyno.analysis.estimates.estimate import mean
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.estimates.ranking import ranking
from dbdyno.analysis.headlines.headline import headline_metric
from dbdyno.analysis.headlines.lead import Lead, clear, elsewhere
from dbdyno.analysis.page.opposite import Loss, opposite
from dbdyno.analysis.page.ratios import PageRatios, differing
from dbdyno.analysis.types import ClaimResult, Ratio
from dbdyno.analysis.within_trial import overload
from dbdyno.experiment.values.bounds import AT_LEAST, AT_MOST, NEITHER
from dbdyno.plan import level_text
from dbdyno.plan.types import Cell, Plan
from dbdyno.wording import numbers

# base name -> (noun, unit)
_WORDS = {
    "transactions_per_s": ("throughput", "transactions a second"),
    "operations_per_s": ("throughput", "operations a second"),
    "service_ms_mean": ("mean service time", "ms"),
    "service_ms_p50": ("median service time", "ms"),
    "service_ms_p95": ("95th percentile service time", "ms"),
    "service_ms_p99": ("99th percentile service time", "ms"),
    "service_ms_p999": ("99.9th percentile service time", "ms"),
    "response_ms_mean": ("mean response time", "ms"),
    "response_ms_p50": ("median response time", "ms"),
    "response_ms_p95": ("95th percentile response time", "ms"),
    "response_ms_p99": ("99th percentile response time", "ms"),
    "response_ms_p999": ("99.9th percentile response time", "ms"),
    "rate_max_per_s": ("the highest rate", "transactions a second"),
    "backlog_max": ("the largest backlog", "arrivals"),
    "errors_per_s": ("the error rate", "a second"),
    "retries_per_s": ("the rate of retries", "a second"),
    "failed_per_s": ("the rate of failed transactions", "a second"),
    "server_cpu_us_per_op": ("server CPU per operation", "µs"),
    "generator_cpu_us_per_op": ("generator CPU per operation", "µs"),
    "cost_per_billion_operations": ("the cost of a billion operations", ""),
    "cost_per_billion_transactions": ("the cost of a billion transactions", ""),
}


# What a side did so many times as often, where that is a better verb than "is".
_DID = {"transactions_per_s": "committed", "operations_per_s": "executed"}


def answer(
    measured: Measured,
    lead: Lead | None,
    claims: Sequence[ClaimResult],
    ratios: PageRatios,
    metrics: Sequence[str],
) -> str:
    """Two sentences: what the comparison that the run leads with came to, and how far that holds
    over the other levels (or how the claims stand). Between them what the winner loses in another
    of `metrics`; before them, which rates were not held."""
    plan = measured.plan
    trials = sum(map(len, measured.cells.values()))
    if not trials:
        return "Nothing was measured: no trial is complete. There is no answer yet."
    if plan.quick:
        seen = f" What it saw: {_comparison(measured, lead)}." if lead else ""
        was = f"This was a quick run of {numbers.counted(trials, 'trial')} to see that it works"
        return f"{was}, so nothing is judged.{seen}"
    said = [overload.sentence(measured)]
    if lead is None:
        said += [f"{_capital(_single(measured, claims))}.", _standing(claims, trials)]
    else:
        loss = opposite(measured, lead, metrics, ratios)
        said += [
            f"{_capital(_comparison(measured, lead))}.",
            f"But {_loss(measured, loss)}." if loss else "",
            ranking(measured, lead, ratios)
            or _span(measured, lead, ratios)
            or _standing(claims, trials),
        ]
    return " ".join(filter(None, said))


def metric_words(metric: str, plan: Plan) -> tuple[str, str]:
    """A metric's noun phrase (with its group, if there are several) and its unit."""
    groups = {group.name for cell in plan.cells for group in cell.groups}
    head, dot, rest = metric.partition(".")
    if dot and head in groups and rest in _WORDS:
        noun, unit = _WORDS[rest]
        return f"{noun} of {head}", unit
    return _WORDS.get(metric, (metric, ""))


def _comparison(measured: Measured, lead: Lead) -> str:
    """What is known of the lead: a clear difference, none that matters, or nothing."""
    ratio = lead.ratio
    if clear(ratio) or ratio.ci_low is None or ratio.ci_high is None:
        chosen = len(lead.others) if ratio.ci_low is None else 0
        first = f"the largest of {chosen} differences, not judged: " if chosen > 1 else ""
        small = ", real but too small to matter" if lead.small else ""
        return f"{first}{_size(measured, lead.metric, lead.left, lead.right, ratio)}{small}"
    if len(lead.others) > 1:
        return _none_clear(measured, lead)
    noun, _ = metric_words(lead.metric, measured.plan)
    left, right, at = _sides(measured.plan, lead.left, lead.right)
    margin = max(measured.plan.matters, lead.margin)
    low, high = ratio.ci_low, ratio.ci_high
    if _within(ratio, margin):
        most = numbers.percent(margin)
        size = f"{numbers.ratio(ratio.ratio)} times as high{_interval(ratio)}"
        if lead.open:
            differs = f"it is not known whether {noun} {left} differs from that {right}{at}"
            return f"{differs}; no difference above {most} fits: it was {size}"
        return f"{noun} {left} is within {most} of that {right}{at}: {size}"
    fits = f"{numbers.bound(low, 1.0)} to {numbers.bound(high, 1.0)} times"
    return (
        f"it is not known whether {noun} {left} differs from that {right}{at}: anything from"
        f" {fits} fits the {numbers.counted(ratio.n, 'block')} measured"
    )


def _none_clear(measured: Measured, lead: Lead) -> str:
    """Where no claim was made, and none of the differences to lead with is clear."""
    noun, _ = metric_words(lead.metric, measured.plan)
    matters = measured.plan.matters
    size = _size(measured, lead.metric, lead.left, lead.right, lead.ratio)
    if all(_within(ratio, matters) for ratio in lead.others):
        return (
            f"none of the {len(lead.others)} differences in {noun} is above"
            f" {numbers.percent(matters)}; the largest: {size}"
        )
    return (
        f"none of the {len(lead.others)} differences in {noun} can be told from chance; the"
        f" largest: {size}"
    )


def _size(measured: Measured, metric: str, left: Cell, right: Cell, ratio: Ratio) -> str:
    """ "cache off committed 2.91 times as many transactions a second as cache on, at 20 sessions
    (95 % interval 2.70 to 3.12): 31,200 against 10,700"."""
    plan = measured.plan
    noun, unit = metric_words(metric, plan)
    names = [level_text.levels(plan, differing(*pair)) for pair in ((left, right), (right, left))]
    one, other, at = _sides(plan, left, right)
    times = f"{numbers.ratio(ratio.ratio, *([1.0] if clear(ratio) else []))} times"
    values = [numbers.number(_mean(measured, cell.index, metric)) for cell in (left, right)]
    against = f"{values[0]} against {values[1]}"
    if did := _DID.get(metric.rpartition(".")[2]):
        group = f" in {metric.rpartition('.')[0]}" if "." in metric else ""
        said = f"{names[0]} {did} {times} as many {unit}{group} as {names[1]}"
        return f"{said}{at}{_interval(ratio)}: {against}"
    against = " ".join(filter(None, [against, unit]))
    return f"{noun} {one} is {times} that {other}{at}{_interval(ratio)}: {against}"


def _loss(measured: Measured, loss: Loss) -> str:
    return _size(measured, loss.metric, loss.winner, loss.loser, loss.ratio)


def _sides(plan: Plan, left: Cell, right: Cell) -> tuple[str, str, str]:
    """`with cache off`, `with cache on`, `, at 16 sessions`: what they do not share, and share."""
    ours = differing(left, right)
    common = {name: level for name, level in left.levels.items() if name not in ours}
    at = f", at {level_text.levels(plan, common)}" if common else ""
    return _with(plan, ours), _with(plan, differing(right, left)), at


def _interval(ratio: Ratio) -> str:
    if ratio.ci_low is None or ratio.ci_high is None:
        return ""
    ends = [numbers.bound(end, 1.0) for end in (ratio.ci_low, ratio.ci_high)]
    return f" ({numbers.percent(ratio.level)} interval {ends[0]} to {ends[1]})"


def _within(ratio: Ratio, margin: float) -> bool:
    low, high = ratio.ci_low, ratio.ci_high
    return bool(low and high) and max(1 / (low or 1), high or 1) <= 1 + margin


def _span(measured: Measured, lead: Lead, ratios: PageRatios) -> str:
    """How the ratio moves over the other levels; empty if there are none."""
    plan = measured.plan
    found = [(at, ratio) for at, ratio in elsewhere(measured, lead, ratios) if at]
    if len(found) < 2:
        return ""
    open_ones = sum(not clear(ratio) for _, ratio in found)
    if not clear(lead.ratio):
        if lead.others and open_ones == len(found):
            return ""  # said
        how = "none" if open_ones == len(found) else f"{len(found) - open_ones}"
        shows = "show" if len(found) - open_ones > 1 else "shows"
        said = f"{_over(measured, lead, found, 'Of')}, {how} {shows} a clear difference"
        if open_ones < len(found):
            known = [item for item in found if clear(item[1])]
            at, ratio = max(known, key=lambda item: abs(math.log(item[1].ratio)))
            most = "the largest " if len(known) > 1 else ""
            said += f": {most}{numbers.ratio(ratio.ratio)}x at {level_text.levels(plan, at)}"
        return f"{said}."
    lowest = min(found, key=lambda item: item[1].ratio)
    highest = max(found, key=lambda item: item[1].ratio)
    over = _over(measured, lead, found, "Over")
    ends = [
        f"{numbers.ratio(ratio.ratio)} at {level_text.levels(plan, at)}"
        for at, ratio in (lowest, highest)
    ]
    said = f"{over}, the measured ratio runs from {ends[0]} to {ends[1]}"
    if open_ones:
        said += f"; at {open_ones} of them it is not known which way it goes"
    return f"{said}."


def _over(
    measured: Measured, lead: Lead, found: Sequence[tuple[dict[str, str], Ratio]], word: str
) -> str:
    """`Over the 4 levels of sessions`, `Of the 8 combinations of id_range and sessions`."""
    names = [
        level_text.factor_word(name, measured.plan.factors)
        for name in lead.common
        if len({at[name] for at, _ in found}) > 1
    ]
    what = (
        f"levels of {names[0]}" if len(names) == 1 else f"combinations of {numbers.listed(names)}"
    )
    return f"{word} the {len(found)} {what}"


def _standing(claims: Sequence[ClaimResult], trials: int) -> str:
    """How the claims stand."""
    if not claims:
        return f"It rests on {numbers.counted(trials, 'trial')}; no claim was made."
    if len(claims) == 1:
        return f"The claim is {claims[0].verdict}."
    counts = Counter(claim.verdict for claim in claims)
    if len(counts) == 1:
        return f"All {len(claims)} claims are {claims[0].verdict}."
    parts = [f"{count} {verdict}" for verdict, count in counts.most_common()]
    return f"Of {len(claims)} claims, {numbers.listed(parts)}."


_ONE_SIDED = {"": "", AT_LEAST: "at least ", AT_MOST: "below "}


def _single(measured: Measured, claims: Sequence[ClaimResult]) -> str:
    """The headline metric of the first cell that has it, where there is nothing to compare."""
    metric = headline_metric(measured, claims)
    for index in measured.cells:
        series = measured.series(index, metric)
        if series and measured.bound(index, metric) != NEITHER:
            noun, unit = metric_words(metric, measured.plan)
            one = single_values.estimate(measured, index, metric)
            least = _ONE_SIDED[one.bound]
            text = f"{noun} is {least}{numbers.number(one.mean)} {unit}".rstrip()
            if one.ci_low is not None and one.ci_high is not None:
                text += f" ({numbers.number(one.ci_low)} to {numbers.number(one.ci_high)})"
            at = level_text.levels(measured.plan, measured.cell(index).levels)
            return f"{text}, at {at}" if at else text
    return f"{metric} was not measured"


def _mean(measured: Measured, cell: int, metric: str) -> float:
    return mean(metric, measured.series(cell, metric).values())


def _with(plan: Plan, levels: dict[str, str]) -> str:
    """`with cache off`, `at 16 sessions`, `on mariadb`."""
    words = level_text.levels(plan, levels)
    if all(level_text.factor_word(name, plan.factors) in level_text.ENGINES for name in levels):
        return f"on {words}"
    return f"at {words}" if "session" in words and len(levels) == 1 else f"with {words}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
