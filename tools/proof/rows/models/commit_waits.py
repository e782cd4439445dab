"""How long commits wait for other nodes, compared with real ones at a distance."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tools.proof import runs
from tools.proof.lab.setups import MARIADB, MYSQL, POSTGRES, Setup, missing
from tools.proof.row import Effort, Outcome, Row, Table

from dbdyno.analysis.predictions.types import ACKNOWLEDGED, BARS, KNOWN

WITHIN = {**BARS, **KNOWN}[ACKNOWLEDGED].share
DELAYS_MS, QUICK_DELAYS_MS = (5, 20), (20,)
SESSIONS = (1, 8)
BLOCKS, LENGTH_S, QUICK_LENGTH_S = 2, 3.0, 1.0
TIMEOUT_S = 1800.0


@dataclass(frozen=True)
class Waiting:
    """Servers, and for how many replicas a commit waits."""

    setup: Setup
    wait: int = 0

    @property
    def name(self) -> str:
        """For tables."""
        return self.setup.name + (f", {self.wait} must answer" if self.wait else "")

    @property
    def short(self) -> str:
        """For names of files."""
        return f"{self.setup.short}-{self.setup.nodes}-{self.wait}"

    @property
    def sessions(self) -> tuple[int, ...]:
        """At once. Of several sessions on Galera the report predicts commits a second, which the
        row `cluster` has."""
        return SESSIONS[:1] if self.setup.form == "galera" else SESSIONS


KINDS = (
    Waiting(Setup(MARIADB, "replicas", 3), 1),
    Waiting(Setup(MYSQL, "replicas", 3), 2),
    Waiting(Setup(POSTGRES, "replicas", 2), 1),
    Waiting(Setup(POSTGRES, "replicas", 4), 2),
    Waiting(Setup(MARIADB, "galera", 3)),
)


@dataclass(frozen=True)
class Compared:
    """The transactions of one cell, seconds: predicted from low to high, measured the median of the
    trials."""

    kind: str
    delay: str
    sessions: str
    low_s: float
    high_s: float
    measured_s: float

    @property
    def off(self) -> float:
        """How far the prediction is from what was measured, as a share of that; 0 within."""
        outside = max(self.low_s - self.measured_s, self.measured_s - self.high_s, 0.0)
        return outside / self.measured_s


def measure(effort: Effort) -> Outcome:
    """A run a kind of servers."""
    found: list[Compared] = []
    kinds = KINDS[:1] if effort.quick else KINDS
    lacking = [why for kind in kinds if (why := missing(kind.setup))]
    for kind in kinds:
        if not missing(kind.setup):
            found += _compared(effort, kind)
            effort.say(f"    {kind.name}: {_worst(found, kind.name):.0%} off")
    if not found:
        return Outcome(measured="; ".join(lacking) or "nothing was predicted", met=None)
    worst = max(one.off for one in found)
    complete = len(found) == sum(len(kind.sessions) for kind in KINDS) * len(DELAYS_MS)
    return Outcome(
        measured=f"transactions at most {worst:.0%} off, in {len(found)} cells",
        met=None if effort.quick else complete and worst <= WITHIN,
        tables=(_table(found),),
        notes=(
            "What a transaction takes besides is measured by the same run without a delay. With"
            " several sessions MySQL and MariaDB finish commits a group at a time: the prediction"
            " is a range, and off is what lies outside it.",
            "`replica-commit` and `cluster-commit` are the models.",
            *(f"Not tested here: {why}." for why in lacking),
        ),
    )


def _worst(found: list[Compared], kind: str) -> float:
    return max((one.off for one in found if one.kind == kind), default=float("nan"))


def _compared(effort: Effort, kind: Waiting) -> Iterator[Compared]:
    file = effort.scratch / f"{kind.short}.yaml"
    file.write_text(_experiment(effort, kind))
    directory = effort.scratch / f"run-{kind.short}"
    said = runs.answer(effort, "run", file, "--dir", directory, timeout_s=TIMEOUT_S)
    for cell in said["predictions"]:
        for one in cell["quantities"]:
            low, high = one["predicted"]
            levels: Mapping[str, str] = cell["levels"]
            yield Compared(
                *(kind.name, levels["delay"], levels.get("sessions", "1")),
                *(low, low if high is None else high, one["median"]),
            )


def _experiment(effort: Effort, kind: Waiting) -> str:
    topology = {
        "kind": kind.setup.form,
        "nodes": kind.setup.nodes,
        "network": {"delay": "0ms"},
        **({"wait_for_replicas": kind.wait} if kind.wait else {}),
    }
    delays = QUICK_DELAYS_MS if effort.quick else DELAYS_MS
    counts = kind.sessions[: 1 if effort.quick else None]
    sessions = {f"{count}": {"workload.sessions": count} for count in counts}
    plan: dict[str, Any] = {
        "experiment": kind.short,
        "targets": {
            "db": {
                "kind": kind.setup.kind,
                "memory": "64Mi",
                "durability": "os_crash_unsafe",
                "topology": topology,
            }
        },
        "workload": {
            "kind": "oltp",
            "preset": "update_non_index",
            "tables": 1,
            "rows": 10_000,
            "sessions": counts[0],
            "route": "primary",
            "deadline": "10s",
        },
        "factors": {
            "delay": {f"{ms} ms": {"db.topology.network.delay": f"{ms}ms"} for ms in (0, *delays)},
            **({"sessions": sessions} if len(sessions) > 1 else {}),
        },
        "state": {"data": "reuse"},
        "blocks": 1 if effort.quick else BLOCKS,
        "seed": 1,
        "interval": "500ms",
        "warmup": "500ms",
        "duration": f"{QUICK_LENGTH_S if effort.quick else LENGTH_S:g}s",
    }
    return json.dumps(plan, indent=1)


def _table(found: list[Compared]) -> Table:
    head = ("servers", "one way", "sessions", "predicted", "measured", "off")
    rows = tuple(
        (
            *(one.kind, one.delay, one.sessions, _span(one)),
            *(f"{1e3 * one.measured_s:.1f} ms", f"{one.off:.0%}"),
        )
        for one in found
    )
    return Table("A transaction that changes one row, median", head, rows)


def _span(one: Compared) -> str:
    low, high = f"{1e3 * one.low_s:.1f}", f"{1e3 * one.high_s:.1f}"
    return f"{low} ms" if low == high else f"{low} to {high} ms"


ROW = Row(
    name="commit_waits",
    claim="Commits wait for other nodes as long as the models say",
    how=(
        "Replicas of MariaDB, MySQL and PostgreSQL, of which one or two must answer, and a"
        " Galera cluster, with 5 and 20 ms each way between the nodes. Sessions change one row a"
        " transaction, one session and eight at once. Each"
        " prediction is the one that a report shows: the ways of the model, added to what the same"
        " transaction takes without a delay. The median of the trials is compared with it."
    ),
    bar=f"each prediction within {100 * WITHIN:.0f} % of what was measured",
    measure=measure,
    timed=True,
)
