"""Servers that trials are made with, alone and together, and the experiment of one run."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.proof.lab import contents

from dbdyno import systems, topology
from dbdyno.errors import DynoError
from dbdyno.experiment.types import Topology
from dbdyno.systems.base import TargetPlan

ROOT = Path(__file__).resolve().parents[3]
MARIADB, MYSQL, POSTGRES = "mariadb", "mysql", "postgres"


@dataclass(frozen=True)
class Setup:
    """One server, or `nodes` of a topology. `route`: where the load goes."""

    kind: str
    form: str = ""
    nodes: int = 1
    route: str = "primary"

    @property
    def name(self) -> str:
        """For tables."""
        return f"{self.kind}, {self.form} of {self.nodes}" if self.form else self.kind

    @property
    def short(self) -> str:
        """For names of files."""
        return f"{self.kind}-{self.form}" if self.form else self.kind


ALONE = tuple(Setup(kind) for kind in (MARIADB, MYSQL, POSTGRES))
PAIRS = tuple(Setup(kind, "replicas", 2) for kind in (MARIADB, MYSQL, POSTGRES))
GALERA = Setup(MARIADB, "galera", 3, route="any")
GROUP = Setup(MYSQL, "group", 3)
SETUPS = (*ALONE, *PAIRS, GALERA, GROUP)


@dataclass(frozen=True)
class Load:
    """A run: its length, and what happens in it."""

    seed: int
    duration_s: float
    warmup_s: float = 0.3
    blocks: int = 1
    durability: str = "full"
    sessions: int = 4
    faults: Sequence[Mapping[str, Any]] = ()
    target: Mapping[str, Any] = field(default_factory=dict)  # further keys


def missing(setup: Setup) -> str:
    """Why a set-up cannot be had here; empty if it can."""
    form = Topology(setup.form, setup.nodes) if setup.form else None
    plan = TargetPlan("db", setup.kind, topology=form)
    try:
        topology.check_installed(plan, systems.load(setup.kind).find(None))
    except DynoError as error:
        return f"{setup.name}: {error.what}"
    return ""


def there(setups: Sequence[Setup]) -> Iterator[Setup]:
    """Those that can be had."""
    return (setup for setup in setups if not missing(setup))


def experiment(setup: Setup, load: Load, name: str) -> str:
    """The experiment's file. Sessions connect without TLS, the number of load threads is fixed, so
    that no commit is sent but those of the trial, and after each trial the servers' contents are
    read."""
    target: dict[str, Any] = {
        "kind": setup.kind,
        "memory": "64Mi",
        "durability": load.durability,
        "tls": "off",
        **({"topology": {"kind": setup.form, "nodes": setup.nodes}} if setup.form else {}),
        **load.target,
    }
    workload = {
        "kind": "oltp",
        "preset": "write_only",
        "tables": 1,
        "rows": 2000,
        "sessions": load.sessions,
        "deadline": "2s",
        "retries": 3,
        **({"route": setup.route} if setup.form else {}),
    }
    read = ["cd", str(ROOT), "&&", "exec", sys.executable, "-m", contents.__name__, setup.kind]
    command = " ".join(word if word == "&&" else shlex.quote(word) for word in read)
    plan: dict[str, Any] = {
        "experiment": name,
        "targets": {"db": target},
        "workload": workload,
        "audit": "commits",
        "hooks": {"after_trial": command},
        "load_threads": 1,
        "blocks": load.blocks,
        "seed": load.seed,
        "interval": "500ms",
        "warmup": f"{load.warmup_s:g}s",
        "duration": f"{load.duration_s:g}s",
        **({"faults": list(load.faults)} if load.faults else {}),
    }
    return json.dumps(plan, indent=1)
