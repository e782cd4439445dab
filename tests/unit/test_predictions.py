"""What models say of a trial, beside what was measured of it: by hand, without servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dbdyno.analysis.predictions import failures, galera, hot_rows, latencies
from dbdyno.analysis.predictions.predict import predictions
from dbdyno.analysis.predictions.types import (
    CERTIFICATION,
    CHANGE,
    COMMIT,
    COMMITS,
    ERRORS,
    OUTAGE,
    TAKEN,
    Predictions,
    Quantity,
)
from dbdyno.experiment.types import (
    Arrivals,
    Failover,
    Limits,
    Network,
    RateStep,
    Router,
    Topology,
)
from dbdyno.experiment.values.faults import (
    NODES,
    Fault,
)
from dbdyno.plan.types import Cell, Factor, GroupPlan, Plan
from dbdyno.store.metrics.timeseries import Samples, Trace
from dbdyno.store.record import TrialRecord
from dbdyno.systems.base import TargetPlan
from dbdyno.wording.catalogue import worded
from dbdyno.wording.within_trial import predictions_text as text
from fixtures import synthetic

LENGTH_S = 24.0
UPDATE = {"preset": "update_non_index", "tables": 1, "rows": 1000}


def target(delay_s: float = 0.0, **topology: Any) -> TargetPlan:
    network = Network(delay_s) if delay_s else None
    form = {"kind": "galera", "nodes": 3, "network": network, **topology}
    return TargetPlan("db", "mariadb", topology=Topology(**form))


def group(options: Mapping[str, Any] = UPDATE, **more: Any) -> GroupPlan:
    made = GroupPlan("app", "oltp", "db", 6, 60.0, 100, options)
    return replace(made, **more)


def plan(
    *targets: TargetPlan, groups: tuple[GroupPlan, ...] = (group(),), faults: tuple[Fault, ...] = ()
) -> Plan:
    """One cell for each target."""
    names = [f"c{number}" for number in range(len(targets))]
    made = synthetic.plan(
        *("predicted", "What is it?", [Factor("cell", tuple(names), None, True)]),
        *(lambda at: groups, lambda at: (targets[names.index(at["cell"])],), (), 1),
    )
    cells = tuple(replace(one, duration_s=LENGTH_S, faults=faults) for one in made.cells)
    return replace(made, cells=cells)


def record(cell: int = 0, **more: Any) -> TrialRecord:
    return TrialRecord(f"t{cell}", 1, cell, "complete", 0.0, **{"metrics": {}, **more})


def trace(outages: list[tuple[float, float]], sizes: Mapping[int, list[int]] = {}) -> Trace:
    """Ten commits a tick except from one moment to another; what nodes said each second, from 0.5 s
    on; 0: no answer."""
    ends_s = np.arange(1, round(LENGTH_S * 10) + 1) / 10
    counts = np.full(len(ends_s), 10.0)
    for begin_s, end_s in outages:
        counts[(ends_s > begin_s + 0.05) & (ends_s < end_s + 0.05)] = 0
    samples = {}
    for number, values in sizes.items():
        known = [(at + 0.5, value) for at, value in enumerate(values) if value]
        t_s, said = (np.array(column, dtype=float) for column in zip(*known, strict=True))
        name = f"node{number}.status.wsrep_cluster_size"
        samples[name] = Samples(t_s, np.ones(len(t_s)), said)
    return Trace("t0", LENGTH_S, ends_s, {"app": counts}, samples)


def killed(node: str = "db.3", do: str = "kill", **more: Any) -> dict[str, Any]:
    return {"do": do, "node": node, "at_s": 3.0, "begun_s": 3.0, "in_force_s": 3.0, **more}


def of_failures(
    made: Plan, seen: Trace | None, *faults: dict[str, Any], settings: Mapping[str, str] = {}
) -> Predictions:
    cell = made.cells[0]
    own = record(faults=faults, targets={"db": {"settings": dict(settings)}})
    return failures.predict(cell, cell.targets[0], [own], lambda trial: seen)


def by_name(found: Predictions) -> dict[tuple[str, str], Quantity]:
    return {(one.what, one.of): one for one in found.quantities}


KILL = Fault(3.0, "kill", ("db.3",), "db")
OF_CRASH = {1: [3] * 9 + [2] * 15, 2: [3] * 9 + [2] * 15, 3: [3] * 3 + [0] * 21}


def test_a_crash_is_predicted_from_default_timers() -> None:
    made = plan(target(), faults=(KILL,))
    found = of_failures(made, trace([(3.0, 9.2)], OF_CRASH), killed())
    outage = by_name(found)[OUTAGE, ""]
    assert 6.0 <= outage.predicted[0] <= outage.predicted[1] <= 6.5
    assert outage.measured == ((pytest.approx(6.2), pytest.approx(6.4)),)
    assert outage.off == (0.0,)
    assert not outage.at_least
    change = by_name(found)[CHANGE, "db"]
    assert change.measured == ((5.5, 6.5),)  # seconds after the fault
    assert change.off == (0.0,)
    members = {one.of: one for one in found.sequences}
    assert members["db"].measured == ((3, 2),)
    assert (3, 2) in members["db"].predicted
    assert members["db"].agree == members["db.2"].agree == members["db.3"].agree == 1
    assert members["db.3"].measured == ((3,),)  # until it died
    assert found.unknown == ()
    assert "default timers" in worded(found, made).inputs[0]


def test_another_outage_than_predicted_is_said_to_be_outside() -> None:
    made = plan(target(), faults=(KILL,))
    outage = by_name(of_failures(made, trace([(3.0, 12.0)]), killed()))[OUTAGE, ""]
    (off,) = outage.off
    assert off == pytest.approx(9.0 - outage.predicted[1])
    assert text.difference(outage).startswith("up to 2.")
    assert text.difference(outage).endswith("s above")


def test_timers_and_weights_are_those_of_the_servers() -> None:
    made = plan(target(), faults=(KILL,))
    settings = {galera.VARIABLE: "evs.suspect_timeout = PT10S; pc.weight = 1; other = x"}
    found = of_failures(made, trace([(3.0, 14.2)]), killed(), settings=settings)
    low, high = by_name(found)[OUTAGE, ""].predicted
    assert 11.0 <= low <= high <= 11.5
    assert "evs.suspect_timeout 10" in worded(found, made).inputs[0]


def test_a_node_that_leaves_in_good_order_stops_nobody() -> None:
    made = plan(target(), faults=(replace(KILL, do="stop"),))
    found = of_failures(made, trace([]), killed(do="stop"))
    outage = by_name(found)[OUTAGE, ""]
    assert outage.predicted[1] < 0.2
    assert outage.off == (0.0,)


def test_sessions_of_the_node_that_died_wait_for_ever_unless_they_follow() -> None:
    at_first = replace(KILL, nodes=("db",))
    group_at_first = group(route="primary")
    made = plan(target(), groups=(group_at_first,), faults=(at_first,))
    outage = by_name(of_failures(made, trace([(3.0, 24.0)]), killed("db")))[OUTAGE, ""]
    assert outage.at_least
    assert outage.predicted[0] == pytest.approx(21.0)
    assert text.predicted(outage) == "at least 21.0 s"
    follows = target(failover=Failover(1.0))
    made = plan(follows, groups=(group_at_first,), faults=(at_first,))
    outage = by_name(of_failures(made, trace([(3.0, 9.8)]), killed("db")))[OUTAGE, ""]
    assert not outage.at_least
    assert 7.0 <= outage.predicted[1] <= 7.5  # a session tries again within a second
    assert outage.off == (0.0,)


def test_nothing_is_predicted_of_a_start() -> None:
    made = plan(target(), faults=(replace(KILL, for_s=9.0),))
    seen = trace([(3.0, 9.2), (12.4, 15.0)], OF_CRASH)
    found = of_failures(made, seen, killed(undone_s=14.0))
    assert by_name(found)[OUTAGE, ""].off == (0.0,)  # the second one is not compared
    (said,) = worded(found, made).unknown
    assert "started again" in said


def test_a_node_that_is_cut_off_and_comes_back() -> None:
    cut = Fault(3.0, "partition", ("db.3",), "db", 12.0, (NODES,))
    made = plan(target(), faults=(cut,))
    sizes = {1: [3] * 9 + [2] * 8 + [3] * 7, 3: [3] * 9 + [1] * 8 + [3] * 7}
    found = of_failures(made, trace([(3.0, 9.3)], sizes), killed(do="partition", undone_s=15.0))
    assert [one.agree for one in found.sequences] == [1, 1]
    other = replace(cut, peers=("clients",))
    found = of_failures(plan(target(), faults=(other,)), trace([]), killed(do="partition"))
    assert not found.quantities
    assert "of links" in worded(found).unknown[0]


@pytest.mark.parametrize("do", ["sql", "limit", "restart", "power_cut"])
def test_faults_that_the_simulator_has_not_are_named(do: str) -> None:
    made = plan(target(), faults=(replace(KILL, do=do),))
    found = of_failures(made, trace([]), killed(do=do))
    assert not found.quantities
    assert worded(found, made).unknown == (f"Not predicted: the simulator has no `{do}`.",)


def test_a_trial_without_counts_is_not_compared() -> None:
    made = plan(target(), faults=(KILL,))
    found = of_failures(made, None, killed())
    assert not found.quantities
    assert "no trial" in worded(found, made).unknown[0]


# ---- commits


def test_a_commit_takes_three_ways_more_than_without_a_delay() -> None:
    made = plan(target(), target(0.010), groups=(group(retries=1, sessions=1),))
    made = replace(made, cells=tuple(replace(c, groups=(reading(), *c.groups)) for c in made.cells))
    metrics = {"app.service_ms_p50": 2.0}, {"app.service_ms_p50": 33.0}
    records = [record(number, metrics=one) for number, one in enumerate(metrics)]
    near, far = predictions(made, records, lambda trial: None)
    assert not near.quantities
    assert "no delay" in worded(near, made).unknown[0]
    (one,) = far.quantities
    assert (one.what, one.of) == (COMMIT, "app")
    assert one.predicted == (pytest.approx(0.032), pytest.approx(0.032))
    assert text.predicted(one) == "32.0 ms"
    assert text.measured(one) == "33.0 ms"
    assert text.difference(one) == "+3%"
    assert "3 ways of 10 ms" in worded(far, made).inputs[0]


def reading() -> GroupPlan:
    return group({"preset": "point_select"}, name="reads")


def test_without_a_cell_to_compare_with_it_is_a_lower_bound() -> None:
    made = plan(target(0.005), groups=(reading(), group()))
    found = predictions(made, [record(metrics={"app.service_ms_p50": 16.0})], lambda trial: None)
    (one,) = found[0].quantities
    assert one.at_least and one.off == (0.0,)
    assert text.predicted(one) == "at least 15.0 ms"
    assert text.difference(one) == "none lower"
    below = replace(one, measured=((0.012, 0.012),))
    assert text.difference(below) == "up to 3.00 ms below"


def test_hot_rows_are_simulated_from_their_sessions() -> None:
    hot = group({**UPDATE, "rows": 1}, route="any")
    metrics = {
        "transactions_per_s": 31.0,
        "errors_per_s": 130.0,
        "nodes.status.wsrep_local_cert_failures": 60.0,
        "nodes.status.wsrep_local_bf_aborts": 125.0,
    }
    made = plan(target(0.010), groups=(hot,))
    (found,) = predictions(made, [record(metrics=metrics)], lambda trial: None)
    rates = {one.what: one.predicted[0] for one in found.quantities}
    assert set(rates) == {COMMITS, ERRORS, CERTIFICATION, TAKEN}
    assert rates[COMMITS] == pytest.approx(1 / 0.0305, rel=0.1)  # one in the time of one commit
    assert rates[ERRORS] > 1.5 * rates[COMMITS]
    assert rates[CERTIFICATION] < rates[TAKEN]
    said = worded(found, made).inputs[0]
    assert "6 sessions on 3 nodes, 1 row," in said
    assert "assumed" in said


def test_a_single_writer_has_no_conflict() -> None:
    hot = group({**UPDATE, "rows": 1}, route="primary")
    metrics = {"transactions_per_s": 32.0, "errors_per_s": 0.0}
    made = plan(target(0.010), groups=(hot,))
    (found,) = predictions(made, [record(metrics=metrics)], lambda trial: None)
    rates = {one.what: one for one in found.quantities}
    assert rates[ERRORS].predicted == (0.0, 0.0)
    assert text.difference(rates[ERRORS]) == "as predicted"
    assert text.difference(replace(rates[ERRORS], measured=((1.0, 1.0),))) == "none predicted"


@pytest.mark.parametrize(
    ("one", "rows"),
    [
        (group(), 1000),
        (group({**UPDATE, "id_range": 7}), 7),
        (group({**UPDATE, "tables": 2}), 2000),
        (group({**UPDATE, "distribution": "zipfian"}), None),
        (group({"preset": "write_only"}), None),
        (group({"preset": "update_index", "rows": 5, "point_selects": 1}), None),
        (group(arrivals=Arrivals("poisson", (RateStep(None, 9.0, 9.0),))), None),
    ],
)
def test_rows_that_are_evenly_hot_are_known(one: GroupPlan, rows: int | None) -> None:
    found = hot_rows.of_group(one)
    assert (found and found.rows) == rows


def mixed(sql: Any, generator: Any, *, single: bool = False) -> GroupPlan:
    whole: Any = {"transactions": {"hit": {"steps": [sql]}}}
    of = {"statements": {"hit": {"sql": sql}}} if single else whole
    return group({"params": {"row": generator}, **of}, workload="mix")


HIT = "UPDATE counters SET n = n + 1 WHERE id = :row"


@pytest.mark.parametrize(
    ("one", "found"),
    [
        (mixed(HIT, {"uniform": [1, 16]}), hot_rows.HotRows(16, True)),
        (mixed({"sql": HIT}, {"uniform": [1, 1]}), hot_rows.HotRows(1, True)),
        (mixed(HIT, {"uniform": [1, 16]}, single=True), hot_rows.HotRows(16, False)),
        (mixed(HIT, {"zipfian": [1, 16]}), None),
        (mixed(HIT, {"uniform": [0.5, 16]}), None),
        (mixed("UPDATE counters SET n = 0 WHERE id > :row", {"uniform": [1, 16]}), None),
        (mixed("DELETE FROM counters WHERE id = :row", {"uniform": [1, 16]}), None),
    ],
)
def test_one_update_of_a_mix_is_known(one: GroupPlan, found: hot_rows.HotRows | None) -> None:
    assert hot_rows.of_group(one) == found


def test_what_has_no_model_is_said() -> None:
    apart = replace(target(0.010), limits=Limits(Network(0.001)))
    said = {
        "replicas": target(kind="replicas"),
        "sentinel": target(kind="sentinel"),
        "clients": apart,
    }
    made = plan(*said.values())
    found = predictions(made, [record(number) for number in range(3)], lambda trial: None)
    texts = [" ".join(one.unknown) for one in worded(found, made)]
    assert "no delay between" in texts[0] and "--parallelism" in texts[0]
    assert "no model" in texts[1]
    assert "between the load and the nodes" in texts[2]
    assert predictions(plan(TargetPlan("db", "mariadb")), [record()], lambda trial: None) == ()


def test_one_node_waits_for_nobody() -> None:
    made = plan(target(0.010, nodes=1))
    found = predictions(made, [record(metrics={"service_ms_p50": 1.0})], lambda trial: None)
    assert found == ()


def test_sessions_through_a_router_have_no_predicted_outage() -> None:
    routed = target(router=Router("haproxy"))
    made = plan(routed, groups=(group(route="router"),), faults=(KILL,))
    found = of_failures(made, trace([(3.0, 9.2)], OF_CRASH), killed())
    assert OUTAGE not in {one.what for one in found.quantities}
    assert (CHANGE, "db") in by_name(found)


def test_faults_on_another_target_are_not_those_of_a_cluster() -> None:
    made = plan(target(), faults=(KILL, Fault(4.0, "restart", ("other",), "other")))
    alone = of_failures(made, trace([(3.0, 9.2)], OF_CRASH), killed())
    both = killed("other", "restart", at_s=4.0, begun_s=4.0)
    assert of_failures(made, trace([(3.0, 9.2)], OF_CRASH), killed(), both) == alone


def test_a_cell_that_differs_in_more_than_the_delay_is_no_baseline() -> None:
    for other in (replace(target(), memory_bytes=1 << 30), replace(target(), version="11.8")):
        made = plan(other, target(0.010))
        assert latencies.nearer(made, made.cells[1]) is None
    made = plan(target(), target(0.010))
    assert latencies.nearer(made, made.cells[1]) == made.cells[0]
    struck = replace(made, cells=(replace(made.cells[0], faults=(KILL,)), made.cells[1]))
    assert latencies.nearer(struck, struck.cells[1]) is None


def test_the_cell_of_another_number_of_nodes_is_no_baseline() -> None:
    cells: tuple[Cell, ...] = plan(target(nodes=2), target(0.010)).cells
    assert latencies.nearer(plan(target(nodes=2), target(0.010)), cells[1]) is None


def of_two(seen: Trace, *nodes: str) -> Predictions:
    """Two trials of one cell, in each of which another node was killed; sessions use the first."""
    at_any = replace(KILL, nodes=("any",))
    made = plan(target(), groups=(group(route="primary"),), faults=(at_any,))
    cell = made.cells[0]
    own = [
        replace(record(faults=(killed(node),)), id=f"b{block}", block=block)
        for block, node in enumerate(nodes, 1)
    ]
    return failures.predict(cell, cell.targets[0], own, lambda trial: seen)


def test_trials_with_other_draws_have_predictions_of_their_own() -> None:
    """A session's own node dies in the first trial and another one in the second: the sessions that
    came back after 6 s in both agree with the second alone."""
    seen = trace([(3.0, 9.2)], {1: [3] * 9 + [2] * 15})
    found = [one for one in of_two(seen, "db", "db.3").quantities if one.what == OUTAGE]
    short, long = found
    assert (short.blocks, long.blocks) == ((2,), (1,))
    assert short.off == (0.0,)
    assert 6.0 <= short.predicted[0] <= short.predicted[1] <= 6.5
    assert long.at_least
    (off,) = long.off
    assert off == pytest.approx(6.3 + 0.1 - 21.0, abs=0.11)
    assert text.what(long) == "longest time without a commit, block 1"


def test_trials_with_one_draw_are_one_row_and_each_is_compared_with_its_own_range() -> None:
    seen = trace([(3.0, 9.2)], OF_CRASH)
    found = of_two(seen, "db.3", "db.3")
    (outage,) = (one for one in found.quantities if one.what == OUTAGE)
    assert outage.blocks == ()
    assert len(outage.by_trial) == len(outage.off) == 2
    members = {one.of: one for one in found.sequences}
    assert members["db"].agree == 2
    mixed_draws = {one.of: one for one in of_two(seen, "db.3", "db").sequences}
    assert mixed_draws["db.3"].agree == 1  # it died in one of the two, and saw two members later
