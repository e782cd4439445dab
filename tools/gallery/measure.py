"""Measures a run of the gallery anew and keeps it as a bundle, redacted."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from tools.gallery import bundles
from tools.gallery.article import Measurement
from tools.gallery.places import ROOT

from dbdyno.store.run import EVENTS, HISTOGRAMS, SAMPLES

LEFT_OUT = (EVENTS, HISTOGRAMS, SAMPLES)
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
        _keep(packed, to)
        return to.stat().st_size


def _keep(packed: Path, to: Path) -> None:
    """A bundle without series and histograms, three quarters of it: what claims are judged by is in
    the records of the trials."""
    with zipfile.ZipFile(packed) as full, zipfile.ZipFile(to, "w") as small:
        for entry in full.infolist():
            if Path(entry.filename).name not in LEFT_OUT:
                small.writestr(entry, full.read(entry), zipfile.ZIP_DEFLATED, 9)


def _dyno(*arguments: str) -> None:
    subprocess.run([DYNO, *arguments], check=True, cwd=ROOT, stdout=sys.stderr)
