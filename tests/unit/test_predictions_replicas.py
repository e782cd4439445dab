"""What models say of replicas and groups at a distance: by hand, without servers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tools.proof.galera import checks, hot_rows
from tools.proof.rows.models import apply_lag, commit_waits

from dbdyno.analysis import result
from dbdyno.analysis.predictions import types
from dbdyno.analysis.predictions.predict import predictions
from dbdyno.analysis.predictions.result import predictions_json
from dbdyno.analysis.predictions.types import (
    ACKNOWLEDGED,
    BARS,
    CERTIFICATION,
    COMMIT,
    COMMITS,
    ERRORS,
    KNOWN,
    LAG,
    OUTAGE,
    TAKEN,
    Predictions,
    Quantity,
)
from dbdyno.experiment.types import Arrivals, Failover, Network, RateStep, Topology
from dbdyno.experiment.values.faults import Fault
from dbdyno.plan.types import Factor, GroupPlan, Plan
from dbdyno.store.record import TrialRecord
from dbdyno.systems.base import TargetPlan
from dbdyno.wording.catalogue import worded
from dbdyno.wording.within_trial import predictions_text as text
from fixtures import apart_run, synthetic
from fixtures.schemas import valid

PROOF = Path(__file__).parents[2] / "docs" / "proof"
UPDATE = {"preset": "update_non_index", "tables": 1, "rows": 10_000}


def target(kind: str, form: str, delay_s: float, *, nodes: int = 3, **more: Any) -> TargetPlan:
    """`more`: of the topology."""
    network = Network(delay_s) if delay_s else None
    return TargetPlan("db", kind, topology=Topology(form, nodes, network=network, **more))


def group(**more: Any) -> GroupPlan:
    return replace(GroupPlan("app", "oltp", "db", 1, 60.0, 100, UPDATE), **more)


def plan(*targets: TargetPlan, groups: tuple[GroupPlan, ...] = (group(),)) -> Plan:
    """One cell for each target."""
    names = [f"c{number}" for number in range(len(targets))]
    return synthetic.plan(
        *("apart", "What is it?", [Factor("cell", tuple(names), None, True)]),
        *(lambda at: groups, lambda at: (targets[names.index(at["cell"])],), (), 1),
    )


def record(cell: int, p50_ms: float, facts: Mapping[str, Any] = {}) -> TrialRecord:
    metrics = {"service_ms_p50": p50_ms}
    return TrialRecord(f"t{cell}", 1, cell, "complete", 0.0, metrics, targets={"db": facts})


def side_by_side(far: TargetPlan) -> TargetPlan:
    """The same without a delay."""
    assert far.topology is not None
    return replace(far, topology=replace(far.topology, network=Network()))


def of_pair(
    far: TargetPlan, near_ms: float, far_ms: float, **more: Any
) -> tuple[Plan, Predictions]:
    """The second of two cells that differ in a delay alone."""
    made = plan(side_by_side(far), far, groups=(group(**more),))
    records = [record(0, near_ms), record(1, far_ms)]
    _, found = predictions(made, records, lambda trial: None)
    return made, found


SEMI = target("mariadb", "replicas", 0.010, wait_for_replicas=1)


@pytest.mark.parametrize(
    ("far", "what", "high_s"),
    [
        (SEMI, ACKNOWLEDGED, 0.022),
        (target("mysql", "replicas", 0.010, wait_for_replicas=2), ACKNOWLEDGED, 0.022),
        (target("postgres", "replicas", 0.010, nodes=5, wait_for_replicas=2), ACKNOWLEDGED, 0.022),
    ],
    ids=["semi", "two", "quorum"],
)
def test_a_commit_takes_the_ways_of_its_set_up_more(
    far: TargetPlan, what: str, high_s: float
) -> None:
    made, found = of_pair(far, 2.0, 23.0)
    (one,) = found.quantities
    assert one.what == what
    assert one.predicted == (pytest.approx(high_s), pytest.approx(high_s))
    assert one.measured == ((0.023, 0.023),)
    assert text.difference(one) == "+5%"
    assert "without a delay: the median of" in worded(found, made).inputs[1]


@pytest.mark.parametrize("kind", ["mariadb", "mysql"])
def test_commits_of_several_sessions_may_wait_for_those_before(kind: str) -> None:
    far = target(kind, "replicas", 0.010, wait_for_replicas=1)
    made, found = of_pair(far, 2.0, 30.0, sessions=8)
    (one,) = found.quantities
    assert one.predicted == (pytest.approx(0.022), pytest.approx(0.042))
    assert (one.off, one.difference, one.is_model_off) == ((0.0,), 0.0, False)
    assert text.predicted(one) == "22.0 ms to 42.0 ms"
    assert text.judged(text.difference(one), one) == "within"
    assert "up to twice as long" in worded(found, made).inputs[0]
    two = of_pair(far, 2.0, 22.0, sessions=2)[1].quantities[0]
    assert two.predicted == (pytest.approx(0.022), pytest.approx(0.022))


def test_postgres_has_each_commit_wait_for_its_own_answer() -> None:
    far = target("postgres", "replicas", 0.010, wait_for_replicas=1)
    made, found = of_pair(far, 2.0, 22.0, sessions=8)
    assert found.quantities[0].predicted == (pytest.approx(0.022), pytest.approx(0.022))
    said = worded(found, made).inputs[0]
    assert "1 of 2 replicas" in said and "2 ways of 10 ms" in said and "twice" not in said


def test_the_delay_is_that_of_the_relay_before_the_nodes_started() -> None:
    made = plan(side_by_side(SEMI), SEMI)
    facts = {"network_of_nodes": {"delay_s": 0.010, "round_trip_s": 0.0212}}
    records = [record(0, 2.0), record(1, 23.0, facts)]
    _, found = predictions(made, records, lambda trial: None)
    assert found.quantities[0].predicted[0] == pytest.approx(0.0232)
    assert "2 ways of 10.6 ms" in worded(found, made).inputs[0]


def test_a_difference_larger_than_the_proof_s_is_the_model_s(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, found = of_pair(SEMI, 2.0, 27.0)
    (quantity,) = found.quantities
    assert quantity.known_error is None and not quantity.is_model_off
    assert text.known_error(quantity.known_error, quantity.what) == "not known"
    monkeypatch.setattr(types, "KNOWN", {**KNOWN, **BARS})
    (one,) = found.quantities
    assert text.difference(one) == "+23%"
    assert not one.is_model_off  # 22 is less than 20 % from 27
    assert text.judged(text.difference(one), one) == "+23%"
    far_off = replace(one, measured=((0.028, 0.028),))
    assert text.judged(text.difference(far_off), far_off) == "+27%; the model is off here"
    assert text.known_error(one.known_error, one.what) == "20%"
    below = replace(one, measured=((0.018, 0.018),))
    assert below.difference == pytest.approx(-0.004)
    assert below.is_model_off
    bound = replace(one, at_least=True, measured=((0.090, 0.090),))
    assert not bound.is_model_off


def test_without_the_same_cell_side_by_side_a_wait_is_a_lower_bound() -> None:
    made = plan(SEMI)
    (found,) = predictions(made, [record(0, 23.0)], lambda trial: None)
    (one,) = found.quantities
    assert one.at_least and text.predicted(one) == "at least 20.0 ms"
    assert "lower bound" in worded(found, made).unknown[0]


def test_what_waits_for_no_replica_is_not_predicted() -> None:
    made, found = of_pair(target("mariadb", "replicas", 0.010), 2.0, 2.2)
    assert not found.quantities
    waits, lags = worded(found, made).unknown
    assert "asynchronous commit waits for no replica" in waits
    assert "--parallelism" in lags


def test_sessions_that_wait_for_each_other_s_rows_are_not_predicted() -> None:
    made, found = of_pair(SEMI, 2.0, 90.0, sessions=8, options={**UPDATE, "rows": 79})
    assert not found.quantities
    assert "8 sessions change 79 rows" in worded(found, made).unknown[0]
    assert of_pair(SEMI, 2.0, 22.0, sessions=8, options={**UPDATE, "rows": 80})[1].quantities


# ---- lag


def rated(
    rates: Mapping[float, float], *, faults: tuple[Fault, ...] = (), **more: Any
) -> tuple[Plan, dict[float, Predictions]]:
    """Cells that differ in a rate: by transactions a second, how fast the lag of db.2 grows. The
    replica db.3 keeps up. `more`: of the last cell's target."""
    one = target("mysql", "replicas", 0.0)
    made = plan(*[one] * (len(rates) - 1), replace(one, **more))
    cells, records = [], []
    for cell, (rate, growth) in zip(made.cells, rates.items(), strict=True):
        arrivals = Arrivals("uniform", (RateStep(None, rate, rate),))
        cells.append(replace(cell, groups=(group(arrivals=arrivals),), faults=faults))
        metrics = {
            "transactions_per_s": rate,
            "service_ms_p50": 2.0,
            "replica_lag_s.node2_per_h": 3600 * growth,
            "replica_lag_s.node3_per_h": 0.0,
        }
        records.append(replace(record(cell.index, 2.0), metrics=metrics))
    made = replace(made, cells=tuple(cells))
    found = {each.cell: each for each in predictions(made, records, lambda trial: None)}
    return made, {rate: found[number] for number, rate in enumerate(rates)}


def test_the_growth_of_a_lag_follows_from_what_the_replica_applies_at_another_rate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(types, "KNOWN", {**KNOWN, **BARS})
    made, found = rated({800.0: 0.0, 1000.0: 0.02, 2000.0: 0.5, 4000.0: 0.74})
    growths = {
        rate: [(one.what, one.of, round(one.predicted[0], 3)) for one in each.quantities]
        for rate, each in found.items()
    }
    assert growths[800.0] == [(LAG, "db.2", 0.0)]  # of 1040 a second, as at 4000
    assert growths[1000.0] == [(LAG, "db.2", 0.0)]
    assert growths[2000.0] == [(LAG, "db.2", 0.48)]
    assert growths[4000.0] == [(LAG, "db.2", 0.75)]  # of 1000 a second, as at 2000
    (one,) = found[2000.0].quantities
    assert one.difference == pytest.approx(0.02)
    assert not one.is_model_off
    assert text.what(one) == "db.2: growth of the lag"
    assert (text.predicted(one), text.measured(one)) == ("0.48 s/s", "0.50 s/s")
    assert text.judged(text.difference(one), one) == "+0.02 s/s"
    assert text.known_error(one.known_error, one.what) == "0.1 s/s"
    said = " ".join(worded(found[2000.0], made).inputs)
    assert "db.2 1,040/s" in said and "db.3" not in said
    assert "binary log" not in " ".join(worded(found[2000.0], made).unknown)


def test_a_lag_that_grows_otherwise_is_the_model_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(types, "KNOWN", {**KNOWN, **BARS})
    _, found = rated({2000.0: 0.30, 4000.0: 0.75})
    (one,) = found[2000.0].quantities
    assert one.predicted == (pytest.approx(0.5), pytest.approx(0.5))
    assert text.judged(text.difference(one), one) == "-0.20 s/s; the model is off here"


@pytest.mark.parametrize(
    ("rates", "more"),
    [
        ({800.0: 0.0, 1000.0: 0.05}, {}),  # none falls behind
        ({800.0: 0.0, 2000.0: 0.5}, {"config": {"replica_parallel_workers": 8}}),
    ],
)
def test_without_another_rate_at_which_it_falls_behind_no_lag_is_predicted(
    rates: Mapping[float, float], more: Mapping[str, Any]
) -> None:
    made, found = rated(rates, **more)
    for each in found.values():
        assert not each.quantities
        assert "binary log" in " ".join(worded(each, made).unknown)


def test_cells_with_faults_say_nothing_of_lags() -> None:
    kill = Fault(3.0, "kill", ("db.2",), "db")
    _, found = rated({800.0: 0.0, 2000.0: 0.5}, faults=(kill,))
    assert not any(each.quantities for each in found.values())


def struck(one: TargetPlan, audit: str | None) -> str:
    """What is said of a cell whose primary is killed."""
    made = plan(one)
    kill = Fault(3.0, "kill", ("db",), "db")
    cells = (replace(made.cells[0], faults=(kill,), audit=audit),)
    made = replace(made, cells=cells)
    (found,) = predictions(made, [record(0, 2.0)], lambda trial: None)
    assert not found.quantities
    return " ".join(worded(found, made).unknown)


def test_failovers_are_not_predicted_and_the_reason_is_given() -> None:
    follows = target("postgres", "replicas", 0.0, failover=Failover(1.0))
    assert "behind in receiving" in struck(follows, "commits")
    assert "no model has faults" in struck(follows, None)
    waits = target("postgres", "replicas", 0.0, failover=Failover(1.0), wait_for_replicas=1)
    assert "no model has faults" in struck(waits, "commits")


def test_a_group_has_no_model() -> None:
    made = plan(target("mysql", "group", 0.010))
    (found,) = predictions(made, [record(0, 170.0)], lambda trial: None)
    assert worded(found, made).unknown == ("Not predicted: no model has this topology.",)


def test_readers_have_no_prediction() -> None:
    _, found = of_pair(SEMI, 2.0, 2.0, options={"preset": "point_select"})
    assert not found.quantities
    assert len(found.unknown) == 1


def test_a_group_s_own_metric_counts_where_there_are_several() -> None:
    made = plan(side_by_side(SEMI), SEMI, groups=(group(), group(name="more", sessions=2)))
    records = [
        replace(record(cell, 0.0), metrics={"app.service_ms_p50": a, "more.service_ms_p50": b})
        for cell, a, b in ((0, 2.0, 3.0), (1, 22.0, 23.0))
    ]
    _, found = predictions(made, records, lambda trial: None)
    by_group = {one.of: one.predicted for one in found.quantities}
    assert by_group["app"] == (pytest.approx(0.022), pytest.approx(0.042))  # three sessions
    assert by_group["more"] == (pytest.approx(0.023), pytest.approx(0.043))


# ---- the error that the proof found


def test_known_errors_are_those_of_rows_that_were_met() -> None:
    for known in KNOWN.values():
        row = json.loads((PROOF / f"{known.proof}.json").read_text())
        assert row["met"] is True, known
    assert KNOWN[OUTAGE].seconds == checks.ALLOWED_S
    assert KNOWN[COMMITS].share == hot_rows.WITHIN
    bars = {**KNOWN, **BARS}
    assert bars[COMMIT] == bars[ACKNOWLEDGED]
    assert bars[ACKNOWLEDGED].share == commit_waits.WITHIN
    assert bars[LAG].seconds == apply_lag.WITHIN


def test_bars_are_known_errors_as_soon_as_they_were_met() -> None:
    assert not KNOWN.keys() & BARS.keys()
    for bar in BARS.values():
        row = PROOF / f"{bar.proof}.json"
        assert not row.exists() or json.loads(row.read_text())["met"] is not True, bar


def test_what_has_no_bar_is_as_far_off_as_the_proof_s_table_has() -> None:
    row = json.loads((PROOF / "cluster.json").read_text())
    (table,) = (one for one in row["tables"] if "between nodes" in one["title"])
    columns = {
        ERRORS: "attempts that failed",
        CERTIFICATION: "certification failures",
        TAKEN: "rows taken by force",
    }
    for what, column in columns.items():
        at = table["head"].index(column)
        pairs = [
            [int(number.replace(",", "")) for number in cells[at].split(" / ")]
            for cells in table["rows"]
        ]
        worst = max(abs(told - seen) / max(1, seen) for told, seen in pairs)
        assert worst <= KNOWN[what].share


def test_an_outage_outside_by_less_than_the_known_error_is_no_fault_of_the_model() -> None:
    one = Quantity(OUTAGE, "", (6.0, 6.5), ((7.3, 7.5),))
    assert not one.is_model_off
    assert replace(one, measured=((7.3, 7.5), (7.6, 7.8))).is_model_off
    assert replace(one, measured=((4.7, 4.9),)).is_model_off


# ---- for programs


def test_result_json_has_numbers_for_each_prediction(monkeypatch: pytest.MonkeyPatch) -> None:
    run, findings = apart_run.apart(Path("RUN"))
    found = valid("result", result.to_json(findings, run.plan, run.manifest))["predictions"]
    by_setup = {one["levels"]["setup"]: one for one in found if one["quantities"]}
    assert set(by_setup) == set(apart_run.SETUPS) - {"asynchronous"}
    (semi,) = by_setup["semi-synchronous"]["quantities"]
    assert semi["what"] == "acknowledged" and semi["model"] == "replica-commit"
    assert semi["predicted"] == [pytest.approx(0.0221), pytest.approx(0.0421)]
    assert sorted(low for low, _ in semi["measured"]) == [0.034, 0.035, 0.036]
    assert semi["median"] == 0.035
    assert semi["difference"] == 0
    assert semi["known_error"] is None
    assert semi["model_off"] is False
    (far_off,) = by_setup["two replicas"]["quantities"]
    assert far_off["difference"] == pytest.approx(0.045 - 0.024)
    assert far_off["model_off"] is False  # as long as nothing is known of it
    monkeypatch.setattr(types, "KNOWN", {**KNOWN, **BARS})
    found = result.to_json(findings, run.plan, run.manifest)["predictions"]
    (far_off,) = (one for each in found for one in each["quantities"] if one["median"] == 0.045)
    assert far_off["known_error"] == {"proof": "commit_waits", "share": 0.2, "seconds": 0.0}
    assert far_off["model_off"] is True
    assert all(one["not_predicted"] for one in found if not one["quantities"])


def test_a_lower_bound_has_no_upper_end() -> None:
    found = Predictions(0, ("said",), (Quantity(COMMIT, "", (0.02, 0.02), ((0.03, 0.03),), True),))
    (one,) = predictions_json([found], plan(SEMI))
    assert one["quantities"][0]["predicted"] == [0.02, None]
