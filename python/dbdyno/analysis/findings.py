"""From a plan and its trials to everything that a report says, its sentences as messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

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
from dbdyno.analysis.headlines.answer import answer
from dbdyno.analysis.headlines.headline import (
    headline_metric,
    main_factor,
    table_metrics,
    throughput_metric,
)
from dbdyno.analysis.headlines.lead import find_lead
from dbdyno.analysis.message import Message
from dbdyno.analysis.page.ratios import PageRatios, candidates
from dbdyno.analysis.predictions.predict import predictions
from dbdyno.analysis.sweeps import sweeps
from dbdyno.analysis.types import UNKNOWN, CellResult, ClaimPart, ClaimResult, Findings, Partial
from dbdyno.analysis.within_trial import findings, unsettled
from dbdyno.experiment.claims.metrics import why_absent
from dbdyno.experiment.values.bounds import NEITHER
from dbdyno.plan.types import Cell, Plan
from dbdyno.store.metrics.histogram import Tagged
from dbdyno.store.metrics.timeseries import Trace
from dbdyno.store.record import VOID, TrialRecord


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
    but its record: then stalls are not reported. `log` gives a trial's histograms in the same way;
    nothing: latency curves are not compared. but its record: then stalls are not reported. `void`:
    attempts that others took the place of.
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
        answer=answer(measured, lead, claims, ratios, metrics),
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
            *(_of_claim(claim, said) for claim in claims for said in claim.uneven),
            *between_blocks.of_lead(measured, lead, claims),
            *(() if plan.quick else unsettled.warnings(plan, trials.inside)),
        ),
        judged=not plan.quick and len(blocks) >= BLOCKS_MIN,
        costs=cost_options.costs(measured),
        tradeoff=tradeoff(measured, headline),
        inside=trials.inside,
        stalls=trials.stalls,
        versions=versions.versions(measured, compared),
        sweeps=sweeps(measured, claims, throughput_metric(measured, headline)),
        shift=None if plan.quick else find_shift(measured, lead, log),
        predictions=predictions(plan, sorted(records, key=lambda one: one.cell), trace),
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
                only = Message("bound_only", bound=bound)
                partial[name] = Partial(only, sentence=only)
                continue
            estimates[name] = single_values.estimate(measured, cell.index, name)
        if 0 < len(series) < len(trials) and (why := why_absent(name)):
            some = Partial(why, len(series), len(trials))
            partial[name] = replace(some, sentence=Message("of_trials", found=some))
    return CellResult(
        index=cell.index,
        levels=dict(cell.levels),
        trials=len(trials),
        metrics=estimates,
        warnings=measured.warnings((cell.index,)),
        partial=partial,
    )


def _of_claim(claim: ClaimResult, said: str) -> str:
    return Message("of_claim", claim=claim.text, said=said)


def _warnings(measured: Measured, records: Sequence[TrialRecord]) -> list[str]:
    """About the run as a whole; what happened in single cells stands with them."""
    plan = measured.plan
    warnings: list[str] = []
    missing = len(plan.trials) - len(records)
    if missing:
        cut = len({trial.block for trial in plan.trials}) - len(measured.whole)
        early = (whole(measured), plan.blocks) if unfinished(measured) else None
        counts = {"missing": missing, "trials": len(plan.trials), "blocks": cut}
        warnings.append(Message("missing_trials", **counts, early=early))
    void = [record for record in records if record.status == VOID]
    if void:
        first = {"trial": void[0].id, "reason": void[0].void_reason}
        warnings.append(Message("void_trials", n=len(void), **first))
    outages = [
        one.trial for series in measured.cells.values() for one in series.values() if one.outage
    ]
    if outages:
        warnings.append(Message("outages", n=len(outages), first=min(outages)))
    if not plan.paired and plan.blocks > 1:
        warnings.append(verdict.UNBLOCKED)
    warnings.extend(fairness.plan_changes(plan, records))
    warnings.extend(measured.warnings(measured.cells))
    return warnings
