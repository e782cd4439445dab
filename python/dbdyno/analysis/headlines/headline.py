"""Which metrics a report leads with, and which factor it is about."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.types import ClaimPart, ClaimResult
from dbdyno.plan.types import Factor, Plan

_RATES = ("transactions_per_s", "operations_per_s")


def headline_metric(measured: Measured, claims: Sequence[ClaimResult]) -> str:
    """The metric of the first claim that compares something, else what the first group is about:
    the rate that it searches for, the response time of an open loop, the throughput of a closed
    one."""
    for part in _parts(claims):
        if part.metric:
            return part.metric
    return group_metric(measured.plan, measured.plan.cells[0].groups[0].name)


def group_metric(plan: Plan, name: str) -> str:
    """What a group is about: the rate that it searches for, the response time of an open loop, the
    throughput of a closed one."""
    groups = plan.cells[0].groups
    prefix = f"{name}." if len(groups) > 1 else ""
    if next(group for group in groups if group.name == name).find:
        return f"{prefix}rate_max_per_s"
    return f"{prefix}response_ms_p95" if _is_open(plan, name) else prefix + _RATES[0]


def throughput_metric(measured: Measured, headline: str) -> str:
    """The throughput that goes with a headline: itself, if it is one, else its group's."""
    head, dot, rest = headline.partition(".")
    groups = [group.name for group in measured.plan.cells[0].groups]
    prefix = f"{head}." if dot and head in groups else ""
    base = rest if prefix else headline
    if base in (*_RATES, "rate_max_per_s"):
        return headline
    return f"{prefix or _group(measured.plan)}{_RATES[0]}"


def table_metrics(measured: Measured, headline: str) -> tuple[str, ...]:
    """Metrics of the table of ratios: the headline, then throughput, p95 and the systems' CPU."""
    head, dot, rest = headline.partition(".")
    groups = [group.name for group in measured.plan.cells[0].groups]
    prefix = f"{head}." if dot and head in groups else _group(measured.plan)
    base = rest if prefix == f"{head}." else headline
    throughput = [] if base in _RATES else [f"{prefix}{_RATES[0]}"]
    name = prefix.removesuffix(".") or groups[0]
    latency = "response_ms_p95" if _is_open(measured.plan, name) else "service_ms_p95"
    wanted = [headline, *throughput, f"{prefix}{latency}", "server_cpu_us_per_op"]
    return tuple(dict.fromkeys(wanted))


def main_factor(plan: Plan, claims: Sequence[ClaimResult]) -> Factor | None:
    """The factor that the first claim's two sides differ in, else the first with several levels."""
    for part in _parts(claims):
        if part.left_cell is None or part.right_cell is None:
            continue
        left, right = plan.cells[part.left_cell].levels, plan.cells[part.right_cell].levels
        for factor in plan.factors:
            if left[factor.name] != right[factor.name]:
                return factor
    return next((factor for factor in plan.factors if len(factor.levels) > 1), None)


def _parts(claims: Sequence[ClaimResult]) -> list[ClaimPart]:
    return [part for claim in claims for part in claim.parts]


def _is_open(plan: Plan, name: str) -> bool:
    """Whether a group has response times in all cells."""
    loops = [group for cell in plan.cells for group in cell.groups if group.name == name]
    return all(group.arrivals or group.find for group in loops)


def _group(plan: Plan) -> str:
    groups = plan.cells[0].groups
    return f"{groups[0].name}." if len(groups) > 1 else ""
