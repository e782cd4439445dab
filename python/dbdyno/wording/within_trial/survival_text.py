"""What set-ups kept of what they acknowledged when a fault struck, and at what price, in words.

Losses are counted, so that sentences may name them. Times and rates differ by chance as well: the
table has them, and only claims say which is less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from dbdyno.wording.numbers import listed, sig3
from dbdyno.wording.plurals import count

NOT_KNOWN = "not known"
NAMED = 4  # set-ups in a sentence
MEDIANS = "Times and rates are medians of trials; whether they differ is for claims to judge."
ERROR = 0.05  # of a bound with 95 % confidence


@dataclass(frozen=True)
class Outcome:
    """All trials of a cell in which a fault began. `lost` and `outages_s` have one number a trial;
    None in `lost`: the audit could not read the nodes."""

    where: str
    lost: tuple[int | None, ...]
    acknowledged: int
    outages_s: tuple[float, ...]
    cut: int  # outages that had not ended with the trial
    tps_before: tuple[float, ...]

    @property
    def total(self) -> int | None:
        """Transactions lost in all trials; in those that could be read, if that is some."""
        known = [each for each in self.lost if each is not None]
        return sum(known) if len(known) == len(self.lost) or any(known) else None

    @property
    def keeps(self) -> bool:
        """Whether there was something to lose, and nothing was lost."""
        return self.total == 0 and self.acknowledged > 0

    def order(self) -> tuple[float, float]:
        """The most trustworthy first: fewest losses, then the fastest."""
        total = self.total if self.acknowledged else None
        return (float("inf") if total is None else total, -_middle(self.tps_before))


def possible(trials: int) -> float:
    """The share of trials in which losses remain possible when none was seen in so many: Clopper
    and Pearson's bound (1934), 95 %, one-sided as in `analysis.claims.counts`: none can be too
    many."""
    return float(1.0 - ERROR ** (1.0 / trials))


def lost(outcome: Outcome) -> str:
    """The transactions that were lost, and in how many trials."""
    total = outcome.total
    if total is None:
        return NOT_KNOWN
    if not total:
        return f"{total:,}"
    trials, unread = sum(bool(each) for each in outcome.lost), outcome.lost.count(None)
    among = f"in {trials} of {len(outcome.lost)} trials"
    return f"at least {total:,} ({among}; {unread} not known)" if unread else f"{total:,} ({among})"


def outage(outcome: Outcome) -> str:
    """The longest time without a commit: its median, and that of the worst trial."""
    if not outcome.outages_s:
        return ""
    worst, least = max(outcome.outages_s), "at least " if outcome.cut else ""
    middle = _middle(outcome.outages_s)
    more = f" (worst {sig3(worst)})" if worst > middle else ""
    return f"{least}{sig3(middle)} s{more}"


def tps(outcome: Outcome) -> str:
    """Throughput before the fault."""
    return sig3(_middle(outcome.tps_before)) if outcome.tps_before else ""


def summary(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """Which set-ups kept all, and which lost something."""
    kept = [one for one in outcomes if one.keeps]
    said = []
    if kept:
        trials = min(len(one.lost) for one in kept)
        said.append(
            f"No acknowledged transaction was lost {_at(kept)}. None in"
            f" {count(trials, 'trial')} leaves losses possible in up to {possible(trials):.0%} of"
            " such trials (95 % confidence)."
        )
    if losers := [one for one in outcomes if one.total]:
        each = [f"{lost(one)}{f' at {one.where}' if one.where else ''}" for one in losers[:NAMED]]
        each += [f"some at {len(losers) - NAMED} more"] if len(losers) > NAMED else []
        said.append(f"Acknowledged transactions were lost: {listed(each)}.")
    if idle := [one for one in outcomes if one.total == 0 and not one.acknowledged]:
        said.append(f"Nothing was acknowledged, and so nothing could be lost, {_at(idle)}.")
    unknown = [one for one in outcomes if one.total is None]
    if unknown:
        said.append(f"It is not known what was lost {_at(unknown)}.")
    if len(outcomes) > 1:
        said.append(MEDIANS)
    return tuple(said)


def _at(outcomes: Sequence[Outcome]) -> str:
    names = [one.where for one in outcomes if one.where]
    if not names:
        return "in this run"
    more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
    return f"at {listed([*names[:NAMED], *more])}"


def _middle(values: Sequence[float]) -> float:
    return median(values) if values else 0.0
