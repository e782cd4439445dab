"""Runs combined: published numbers, what is refused, and all formats."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import plans
import pytest
from apart import DAY_S, ENVIRONMENT
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.analysis import between_runs
from dbdyno.analysis.between_runs.pooling import Source, combine
from dbdyno.analysis.between_runs.pooling.result import combined_json
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.errors import DynoError
from dbdyno.report.pooling.page import combined_page
from dbdyno.report.pooling.text import combined_markdown, combined_text
from dbdyno.store.record import TrialRecord
from dbdyno.wording.runs import pool
from fixtures.printed import printed
from fixtures.schemas import valid

CLAIM = "tps[on] > tps[off]"

# Colditz and others (1994), trials of the BCG vaccine: cases and others, vaccinated and not.
BCG = (
    *((4, 119, 11, 128), (6, 300, 29, 274), (3, 228, 11, 209), (62, 13536, 248, 12619)),
    *((33, 5036, 47, 5761), (180, 1361, 372, 1079), (8, 2537, 10, 619), (505, 87886, 499, 87892)),
    *((29, 7470, 45, 7232), (17, 1699, 65, 1600), (186, 50448, 141, 27197)),
    *((5, 2493, 3, 2338), (27, 16886, 29, 17825)),
)


def source(
    day: int,
    ratio: float,
    *,
    blocks: int = 5,
    machine: str = "Example",
    words: Mapping[str, str] | None = None,
) -> Source:
    """A run; `words`: its claims, each with what it says."""
    plan = plans.plan({"cache": ("off", "on")}, blocks=blocks, claims=tuple(words or ()))
    plan = replace(plan, claim_words=words or {})
    rng = np.random.default_rng(day)
    records = [
        TrialRecord(
            id=trial.id,
            block=trial.block,
            cell=trial.cell,
            status="complete",
            started_unix_s=day * DAY_S,
            metrics={
                "transactions_per_s": 1000
                * (ratio if plan.cells[trial.cell].levels["cache"] == "on" else 1.0)
                * math.exp(rng.normal(scale=0.02)),
                "service_ms_p95": 4.0,
            },
            outages=(),
            targets={"db": {"version": "10.11"}},
        )
        for trial in plan.trials
    ]
    environment = {**ENVIRONMENT, "cpu_model": machine}
    manifest = {"created_unix_s": day * DAY_S, "environment": environment}
    run = between_runs.reduce(plan, records, manifest, f"r{day}", "complete")
    return Source(Measured.of(plan, records), run)


def test_the_model_gives_published_numbers() -> None:
    y, v = [], []
    for a, b, c, d in BCG:
        y.append(math.log((a / (a + b)) / (c / (c + d))))
        v.append(1 / a - 1 / (a + b) + 1 / c - 1 / (c + d))
    found = combine(y, v)
    assert found.q == pytest.approx(152.2330, abs=5e-5)
    assert found.tau**2 == pytest.approx(0.3181, abs=5e-5)
    assert found.mean == pytest.approx(-0.7150, abs=5e-5)
    assert found.i2 == pytest.approx(0.9212, abs=5e-5)


def test_two_runs_by_hand() -> None:
    # Equal variances: tau^2 is the variance between the effects less that within.
    found = combine([0.0, 0.4], [0.01, 0.01])
    assert found.mean == pytest.approx(0.2) and found.predicted is None
    assert found.tau**2 == pytest.approx(0.08 - 0.01)
    assert found.high - found.mean == pytest.approx(12.7062047 * math.sqrt(0.08 / 2))
    agreed = combine([0.2, 0.2], [0.01, 0.01])
    assert agreed.tau == agreed.i2 == 0.0
    assert agreed.high - agreed.mean == pytest.approx(12.7062047 * math.sqrt(0.01 / 2))


@given(
    st.lists(st.tuples(st.floats(-5, 5), st.floats(1e-6, 10)), min_size=2, max_size=12),
)
def test_any_runs_can_be_combined(runs: list[tuple[float, float]]) -> None:
    found = combine(*map(list, zip(*runs, strict=True)))
    assert found.low <= found.mean <= found.high and found.tau >= 0 and 0 <= found.i2 <= 1
    assert sum(found.weights) == pytest.approx(1.0)
    if found.predicted:
        assert found.predicted[0] <= found.low and found.high <= found.predicted[1]


def test_runs_of_other_days_and_machines_are_combined_and_drawn() -> None:
    runs = [source(1, 1.2), source(2, 1.3), source(3, 1.25, machine="<Other>")]
    found = pool(runs, [CLAIM])
    (line,) = found.lines
    assert line.pooled and line.pooled.low < math.log(1.25) < line.pooled.high
    assert found.differ == (("r3", ("cpu_model: Example -> <Other>",)),)
    shown = printed(combined_text(found))
    assert "combined" in shown and "A further run's own ratio is expected in" in shown
    assert "with so few runs a large p does not show that they agree" in shown
    document = valid("pool", combined_json(found))
    assert json.dumps(document, allow_nan=False)
    page = combined_page(found)
    assert page.count("<svg") == 1 and "&lt;Other&gt;" in page and "<Other>" not in page
    assert "| combined |" in combined_markdown(found)


def test_claims_stand_in_their_words_behind_the_verdict_of_the_combined_ratios() -> None:
    words = {CLAIM: "The <cache> helps", "tps[on] > 2 * tps[off]": "It doubles throughput"}
    runs = [source(day, ratio, words=words) for day, ratio in enumerate((1.24, 1.26, 1.25))]
    found = pool(runs, ["tps[off] > tps[on]", "tps[on] > 0"])
    assert [(one.say, one.verdict) for one in found.claims] == [
        ("The <cache> helps", "supported"),
        ("It doubles throughput", "refuted"),
        ("", "refuted"),
        ("", "undecided"),  # no ratio
    ]
    shown = printed(combined_text(found))
    assert f"Supported: The <cache> helps ({CLAIM})" in shown
    assert "Refuted: It doubles throughput (tps[on] > 2 * tps[off])" in shown
    assert "Refuted: tps[off] > tps[on]" in shown
    page, markdown = combined_page(found), combined_markdown(found)
    assert "Supported: The &lt;cache&gt; helps" in page and "<cache>" not in page
    assert "- Refuted: It doubles throughput" in markdown
    valid("pool", combined_json(found))


def test_what_cannot_be_combined_is_said() -> None:
    runs = [source(1, 1.2), source(2, 1.3)]
    other = source(0, 1.2)
    elsewhere = replace(other, run=replace(other.run, fingerprint="another"))
    copy = replace(runs[0], run=replace(runs[0].run, name="copy"))
    found = pool([*runs, elsewhere, copy], [CLAIM])
    assert {one.what: one.why for one in found.left_out} == {
        "r0": "not of the plan of r2",
        "copy": "a copy of a run that is used",
    }
    with pytest.raises(DynoError, match="fewer than 2 runs"):
        pool(runs[:1], [CLAIM])
    with pytest.raises(DynoError, match="claims nothing"):
        pool(runs)


def test_a_later_imported_run_does_not_displace_the_others() -> None:
    other = source(9, 1.2)
    plan = replace(other.run.plan, imported=True)
    imported = replace(other, run=replace(other.run, plan=plan, fingerprint="of pgbench"))
    found = pool([source(1, 1.2), source(2, 1.3), imported], [CLAIM])
    assert found.runs == ("r1", "r2")
    assert [one.what for one in found.left_out] == ["r9"]


def test_a_run_too_short_to_be_judged_is_not_in_it() -> None:
    found = pool([source(1, 1.2, blocks=2), source(2, 1.3), source(3, 1.2)], [CLAIM])
    (line,) = found.lines
    assert [bool(one.problem) for one in line.effects] == [True, False, False]
    assert line.pooled and found.lines[0].effects[0].weight is None
