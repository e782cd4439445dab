"""Names causes: the rule that fits best, or `unknown` with what moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dbdyno.analysis.causes import between_cells, over_time, rank
from dbdyno.analysis.causes.evidence import Evidence
from dbdyno.analysis.causes.rule import Match, Rule
from dbdyno.analysis.causes.rules import RULES
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.headlines import differences
from dbdyno.analysis.headlines.lead import Lead
from dbdyno.analysis.message import Message
from dbdyno.analysis.types import UNKNOWN, Cause, Stall, Step, Suspect
from dbdyno.plan.types import Cell
from dbdyno.store.metrics.timeseries import Trace

CONFIDENCE_MIN = 0.5
TIE = 0.03  # of confidence: two rules so near to each other are not distinguished
EXPLAINED_MAX = 50  # stalls of a trial, evenly among them: more teach nothing new
WAITS = ("lock_waits", "mutex_waits")  # told by `differences` with their state
MOST = 0.5  # of a cell's stalls with one cause: it is the cell's


@dataclass(frozen=True)
class Explained:
    """A stall with its cause, and what that rests on."""

    stall: Stall
    cause: Cause
    evidence: Evidence


def explain_stalls(trace: Trace, stalls: Sequence[Stall], cell: Cell) -> list[Explained]:
    """Why a trial of a cell stalled, for each of its stalls; of very many, for some."""
    if not stalls:
        return []
    calm = over_time.Calm(trace, stalls, cell)
    asked = stalls[:: -(-len(stalls) // EXPLAINED_MAX)]
    each = [(stall, calm.of(stall)) for stall in asked]
    return [Explained(stall, judge(seen, trace), seen) for stall, seen in each]


def explain_cell(each: Sequence[Explained]) -> Cause | None:
    """Why the trials of a cell stall. Most of the stalls decide; where those are unknown, all
    together may show what one alone does not. None without stalls."""
    if not each:
        return None
    counts = Counter(one.cause.name for one in each).most_common()
    name, count = counts[0]
    if name != UNKNOWN and count > MOST * len(each):
        of_it = [one for one in each if one.cause.name == name]
        cause = judge(over_time.pooled([one.evidence for one in of_it]))
        if cause.name != name:  # the middle of all is like none of them
            cause = of_it[0].cause
        return _counted(cause, count, len(each))
    cause = judge(over_time.pooled([one.evidence for one in each]))
    known = {found for found, _ in counts if found != UNKNOWN}
    if (cause.name != UNKNOWN and known <= {cause.name}) or count > MOST * len(each):
        return _counted(cause, len(each), len(each))
    said = Message("several_causes", stalls=len(each), counts=counts)
    return Cause(UNKNOWN, Message("title_several"), said, "", "", cause.suspects)


def explain_step(trace: Trace, step: Step, steps: Sequence[Step], cell: Cell) -> Cause:
    """Why the throughput of a trial changed for good. `steps`: all of that trial."""
    return judge(over_time.of_step(trace, step, steps, cell), trace)


def explain_difference(measured: Measured, lead: Lead | None) -> Cause | None:
    """Why the two cells of a lead differ: the rule that fits. Else `unknown`, with what moved with
    the difference: waits, counts an operation or CPU an operation (`differences`). None where the
    difference is not clear, nothing says that both sides met the same circumstances, blocks are too
    few, or nothing distinguishes them."""
    found = between_cells.of_cells(measured, lead) if lead is not None else None
    if found is None:
        return None
    assert lead is not None
    cause = judge(found.evidence)
    blocks = differences.blocks_of(measured, lead)
    if cause.name in WAITS and (waits := differences.waits(measured, lead, blocks, found.clear)):
        return replace(cause, sentence=waits)
    if cause.name != UNKNOWN:
        return cause
    said = differences.reason(measured, lead, found.clear)
    title = Message("title_not_known")
    return Cause(UNKNOWN, title, said, "", cause.metric, cause.suspects) if said else None


def judge(seen: Evidence, trace: Trace | None = None) -> Cause:
    """The best of the rules that fit, or `unknown`; suspects either way."""
    suspects = rank.suspects(seen, trace)
    matches = matching(seen)
    if not matches or matches[0][1].confidence < CONFIDENCE_MIN:
        return _unknown(seen, suspects, ())
    rule, best = matches[0]
    if len(matches) > 1 and best.confidence - matches[1][1].confidence < TIE:
        return _unknown(seen, suspects, (rule.name, matches[1][0].name))
    values = {"rule": rule.name, "evidence": dict(best.evidence)}
    sentence = Message("cause", **values, here=seen.here, there=seen.there)
    title, cure = Message("cause_title", rule=rule.name), Message("cause_cure", **values)
    return Cause(rule.name, title, sentence, cure, best.metric, suspects)


def matching(seen: Evidence) -> list[tuple[Rule, Match]]:
    """Rules that fit, the surest first."""
    found = [
        (rule, match)
        for rule in RULES
        if seen.question in rule.questions and (match := rule.look(seen)) is not None
    ]
    return sorted(found, key=lambda each: (-each[1].confidence, each[0].name))


def _unknown(seen: Evidence, suspects: Sequence[Suspect], fitting: Sequence[str]) -> Cause:
    said = Message(
        "cause_unknown",
        fitting=fitting,
        first=suspects[0] if suspects else None,
        sampled=bool(seen.moved),
        here=seen.here,
        there=seen.there,
    )
    metric = suspects[0].metric if suspects else ""
    return Cause(UNKNOWN, Message("title_unknown"), said, "", metric, tuple(suspects))


def _counted(cause: Cause, count: int, total: int) -> Cause:
    """The same, with how many of the stalls it is."""
    if total == 1:
        return cause
    counted = Message("of_stalls", sentence=cause.sentence, count=count, total=total)
    return replace(cause, sentence=counted)
