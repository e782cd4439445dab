"""Evidence by a digest of a generated log, of which is known what is in it."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from tools.gallery.evidence.figures import Figure, shown
from tools.gallery.inputs import LOGS
from tools.gallery.verdict import COMPUTED, Judged

from dbdyno.execute.engine import job


@dataclass(frozen=True, kw_only=True)
class Digested(Figure):
    """The number at `at` (keys and places, by dots) of the document that `dyno digest --json`
    writes of the log `digest`, with further `options`."""

    digest: str
    at: str
    options: Sequence[str] = ()
    about: str = ""

    @property
    def command(self) -> str:
        """Writes the log and digests it."""
        options = "".join(f" {option}" for option in self.options)
        return f"python -m tools.gallery --log {self.digest} | dyno digest -{options}"

    def judge(self) -> Judged:
        """What the digest found against what is in the log."""
        value: Any = _document(self.digest, tuple(self.options))
        for key in self.at.split("."):
            value = value[int(key)] if isinstance(value, list) else value[key]
        found = f"{self.about or self.at} {shown(float(value))} (said: {self.text})"
        return Judged(self.verdict(float(value)), found, "digest of a generated log", COMPUTED)


@lru_cache
def _document(name: str, options: tuple[str, ...]) -> dict[str, Any]:
    """The engine's document of a generated log."""
    with tempfile.TemporaryDirectory(prefix="gallery-") as directory:
        log = Path(directory) / "slow.log"
        log.write_text(LOGS[name]())
        done = subprocess.run(
            [job.find(), "digest", *options, log], check=True, capture_output=True, text=True
        )
    (document,) = (
        event[kind]
        for event in map(json.loads, done.stdout.splitlines())
        for kind in ("document", "parallelism")
        if kind in event
    )
    found: dict[str, Any] = document
    return found


EVIDENCE = Digested
