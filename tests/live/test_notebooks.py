"""The notebooks in docs/: their cells run, in order, and find what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ending import LONG, Watched, ended

import dbdyno

pytestmark = pytest.mark.live

NOTEBOOKS = Path(__file__).parents[2] / "docs" / "notebooks"
DURATION = "duration: 500ms"
FEW = 20  # transactions


def executed(name: str) -> dict[str, Any]:
    """The names that the cells of a notebook leave, run in the current directory. Its trials may
    take longer than they do there."""
    found = json.loads((NOTEBOOKS / name).read_text())
    names: dict[str, Any] = {}
    for number, cell in enumerate(found["cells"]):
        if cell["cell_type"] == "code":
            source = "".join(cell["source"]).replace(DURATION, f"duration: {LONG}")
            exec(compile(source, f"{name}: cell {number}", "exec"), names)
    return names


def test_the_first_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def few(watched: Watched) -> bool:
        return watched.commits() >= FEW

    assert DURATION in (NOTEBOOKS / "first-run.ipynb").read_text()
    with ended(tmp_path / "journal-run", few):
        names = executed("first-run.ipynb")
    assert names["run"].status == "complete"
    assert (tmp_path / "journal-run" / "report.html").exists()
    (claim,) = names["verdicts"]
    assert claim["text"] == "tps[wal] > tps[rollback]"
    assert claim["verdict"] in ("supported", "refuted", "undecided")
    assert len(names["rates"]) == 8
    assert all(rate > 0 for rate in names["rates"].values())
    assert sum(transactions for _, transactions in names["measured"]) > 0
    assert names["p95_ms"] > 0


def test_every_notebook_is_run() -> None:
    assert [path.name for path in NOTEBOOKS.glob("*.ipynb")] == ["first-run.ipynb"]


def test_what_a_run_refuses_is_an_error_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(dbdyno.DynoError, match="no study of that name"):
        dbdyno.run("nowhere")
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "manifest.json").write_text("{}")
    with pytest.raises(dbdyno.DynoError) as refused:
        dbdyno.run("quickstart", directory="used", quick=True)
    assert "used" in refused.value.what and refused.value.fix
