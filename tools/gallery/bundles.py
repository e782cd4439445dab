"""Bundles of runs in `docs/articles/runs/`: what their results and manifests say."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from tools.gallery.places import RUNS

from dbdyno.store.run import TRIAL


def path(run: str) -> Path:
    """Where a run's bundle is, measured or not."""
    return RUNS / f"{run}.zip"


@lru_cache
def result(run: str) -> dict[str, Any]:
    """The findings of a run. FileNotFoundError while it has not been measured."""
    return _read(run, "result.json")


@lru_cache
def manifest(run: str) -> dict[str, Any]:
    """What was run, where and when."""
    return _read(run, "manifest.json")


def _read(run: str, name: str) -> dict[str, Any]:
    with zipfile.ZipFile(path(run)) as archive:
        found: dict[str, Any] = json.loads(archive.read(name))
        return found


def explained(run: str, at: Mapping[str, str]) -> dict[str, str]:
    """Plans of the statements in the cell with these levels. KeyError if none was kept."""
    cells = [
        c["index"] for c in manifest(run)["plan"]["cells"] if at.items() <= c["levels"].items()
    ]
    with zipfile.ZipFile(path(run)) as archive:
        for name in archive.namelist():
            if name.endswith(f"/{TRIAL}"):
                record = json.loads(archive.read(name))
                if [record["cell"]] == cells and record["explain"]:
                    found: dict[str, str] = record["explain"]
                    return found
    raise KeyError(f"{run} has no plan at {dict(at)}")
