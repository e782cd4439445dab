"""`limits:` of a target: what is read and refused, and what it means for plans and series."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dbdyno.analysis.between_runs.comparability import asked, fingerprint
from dbdyno.errors import DynoError
from dbdyno.experiment import load
from dbdyno.experiment.types import Limits, Network, Spec
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.plan.outlook import estimate
from dbdyno.plan.stored import json as plan_json

MACHINE = Machine(2, 8 << 30, "", "", (0, 1))
TEXT = """experiment: far
targets:
  db: {kind: mariadb}
workload: {kind: oltp, preset: point_select, rows: 1000}
"""


def loaded(tmp_path: Path, text: str) -> Spec:
    path = tmp_path / "far.yaml"
    path.write_text(text)
    return load(path)


def with_limits(limits: str, more: str = "") -> str:
    return TEXT.replace("mariadb}", f"mariadb{more}, limits: {limits}}}")


@pytest.mark.parametrize(
    ("written", "network"),
    [
        ("{}", None),
        ("{network: {}}", Network()),
        ("{network: {delay: 0s}}", Network()),
        ("{network: {delay: 2ms, bytes_per_s: 10M}}", Network(0.002, 10_000_000)),
        ("{network: {bytes_per_s: 1Mi}}", Network(0.0, 1 << 20)),
    ],
)
def test_a_network_is_read(tmp_path: Path, written: str, network: Network | None) -> None:
    spec = loaded(tmp_path, with_limits(written))
    assert spec.cells[0].targets[0].limits == Limits(network)


WRONG = {
    "socket": (
        with_limits("{network: {delay: 2ms}}", ", transport: socket"),
        "`limits.network` means nothing here",
        "transport: tcp",
    ),
    "no network": (
        with_limits("{network: {delay: 2ms}}").replace("mariadb", "sqlite"),
        "`limits.network` means nothing here",
        "remove `network`",
    ),
    "external": (
        with_limits("{network: {delay: 2ms}}").replace("kind: mariadb", "url: mysql://a@b/c"),
        "`limits` cannot be set for target `db`: it is an external server",
        "remove `limits`",
    ),
    "no unit": (with_limits("{network: {delay: 2}}"), "must be a duration with its unit", ""),
    "long": (with_limits("{network: {delay: 11s}}"), "at most 10s", ""),
    "narrow": (with_limits("{network: {bytes_per_s: 9999}}"), "at least 10k", ""),
    "unknown": (with_limits("{network: {latency: 2ms}}"), "latency", ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused_at_its_place(name: str, tmp_path: Path) -> None:
    text, what, fix = WRONG[name]
    with pytest.raises(DynoError) as caught:
        loaded(tmp_path, text)
    assert what in caught.value.what, str(caught.value)
    assert fix in caught.value.fix, str(caught.value)
    assert caught.value.where is not None
    assert caught.value.where.line == 3


def test_a_network_is_an_easy_factor(tmp_path: Path) -> None:
    factors = "factors: {db.limits.network.delay: [0ms, 1ms, 5ms]}\n"
    plan = make(loaded(tmp_path, TEXT + factors), MACHINE)
    assert [(one.name, one.hard) for one in plan.factors] == [("db.limits.network.delay", False)]
    delays = [cell.targets[0].limits.network for cell in plan.cells]
    assert delays == [Network(), Network(0.001), Network(0.005)]
    assert plan_json.from_json(plan_json.to_json(plan)) == plan
    assert estimate.of(plan).touched[0].words["network"] == "delay 5ms"


def test_a_series_tells_networks_apart_and_knows_runs_of_before_there_were_any(
    tmp_path: Path,
) -> None:
    plain = make(loaded(tmp_path, TEXT), MACHINE)
    far = make(loaded(tmp_path, with_limits("{network: {delay: 2ms}}")), MACHINE)
    assert not [name for name in asked(plain, plain.cells[0]) if "limits" in name]
    assert asked(far, far.cells[0])["targets.db.limits.network.delay_s"] == "0.002"
    assert fingerprint(far) != fingerprint(plain)
    target = replace(far.cells[0].targets[0], limits=Limits())
    assert fingerprint(replace(far, cells=(replace(far.cells[0], targets=(target,)),))) == (
        fingerprint(plain)
    )
