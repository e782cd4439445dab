"""Measures a run of the gallery again and keeps it as a bundle."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tools.gallery import bundles
from tools.gallery.article import Measurement
from tools.gallery.packing import DYNO, keep
from tools.gallery.places import ROOT


def measure(run: Measurement) -> int:
    """Runs or imports it, and replaces its bundle; bytes of the bundle. A claim that is refuted is
    a result. CalledProcessError if the run fails."""
    with tempfile.TemporaryDirectory(prefix="gallery-") as directory:
        out = Path(directory) / run.name
        call: list[str | Path] = [DYNO, *run.arguments(), "--dir", out]
        subprocess.run(call, check=True, cwd=ROOT, stdout=sys.stderr)
        keep(out, bundles.path(run.name))
    return bundles.path(run.name).stat().st_size
