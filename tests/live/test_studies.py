"""Shipped studies run, all of them, at quick size, in trials that are shorter still."""

from __future__ import annotations

import pytest
from private_servers import binaries
from running import Place, result

from dbdyno import spec
from dbdyno.cli import studies

pytestmark = pytest.mark.live

SHORT = ("--set", "warmup=100ms", "--set", "duration=1s", "--set", "interval=500ms")


@pytest.mark.parametrize("name", studies.names())
def test_a_study_runs(name: str, there: Place) -> None:
    loaded = spec.load(studies.find(name), [])
    needed = {t.kind for cell in loaded.cells for t in cell.targets if not t.optional}
    for kind in sorted(needed):
        binaries(kind)
    done = there.dyno("run", name, "--quick", *SHORT, "--dir", "out")
    assert done.returncode == 0, done.stderr
    found = result(there.path / "out")
    assert found["quick"]
    assert not found["judged"]
    assert len(found["claims"]) == len(loaded.claims)
    kinds = {level for cell in found["cells"] for level in cell["levels"].values()}
    if "engine" in {factor.name for factor in loaded.factors}:
        assert needed <= kinds  # no system was silently left out
    for cell in found["cells"]:
        rates = [m for n, m in cell["metrics"].items() if n.endswith("transactions_per_s")]
        assert rates, cell["levels"]
        assert all(rate["mean"] > 0 for rate in rates), cell["levels"]
    assert (there.path / "out" / "report.html").stat().st_size > 10_000
    assert there.until_clean() == []
