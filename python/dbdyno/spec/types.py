"""An experiment as its author means it: patched, typed and checked, with nothing of a machine.

Plain frozen data; `load` makes it, `plan` reads it. Lengths in seconds, sizes in bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dbdyno.errors import Where
from dbdyno.spec.claim_types import Claim, Condition
from dbdyno.spec.metrics import Scope

Scalar = str | int | float | bool | None

KINDS = ("sqlite", "mariadb", "mysql", "postgres", "null")
DURABILITY = ("full", "os_crash_unsafe", "none")
ISOLATION = ("read_uncommitted", "read_committed", "repeatable_read", "serializable")


@dataclass(frozen=True)
class Target:
    """A system under test. `optional`: a machine without it drops its cells, visibly."""

    name: str
    kind: str
    config: Mapping[str, Scalar]
    durability: str | None
    isolation: str | None
    memory_bytes: int | None
    basedir: str | None
    protocol: str
    tls: str
    transport: str
    options: Mapping[str, Any]
    optional: bool


@dataclass(frozen=True)
class Group:
    """One workload with its own sessions. `options` are those written, presets not expanded."""

    name: str
    kind: str
    target: str
    sessions: int
    rate_per_s: float | None
    deadline_s: float
    retries: int
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Cell:
    """A combination of levels with all their patches applied. `targets` are those in use."""

    index: int
    levels: Mapping[str, str]
    targets: tuple[Target, ...]
    groups: tuple[Group, ...]
    warmup_s: float
    duration_s: float
    interval_s: float


@dataclass(frozen=True)
class Factor:
    """What varies. `values` are set where every level is a number."""

    name: str
    levels: tuple[str, ...]
    values: tuple[float, ...] | None


@dataclass(frozen=True)
class Cpus:
    """CPUs given by hand; empty: not given."""

    generator: tuple[int, ...] = ()
    servers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Needs:
    """What the machine must have for the claims to be tested."""

    cores: int | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True)
class Spec:
    """A whole experiment. `data` None: follows from the workloads."""

    name: str
    question: str
    factors: tuple[Factor, ...]
    cells: tuple[Cell, ...]
    blocks: int
    data: str | None  # reuse | restore
    cache: str  # warm | cold
    seed: int
    matters: float
    needs: Needs
    require: tuple[Condition, ...]
    budget_s: float | None
    cpus: Cpus
    claims: tuple[Claim, ...]
    claim_needs: Mapping[str, Needs]  # of claims that need more than `needs`, by their text
    scope: Scope  # what metric names may start with
    text: str  # YAML that gives this experiment again, `--set` applied
    path: str  # the file, or what stands for it in messages
    places: Mapping[str, Where]  # of the top-level keys
