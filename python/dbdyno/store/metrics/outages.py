"""What clients saw of faults: time without a commit, until the first one again, below the usual
throughput. Pure.

All of it comes from the commits of each tick (`TICK_S`), so that is the resolution. Where k whole
ticks have no commit, the gap between two commits was of k to k + 2 ticks, of k + 1 on average. That
is the value given: it is right to within a tick, and a trial with a commit in every tick has one
tick, the shortest that can be seen. A gap that the begin or the end of the measured time cuts off
is a lower bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dbdyno.experiment.values.bounds import AT_LEAST
from dbdyno.store.metrics.latency import Times
from dbdyno.store.metrics.timeseries import TICK_S, Floats, Trace
from dbdyno.store.rolelog import QUORUM_LOST, QUORUM_REGAINED

LOW_SHARE = 0.8  # of the throughput before the first fault: below it is a brown-out
STATEMENTS = ("sql", "alter")  # faults that are over once they are answered
SECOND = round(1 / TICK_S)  # brown-outs are counted by the second: fewer commits scatter more
OUTAGE_TICKS = 3  # without a commit, after a fault, are an outage
LOSSES = ("silent", "fenced")  # changes of the node that is replaced, the more telling first
TAKES_OVER = ("promoted", "elected", "chosen")  # changes of roles
SOON_TICKS = SECOND  # so long after a fault the outage begins that is taken for its effect


class Gap(NamedTuple):
    """Ticks [first, end) without a commit."""

    first: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.first


def of_group(
    trace: Trace,
    group: str,
    faults: Sequence[Mapping[str, Any]] = (),
    roles: Sequence[Mapping[str, Any]] = (),
) -> Times:
    """Metrics of a group: `outage_s`, and where there were `faults` (a trial's record) that began
    within the measured time, `failover_s`, `brownout_s`, `transactions_per_s_before` and, where
    `roles` changed (the record's, of the group's target), `promotion_s` and `quorum_lost_s`, as far
    as they are known."""
    measured = trace.measured()
    commits, ends_s = measured.commits.get(group, np.zeros(0)), measured.ends_s
    if not len(commits):
        return Times({}, {})
    found = list(gaps(commits))
    metrics, bounds = _outage(found, len(commits))
    begun = sorted(
        (at_s, str(fault["node"]))
        for fault in faults
        if 0 <= (at_s := _begun_s(fault)) < trace.measured_s
    )
    began_s = [at_s for at_s, _ in begun]
    if began_s:
        for more in (
            _failover(found, ends_s, began_s),
            _brownout(commits, ends_s, began_s[0]),
            _before(commits, ends_s, began_s[0]),
            _promotion(roles, begun),
            _quorum_lost(roles, trace.measured_s),
        ):
            metrics |= more.metrics
            bounds |= more.bounds
    return Times(metrics, bounds)


def _begun_s(fault: Mapping[str, Any]) -> float:
    """When a fault began; before the first step of a drill it waited for another one."""
    steps = fault.get("steps", ())
    return float(steps[0]["begun_s"] if steps else fault.get("begun_s", -1.0))


def of_statements(faults: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """`sql_s`: the longest time from a statement's begin to its answer, of faults `sql`, and of
    programs that change a table instead; nothing where none was answered."""
    took = [
        float(fault["in_force_s"]) - float(fault["begun_s"])
        for fault in faults
        if fault["do"] in STATEMENTS and "in_force_s" in fault and not fault.get("problem")
    ]
    return {"sql_s": max(took)} if took else {}


def gaps(commits: Floats) -> Iterator[Gap]:
    """The runs of ticks without a commit, in order."""
    empty = np.concatenate(([False], commits <= 0, [False]))
    edges = np.flatnonzero(empty[1:] != empty[:-1]).tolist()
    yield from (Gap(*pair) for pair in zip(edges[::2], edges[1::2], strict=True))


def _outage(found: Sequence[Gap], ticks: int) -> tuple[dict[str, float], dict[str, str]]:
    longest = max(found, key=lambda gap: gap.length, default=Gap(1, 1))
    if longest.length and (longest.first == 0 or longest.end == ticks):
        return {"outage_s": TICK_S * longest.length}, {"outage_s": AT_LEAST}
    return {"outage_s": TICK_S * (longest.length + 1)}, {}


def _failover(found: Sequence[Gap], ends_s: Floats, began_s: Sequence[float]) -> Times:
    """The longest time from a fault to the first commit after the outage that it caused: one that
    begins soon, and is longer than any that came before the first fault."""
    first = int(np.searchsorted(ends_s, began_s[0]))
    usual = max((gap.length for gap in found if gap.end <= first), default=0)
    longest, bound = 0.0, ""
    for at_s in began_s:
        tick = int(np.searchsorted(ends_s, at_s))
        for gap in found:
            if not tick <= gap.first <= tick + SOON_TICKS:
                continue
            if gap.length < OUTAGE_TICKS or gap.length <= usual:
                continue
            ended = gap.end < len(ends_s)
            # The first commit lies somewhere in its tick.
            back_s = float(ends_s[gap.end]) - TICK_S / 2 if ended else float(ends_s[-1])
            if back_s - at_s > longest:
                longest, bound = back_s - at_s, "" if ended else AT_LEAST
    if not longest:
        return Times({}, {})
    return Times({"failover_s": longest}, {"failover_s": bound} if bound else {})


def _brownout(commits: Floats, ends_s: Floats, from_s: float) -> Times:
    """Whole seconds after the first fault with less than `LOW_SHARE` of the median second before
    it. Nothing where not a whole second came before, or nothing was committed in it."""
    at = int(np.searchsorted(ends_s, from_s))  # the tick in which it began is neither
    before = _seconds(commits[at % SECOND : at])
    usual = float(np.median(before)) if len(before) else 0.0
    if not usual:
        return Times({}, {})
    after = _seconds(commits[at + 1 :])
    return Times({"brownout_s": float(np.sum(after < LOW_SHARE * usual))}, {})


def _before(commits: Floats, ends_s: Floats, from_s: float) -> Times:
    """The throughput until the first fault; nothing where less than a second came before it."""
    at = int(np.searchsorted(ends_s, from_s))
    if at < SECOND:
        return Times({}, {})
    return Times(
        {"transactions_per_s_before": float(commits[:at].sum()) / float(ends_s[at - 1])}, {}
    )


def _promotion(roles: Sequence[Mapping[str, Any]], begun: Sequence[tuple[float, str]]) -> Times:
    """The longest time from a fault to the node that took over, as the failover's own record says.
    `roles` and `begun` (seconds, node) by time. It counts from the last fault on the node that was
    lost; where none was on that one, from the last of all."""
    longest = 0.0
    for number, change in enumerate(roles):
        if change["change"] not in TAKES_OVER:
            continue
        lost = _lost(roles[:number])
        before = [(at_s, node) for at_s, node in begun if at_s <= change["t_s"]]
        own = [at_s for at_s, node in before if node == lost] or [at_s for at_s, _ in before]
        if own:
            longest = max(longest, change["t_s"] - own[-1])
    return Times({"promotion_s": longest} if longest else {}, {})


def _quorum_lost(roles: Sequence[Mapping[str, Any]], measured_s: float) -> Times:
    """The longest time of a node without a quorum. `roles` by time; a lower bound where the longest
    one lasts until the end."""
    since: dict[str, float] = {}
    longest, bound = 0.0, ""
    for change in roles:
        node, t_s = str(change["node"]), float(change["t_s"])
        if change["change"] == QUORUM_LOST:
            since.setdefault(node, t_s)
        elif change["change"] == QUORUM_REGAINED and node in since:
            longest = max(longest, t_s - since.pop(node))
    for from_s in since.values():
        if measured_s - from_s > longest:
            longest, bound = measured_s - from_s, AT_LEAST
    if not longest:
        return Times({}, {})
    return Times({"quorum_lost_s": longest}, {"quorum_lost_s": bound} if bound else {})


def _lost(roles: Sequence[Mapping[str, Any]]) -> str | None:
    """The node whose silence or, without one, whose fencing was the last; None if not known."""
    for sign in LOSSES:
        for change in reversed(roles):
            if change["change"] == sign:
                return str(change["node"])
    return None


def _seconds(commits: Floats) -> Floats:
    whole = len(commits) // SECOND
    return np.asarray(commits[: whole * SECOND].reshape(whole, SECOND).sum(axis=1))
