"""Inside trials: simulated ones with scripted stalls, steps and warm-ups, read as a run is."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plans import plan as make_plan

from dbdyno.analysis import result_inside
from dbdyno.analysis.result import to_json
from dbdyno.analysis.types import Cause, Findings, Inside, Stall, Step, Suspect
from dbdyno.analysis.within_trial import stalls, unsettled
from dbdyno.analysis.within_trial.findings import cell_stalls, inside, look
from dbdyno.errors import DynoError
from dbdyno.plan.types import Plan
from dbdyno.store.metrics.timeseries import TICK_S, Trace
from dbdyno.store.record import COMPLETE, VOID, TrialRecord
from dbdyno.wording.catalogue import worded
from dbdyno.wording.findings import analyse
from dbdyno.wording.within_trial import stalls_text
from fixtures.schemas import valid


def trace_of(rate_per_s: np.ndarray, trial: str = "t", seed: int = 1, **more: Any) -> Trace:
    """A measured phase whose ticks commit by Poisson at these rates."""
    counts = np.random.default_rng(seed).poisson(rate_per_s * TICK_S).astype(float)
    ends_s = TICK_S * np.arange(1, len(counts) + 1)
    return Trace(trial, len(counts) * TICK_S, ends_s, {"main": counts}, **more)


def rates(length_s: float, every_s: float = 0.0, lasting_s: float = 0.8) -> np.ndarray:
    """2,000 a second, but nothing at the end of each `every_s`."""
    t = TICK_S * (np.arange(round(length_s / TICK_S)) + 0.5)
    stalled = (t % every_s) >= every_s - lasting_s if every_s else np.zeros(len(t), dtype=bool)
    return np.where(stalled, 0.0, 2000.0)


def warming(length_s: float = 30.0, warm_s: float = 12.0) -> np.ndarray:
    return rates(length_s) * (1 - 0.6 * np.clip(1 - np.arange(length_s * 10) / warm_s / 10, 0, 1))


def records_of(plan: Plan) -> list[TrialRecord]:
    metrics = {"transactions_per_s": 2000.0}
    return [TrialRecord(one.id, one.block, one.cell, COMPLETE, 0.0, metrics) for one in plan.trials]


def test_a_quiet_trial_is_warm_and_steady() -> None:
    found = inside(trace_of(rates(30)), 0, 1)
    assert (found.warm_s, found.steady, found.steps, found.stalls) == (0.0, True, (), ())
    assert found.usual_per_s == pytest.approx(2000, rel=0.02)
    assert found.spread == pytest.approx(1 / 2000**0.5, rel=0.5)
    assert found.independent_s > 15 and found.problem == ""


def test_stalls_are_no_steps_and_no_warm_up() -> None:
    found = inside(trace_of(rates(60, every_s=6)), 0, 1)
    assert len(found.stalls) == 10 and (found.warm_s, found.steady) == (0.0, True)


def test_a_step_is_found_with_its_rates() -> None:
    rate = rates(60)
    rate[400:] *= 0.8
    found = inside(trace_of(rate), 0, 1)
    (step,) = found.steps
    assert step.at_s == pytest.approx(40, abs=0.5) and not found.steady
    assert step.before_per_s == pytest.approx(2000, rel=0.02)
    assert step.after_per_s == pytest.approx(1600, rel=0.02)


def test_a_trial_that_was_cold_says_until_when() -> None:
    found = inside(trace_of(warming()), 0, 1)
    assert 8 <= found.warm_s <= 14 and found.steady


def test_a_drifting_trial_was_never_warm() -> None:
    found = inside(trace_of(rates(60) * np.linspace(0.7, 1, 600)), 0, 1)
    assert found.warm_s == found.measured_s == 60.0 and not found.steady


@pytest.mark.parametrize("at_s", [9.0, 11.0])
def test_a_step_after_which_nothing_settles_is_found(at_s: float) -> None:
    later = np.arange(0, 17, TICK_S) - at_s
    falling = np.where(later < 0.0, 30000.0, 6000.0 + 900.0 * later)
    seen = inside(trace_of(falling), 0, 1)
    assert seen.warm_s == 0.0
    assert not seen.steady
    assert seen.stalls == ()
    assert seen.steps[0].at_s == pytest.approx(at_s, abs=0.3)


def test_a_step_is_found_in_a_trial_that_drifts_before_it() -> None:
    at = np.arange(0, 19, TICK_S)
    seen = inside(trace_of(np.where(at < 11.0, 41000.0 - 500.0 * at, 9500.0)), 0, 1)
    assert (seen.warm_s, seen.steady) == (seen.measured_s, False)
    assert [one.at_s for one in seen.steps if one.after_per_s < 10000.0] == [
        pytest.approx(11.0, abs=0.3)
    ]


def test_of_short_trials_and_open_loops_no_warm_up_is_said() -> None:
    short = inside(trace_of(warming(4, 3)), 0, 1)
    assert (short.warm_s, short.steady) == (0.0, True) and "too short" in worded(short.problem)
    due = warming() * TICK_S
    opened = inside(trace_of(warming(), due={"main": due}), 0, 1)
    assert (opened.warm_s, opened.stalls) == (0.0, ()) and "open loops" in worded(opened.problem)


def test_what_is_wrong_with_a_trace_is_said() -> None:
    good = trace_of(rates(30))
    cut = replace(good, ends_s=good.ends_s[:200], commits={"main": good.commits["main"][:200]})
    assert "10.0 of 30.0 s have no counts" in worded(inside(cut, 0, 1)).problem
    back = good.ends_s.copy()
    back[100:] -= 3
    assert (
        "its clock went backwards at 10.0 s"
        in worded(inside(replace(good, ends_s=back), 0, 1)).problem
    )
    dark = inside(replace(good, outages=({"start_s": 1.0},)), 0, 1)
    assert worded(dark.problem) == "it had 1 outage"
    none = inside(Trace("t", 0.0, np.zeros(0), {}), 0, 1)
    assert worded(none.problem) == "it has no counts of commits over time" and not none.steady
    assert "nothing was committed" in worded(inside(trace_of(0 * rates(9)), 0, 1)).problem


@given(
    st.lists(st.integers(0, 5), max_size=120),
    st.floats(0, 20),
    st.lists(st.sampled_from([0.1, 0.1, 0.1, 0.0, 5.0, -2.0]), min_size=120, max_size=120),
)
def test_any_trace_gives_findings_that_json_can_hold(
    counts: list[int], measured_s: float, steps: list[float]
) -> None:
    ends_s = np.cumsum(steps[: len(counts)])
    commits = {"a": np.asarray(counts, dtype=float), "b": np.asarray(counts[::-1], dtype=float)}
    trace = Trace("t", measured_s, ends_s, commits, due={"b": commits["a"]})
    found = inside(trace, 0, 1)
    json.dumps(result_inside.inside(found), allow_nan=False)
    assert all(0 <= one.start_s <= measured_s for one in found.stalls)
    together = cell_stalls(0, [found])
    assert (together is None) == (not found.stalls)
    if together is not None:
        json.dumps(result_inside.cell_stalls(together), allow_nan=False)


def test_stalls_come_with_their_period() -> None:
    trials = [inside(trace_of(rates(60, every_s=12), seed=n), 0, n) for n in (1, 2, 3)]
    found = cell_stalls(0, trials)
    assert found is not None and (found.stalls, found.period_n) == (15, 12)
    assert found.period_s == pytest.approx(12, abs=0.05)
    assert worded(found).sentence == (
        "Throughput falls to nothing for 0.8 s every 12.0 s"
        " (15 stalls in 3 trials, 6.7 % of the time)."
    )
    assert found.per_min == 5.0 and found.share == pytest.approx(0.8 / 12, rel=0.05)


def test_sentences_of_one_stall_and_of_irregular_ones() -> None:
    one = Inside("t", 0, 1, 30.0, 100.0, 0.0, True, 30.0, 0.1, (), (Stall(4.25, 0.8, 0.7),))
    quiet = replace(one, stalls=())
    found = cell_stalls(0, [quiet, one])
    assert found is not None and worded(found).sentence == (
        "Throughput fell by 70 % once, for 0.8 s, 4.2 s into a trial"
        " (1 stall in 2 trials, 1.3 % of the time)."
    )
    more = replace(one, stalls=tuple(Stall(at, 0.6, 1.0) for at in (1.0, 3.0, 12.0, 14.0)))
    found = cell_stalls(0, [more])
    assert found is not None and worded(found).sentence == (
        "Throughput falls to nothing for 0.6 s, about 8 times a minute, at no regular distance"
        " (4 stalls in 1 trial, 8.0 % of the time)."
    )
    assert cell_stalls(0, [quiet]) is None
    rare = stalls_text.cell_stalls(replace(found, share=1e-5), more.stalls[0], 0)
    assert rare.endswith("under 0.1 % of the time).")


@given(st.lists(st.lists(st.floats(0, 1e6), max_size=8).map(sorted), max_size=5))
def test_a_period_lies_between_the_distances(starts: list[list[float]]) -> None:
    found = stalls.period(starts)
    distances = [b - a for one in starts for a, b in pairwise(one)]
    if found is None:
        return
    assert found.distances == len(distances) >= stalls.DISTANCES_MIN
    assert min(distances) <= found.period_s <= max(distances)


def test_a_period_needs_distances_that_are_alike() -> None:
    assert stalls.period([[0, 10, 20], [3, 13.5]]) == (10, 3)
    assert stalls.period([[0, 10, 20], [3, 30]]) is None
    assert stalls.period([[0, 10, 20]]) is None
    assert stalls.period([[0, 10, 20, 30, 40, 60]]) == (10, 5)  # one was not seen


def test_a_run_is_looked_into_trial_by_trial() -> None:
    plan = make_plan(blocks=2)
    records = records_of(plan)
    records[1] = replace(records[1], status=VOID, void_reason="x")
    asked = []

    def trace(trial: str) -> Trace | None:
        asked.append(trial)
        if trial == records[2].id:
            raise DynoError("events.ndjson has schema_version 9")
        return None if trial == records[3].id else trace_of(rates(30, every_s=6), trial)

    found = look(plan, records, trace)
    assert asked == [records[n].id for n in (0, 2, 3)]
    assert [one.trial for one in found.inside] == [records[0].id, records[2].id]
    assert found.inside[1].problem == "events.ndjson has schema_version 9"
    assert [one.cell for one in found.stalls] == [0]


def test_most_trials_of_a_cell_must_be_cold_before_it_is_said() -> None:
    plan = make_plan(blocks=3)
    cold = [inside(trace_of(warming(), seed=n), 0, n) for n in (1, 2, 3)]
    warm = [inside(trace_of(rates(30), seed=n), 0, n) for n in (4, 5, 6)]
    (said,) = worded(unsettled.warnings(plan, cold), plan)
    assert said.startswith("still warming up for about 1") and "of 30 s" in said
    assert said.endswith("in most trials at cache on: a longer warmup is advised")
    assert unsettled.warnings(plan, [cold[0], *warm[1:]]) == []
    assert unsettled.warnings(plan, cold[:1]) == []
    never = [replace(one, warm_s=one.measured_s, steady=False) for one in cold]
    (said,) = worded(unsettled.warnings(plan, never), plan)
    assert said.startswith("throughput never settled in most trials at cache on")


def checked(findings: Findings, plan: Plan) -> None:
    valid("result", to_json(findings, plan, {"status": "complete"}))


def test_result_json_holds_stalls_steps_and_causes() -> None:
    plan = make_plan(blocks=1)
    findings = analyse(plan, records_of(plan), lambda t: trace_of(rates(60, every_s=6), t))
    assert [len(one.stalls) for one in findings.inside] == [10, 10]
    checked(findings, plan)
    suspect = Suspect("disk.busy", 1.0, 0.1, -0.2, 9.0)
    cause = Cause("write_back", "dirty pages", "It wrote.", "Less.", "disk.busy", (suspect,))
    first = findings.inside[0]
    first = replace(
        first,
        stalls=tuple(replace(one, cause=cause) for one in first.stalls),
        steps=(Step(1.0, 2.0, 3.0, 0.01, cause),),
    )
    stalled = tuple(replace(one, cause=cause) for one in findings.stalls)
    checked(replace(findings, inside=(first,), stalls=stalled), plan)


def test_of_two_stalls_it_is_not_known_whether_they_are_regular() -> None:
    one = Inside("t", 0, 1, 30.0, 100.0, 0.0, True, 30.0, 0.1, (), (Stall(4.0, 0.8, 1.0),))
    found = cell_stalls(0, [one, replace(one, trial="u")])
    assert found is not None and "regular" not in found.sentence


def test_trials_of_which_nothing_is_known_do_not_count_among_those_that_stalled() -> None:
    one = Inside("t", 0, 1, 30.0, 100.0, 0.0, True, 30.0, 0.1, (), (Stall(4.0, 0.8, 1.0),))
    unread = Inside("u", 0, 2, 0.0, 0.0, 0.0, False, 0.0, 0.0, problem="its files are not there")
    idle = replace(unread, measured_s=30.0, problem="nothing was committed")
    found = cell_stalls(0, [one, unread, idle])
    assert found is not None and (found.trials, found.measured_s) == (1, 30.0)


def test_times_of_steps_allow_for_missing_ticks() -> None:
    whole = trace_of(np.where(np.arange(600) < 400, 2000.0, 1000.0))
    kept = (whole.ends_s < 10.05) | (whole.ends_s > 20.05)
    cut = replace(whole, ends_s=whole.ends_s[kept], commits={"main": whole.total[kept]})
    steps = inside(cut, 0, 1).steps
    assert [step.at_s for step in steps] == [pytest.approx(40.0, abs=0.5)]
