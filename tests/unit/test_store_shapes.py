"""The form of a run's files: real ones do, damaged ones are named."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import plans
import pytest

from dbdyno.errors import DynoError
from dbdyno.plan.stored import json as plan_json
from dbdyno.store import manifest, record
from dbdyno.store.record import TrialRecord
from dbdyno.store.text import shapes

EXAMPLES = Path(__file__).parents[2] / "schemas" / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("event-*.json")), ids=lambda path: path.stem)
def test_what_the_engine_says_is_read(path: Path) -> None:
    shapes.event(json.loads(path.read_text()))


INTERVAL = json.loads((EXAMPLES / "event-interval.json").read_text())
GROUP = next(iter(INTERVAL["groups"]))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("event",), None),
        (("t_s",), "1"),
        (("t_s",), 1e30),
        (("length_s",), None),
        (("phase",), 7),
        (("groups",), []),
        (("groups", GROUP), []),
        (("groups", GROUP, "transactions"), -1),
        (("groups", GROUP, "transactions"), 1.5),
        (("groups", GROUP, "ticks"), 5),
        (("groups", GROUP, "ticks"), [1, "2"]),
        (("groups", GROUP, "latency"), [1]),
        (("groups", GROUP, "latency"), {"p50_ns": True}),
        (("generator",), "busy"),
        (("generator",), {"busy": [None]}),
    ],
)
def test_a_damaged_event_is_refused(path: tuple[str, ...], value: Any) -> None:
    event = copy.deepcopy(INTERVAL)
    at = event
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    with pytest.raises(ValueError, match=r"\w"):
        shapes.event(event)


SAMPLE = {"t_s": 1.0, "length_s": 1.0, "source": "cpu", "values": {"user": 0.5}}


@pytest.mark.parametrize(
    "change",
    [
        {"source": None},
        {"source": 5},
        {"t_s": []},
        {"length_s": None},
        {"values": []},
        {"values": {"user": 1e300}},
        {"gap": 7},
    ],
)
def test_a_damaged_sample_is_refused(change: dict[str, Any]) -> None:
    shapes.sample(SAMPLE)
    with pytest.raises(ValueError, match=r"\w"):
        shapes.sample({**SAMPLE, **change})


def test_a_plans_parts_fit_together() -> None:
    plan = plan_json.to_json(plans.plan())
    assert manifest.plan({"plan": plan}, Path("run")) == plans.plan()


@pytest.mark.parametrize(
    ("where", "change"),
    [
        ("factors", {"levels": []}),
        ("factors", {"levels": ["on", "on"]}),
        ("factors", {"name": "another"}),
        ("factors", {"values": [1.0]}),
        ("cells", {"index": 1}),
        ("cells", {"levels": {}}),
        ("cells", {"levels": {"cache": "half"}}),
        ("cells", {"groups": []}),
        ("cells", {"targets": []}),
        ("cells", {"duration_s": 1e300}),
        ("trials", {"cell": 7}),
        ("trials", {"cell": -1}),
        ("trials", {"block": 0}),
        ("trials", {"block": 10**9}),
        ("trials", {"id": "../../etc"}),
        ("trials", {"id": "b01-t002"}),
    ],
)
def test_a_plan_that_does_not_fit_is_refused(where: str, change: dict[str, Any]) -> None:
    plan = plan_json.to_json(plans.plan())
    plan[where][0] = {**plan[where][0], **change}
    with pytest.raises(DynoError, match=r"^run/manifest\.json: "):
        manifest.plan({"plan": plan}, Path("run"))


@pytest.mark.parametrize(
    "change",
    [
        {"metrics": {"tps": "many"}},
        {"metrics": {"tps": 1e200}},
        {"metrics": []},
        {"outages": [{"event": "outage", "start_s": "soon"}]},
        {"targets": {"db": []}},
        {"targets": {"db": {"settings": [], "words": []}}},
        {"targets": {"db": {"settings": {}, "words": [{"word": 1}]}}},
        {"probes": [{"rate_per_s": 1.0}]},
        {"statements": {"a": 1}},
        {"measured_s": "1"},
        {"status": "fine"},
        {"bounds": {"tps": "about"}},
        {"warnings": "text"},
    ],
)
def test_a_damaged_record_is_refused(change: dict[str, Any]) -> None:
    kept = record.to_json(TrialRecord("b01-t001", 1, 0, "complete", 1.7e9, {"tps": 1.0}))
    assert record.from_json(kept, "trial.json").metrics == {"tps": 1.0}
    with pytest.raises(DynoError, match=r"^trial\.json is not a trial"):
        record.from_json({**kept, **change}, "trial.json")
