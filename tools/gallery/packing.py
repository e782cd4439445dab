"""A small bundle of a run: what its claims are judged by, and nothing else.

Left out are series, histograms, server settings, and what was sampled and no claim names: of a run
of 80 trials they are nine tenths. The findings are made again of what is kept, so that bundle and
verdicts agree.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dbdyno.store.run import EVENTS, HISTOGRAMS, SAMPLES, TRIAL

DYNO = Path(sys.executable).with_name("dyno")
# Families of metrics that are sampled; how busy the machine was stays (`cpu`, `load`).
SAMPLED = frozenset(
    ("status", "memory", "disk", "network", "paging", "pressure", "state", "server", "sessions")
)
RESULT = "result.json"
LEFT_OUT = (EVENTS, HISTOGRAMS, SAMPLES, RESULT)


def keep(run: Path, to: Path) -> None:
    """Packs a run directory, redacted. CalledProcessError if it cannot be reported on."""
    with tempfile.TemporaryDirectory(prefix="gallery-") as directory:
        full = Path(directory) / "full.zip"
        _report(run, "--redact", "--bundle", full)
        reduce(full, to)


def reduce(full: Path, to: Path) -> None:
    """Reduces a bundle."""
    with tempfile.TemporaryDirectory(prefix="gallery-") as directory:
        small = Path(directory) / "small.zip"
        _copy(full, small)
        _report(small, "--to", directory)
        result = json.dumps(json.loads((Path(directory) / RESULT).read_text()))
        with zipfile.ZipFile(small, "a") as archive:
            archive.writestr(zipfile.ZipInfo(RESULT), result, zipfile.ZIP_DEFLATED, 9)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(small.read_bytes())


def _report(*arguments: object) -> None:
    subprocess.run([DYNO, "report", *map(str, arguments)], check=True, stdout=sys.stderr)


def _copy(full: Path, small: Path) -> None:
    with zipfile.ZipFile(full) as there, zipfile.ZipFile(small, "w") as made:
        claims = json.dumps(json.loads(there.read("manifest.json"))["plan"]["claims"])
        for entry in there.infolist():
            name, content = Path(entry.filename).name, there.read(entry)
            if name == TRIAL:
                content = json.dumps(reduced(json.loads(content), claims)).encode()
            if name not in LEFT_OUT:
                made.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)


def reduced(record: Mapping[str, Any], claims: str) -> dict[str, Any]:
    """A trial's record with what was sampled if a claim names it, and without settings."""
    return {
        **record,
        "metrics": {
            name: value
            for name, value in record["metrics"].items()
            if SAMPLED.isdisjoint(name.split(".")) or name.rpartition(".")[2] in claims
        },
        "targets": {name: {**of, "settings": {}} for name, of in record["targets"].items()},
    }
