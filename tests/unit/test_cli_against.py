"""What `dyno run --against` refuses before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from dbdyno.cli.running.command import run
from dbdyno.errors import DynoError

NEW = """
experiment: journal
targets:
  db: {kind: sqlite, config: {journal_mode: WAL}}
workload: {kind: oltp, preset: read_write, rows: 100}
blocks: 3
"""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--fail-on-regression",), "needs something to judge by"),
        (("--against", "old.yaml", "--quick", "--fail-on-regression"), "never judged"),
        (("--against", "none.yaml"), "no such file, and no study of that name"),
        (("--against", "old.yaml", "--set", "blocks=2", "--fail-on-regression"), "never"),
        (("--against", "old.yaml", "--history", "."), "give one of them"),
        (("--against", "quickstart", "--check"), "their factors differ"),
    ],
)
def test_what_cannot_be_judged_is_said_before_anything_runs(
    arguments: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("new.yaml").write_text(NEW)
    Path("old.yaml").write_text(NEW.replace("WAL", "DELETE"))
    done = CliRunner().invoke(run, ["new.yaml", "--dir", "out", *arguments])
    if isinstance(done.exception, DynoError):
        assert said in str(done.exception)
    else:
        assert done.exit_code == 2
        assert said in done.output
    assert not Path("out").exists()


def test_what_can_be_compared_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("new.yaml").write_text(NEW)
    done = CliRunner().invoke(run, ["new.yaml", "--against", "new.yaml", "--check"])
    assert done.exit_code == 0
    assert "new.yaml: ok" in done.output
