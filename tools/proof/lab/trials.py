"""Runs of one experiment with `dyno` itself, and their trials: records, and recounts of audits."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.proof import runs
from tools.proof.lab import contents, shim
from tools.proof.lab.recount import recount
from tools.proof.lab.setups import Load, Setup, experiment
from tools.proof.row import Effort

TIMEOUT_S = 1800.0
COUNTED = ("lost", "resurrected", "duplicated", "diverged")


@dataclass(frozen=True)
class Trial:
    """An attempt at a trial. `log`: the outcomes that clients saw, as the engine wrote them.
    `expected`: what its audit shall say; None where a node could not be read."""

    name: str
    record: Mapping[str, Any]
    nodes: Mapping[str, Mapping[str, Any]]  # what each holds, by `contents`
    log: bytes
    expected: Mapping[str, int] | None

    @property
    def is_complete(self) -> bool:
        """Whether it counts."""
        return bool(self.record["status"] == "complete")

    @property
    def audit(self) -> Mapping[str, Any]:
        """What dbdyno found of its only target; empty of a void one."""
        found: Mapping[str, Any] = (self.record.get("audit") or {}).get("db", {})
        return found

    @property
    def faults(self) -> Sequence[Mapping[str, Any]]:
        """Those that were in force."""
        return [one for one in self.record.get("faults", ()) if "in_force_s" in one]

    @property
    def disagreements(self) -> Sequence[str]:
        """Counts of which audit and recount say different things; none of a void trial."""
        if not self.is_complete:
            return []
        if self.expected is None:
            ours = sorted(name for name, node in self.nodes.items() if "why" in node)
            theirs = sorted(
                one["name"] for one in self.audit.get("nodes", ()) if one.get("rows") is None
            )
            return [] if ours == theirs else [f"{theirs} could not be read, and {ours} now"]
        return [
            f"{name}: {self.audit.get(name)} for {expected}"
            for name, expected in self.expected.items()
            if self.audit.get(name) != expected
        ]

    @property
    def alarms(self) -> Sequence[str]:
        """What the audit found, in words."""
        return [f"{self.audit[name]} {name}" for name in COUNTED if self.audit.get(name)]


@dataclass(frozen=True)
class Ran:
    """A run that has ended. `attempts` include void ones."""

    directory: Path
    planned: tuple[str, ...]
    attempts: tuple[Trial, ...]

    @property
    def complete(self) -> tuple[Trial, ...]:
        """Trials that count."""
        return tuple(trial for trial in self.attempts if trial.is_complete)

    @property
    def void(self) -> tuple[Trial, ...]:
        """Attempts that do not."""
        return tuple(trial for trial in self.attempts if not trial.is_complete)

    @property
    def unrecorded(self) -> tuple[str, ...]:
        """Trials of the plan without a record."""
        recorded = {trial.name for trial in self.attempts}
        return tuple(name for name in self.planned if name not in recorded)


def run(
    effort: Effort,
    setup: Setup,
    load: Load,
    name: str,
    swallow: Mapping[str, Any] | None = None,
) -> Ran:
    """Runs an experiment. RuntimeError, with what `dyno` says, if that fails. `swallow`: see
    `shim`."""
    logins, engine = effort.scratch / f"{name}.logins", effort.scratch / f"{name}.engine"
    shim.engine(effort.engine, engine, logins, swallow, swallowed_log(effort, name))
    file = effort.scratch / f"{name}.yaml"
    file.write_text(experiment(setup, load, name))
    directory = effort.scratch / f"run-{name}"
    env = {"DYNO_ENGINE": str(engine), contents.LOGINS: str(logins)}
    runs.dyno(effort, "run", file, "--dir", directory, timeout_s=TIMEOUT_S, env=env)
    logins.unlink(missing_ok=True)
    return read(directory)


def swallowed_log(effort: Effort, name: str) -> Path:
    """What a lying relay said of itself in a run."""
    return effort.scratch / f"{name}.swallowed"


def read(directory: Path) -> Ran:
    """A run's trials."""
    plan = json.loads((directory / "manifest.json").read_text())["plan"]
    return Ran(
        directory,
        tuple(trial["id"] for trial in plan["trials"]),
        tuple(_trials(directory)),
    )


def _trials(directory: Path) -> Iterator[Trial]:
    for place in sorted((directory / "trials").iterdir()):
        if not (place / "trial.json").exists():
            continue
        record = json.loads((place / "trial.json").read_text())
        file, log = place / contents.FILE, place / "audit.log"
        nodes = json.loads(file.read_text()) if file.exists() else {}
        seen = log.read_bytes() if log.exists() else b""
        yield Trial(place.name, record, nodes, seen, _expected(seen, nodes))


def _expected(log: bytes, nodes: Mapping[str, Mapping[str, Any]]) -> Mapping[str, int] | None:
    if not nodes or not log or any("why" in node for node in nodes.values()):
        return None
    store = [({tuple(row) for row in node["rows"]}, node["writes"]) for node in nodes.values()]
    return recount(log, [store])
