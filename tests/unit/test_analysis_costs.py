"""Prices against throughput, with the golden numbers of a published comparison (A01)."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.analysis import result as analysis_result
from dbdyno.analysis.costs.cost import price_per_month
from dbdyno.errors import DynoError
from dbdyno.experiment import load
from dbdyno.experiment.types import Prices
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.plan.types import Plan
from dbdyno.report.context import Context
from dbdyno.report.sections.verdicts import costs
from dbdyno.store.record import TrialRecord
from dbdyno.wording.findings import analyse
from fixtures.schemas import valid

ROOT = Path(__file__).parents[2]
THREADS = (16, 32, 64, 128, 256)
# Thousands of queries a second, and dollars a month.
QPS = {
    "n1-64": (164, 265, 415, 398, 381),
    "n2-64": (230, 347, 598, 591, 554),
    "n2d-48": (144, 252, 345, 335, 328),
    "n2d-64": (155, 268, 439, 444, 433),
}
MONTH = {"n1-64": 2035.49, "n2-64": 2549.39, "n2d-48": 1698.54, "n2d-64": 2231.06}
COST = {"n1-64": 1.892, "n2-64": 1.645, "n2d-48": 1.899, "n2d-64": 1.939}

FILE = """
experiment: a01
targets: {{db: {{kind: sqlite}}}}
workload: {{kind: oltp, preset: point_select}}
factors:
  machine: {{n1-64: {{db.config.cache_size: 1}}, n2-64: {{db.config.cache_size: 2}},
             n2d-48: {{db.config.cache_size: 3}}, n2d-64: {{db.config.cache_size: 4}}}}
  sessions: [16, 32, 64, 128, 256]
blocks: {blocks}
{more}
"""
PRICES = "prices: {machine: {" + ", ".join(f"{m}: {p}/month" for m, p in MONTH.items()) + "}}"


def _plan(blocks: int = 3, more: str = PRICES) -> Plan:
    loaded = load(FILE.format(blocks=blocks, more=more))
    return make(loaded, Machine.read(), data_settings=lambda target: {})


def _records(plan: Plan, p95: dict[str, float] | None = None) -> list[TrialRecord]:
    records = []
    for trial in plan.trials:
        levels = plan.cells[trial.cell].levels
        qps = QPS[levels["machine"]][THREADS.index(int(levels["sessions"]))] * 1000.0
        metrics = {"operations_per_s": qps, "transactions_per_s": qps / 10}
        if p95:
            metrics["service_ms_p95"] = p95[levels["sessions"]]
        record = TrialRecord(
            id=trial.id,
            block=trial.block,
            cell=trial.cell,
            status="complete",
            started_unix_s=0.0,
            metrics=metrics,
        )
        records.append(record)
    return records


def test_the_published_costs_come_back() -> None:
    plan = _plan()
    found = analyse(plan, _records(plan)).costs
    assert found is not None
    assert found.what == "transactions"
    for offer in found.offers:
        assert offer.cost == pytest.approx(10 * COST[offer.levels["machine"]], abs=5e-3)
    assert [offer.levels["machine"] for offer in found.offers] == sorted(COST, key=COST.__getitem__)
    best = {o.levels["machine"]: plan.cells[o.cell].levels["sessions"] for o in found.offers}
    assert best == {"n1-64": "64", "n2-64": "64", "n2d-48": "64", "n2d-64": "128"}
    assert found.sentence == (
        "Cheapest: machine n2-64, 16.45 USD a billion transactions; machine n1-64 costs 15 % more."
    )


def test_costs_are_metrics_that_claims_may_name() -> None:
    claim = "cost_per_billion_operations[n2d-64] / cost_per_billion_operations[n2-64] >= 1.1"
    plan = _plan(more=f"{PRICES}\nclaims: ['{claim} at sessions=64']")
    findings = analyse(plan, _records(plan))
    part = findings.claims[0].parts[0]
    assert findings.claims[0].verdict == "supported"
    assert part.estimate is not None
    assert part.estimate.ratio == pytest.approx(2231.06 / 439 / (2549.39 / 598))


def test_only_what_is_fast_enough_is_offered() -> None:
    plan = _plan(more=PRICES.replace("prices: {", "prices: {under: [p95 < 5], "))
    slow = dict(zip(map(str, THREADS), (1.0, 2.0, 9.0, 9.0, 9.0), strict=True))
    found = analyse(plan, _records(plan, slow)).costs
    assert found is not None
    assert {plan.cells[offer.cell].levels["sessions"] for offer in found.offers} == {"32"}
    assert "service_ms_p95 < 5" in found.sentence
    none = dict.fromkeys(map(str, THREADS), 9.0)
    findings = analyse(plan, _records(plan, none))
    assert findings.costs is not None
    assert all(offer.cost is None for offer in findings.costs.offers)
    assert findings.costs.sentence.startswith("No level was fast enough")
    shown = costs.view(Context(SimpleNamespace(plan=plan), findings))  # type: ignore[arg-type]
    assert shown is not None
    assert {row.remark for row in shown.rows} == {"too slow in every cell"}


def test_an_offer_that_costs_more_and_does_less_is_said_to_be_dominated() -> None:
    dear = {**MONTH, "n2d-48": 9000.0}
    text = ", ".join(f"{machine}: {price}/month" for machine, price in dear.items())
    for blocks, judged in ((3, True), (1, False)):
        plan = _plan(blocks, f"prices: {{machine: {{{text}}}}}")
        found = analyse(plan, _records(plan)).costs
        assert found is not None
        last = found.offers[-1]
        assert last.levels["machine"] == "n2d-48"
        assert last.dominated_by == {"machine": "n2-64"}
        assert last.judged is judged
        assert not any(o.dominated_by for o in found.offers[:-1] if o.levels["machine"] != "n2d-64")


def test_one_run_a_cell_gives_costs_without_intervals() -> None:
    plan = _plan(1)
    found = analyse(plan, _records(plan)).costs
    assert found is not None
    assert "not judged" in found.sentence
    assert all(o.ratio is None or o.ratio.ci_low is None for o in found.offers)


def test_what_committed_nothing_has_no_cost() -> None:
    plan = _plan()
    idle = [record.replace(metrics={"transactions_per_s": 0.0}) for record in _records(plan)]
    assert analyse(plan, idle).costs is None


def test_result_json_holds_the_offers() -> None:
    plan = _plan()
    result = analysis_result.to_json(analyse(plan, _records(plan)), plan, {})
    valid("result", result)
    assert result["costs"]["offers"][0]["levels"] == {"machine": "n2-64"}
    plain = _plan(more="")
    assert analysis_result.to_json(analyse(plain, _records(plain)), plain, {})["costs"] is None


@given(base=st.floats(0, 1e6), machine=st.floats(0, 1e6), level=st.sampled_from(["a", "b"]))
def test_a_cell_costs_the_base_and_its_levels(base: float, machine: float, level: str) -> None:
    prices = Prices("USD", base, {"machine": {"a": machine, "b": 0.0}})
    expected = base + (machine if level == "a" else 0.0)
    assert price_per_month(prices, {"machine": level, "other": "x"}) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("prices: {macine: {n1-64: 1/month}}", "macine"),
        ("prices: {machine: {n1-64: 1/month}}", "no price for"),
        ("prices: {machine: {n9: 1/month}}", "no level `n9`"),
        ("prices: {base: 100}", "100/month"),
        ("prices: {base: 100 USD/month}", "without its currency"),
        ("prices: {base: 1/month, under: [cost_per_billion_operations < 5]}", "not a condition"),
        ("claims: ['cost_per_billion_operations[n1-64] < 5 at sessions=16']", "no `prices`"),
        ("prices: {base: 1/month}\nrequire: [cost_per_billion_operations < 5]", "not a condition"),
    ],
)
def test_wrong_prices_are_refused_where_they_stand(more: str, words: str) -> None:
    with pytest.raises(DynoError, match=words.replace("(", "\\(")) as refused:
        _plan(more=more)
    assert refused.value.where is not None
    assert refused.value.where.line >= 9
