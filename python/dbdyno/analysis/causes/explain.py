"""Names causes: the rule that fits best, or `unknown` with what moved."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from dbdyno.analysis import describe
from dbdyno.analysis.causes import over_time, rank
from dbdyno.analysis.causes.evidence import STALL, Evidence
from dbdyno.analysis.causes.rule import Match, Rule
from dbdyno.analysis.causes.rules import RULES
from dbdyno.analysis.types import UNKNOWN, Cause, Stall, Step, Suspect
from dbdyno.plan.types import Cell
from dbdyno.store.trace import Trace

CONFIDENCE_MIN = 0.5
TIE = 0.03  # of confidence: two rules so near to each other are not told apart
MOST = 0.5  # of a cell's stalls with one cause: it is the cell's

Looked = tuple[Trace, Sequence[Stall]]


def explain_stall(trace: Trace, stall: Stall, stalls: Sequence[Stall], cell: Cell) -> Cause:
    """Why a trial of a cell stalled. `stalls`: all of that trial."""
    seen = over_time.of_stalls([(trace, [stall], stalls)], cell)
    return judge(seen, trace)


def explain_step(trace: Trace, step: Step, steps: Sequence[Step], cell: Cell) -> Cause:
    """Why the throughput of a trial changed for good. `steps`: all of that trial."""
    return judge(over_time.of_step(trace, step, steps, cell), trace)


def explain_cell(looked: Sequence[Looked], cell: Cell) -> Cause | None:
    """Why the trials of a cell stall: each trace with its stalls, of which some may have causes
    already. Most of them decide; where those are unknown, all stalls together may show what one
    alone does not. None without stalls."""
    each = [
        (trace, stall, stall.cause or explain_stall(trace, stall, stalls, cell))
        for trace, stalls in looked
        for stall in stalls
    ]
    if not each:
        return None
    (name, count), *_ = Counter(cause.name for _, _, cause in each).most_common()
    if name != UNKNOWN and count > MOST * len(each):
        of_it = [
            (trace, [stall for t, stall, cause in each if t is trace and cause.name == name], all_)
            for trace, all_ in looked
        ]
        seen = over_time.of_stalls(of_it, cell)
        pooled = judge(seen, looked[0][0])
        if pooled.name != name:  # the middle of all is like none of them
            pooled = next(cause for _, _, cause in each if cause.name == name)
        return _counted(pooled, count, len(each))
    everything = over_time.of_stalls([(trace, stalls, stalls) for trace, stalls in looked], cell)
    pooled = judge(everything, looked[0][0])
    if pooled.name == UNKNOWN or name == UNKNOWN:
        return _counted(pooled, len(each), len(each))
    named = ", ".join(
        f"{describe.counted(n, 'stall')} {_title(cause_name)}"
        for cause_name, n in Counter(cause.name for _, _, cause in each).most_common()
    )
    return Cause(UNKNOWN, "several causes", f"Not one cause: {named}.", "", "", pooled.suspects)


def judge(seen: Evidence, trace: Trace | None = None) -> Cause:
    """The best of the rules that fit, or `unknown`; suspects either way."""
    suspects = rank.suspects(seen, trace)
    matches = matching(seen)
    if not matches or matches[0][1].confidence < CONFIDENCE_MIN:
        return _unknown(seen, suspects, ())
    rule, best = matches[0]
    if len(matches) > 1 and best.confidence - matches[1][1].confidence < TIE:
        return _unknown(seen, suspects, (rule.title, matches[1][0].title))
    return Cause(rule.name, rule.title, best.sentence, best.cure, best.metric, suspects)


def matching(seen: Evidence) -> list[tuple[Rule, Match]]:
    """Rules that fit, the surest first."""
    found = [
        (rule, match)
        for rule in RULES
        if seen.question in rule.questions and (match := rule.look(seen)) is not None
    ]
    return sorted(found, key=lambda each: (-each[1].confidence, each[0].name))


def _unknown(seen: Evidence, suspects: Sequence[Suspect], fitting: Sequence[str]) -> Cause:
    said = "The cause is unknown"
    if fitting:
        said = f"The cause is unknown: {describe.listed(fitting)} fit equally well"
    if suspects:
        first = suspects[0]
        said += (
            f"; what moved most is {first.metric}, {describe.number(first.during)} {seen.here}"
            f" against {describe.number(first.otherwise)} {seen.there}."
        )
    elif not seen.moved:
        said += ": nothing was sampled."
    else:
        said += ": nothing that was sampled moved clearly."
    metric = suspects[0].metric if suspects else ""
    return Cause(UNKNOWN, "unknown", said, "", metric, tuple(suspects))


def _counted(cause: Cause, count: int, total: int) -> Cause:
    """The same, with how many of the stalls it is."""
    which = "the stall" if total == 1 else f"{count} of {total} stalls"
    if total == 1:
        return cause
    sentence = re.sub(r"\bin the stall\b", "in the stalls", cause.sentence)
    return Cause(
        cause.name,
        cause.title,
        f"{sentence[:-1]} ({which})." if sentence.endswith(".") else f"{sentence} ({which})",
        cause.cure,
        cause.metric,
        cause.suspects,
    )


def _title(name: str) -> str:
    return next((rule.title for rule in RULES if rule.name == name), name)


__all__ = ["STALL", "explain_cell", "explain_stall", "explain_step", "judge", "matching"]
