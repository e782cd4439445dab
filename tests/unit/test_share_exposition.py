"""OpenMetrics and Prometheus text: escaping, order, and what the dashboard asks for."""

from __future__ import annotations

import io
import json
import math
import re
from pathlib import Path
from typing import Any

import plans
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.share import families, listen, openmetrics
from dbdyno.share.exposition import (
    COUNTER,
    GAUGE,
    Family,
    Sample,
    escaped,
    level_labels,
    line,
    number,
    text,
)
from dbdyno.store.record import TrialRecord

DASHBOARD = Path(__file__).parents[2] / "share" / "grafana" / "dbdyno.json"
LATENCY = {
    "count": 10,
    "mean_ns": 1.5e6,
    "p50_ns": 1_000_000,
    "p95_ns": 2_000_000,
    "p99_ns": None,
    "p999_ns": 4_000_000,
    "max_ns": 5_000_000,
}
INTERVAL = {
    "event": "interval",
    "t_s": 1.0,
    "length_s": 0.5,
    "phase": "measure",
    "groups": {
        "workload": {
            "transactions": 10,
            "operations": 40,
            "errors": 1,
            "retries": 1,
            "lost": 0,
            "ticks": [2] * 5,
            "latency": LATENCY,
            "open": {"due": 12, "backlog": 2, "response": LATENCY},
        }
    },
    "generator": {"busy": [0.25, 0.5], "lag_p99_ns": 20_000},
}
READY = {"event": "ready", "connect_s": 0.1, "measure_unix_s": 1_000_000_000.0}


class Memory:
    """A run of one finished trial."""

    def __init__(self) -> None:
        self.plan = plans.plan({"cache": ('o"n', "off")})

    def records(self) -> list[TrialRecord]:
        first = self.plan.trials[0]
        return [TrialRecord(first.id, 1, first.cell, "complete", 1.0, {"transactions_per_s": 20.0})]

    def events(self, trial: str) -> list[dict[str, Any]]:
        return [READY, INTERVAL, {**INTERVAL, "t_s": 1.5}]

    def samples(self, trial: str) -> list[dict[str, Any]]:
        values = {"user": 0.5, "ok": True}
        return [{"t_s": 1.0, "length_s": 1.0, "source": "cpu", "values": values}]


def unescaped(value: str) -> str:
    return re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), value)


@given(st.text())
def test_labels_can_be_read_back(value: str) -> None:
    shown = line(Family("dbdyno_x", GAUGE, ""), Sample({"a": value, "b": ""}, 1.0))
    assert shown.count("\n") == 1 and shown.endswith("\n")
    found = re.fullmatch(r'dbdyno_x\{a="((?:[^"\\\n]|\\.)*)",b=""\} 1\n', shown)
    assert found
    assert unescaped(found[1]) == value.encode("utf-8", "replace").decode()


@given(st.floats())
def test_numbers_can_be_read_back(value: float) -> None:
    read = float(number(value))
    assert read == value or (math.isnan(read) and math.isnan(value))


@given(st.lists(st.text("a-._é", min_size=1, max_size=3), unique=True, max_size=6))
def test_labels_of_levels_are_names_and_differ(factors: list[str]) -> None:
    labels = level_labels(dict.fromkeys(factors, "x"))
    assert len(labels) == len(factors)
    assert all(re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*", label) for label in labels)


def test_the_two_formats_differ_where_they_must() -> None:
    parts = [
        (Family("dbdyno_a", COUNTER, 'x "y"\n'), [Sample({}, 1)]),
        (Family("dbdyno_b_seconds", GAUGE, "z", "seconds"), [Sample({}, 0.5, 12.25)]),
        (Family("dbdyno_c", GAUGE, "no samples: left out"), []),
    ]
    assert text(parts, open_metrics=True) == (
        "# TYPE dbdyno_a counter\n"
        '# HELP dbdyno_a x \\"y\\"\\n\n'
        "dbdyno_a_total 1\n"
        "# TYPE dbdyno_b_seconds gauge\n"
        "# UNIT dbdyno_b_seconds seconds\n"
        "# HELP dbdyno_b_seconds z\n"
        "dbdyno_b_seconds 0.5 12.250\n"
        "# EOF\n"
    )
    assert text(parts, open_metrics=False).startswith(
        '# TYPE dbdyno_a_total counter\n# HELP dbdyno_a_total x "y"\\n\ndbdyno_a_total 1\n'
    )
    assert escaped("\ud800") == "?"


def test_an_export_has_families_together_and_time_going_up() -> None:
    out = io.StringIO()
    count = openmetrics.write(Memory(), out)
    lines = out.getvalue().splitlines()
    assert lines[-1] == "# EOF"
    samples = [each for each in lines if not each.startswith("#")]
    assert len(samples) == count
    heads = [each.split()[2] for each in lines if each.startswith("# TYPE")]
    assert len(heads) == len(set(heads))
    order = [re.match(r"[a-z_]+", each)[0].removesuffix("_total") for each in samples]  # type: ignore[index]
    assert list(dict.fromkeys(order)) == heads  # none comes back after another
    last: dict[str, float] = {}
    for each in samples:
        series, _, at = each.rpartition(" ")
        series = series.rpartition(" ")[0]
        assert float(at) > last.get(series, 0.0), each
        last[series] = float(at)
    assert 'level_cache="o\\"n"' in samples[0]
    assert samples[0].endswith(" 20 1000000001.000")  # 10 in half a second
    totals = [each for each in samples if each.startswith("dbdyno_operations_total")]
    assert [each.split()[-2] for each in totals] == ["40", "80"]
    assert not any('name="ok"' in each for each in samples)


def live() -> listen.Live:
    source = Memory()
    shown = listen.Live(source.plan, "run-1", done=2)
    trial = source.plan.trials[0]
    shown.on_trial(trial, source.plan.cells[trial.cell], 1)
    shown.on_event(INTERVAL)
    shown.on_record(source.records()[0], over=True)
    return shown


def names(exposition: str) -> set[str]:
    found = (re.match(r"[a-zA-Z_][a-zA-Z0-9_]*", each) for each in exposition.splitlines())
    return {each[0] for each in found if each}


def test_the_endpoint_serves_every_live_family() -> None:
    wanted = {family.sample_name for family in families.LIVE}
    assert names(live().text(open_metrics=True)) == wanted
    assert names(live().text(open_metrics=False)) == wanted
    shown = live().text(open_metrics=True)
    name = Memory().plan.name
    assert f'dbdyno_trials_done{{experiment="{name}"}} 3\n' in shown
    assert 'percentile="99.9"' in shown and 'percentile="99"' not in shown  # too few values


def test_a_new_trial_replaces_the_one_before() -> None:
    shown = live()
    trial = Memory().plan.trials[1]
    shown.on_trial(trial, Memory().plan.cells[trial.cell], 1)
    text_ = shown.text(open_metrics=True)
    assert trial.id in text_
    assert Memory().plan.trials[0].id not in text_
    assert "dbdyno_transactions_total" not in text_


def test_every_metric_of_the_dashboard_is_served_and_every_label_exists() -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    exposition = live().text(open_metrics=False)
    served = names(exposition)
    labels = set(re.findall(r'[{,]([a-z_]+)="', exposition))
    asked = [t["expr"] for panel in dashboard["panels"] for t in panel["targets"]]
    asked += [v["definition"] for v in dashboard["templating"]["list"] if "definition" in v]
    assert len(asked) > 10
    for expression in asked:
        metrics = set(re.findall(r"\bdbdyno_\w+", expression))
        assert metrics and metrics <= served, expression
        for inner in re.findall(r"\{([^{}]*)\}", expression):
            assert set(re.findall(r"(\w+)=~?", inner)) <= labels, expression
    legends = [t["legendFormat"] for panel in dashboard["panels"] for t in panel["targets"]]
    assert {name for legend in legends for name in re.findall(r"\{\{(\w+)\}\}", legend)} <= labels


def test_the_dashboard_is_one_that_grafana_takes() -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    assert dashboard["schemaVersion"] >= 39
    assert dashboard["uid"] == "dbdyno"
    assert "id" not in dashboard or dashboard["id"] is None  # the database gives one
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids))
    for panel in dashboard["panels"]:
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        place = panel["gridPos"]
        assert place["x"] >= 0 and place["x"] + place["w"] <= 24
        assert panel["type"] in ("timeseries", "stat", "gauge")


@pytest.mark.parametrize(
    ("text_", "found"),
    [
        ("9187", ("127.0.0.1", 9187)),
        ("0", ("127.0.0.1", 0)),
        ("0.0.0.0:80", ("0.0.0.0", 80)),
        ("[::1]:80", ("::1", 80)),
        ("name.example:65535", ("name.example", 65535)),
    ],
)
def test_addresses(text_: str, found: tuple[str, int]) -> None:
    assert listen.address(text_) == found


@pytest.mark.parametrize("text_", ["", ":", ":80", "x", "host:", "1:2:3", "65536", "-1", "a b:80"])
def test_what_is_no_address(text_: str) -> None:
    with pytest.raises(ValueError, match=r"\[HOST:\]PORT"):
        listen.address(text_)
