"""The trade-off between throughput and latency, or with prices between cost and latency: the cells
that no other one is shown to beat on both."""

from __future__ import annotations

from dataclasses import replace

from dbdyno.analysis.costs.cost import WHAT
from dbdyno.analysis.costs.tradeoffs.dominance import beaten, measured_axis
from dbdyno.analysis.estimates.estimate import BLOCKS_MIN
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.headlines.headline import throughput_metric
from dbdyno.analysis.message import Message
from dbdyno.analysis.types import TradeOff, TradePoint
from dbdyno.experiment.claims.metrics import COST

CELLS_MIN, CELLS_MAX = 3, 60  # more would be a cloud, and a minute of tests
_LATENCIES = ("response_ms_p99", "service_ms_p99", "response_ms_p95", "service_ms_p95")


def tradeoff(measured: Measured, headline: str) -> TradeOff | None:
    """None of a quick run, of fewer than three cells with both metrics, and where throughput is no
    outcome: in an open loop, without prices."""
    plan = measured.plan
    if plan.quick or len(plan.cells) < CELLS_MIN:
        return None
    first, second = _axes(measured, headline)
    both = [
        cell
        for cell in measured.cells
        if first and second and measured.series(cell, first) and measured.series(cell, second)
    ]
    if not CELLS_MIN <= len(both) <= CELLS_MAX:
        return None
    found = beaten(both, [measured_axis(measured, metric) for metric in (first, second)])
    judged = min(len(measured.blocks((cell,))) for cell in both) >= BLOCKS_MIN
    front = [cell for cell in both if cell not in found]
    points = []
    for cell in both:
        by = found[cell].by if cell in found else ()
        best = next((one for one in by if one in front), by[0] if by else None)
        points.append(TradePoint(cell, best))
    cut = TradeOff((first, second), tuple(points), judged)
    return replace(cut, sentence=Message("tradeoff", found=cut))


def _axes(measured: Measured, headline: str) -> tuple[str, str]:
    """The two metrics; empty if there is none."""
    throughput = throughput_metric(measured, headline)
    group = throughput.rpartition(".")[0]
    prefix = f"{group}." if group else ""

    def has(metric: str) -> bool:
        return any(measured.series(cell, metric) for cell in measured.cells)

    latency = next((f"{prefix}{one}" for one in _LATENCIES if has(f"{prefix}{one}")), "")
    cost = next((f"{COST}{what}" for what in WHAT if has(f"{COST}{what}")), "")
    is_open = has(f"{prefix}response_ms_p50") or has(f"{prefix}due_per_s")
    return cost or ("" if is_open else throughput), latency
