"""The search for a rate, on a system of which the capacity is known."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import plan as make_plan

from dbdyno.execute.context import ExecutionContext
from dbdyno.execute.control import Control
from dbdyno.execute.rate_search.judgement import Judgement, judge
from dbdyno.execute.rate_search.probing import (
    Probing,
    at_rate,
    dithered,
    probe_seed,
    searching,
)
from dbdyno.execute.rate_search.search import Found, search
from dbdyno.experiment.claims.conditions import BROKEN, HOLDS, UNKNOWN
from dbdyno.experiment.types import Find
from dbdyno.experiment.values.bounds import AT_LEAST, AT_MOST
from dbdyno.plan.types import Cell, TrialPlan
from dbdyno.store.record import TrialRecord
from dbdyno.store.run import Run

FIND = Find(("response_ms_p99 < 20",))


class Server:
    """Meets its conditions up to a capacity; now and then a stall spoils a probe (`noise`)."""

    def __init__(self, capacity_per_s: float, noise: float = 0.0, seed: int = 1) -> None:
        self.capacity_per_s = capacity_per_s
        self.noise = noise
        self.random = random.Random(seed)
        self.rates: list[float] = []

    def probe(self, number: int, rate_per_s: float) -> Judgement:
        assert number == len(self.rates) + 1
        self.rates.append(rate_per_s)
        if rate_per_s > self.capacity_per_s:
            return Judgement(BROKEN, ("too slow",), self.capacity_per_s)
        if self.random.random() < self.noise:
            return Judgement(BROKEN, ("a stall",), rate_per_s)
        return Judgement(HOLDS, (), rate_per_s)


def found(server: Server, find: Find = FIND, floor_per_s: float = 1.0) -> Found:
    return search(find, floor_per_s, server.probe)


@settings(deadline=None)
@given(st.floats(1.0, 1e5), st.sampled_from([10.0, 100.0, 3000.0]))
def test_the_capacity_is_found_from_below(capacity_per_s: float, start_per_s: float) -> None:
    server = Server(capacity_per_s)
    result = found(server, replace(FIND, start_per_s=start_per_s), 0.001)
    if not result.finished:
        assert len(server.rates) == FIND.probes_max or result.passed is None
        return
    assert result.rate_per_s is not None
    assert capacity_per_s / 1.02 / 1.0001 <= result.rate_per_s <= capacity_per_s
    assert result.bound == ""
    assert result.failed is not None
    assert result.failed.rate_per_s > capacity_per_s


def test_doubling_then_bisection() -> None:
    server = Server(3000.0)
    result = found(server)
    assert server.rates[:8] == [100, 200, 400, 800, 1600, 3200, 3200, 2262.7]
    assert result.finished
    assert len(server.rates) <= 19
    assert server.rates.count(result.rate_per_s) == 2


def test_both_ends_are_what_two_of_three_probes_say() -> None:
    """A rate that passes first, and then fails twice, does not hold; one that fails first, and then
    passes twice, does."""
    script = {
        200.0: "+",
        400.0: "+--",
        800.0: "--",
        565.69: "--",
        282.84: "-++",
    }
    left = {rate: iter(passes) for rate, passes in script.items()}

    def probe(_: int, rate_per_s: float) -> Judgement:
        state = HOLDS if next(left[rate_per_s]) == "+" else BROKEN
        return Judgement(state, ("slow",), rate_per_s)

    result = search(replace(FIND, start_per_s=200.0, within=0.5), 1.0, probe)
    assert result.finished
    assert result.rate_per_s == 282.84
    assert result.failed is not None
    assert result.failed.rate_per_s == 400
    assert len(result.probes) == sum(map(len, script.values()))


def test_a_rate_that_passes_sometimes_is_not_lifted() -> None:
    """Where rates in a range around the capacity pass by chance, from all to none, the search finds
    its middle, where half of them pass: no end is favoured."""
    rates = []
    for seed in range(200):
        draw = random.Random(seed)

        def probe(_: int, rate_per_s: float, draw: random.Random = draw) -> Judgement:
            passes = 0.5 - math.log(rate_per_s / 3000.0) / 0.1
            state = HOLDS if draw.random() < passes else BROKEN
            return Judgement(state, ("chance",), rate_per_s)

        start = dithered(300.0, seed)
        found = search(replace(FIND, start_per_s=start, within=0.01), 1.0, probe).rate_per_s
        assert found is not None
        rates.append(math.log(found / 3000.0))
    assert abs(float(np.mean(rates))) < 0.006  # 0.02 where one pass outweighs a failure


def test_a_failure_counts_only_when_it_is_repeated() -> None:
    """With a stall in one probe of ten, single failures would end four searches of ten far below
    the capacity."""
    results = [found(Server(3000.0, 0.1, seed)).rate_per_s or 0.0 for seed in range(300)]
    within = sum(rate > 0.9 * 3000 for rate in results)
    assert within >= 270, sorted(results)[:20]
    assert max(results) <= 3000


def test_a_start_above_the_capacity_is_halved() -> None:
    server = Server(70.0)
    result = found(server, replace(FIND, start_per_s=1000.0))
    assert server.rates[:4] == [1000, 1000, 500, 500]
    assert result.rate_per_s is not None
    assert 70 / 1.03 < result.rate_per_s <= 70


def test_the_lowest_rate_is_probed_and_then_is_an_upper_bound() -> None:
    """Not "0": what fails at 40/s holds less than that."""
    server = Server(0.0)
    result = found(server, floor_per_s=40.0)
    assert server.rates == [100, 100, 50, 50, 40, 40]
    assert (result.passed, result.rate_per_s, result.bound) == (None, 40.0, AT_MOST)


def test_a_start_below_the_lowest_rate_is_raised() -> None:
    server = Server(1e4)
    found(server, floor_per_s=123.456)
    assert server.rates[0] == 123.46


def test_what_cannot_be_judged_ends_the_search() -> None:
    """Twice; with nothing known there is no rate, with a rate that passed it is a lower bound."""

    def never(number: int, rate_per_s: float) -> Judgement:
        return Judgement(UNKNOWN, ("too few",))

    result = search(FIND, 1.0, never)
    assert [one.rate_per_s for one in result.probes] == [100.0, 100.0]
    assert result.rate_per_s is None

    def later(number: int, rate_per_s: float) -> Judgement:
        return Judgement(HOLDS if number == 1 else UNKNOWN, (), rate_per_s)

    result = search(FIND, 1.0, later)
    assert (result.rate_per_s, result.bound) == (100.0, AT_LEAST)


def test_a_system_that_never_fails_ends_at_the_limit_of_probes() -> None:
    server = Server(1e12)
    result = found(server)
    assert len(server.rates) <= FIND.probes_max
    assert result.failed is None
    assert not result.finished
    assert result.bound == AT_LEAST


def test_a_search_has_a_bound() -> None:
    server = Server(2.9e6)
    result = found(server, replace(FIND, probes_max=19))
    assert len(server.rates) == 19
    assert not result.finished
    assert result.passed
    assert result.failed
    assert result.bound == AT_LEAST


# -- one probe ----------------------------------------------------------------------------------

HELD = {
    "transactions_per_s": 1990.0,
    "due_per_s": 2000.0,
    "unfinished_growth": 20.0,
    "failed_share": 0.0,
    "response_ms_p99": 5.0,
}


@pytest.mark.parametrize(
    ("changes", "bounds", "state"),
    [
        ({}, {}, HOLDS),
        ({"failed_share": 0.001}, {}, HOLDS),
        ({"failed_share": 0.0011}, {}, BROKEN),
        ({"failed_share": 0.5, "transactions_per_s": 1000.0}, {}, BROKEN),
        ({"unfinished_growth": 200.0}, {}, BROKEN),
        ({"response_ms_p99": 21.0}, {}, BROKEN),
        ({"response_ms_p99": 10.0}, {"response_ms_p99": AT_LEAST}, UNKNOWN),
        ({"response_ms_p99": 21.0}, {"response_ms_p99": AT_LEAST}, BROKEN),
    ],
)
def test_a_probe_is_judged(changes: dict[str, float], bounds: dict[str, str], state: str) -> None:
    assert judge(FIND, {**HELD, **changes}, bounds, 5.0).state == state


def test_a_percentile_of_too_few_is_not_known_unless_something_else_broke() -> None:
    few = {name: value for name, value in HELD.items() if name != "response_ms_p99"}
    judged = judge(FIND, few, {}, 5.0)
    assert judged.state == UNKNOWN
    assert "it needs 1,000 transactions" in judged.reasons[0]
    assert judge(FIND, {**few, "unfinished_growth": 900.0}, {}, 5.0).state == BROKEN


def test_what_was_committed_counts_and_never_more_than_was_due() -> None:
    assert judge(FIND, HELD, {}, 5.0).committed_per_s == 1990
    late = {**HELD, "transactions_per_s": 2100.0}  # a backlog of the warm-up, worked off
    assert judge(FIND, late, {}, 5.0).committed_per_s == 2000


def test_the_share_that_may_fail_is_the_users() -> None:
    half = {**HELD, "failed_share": 0.5}
    assert judge(replace(FIND, failed_max=0.5), half, {}, 5.0).state == HOLDS


# -- the trial around it ------------------------------------------------------------------------


class Fake:
    """Runs the engine: leaves its files, and gives the metrics of a server with a capacity."""

    def __init__(self, run: Run, capacity_per_s: float) -> None:
        self.run = run
        self.capacity_per_s = capacity_per_s
        self.seeds: list[int] = []
        self.broken_at = -1
        self.failing = 0.0

    def once(self, cell: Cell, trial: TrialPlan) -> TrialRecord:
        self.seeds.append(trial.seed)
        arrivals = cell.groups[0].arrivals
        assert arrivals is not None
        rate = arrivals.steps[0].to_per_s
        self.run.save_request(trial.id, {"rate": rate})
        (self.run.trial_dir(trial.id) / "events.ndjson").write_text(
            f'{{"event": "rate", "rate": {rate}}}\n'
        )
        if len(self.seeds) == self.broken_at:
            return record(trial, {}).replace(status="void", void_reason="the engine died")
        done = min(rate, self.capacity_per_s)
        metrics = {
            "transactions_per_s": done * (1 - self.failing),
            "due_per_s": rate,
            "unfinished_growth": (rate - done) * cell.duration_s,
            "failed_share": self.failing,
            "response_ms_p99": 5.0 if done == rate else 300.0,
        }
        warnings = ("generator-bound (CPU): a load thread",) if done < rate else ()
        bounds = {"response_ms_p99": AT_LEAST} if done < rate else {}
        return record(trial, metrics).replace(warnings=warnings, bounds=bounds)


def record(trial: TrialPlan, metrics: Mapping[str, float]) -> TrialRecord:
    return TrialRecord(trial.id, trial.block, trial.cell, "complete", 100.0, metrics)


class Quiet:
    def __init__(self) -> None:
        self.said: list[str] = []

    def on_trial(self, trial: object, cell: object, attempt: int) -> None: ...
    def on_event(self, event: object) -> None: ...
    def on_record(self, record: object, *, over: bool) -> None: ...
    def say(self, message: str) -> None:
        self.said.append(message)

    def on_failure(self, what: str) -> None:
        self.said.append(what)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    planned = make_plan(blocks=1)
    cells = tuple(
        replace(cell, groups=tuple(replace(group, find=FIND) for group in cell.groups))
        for cell in planned.cells
    )
    return Run.create(tmp_path / "run", replace(planned, cells=cells), {})


def context(run: Run, listener: Quiet) -> ExecutionContext:
    return ExecutionContext(run, Path("engine"), Control(listener.say), listener)


def measured(run: Run, fake: Fake, listener: Quiet | None = None) -> TrialRecord:
    trial, cell = run.plan.trials[0], run.plan.cells[0]
    run.begin(trial.id)
    return Probing(context(run, listener or Quiet()), cell, trial, fake.once).measure()


def test_a_trial_is_its_highest_probe_that_passed(run: Run) -> None:
    fake, listener = Fake(run, 3000.0), Quiet()
    found = measured(run, fake, listener)
    highest = found.metrics["rate_max_per_s"]
    assert 3000 / 1.03 < highest <= 3000
    assert found.metrics["due_per_s"] == highest
    assert found.metrics["probes"] == len(found.probes) == len(fake.seeds)
    assert not found.bounds
    assert any("may not be the system's" in warning for warning in found.warnings)
    assert listener.said[0].startswith("  probe 1: 1")
    assert listener.said[0].endswith("/s: all conditions held")
    assert any("the rate was not held" in said for said in listener.said)
    trial = run.plan.trials[0].id
    assert run.events(trial) == [{"event": "rate", "rate": highest}]
    probes = sorted(run.trial_dir(trial).glob("probe-*"))
    assert len(probes) == len(found.probes)
    assert all((probe / "plan.json").is_file() for probe in probes)
    run.complete(found)
    assert run.records() == [found]


def test_each_probe_has_a_seed_of_its_own(run: Run) -> None:
    fake = Fake(run, 3000.0)
    measured(run, fake)
    assert len(set(fake.seeds)) == len(fake.seeds)
    assert probe_seed(7, 1) == probe_seed(7, 1)


def test_refused_arrivals_are_not_served_ones(run: Run) -> None:
    """Half of the statements fail, at any rate: there is none that holds."""
    fake = Fake(run, 1e12)
    fake.failing = 0.5
    found = measured(run, fake)
    lowest = min(one["rate_per_s"] for one in found.probes)
    assert found.metrics["rate_max_per_s"] == lowest
    assert found.bounds["rate_max_per_s"] == AT_MOST
    assert found.warnings[0] == (
        f"the highest rate is below {lowest:,g}/s, the lowest rate probed: there 50 % of the"
        " arrivals failed, and at most 0.1 % may; lower `start`, or measure longer"
    )


def test_a_few_failures_may_be_and_do_not_count_as_served(run: Run) -> None:
    fake = Fake(run, 3000.0)
    fake.failing = 0.0005
    found = measured(run, fake)
    assert found.metrics["rate_max_per_s"] == found.metrics["transactions_per_s"]
    assert found.metrics["rate_max_per_s"] < found.metrics["due_per_s"]


def test_a_bound_meets_no_condition(run: Run) -> None:
    """A p99 of 5 ms or more may be below 20 or not: nothing is known about any rate."""
    fake = Fake(run, 1e12)
    once = fake.once
    fake.once = lambda cell, trial: once(cell, trial).replace(  # type: ignore[method-assign]
        bounds={"response_ms_p99": AT_LEAST}
    )
    found = measured(run, fake)
    assert "rate_max_per_s" not in found.metrics
    assert found.warnings[0].startswith("the highest rate is not measurable: at ")
    assert "response_ms_p99 is 5 or more" in found.warnings[0]
    assert len(found.probes) == 2


def test_a_system_that_never_fails_gives_a_lower_bound(run: Run) -> None:
    found = measured(run, Fake(run, 1e12))
    assert found.bounds == {"rate_max_per_s": AT_LEAST}
    assert "no rate was shown to fail" in found.warnings[0]


def test_what_is_not_measured_is_not_zero(run: Run) -> None:
    fake = Fake(run, 3000.0)
    once = fake.once
    fake.once = lambda cell, trial: record(  # type: ignore[method-assign]
        trial, {k: v for k, v in once(cell, trial).metrics.items() if "p99" not in k}
    )
    found = measured(run, fake)
    assert "rate_max_per_s" not in found.metrics
    assert "not measurable" in found.warnings[0]


def test_a_broken_probe_voids_the_trial(run: Run) -> None:
    fake = Fake(run, 3000.0)
    fake.broken_at = 3
    found = measured(run, fake)
    assert (found.status, found.void_reason, found.metrics) == ("void", "the engine died", {})
    run.set_aside(found)
    fake.broken_at = -1
    assert measured(run, fake).status == "complete"  # and begins from nothing


def test_an_interrupted_search_begins_again(run: Run) -> None:
    trial, cell = run.plan.trials[0], run.plan.cells[0]
    fake = Fake(run, 3000.0)
    run.begin(trial.id)

    def killed(cell: Cell, trial: TrialPlan) -> TrialRecord:
        if len(fake.seeds) == 4:
            raise KeyboardInterrupt
        return fake.once(cell, trial)

    with pytest.raises(KeyboardInterrupt):
        Probing(context(run, Quiet()), cell, trial, killed).measure()
    run.close()
    again = Run.resume(run.path)
    assert not again.records()
    assert (run.path / "trials" / f"{trial.id}.partial-1" / "probe-3").is_dir()
    assert measured(again, Fake(again, 3000.0)).probes[0]["rate_per_s"] == pytest.approx(
        dithered(100.0, trial.seed), rel=1e-4
    )
    again.close()


def test_trials_do_not_share_their_steps() -> None:
    """What is found then lies anywhere in the last step below the truth, as an interval must see:
    200 trials with one capacity."""
    rates = []
    for seed in range(200):
        start = dithered(100.0, seed)
        assert 100 <= start < 200
        rates.append(found(Server(3000.0), replace(FIND, start_per_s=start)).rate_per_s or 0.0)
    below = np.log(3000.0 / np.array(rates)) / np.log(2) * 64  # 64 steps an octave end it: 1.1 %
    assert below.min() >= 0
    assert below.max() <= 1.01
    assert below.mean() == pytest.approx(0.5, abs=0.1)


def test_other_groups_keep_their_rate() -> None:
    planned = make_plan(groups=("app", "beside"))
    cell = planned.cells[0]
    cell = replace(cell, groups=(replace(cell.groups[0], find=FIND), cell.groups[1]))
    assert searching(cell).name == "app"
    fixed = at_rate(cell, searching(cell), 500.0)
    assert fixed.groups[0].arrivals is not None
    assert fixed.groups[0].arrivals.steps[0].to_per_s == 500
    assert fixed.groups[0].find is None
    assert fixed.groups[1] == cell.groups[1]
    with pytest.raises(LookupError):
        searching(fixed)
