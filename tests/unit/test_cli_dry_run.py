"""What `dyno run --dry-run` says of the order of trials."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from dbdyno.cli.running.command import run

EXPERIMENT = """
experiment: order
targets: {{db: {{{target}}}}}
workload: {{kind: oltp, preset: point_select, rows: 10}}
factors: {{sessions: [1, 2]}}
"""


@pytest.mark.parametrize(
    ("target", "starts"),
    [("kind: mariadb", True), ("url: 'mariadb://app@127.0.0.1:3306'", False)],
)
def test_fresh_servers_are_marked_where_dyno_starts_any(
    target: str, starts: bool, tmp_path: Path
) -> None:
    file = tmp_path / "order.yaml"
    file.write_text(EXPERIMENT.format(target=target))
    said = CliRunner().invoke(run, [str(file), "--dry-run"])
    assert said.exit_code == 0, said.output
    order = said.output.partition("order (block: trials):")[2]
    assert order
    assert ("*" in order) is starts


def test_both_ends_of_a_run_that_ends_when_decided_are_told(tmp_path: Path) -> None:
    file = tmp_path / "order.yaml"
    looks = "trials: {max: 12, until: decided}\nclaims: ['tps > 1 at sessions=1']\n"
    file.write_text(EXPERIMENT.format(target="kind: sqlite") + looks)
    said = CliRunner().invoke(run, [str(file), "--dry-run"])
    assert said.exit_code == 0, said.output
    assert "interim looks from block 4 on, after each block, 12 blocks at most" in said.output
    assert " at least, " in said.output
    assert " at most (setting up" in said.output
