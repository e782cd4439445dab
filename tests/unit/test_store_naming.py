"""Directories of unnamed runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.store.naming import unnamed


def test_runs_of_one_second_have_directories_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("time.strftime", lambda _: "20251122-044215")
    names = []
    for _ in range(3):
        path = unnamed("cache")
        path.mkdir(parents=True)
        names.append(path.name)
    stamp = "cache-20251122-044215"
    assert names == [stamp, f"{stamp}-2", f"{stamp}-3"]
