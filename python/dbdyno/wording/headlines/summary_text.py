"""The answer in two sentences of plain English, made of effect sizes, never of adjectives."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from dbdyno.analysis.headlines.answer import Single, Size
from dbdyno.analysis.headlines.lead import Lead, clear
from dbdyno.analysis.page.ratios import differing
from dbdyno.analysis.types import Ratio
from dbdyno.experiment.values.bounds import AT_LEAST, AT_MOST
from dbdyno.plan import level_text
from dbdyno.plan.types import Cell, Plan
from dbdyno.wording import names, numbers, plurals

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
    "outage_s": ("the longest time without a commit", "s"),
    "failover_s": ("the time from a fault to the next commit", "s"),
    "promotion_s": ("the time from a fault until another node had taken over", "s"),
    "quorum_lost_s": ("the longest time of a node without a quorum", "s"),
    "transactions_per_s_before": ("throughput before the first fault", "transactions a second"),
    "brownout_s": ("the time below 80 % of the throughput before", "s"),
    "rto_s": ("the recovery time", "s"),
    "rpo_s": ("the time whose commits are lost", "s"),
    "backup_s": ("the time of a backup", "s"),
    "server_cpu_us_per_op": ("server CPU per operation", "µs"),
    "generator_cpu_us_per_op": ("generator CPU per operation", "µs"),
    "cost_per_billion_operations": ("the cost of a billion operations", ""),
    "cost_per_billion_transactions": ("the cost of a billion transactions", ""),
}


_COUNTED = ("audit.", "routing.")
_TIMES = ("s", "ms")
_NO_COUNT = ("", "", "s", 0)  # of metrics that are not known


# What a side did so many times as often, where that is a better verb than "is".
_DID = {"transactions_per_s": "committed", "operations_per_s": "executed"}


def answer_unjudged(
    plan: Plan, trials: int, verdicts: Sequence[str], lead: Lead | None, size: Size | None
) -> str:
    """Of a quick run, or of one that measured nothing."""
    if not trials:
        return "Nothing was measured: no trial is complete. There is no answer yet."
    seen = f" What it saw: {_comparison(plan, lead, size)}." if lead and size else ""
    was = f"This was a quick run of {plurals.count(trials, 'trial')} to see that it works"
    return f"{was}, so nothing is judged.{seen}"


def answer_single(
    plan: Plan,
    trials: int,
    verdicts: Sequence[str],
    lead: None,
    overload: str,
    single: Single,
) -> str:
    """Text for a run with nothing to compare."""
    said = [overload, f"{_capital(_single(plan, single))}.", _standing(verdicts, trials)]
    return " ".join(filter(None, said))


def answer(
    plan: Plan,
    trials: int,
    verdicts: Sequence[str],
    lead: Lead,
    overload: str,
    size: Size,
    loss: Size | None,
    ranking: str,
    span: Sequence[tuple[Mapping[str, str], Ratio]],
) -> str:
    """Which rates were not sustained; what the comparison came to; what its winner loses; whether
    it holds at the other levels, or the claims' verdicts."""
    said = [
        overload,
        f"{_capital(_comparison(plan, lead, size))}.",
        f"But {_size(plan, loss)}." if loss else "",
        ranking or _span(plan, lead, span) or _standing(verdicts, trials),
    ]
    return " ".join(filter(None, said))


def metric_words(metric: str, plan: Plan) -> tuple[str, str]:
    """A metric's noun phrase (with its group, if there are several) and its unit."""
    groups = {group.name for cell in plan.cells for group in cell.groups}
    head, dot, rest = metric.partition(".")
    if dot and head in groups and rest in _WORDS:
        noun, unit = _WORDS[rest]
        return f"{noun} of {head}", unit
    return _WORDS.get(metric) or (_number_of(metric), "")


def _number_of(metric: str) -> str:
    """The noun of what is counted after each trial, and any other metric's own name."""
    if not metric.startswith(_COUNTED) or names.KNOWN.get(metric, _NO_COUNT)[2] in _TIMES:
        return metric
    title = names.KNOWN[metric][1]
    return f"the number of {title[:1].lower()}{title[1:]} in a trial"


def _comparison(plan: Plan, lead: Lead, of: Size) -> str:
    """What is known about the lead: a clear difference, none that matters, or nothing."""
    ratio = lead.ratio
    if clear(ratio) or ratio.ci_low is None or ratio.ci_high is None:
        chosen = len(lead.others) if ratio.ci_low is None else 0
        first = f"the largest of {chosen} differences, not judged: " if chosen > 1 else ""
        small = ", real but too small to matter" if lead.small else ""
        return f"{first}{_size(plan, of)}{small}"
    if len(lead.others) > 1:
        return _none_clear(plan, lead, of)
    noun, _ = metric_words(lead.metric, plan)
    left, right, at = _sides(plan, lead.left, lead.right)
    margin = max(plan.matters, lead.margin)
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
        f" {fits} fits the {plurals.count(ratio.n, 'block')} measured"
    )


def _none_clear(plan: Plan, lead: Lead, of: Size) -> str:
    """Where no claim was made, and none of the differences to lead with is clear."""
    noun, _ = metric_words(lead.metric, plan)
    matters = plan.matters
    size = _size(plan, of)
    if all(_within(ratio, matters) for ratio in lead.others):
        return (
            f"none of the {len(lead.others)} differences in {noun} is above"
            f" {numbers.percent(matters)}; the largest: {size}"
        )
    return (
        f"none of the {len(lead.others)} differences in {noun} is significant; the largest: {size}"
    )


def _size(plan: Plan, of: Size) -> str:
    """ "cache off committed 2.91 times as many transactions a second as cache on, at 20 sessions
    (95 % interval 2.70 to 3.12): 31,200 against 10,700"."""
    metric, left, right, ratio = of.metric, of.left, of.right, of.ratio
    noun, unit = metric_words(metric, plan)
    names = [level_text.levels(plan, differing(*pair)) for pair in ((left, right), (right, left))]
    one, other, at = _sides(plan, left, right)
    times = f"{numbers.ratio(ratio.ratio, *([1.0] if clear(ratio) else []))} times"
    against = " against ".join(numbers.number(mean) for mean in of.means)
    if did := _DID.get(metric.rpartition(".")[2]):
        group = f" in {metric.rpartition('.')[0]}" if "." in metric else ""
        said = f"{names[0]} {did} {times} as many {unit}{group} as {names[1]}"
        return f"{said}{at}{_interval(ratio)}: {against}"
    against = " ".join(filter(None, [against, unit]))
    return f"{noun} {one} is {times} that {other}{at}{_interval(ratio)}: {against}"


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


def _span(plan: Plan, lead: Lead, found: Sequence[tuple[Mapping[str, str], Ratio]]) -> str:
    """How the ratio moves over the other levels; empty if there are none."""
    if len(found) < 2:
        return ""
    open_ones = sum(not clear(ratio) for _, ratio in found)
    if not clear(lead.ratio):
        if lead.others and open_ones == len(found):
            return ""  # said
        how = "none" if open_ones == len(found) else f"{len(found) - open_ones}"
        shows = "show" if len(found) - open_ones > 1 else "shows"
        said = f"{_over(plan, lead, found, 'Of')}, {how} {shows} a clear difference"
        if open_ones < len(found):
            known = [item for item in found if clear(item[1])]
            at, ratio = max(known, key=lambda item: abs(math.log(item[1].ratio)))
            most = "the largest " if len(known) > 1 else ""
            said += f": {most}{numbers.ratio(ratio.ratio)}x at {level_text.levels(plan, at)}"
        return f"{said}."
    lowest = min(found, key=lambda item: item[1].ratio)
    highest = max(found, key=lambda item: item[1].ratio)
    over = _over(plan, lead, found, "Over")
    ends = [
        f"{numbers.ratio(ratio.ratio)} at {level_text.levels(plan, at)}"
        for at, ratio in (lowest, highest)
    ]
    said = f"{over}, the measured ratio runs from {ends[0]} to {ends[1]}"
    if open_ones:
        said += f"; at {open_ones} of them it is not known which way it goes"
    return f"{said}."


def _over(
    plan: Plan, lead: Lead, found: Sequence[tuple[Mapping[str, str], Ratio]], word: str
) -> str:
    """`Over the 4 levels of sessions`, `Of the 8 combinations of id_range and sessions`."""
    names = [
        level_text.factor_word(name, plan.factors)
        for name in lead.common
        if len({at[name] for at, _ in found}) > 1
    ]
    what = (
        f"levels of {names[0]}" if len(names) == 1 else f"combinations of {numbers.listed(names)}"
    )
    return f"{word} the {len(found)} {what}"


def _standing(verdicts: Sequence[str], trials: int) -> str:
    """The claims' verdicts."""
    if not verdicts:
        return f"It rests on {plurals.count(trials, 'trial')}; no claim was made."
    if len(verdicts) == 1:
        return f"The claim is {verdicts[0]}."
    counts = Counter(verdicts)
    if len(counts) == 1:
        return f"All {len(verdicts)} claims are {verdicts[0]}."
    parts = [f"{count} {verdict}" for verdict, count in counts.most_common()]
    return f"Of {len(verdicts)} claims, {numbers.listed(parts)}."


_ONE_SIDED = {"": "", AT_LEAST: "at least ", AT_MOST: "below "}


def _single(plan: Plan, single: Single) -> str:
    """The headline metric of the first cell that has it, if there is nothing to compare."""
    one = single.estimate
    if one is None:
        return f"{single.metric} was not measured"
    noun, unit = metric_words(single.metric, plan)
    text = f"{noun} is {_ONE_SIDED[one.bound]}{numbers.number(one.mean)} {unit}".rstrip()
    if one.ci_low is not None and one.ci_high is not None:
        text += f" ({numbers.number(one.ci_low)} to {numbers.number(one.ci_high)})"
    at = level_text.levels(plan, single.levels or {})
    return f"{text}, at {at}" if at else text


def _with(plan: Plan, levels: dict[str, str]) -> str:
    """`with cache off`, `at 16 sessions`, `on mariadb`."""
    words = level_text.levels(plan, levels)
    if all(level_text.factor_word(name, plan.factors) in level_text.ENGINES for name in levels):
        return f"on {words}"
    return f"at {words}" if "session" in words and len(levels) == 1 else f"with {words}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
