"""Measures a run of the gallery anew and keeps it as a bundle, redacted."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tools.gallery import bundles
from tools.gallery.article import Measurement
from tools.gallery.places import ROOT

DYNO = Path(sys.executable).with_name("dyno")


def measure(run: Measurement) -> int:
    """Runs or imports it, and replaces its bundle; bytes of the bundle. A claim that is refuted is
    a result. CalledProcessError if the run fails."""
    with tempfile.TemporaryDirectory(prefix="gallery-") as directory:
        out = Path(directory) / run.name
        _dyno(*run.arguments(), "--dir", str(out))
        packed = Path(directory) / "run.zip"
        _dyno("report", str(out), "--redact", "--bundle", str(packed))
        to = bundles.path(run.name)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(packed.read_bytes())
        return to.stat().st_size


def _dyno(*arguments: str) -> None:
    subprocess.run([DYNO, *arguments], check=True, cwd=ROOT, stdout=sys.stderr)
