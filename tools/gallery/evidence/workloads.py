"""Evidence by the experiment that `dyno digest --workload` makes of a generated log."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from click.testing import CliRunner
from tools.gallery.evidence.figures import Figure, shown
from tools.gallery.inputs import LOGS
from tools.gallery.verdict import COMPUTED, Judged

from dbdyno.cli.main import dyno
from dbdyno.experiment import load

OPTIONS = ("--accept-censored",)  # a generated log has no fast statements to miss


@dataclass(frozen=True, kw_only=True)
class Carried(Figure):
    """The weight of `statement` in the load that is made of the log `workload`. A file that is no
    valid experiment is a DynoError."""

    workload: str
    statement: str

    @property
    def command(self) -> str:
        """Writes the log and the load."""
        log = f"python -m tools.gallery --log {self.workload} > slow.log"
        return f"{log}; dyno digest slow.log --workload load.yaml {' '.join(OPTIONS)}"

    def judge(self) -> Judged:
        """The weight against the calls in the log."""
        weight = _weights(self.workload)[self.statement]
        here = f"weight of {self.statement} {shown(weight)} (said: {self.text})"
        return Judged(self.verdict(weight), here, "load made of a generated log", COMPUTED)


@lru_cache
def _weights(name: str) -> Mapping[str, float]:
    """Statements of the experiment that a log becomes, with their weights."""
    with tempfile.TemporaryDirectory(prefix="gallery-") as directory:
        log, made = Path(directory) / "slow.log", Path(directory) / "load.yaml"
        log.write_text(LOGS[name]())
        call = ["digest", str(log), "--workload", str(made), *OPTIONS]
        CliRunner().invoke(dyno, call, catch_exceptions=False, standalone_mode=False)
        (group,) = load(made, []).cells[0].groups
    return {name: one["weight"] for name, one in group.options["statements"].items()}


EVIDENCE = Carried
