"""From a plan and its trials to everything that a report says."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dbdyno.analysis import between_blocks, causes, single_values
from dbdyno.analysis.claims import verdict
from dbdyno.analysis.claims.interim_looks import looking, unfinished, whole
from dbdyno.analysis.costs import cost_options
from dbdyno.analysis.costs.tradeoffs import tradeoff
from dbdyno.analysis.estimates import fairness, versions
from dbdyno.analysis.estimates.comparisons import compare
from dbdyno.analysis.estimates.estimate import BLOCKS_MIN
from dbdyno.analysis.estimates.latency_shift import find_shift
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.estimates.ranking import ranked
from dbdyno.analysis.headlines import summary_text
from dbdyno.analysis.headlines.headline import (
    headline_metric,
    main_factor,
    table_metrics,
    throughput_metric,
)
from dbdyno.analysis.headlines.lead import find_lead
from dbdyno.analysis.page.ratios import PageRatios, candidates
from dbdyno.analysis.sweeps import sweeps
from dbdyno.analysis.types import UNKNOWN, CellResult, ClaimPart, ClaimResult, Findings, Partial
from dbdyno.analysis.within_trial import findings, steadiness_text
from dbdyno.experiment.claims.metrics import why_absent
from dbdyno.experiment.values.bounds import NEITHER, named
from dbdyno.plan.types import Cell, Plan
from dbdyno.store.metrics.histogram import Tagged
from dbdyno.store.metrics.timeseries import Trace
from dbdyno.store.record import VOID, TrialRecord
from dbdyno.wording import numbers


def _no_trace(_trial: str) -> Trace | None:
    return None


def _no_log(_trial: str) -> Sequence[Tagged]:
    return ()


def analyse(
    plan: Plan,
    records: Sequence[TrialRecord],
    trace: Callable[[str], Trace | None] = _no_trace,
    log: Callable[[str], Sequence[Tagged]] = _no_log,
    void: Sequence[TrialRecord] = (),
) -> Findings:
    """Judges a run, complete or not. Pure: equal plans, records and traces give equal findings.

    `trace` gives a trial over time by its id, one after the other, or None where nothing is known
    but its record: then nothing is said of stalls. `log` gives a trial's
    histograms in the same way; nothing: latency curves are not compared.
    but its record: then nothing is said of stalls. `void`: attempts that others took the place of.
    """
    measured = Measured.of(plan, records, void)
    claims, compared = verdict.judge(measured, versions.questions(plan))
    headline = headline_metric(measured, claims)
    metrics = table_metrics(measured, headline)
    ratios = _page_ratios(measured, claims, compared, metrics)
    lead = find_lead(measured, claims, ratios)
    cause = None if plan.quick else causes.explain_difference(measured, lead)
    trials = findings.look(plan, records, trace)
    blocks = {one.block for series in measured.cells.values() for one in series.values()}
    return Findings(
        answer=summary_text.answer(measured, lead, claims, ratios, metrics),
        why=cause.sentence if cause and cause.name != UNKNOWN else "",
        moved_with=cause.sentence if cause and cause.name == UNKNOWN else "",
        cause=cause,
        caveat=fairness.caveat(plan),
        headline_metric=headline,
        cells=tuple(_cell(measured, cell) for cell in plan.cells),
        claims=claims,
        comparisons=compare(plan, metrics, ratios),
        together=ratios.together,
        warnings=(
            *_warnings(measured, records),
            *(f"{claim.text}: {said}" for claim in claims for said in claim.uneven),
            *between_blocks.of_lead(measured, lead, claims),
            *(() if plan.quick else steadiness_text.warnings(plan, trials.inside)),
        ),
        judged=not plan.quick and len(blocks) >= BLOCKS_MIN,
        costs=cost_options.costs(measured),
        tradeoff=tradeoff(measured, headline),
        inside=trials.inside,
        stalls=trials.stalls,
        versions=versions.versions(measured, compared),
        sweeps=sweeps(measured, claims, throughput_metric(measured, headline)),
        shift=None if plan.quick else find_shift(measured, lead, log),
        looking=looking(measured, [*(part for claim in claims for part in claim.parts), *compared]),
    )


def _page_ratios(
    measured: Measured,
    claims: Sequence[ClaimResult],
    further: Sequence[ClaimPart],
    metrics: Sequence[str],
) -> PageRatios:
    """Every ratio that the page may show: those of claims and versions, and all others."""
    plan = measured.plan
    claimed = [*(part for claim in claims for part in claim.parts), *further]
    main = main_factor(plan, claims)
    order = ranked(plan, main.name) if main else None
    return PageRatios(measured, claimed, candidates(plan, metrics, claimed, order))


def _cell(measured: Measured, cell: Cell) -> CellResult:
    trials = measured.cells[cell.index]
    names = dict.fromkeys(name for one in trials.values() for name in one.metrics)
    estimates = {}
    partial = {}
    for name in names:
        series = measured.series(cell.index, name)
        if series:
            bound = measured.bound(cell.index, name)
            if bound == NEITHER:
                partial[name] = Partial(f"only {named(bound)}")
                continue
            estimates[name] = single_values.estimate(measured, cell.index, name)
        if 0 < len(series) < len(trials) and (why := why_absent(name)):
            partial[name] = Partial(why, len(series), len(trials))
    return CellResult(
        index=cell.index,
        levels=dict(cell.levels),
        trials=len(trials),
        metrics=estimates,
        warnings=measured.warnings((cell.index,)),
        partial=partial,
    )


def _early(measured: Measured) -> str:
    """How an unfinished run of fixed blocks is judged."""
    return (
        f", so that claims are judged at what {whole(measured)} of"
        f" {numbers.counted(measured.plan.blocks, 'block')} may spend of the error budget"
    )


def _warnings(measured: Measured, records: Sequence[TrialRecord]) -> list[str]:
    """About the run as a whole; what befell single cells stands with them."""
    plan = measured.plan
    warnings = []
    missing = len(plan.trials) - len(records)
    if missing:
        cut = len({trial.block for trial in plan.trials}) - len(measured.whole)
        warnings.append(
            f"{missing} of {len(plan.trials)} trials are missing, in"
            f" {numbers.counted(cut, 'block')}: the run was not finished"
            f"{_early(measured) if unfinished(measured) else ''}"
        )
    void = [record for record in records if record.status == VOID]
    if void:
        warnings.append(
            f"{numbers.counted(len(void), 'trial')} void in every attempt"
            f" (first: {void[0].id}: {void[0].void_reason})"
        )
    outages = [
        one.trial for series in measured.cells.values() for one in series.values() if one.outage
    ]
    if outages:
        warnings.append(
            f"outages in {numbers.counted(len(outages), 'trial')} (first: {min(outages)}):"
            " ratios with their cells are not estimable"
        )
    if not plan.paired and plan.blocks > 1:
        warnings.append(verdict.UNBLOCKED)
    warnings.extend(fairness.plan_changes(plan, records))
    warnings.extend(measured.warnings(measured.cells))
    return warnings
