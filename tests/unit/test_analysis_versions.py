"""A new version against its base, on made-up runs whose truth is known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import plan as make_plan

from dbdyno.analysis.result import to_json
from dbdyno.analysis.types import BETTER, SAME, SUPPORTED, UNDECIDED, WORSE, Findings
from dbdyno.plan.types import Against, Plan
from dbdyno.store.record import COMPLETE, TrialRecord
from dbdyno.wording.findings import analyse
from effort import examples
from fixtures.schemas import valid

SESSIONS = ("1", "16")


def plan(
    *, matters: float = 0.05, claims: tuple[str, ...] = (), blocks: int = 6, quick: bool = False
) -> Plan:
    made = make_plan(
        {"version": ("base", "new"), "sessions": SESSIONS},
        blocks=blocks,
        hard=("version",),
        claims=claims,
        matters=matters,
        quick=quick,
    )
    return replace(made, against=Against("version", "base", "new", "old.yaml", "x: 1\n", matters))


def records(
    plan: Plan, effect: dict[str, float], noise: float = 0.01, metric: str = "transactions_per_s"
) -> list[TrialRecord]:
    """Trials of which the new version has `effect` times the base's, by sessions."""
    rng = np.random.default_rng(7)
    mood = {block: math.exp(rng.normal(0, 0.2)) for block in range(1, plan.blocks + 1)}
    found = []
    for trial in plan.trials:
        levels = plan.cells[trial.cell].levels
        value = 1000 * mood[trial.block] * math.exp(rng.normal(0, noise))
        value *= effect[levels["sessions"]] if levels["version"] == "new" else 1.0
        found.append(TrialRecord(trial.id, trial.block, trial.cell, COMPLETE, 0.0, {metric: value}))
    return found


def judged(plan: Plan, trials: list[TrialRecord]) -> Findings:
    findings = analyse(plan, trials)
    valid("result", to_json(findings, plan, {"status": "complete", "versions": {"dbdyno": "0"}}))
    return findings


@pytest.mark.parametrize(
    ("effects", "verdicts", "whole"),
    [
        ((0.8, 0.8), (WORSE, WORSE), WORSE),
        ((1.3, 1.3), (BETTER, BETTER), BETTER),
        ((1.0, 1.0), (SAME, SAME), SAME),
        ((1.3, 0.8), (BETTER, WORSE), WORSE),
        ((1.0, 1.3), (SAME, BETTER), BETTER),
        ((1.0, 1.05), (SAME, UNDECIDED), UNDECIDED),
    ],
)
def test_a_verdict_is_read_off_what_matters(
    effects: tuple[float, float], verdicts: tuple[str, str], whole: str
) -> None:
    made = plan()
    found = judged(made, records(made, dict(zip(SESSIONS, effects, strict=True)))).versions
    assert found is not None
    assert tuple(part.verdict for part in found.parts) == verdicts
    assert found.verdict == whole


def test_of_a_time_less_is_better() -> None:
    made = plan()
    groups = [replace(group, arrivals=object()) for group in made.cells[0].groups]
    cells = tuple(replace(cell, groups=tuple(groups)) for cell in made.cells)
    made = replace(made, cells=cells)
    slower = records(made, dict.fromkeys(SESSIONS, 1.5), metric="response_ms_p95")
    found = judged(made, slower).versions
    assert found is not None
    assert {part.metric for part in found.parts} == {"response_ms_p95"}
    assert found.verdict == WORSE


def test_claims_and_versions_share_one_error_budget() -> None:
    claim = "tps[sessions=16] >= 0.1 * tps[sessions=1] at version=new"
    alone, both = plan(), plan(claims=(claim,))
    trials = records(alone, dict.fromkeys(SESSIONS, 1.04), noise=0.02)
    levels = []
    for made in (alone, both):
        findings = judged(made, trials)
        assert findings.versions is not None
        parts = [*findings.versions.parts, *(p for c in findings.claims for p in c.parts)]
        levels.append(max(part.estimate.level for part in parts if part.estimate))
    assert levels == [pytest.approx(1 - 0.05 / 2), pytest.approx(1 - 0.05 / 3)]


def test_the_answer_of_a_claim_stays_beside_it() -> None:
    made = plan(claims=("tps[sessions=16] >= 0.1 * tps[sessions=1] at version=new",))
    findings = judged(made, records(made, dict.fromkeys(SESSIONS, 0.8)))
    assert findings.claims[0].verdict == SUPPORTED
    assert findings.versions is not None
    assert findings.versions.sentence.startswith("The new version is worse by more than 5 % in 2")


def test_without_what_matters_any_difference_counts() -> None:
    made = plan(matters=0.0)
    found = judged(made, records(made, {"1": 0.97, "16": 1.0})).versions
    assert found is not None
    assert [part.verdict for part in found.parts] == [WORSE, UNDECIDED]
    assert "more than" not in found.sentence


@pytest.mark.parametrize(("blocks", "quick"), [(2, False), (6, True)])
def test_what_is_too_short_is_never_judged(blocks: int, quick: bool) -> None:
    made = plan(blocks=blocks, quick=quick)
    found = judged(made, records(made, dict.fromkeys(SESSIONS, 0.5))).versions
    assert found is not None
    assert {part.verdict for part in found.parts} == {UNDECIDED}
    assert found.sentence.startswith("The new version was not judged")


def test_an_outage_of_the_new_version_is_not_well() -> None:
    made = plan()
    trials = records(made, dict.fromkeys(SESSIONS, 1.0))
    broken = made.cells[2]
    assert broken.levels["version"] == "new"
    trials = [
        one.replace(outages=({"start_s": 1.0, "end_s": 2.0, "cause": "x"},))
        if one.cell == broken.index
        else one
        for one in trials
    ]
    found = judged(made, trials).versions
    assert found is not None
    assert found.verdict == UNDECIDED
    assert "outage" in found.parts[0].why


def test_a_version_that_never_ran_is_said() -> None:
    made = plan()
    cells = tuple(cell for cell in made.cells if cell.levels["version"] == "new")
    cells = tuple(replace(cell, index=index) for index, cell in enumerate(cells))
    trials = tuple(replace(trial, cell=trial.cell - 2) for trial in made.trials if trial.cell >= 2)
    alone = replace(made, cells=cells, trials=trials)
    found = judged(alone, []).versions
    assert found is not None
    assert found.parts == ()
    assert "none of its cells has a counterpart" in found.sentence


def test_a_run_without_versions_has_none() -> None:
    made = replace(plan(), against=None)
    assert judged(made, records(made, dict.fromkeys(SESSIONS, 1.0))).versions is None


@settings(deadline=None, max_examples=examples(50))
@given(
    values=st.lists(
        st.sampled_from([0.0, 1e-9, 1.0, 1000.0, 1001.0, 1e12]) | st.floats(0, 1e9),
        min_size=0,
        max_size=24,
    ),
    matters=st.sampled_from([0.0, 0.03, 1.0]),
)
def test_any_finite_numbers_give_a_verdict_and_a_sentence(
    values: list[float], matters: float
) -> None:
    made = plan(matters=matters)
    trials = [
        TrialRecord(trial.id, trial.block, trial.cell, COMPLETE, 0.0, {"transactions_per_s": value})
        for trial, value in zip(made.trials, values, strict=False)
    ]
    found = judged(made, trials).versions
    assert found is not None
    assert found.verdict in (BETTER, WORSE, SAME, UNDECIDED)
    assert "nan" not in found.sentence
    assert found.sentence.endswith(".")
