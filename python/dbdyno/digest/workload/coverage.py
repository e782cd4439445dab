"""How much of a log a workload carries over, why not more, and how its statements find rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dbdyno.digest.document import Document
from dbdyno.digest.workload import carried
from dbdyno.digest.workload.carried import Chosen
from dbdyno.digest.workload.values import keys
from dbdyno.errors import DynoError
from dbdyno.wording.plurals import count

ACCEPT = "--accept-partial"
SHARE_MIN = 0.8  # of calls and of time, below which a workload is another one than the log's
REPLAY = "replay the log, which leaves nothing out: `dyno digest LOG --trace FILE`"
REASONS_SHOWN = 5
COLUMNS_SHOWN = 8
OTHERS = "of no user, or of users beyond those that have a group"


@dataclass(frozen=True)
class Gone:
    """Calls that are not carried over for one reason. `by`: calls of each class; `is_ours`: dyno
    sends what does the same."""

    reason: str
    calls: int
    time_s: float
    by: Mapping[str, int]

    @property
    def is_ours(self) -> bool:
        """Whether nothing is lost with it: begin and commit, say."""
        return self.reason in carried.OURS


@dataclass(frozen=True)
class Coverage:
    """Calls and time of the log, what of them is not carried over (the most calls first), and how
    the other statements find their rows."""

    calls: int
    time_s: float
    gone: Sequence[Gone]
    keys: keys.Found

    @property
    def calls_share(self) -> float:
        """Of the calls that dyno does not send differently, those that are carried over."""
        return _share(self.calls, [(one.calls, one.is_ours) for one in self.gone])

    @property
    def time_share(self) -> float | None:
        """The same of the query time; None where the log has none."""
        if not self.time_s:
            return None
        return _share(self.time_s, [(one.time_s, one.is_ours) for one in self.gone])

    def shares(self, calls: float, time_s: float) -> str:
        """So many calls that take so long, in words."""
        of_time = f" and {time_s / self.time_s:.2%} of the query time" if self.time_s else ""
        return f"{calls / self.calls:.2%} of the calls{of_time}"

    @property
    def carried(self) -> str:
        """What is carried over, in words."""
        time = "" if self.time_share is None else f" and {self.time_share:.2%} of their query time"
        ours = any(one.is_ours for one in self.gone)
        of = " that dyno does not send differently" if ours else ""
        return f"Carried over: {self.calls_share:.2%} of the calls{of}{time}."


def _share(total: float, gone: Sequence[tuple[float, bool]]) -> float:
    ours = sum(amount for amount, is_ours in gone if is_ours)
    lost = sum(amount for amount, is_ours in gone if not is_ours)
    wanted = total - ours
    return max(0.0, 1 - lost / wanted) if wanted > 0 else 0.0


def of(document: Document, chosen: Chosen) -> Coverage:
    """What a choice of a log's calls covers."""
    left = {
        reason: (sum(by.values()), sum(chosen.time_s(id_, n) for id_, n in by.items()), by)
        for reason, by in chosen.left.calls.items()
    }
    if document.rest is not None:
        calls, time_s, by = left.get(carried.NOT_KEPT, (0, 0.0, {}))
        left[carried.NOT_KEPT] = (calls + document.rest.count, time_s + document.rest.time_s, by)
    gone = [Gone(reason, *amounts) for reason, amounts in left.items()]
    gone.sort(key=lambda one: -one.calls)
    return Coverage(document.overall.count, document.overall.time_s, gone, keys.found(chosen))


def of_several(document: Document, parts: Sequence[tuple[Document, Chosen]]) -> Coverage:
    """The same of choices of parts of a log, such as one a user. `document`: the whole log."""
    found = [of(*part) for part in parts]
    gone: dict[str, Gone] = {}
    for one in (each for part in found for each in part.gone):
        before = gone.get(one.reason, Gone(one.reason, 0, 0.0, {}))
        by = {id_: before.by.get(id_, 0) + one.by.get(id_, 0) for id_ in {**before.by, **one.by}}
        gone[one.reason] = Gone(
            one.reason, before.calls + one.calls, before.time_s + one.time_s, by
        )
    calls, time_s = document.overall.count, document.overall.time_s
    rest = calls - sum(part.calls for part in found)
    if rest > 0:
        left_s = max(0.0, time_s - sum(part.time_s for part in found))
        gone[OTHERS] = Gone(OTHERS, rest, left_s, {})
    ranked = sorted(gone.values(), key=lambda one: -one.calls)
    return Coverage(calls, time_s, ranked, keys.together([part.keys for part in found]))


def refuse_little(coverage: Coverage, whose: str = "the log's", instead: str = REPLAY) -> None:
    """DynoError for what is another load than `whose`; `instead`: what leaves nothing out."""
    time = coverage.time_share
    if min(coverage.calls_share, 1.0 if time is None else time) >= SHARE_MIN:
        return
    reasons = (
        f"{coverage.shares(one.calls, one.time_s)}: {one.reason}"
        for one in coverage.gone
        if not one.is_ours
    )
    raise DynoError(
        f"{coverage.carried[:-1]}: less than {SHARE_MIN:.0%} is another load than {whose}",
        cause="; ".join(list(reasons)[:REASONS_SHOWN]),
        fix=f"take what there is with {ACCEPT}; or {instead}",
    )


def why(coverage: Coverage) -> Iterator[str]:
    """Sentences on what is omitted, and on the keys that statements select."""
    for one in coverage.gone[:REASONS_SHOWN]:
        how = "Sent differently by dyno" if one.is_ours else "Omitted"
        yield f"{how}, {coverage.shares(one.calls, one.time_s)}: {one.reason}"
    if len(coverage.gone) > REASONS_SHOWN:
        more = coverage.gone[REASONS_SHOWN:]
        calls, time_s = sum(one.calls for one in more), sum(one.time_s for one in more)
        reasons = count(len(more), "reason")
        yield f"And {coverage.shares(calls, time_s)} for {reasons} more, at the head of the file"
    yield from looked_for(coverage)


def looked_for(coverage: Coverage) -> Iterator[str]:
    """Sentences on the keys that statements select."""
    found = coverage.keys
    if found.drawn:
        named = ", ".join(found.columns[:COLUMNS_SHOWN])
        more = len(found.columns) - COLUMNS_SHOWN
        named += f" and {more:,} more" if more > 0 else ""
        yield (
            f"{found.drawn / coverage.calls:.2%} of the calls look for keys that cannot be made up:"
            f" they are drawn from the server's tables before the load ({named})."
        )
    if found.made_up:
        yield (
            f"{found.made_up / coverage.calls:.2%} of the calls search made-up values, of which"
            " hardly any is there, and finding nothing is fast: their columns are unknown. Put"
            " `column: TABLE.COLUMN` for their generators; `expect` makes an error of an"
            " answer that the log did not have."
        )
