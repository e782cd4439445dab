"""Several servers in one experiment: at once, each with its group; two installations of a kind."""

from __future__ import annotations

import pytest
from ending import LONG, Watched, ended, lines
from private_servers import binaries
from running import Place, result

pytestmark = pytest.mark.live

AT_ONCE = """
experiment: instances
question: Do two servers side by side share one machine?
targets:
  a: {kind: mariadb, memory: 64Mi, durability: none, transport: socket}
  b: {kind: postgres, memory: 64Mi, durability: none, isolation: read_committed}
groups:
  first: {kind: oltp, target: a, sessions: 2, rows: 1000, think: 1ms}
  second: {kind: oltp, preset: update_index, target: b, sessions: 1, rows: 1000, rate: 20/s}
factors:
  protocol:
    prepared: {a.protocol: prepared, b.protocol: prepared}
    text: {a.protocol: text, b.protocol: text}
blocks: 1
warmup: 200ms
duration: DURATION
claims: ["first.tps[prepared] > first.tps[text]"]
"""

INSTALLATIONS = """
experiment: versions
targets: {{db: {{kind: postgres, durability: none}}}}
workload: {{kind: oltp, preset: point_select, sessions: 1, rows: 1000}}
factors:
  version:
    packaged: {{db.memory: 64Mi}}
    copied: {{db.memory: 64Mi, db.basedir: {basedir}}}
blocks: 1
warmup: 100ms
duration: 500ms
interval: 500ms
"""


def test_several_servers_at_once_each_with_its_group(there: Place) -> None:
    binaries("mariadb")
    binaries("postgres")

    def seen(watched: Watched) -> bool:
        found = lines(watched.directory / "metrics.ndjson")
        sampled = {one["source"] for one in found if one["t_s"] > 0}
        return all(watched.each().values()) and sampled >= {"a.status", "b.status"}

    text = AT_ONCE.replace("DURATION", LONG)
    with ended(there.path / "out", seen):
        done = there.dyno("run", there.experiment(text), "--dir", "out")
    assert done.returncode == 0, done.stderr
    for cell in result(there.path / "out")["cells"]:
        metrics = cell["metrics"]
        assert metrics["first.transactions_per_s"]["mean"] > 0
        # A fixed rate is a ceiling, whatever the machine can do; some may be of the warm-up.
        assert 0 < metrics["second.transactions_per_s"]["mean"] <= 40
        assert any(name.startswith("a.status.") for name in metrics)
        assert any(name.startswith("b.status.") for name in metrics)
    assert there.until_clean() == []


def test_two_installations_of_one_kind_side_by_side(there: Place) -> None:
    programs = binaries("postgres").paths["server"].parent
    basedir = there.path / "other"
    (basedir / "bin").mkdir(parents=True)
    # Postgres finds its libraries from the real path of its program: links are an installation.
    for program in programs.iterdir():
        (basedir / "bin" / program.name).symlink_to(program)
    experiment = there.experiment(INSTALLATIONS.format(basedir=basedir))
    done = there.dyno("run", experiment, "--dir", "out")
    assert done.returncode == 0, done.stderr
    cells = result(there.path / "out")["cells"]
    assert [cell["levels"]["version"] for cell in cells] == ["packaged", "copied"]
    assert there.until_clean() == []
