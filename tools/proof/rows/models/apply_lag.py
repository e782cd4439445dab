"""How fast the lag of a replica grows that applies too little, compared with real ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tools.proof import runs
from tools.proof.lab.setups import MARIADB, MYSQL, Setup, missing
from tools.proof.row import Effort, Outcome, Row, Table

from dbdyno.analysis.predictions.types import BARS, KNOWN, LAG

WITHIN = {**BARS, **KNOWN}[LAG].seconds  # a second
PAIRS = tuple(Setup(kind, "replicas", 2) for kind in (MARIADB, MYSQL))
ONE_APPLIER = {MARIADB: {}, MYSQL: {"replica_parallel_workers": 1}}
PAUSE_S = 0.005  # of a transaction at the replica
RATES, QUICK_RATES = (100, 230, 300, 400), (300, 400)
BLOCKS, LENGTH_S, QUICK_LENGTH_S = 2, 12.0, 7.0
TIMEOUT_S = 1800.0
# Logged as it was sent, and applied so.
CHANGE = "UPDATE counters SET n = n + 1 + IF(@@GLOBAL.read_only, SLEEP({:g}), 0) WHERE id = :row"


@dataclass(frozen=True)
class Compared:
    """A replica at one rate: by how many seconds its lag grows a second."""

    kind: str
    rate: str
    predicted: float
    measured: float

    @property
    def off(self) -> float:
        """How far the prediction is from what was measured."""
        return abs(self.predicted - self.measured)


def measure(effort: Effort) -> Outcome:
    """A run a kind of server."""
    found: list[Compared] = []
    setups = PAIRS[:1] if effort.quick else PAIRS
    lacking = [why for setup in setups if (why := missing(setup))]
    for setup in setups:
        if not missing(setup):
            found += _compared(effort, setup)
    if not found:
        return Outcome(measured="; ".join(lacking) or "no replica fell behind", met=None)
    worst = max(one.off for one in found)
    complete = len(found) == len(PAIRS) * len(RATES)
    return Outcome(
        measured=f"growth at most {worst:.2f} s/s off, in {len(found)} cells",
        met=None if effort.quick else complete and worst <= WITHIN,
        tables=(_table(found),),
        notes=(
            f"A transaction takes {1e3 * PAUSE_S:g} ms at the replica and no processor, so that its"
            " capacity does not depend on what the source takes of the machine.",
            "Each rate is predicted from the other rate at which the lag grew most; the lag itself"
            " is what the server says, in whole seconds.",
            *(f"Not tested here: {why}." for why in lacking),
        ),
    )


def _compared(effort: Effort, setup: Setup) -> Iterator[Compared]:
    file = effort.scratch / f"lag-{setup.kind}.yaml"
    file.write_text(_experiment(effort, setup))
    directory = effort.scratch / f"run-lag-{setup.kind}"
    said = runs.answer(effort, "run", file, "--dir", directory, timeout_s=TIMEOUT_S)
    for cell in said["predictions"]:
        for one in cell["quantities"]:
            if one["what"] == LAG:
                rate = f"{cell['levels']['rate']}/s"
                yield Compared(setup.kind, rate, one["predicted"][0], one["median"])


def _experiment(effort: Effort, setup: Setup) -> str:
    rates = QUICK_RATES if effort.quick else RATES
    plan: dict[str, Any] = {
        "experiment": f"lag-{setup.kind}",
        "targets": {
            "db": {
                "kind": setup.kind,
                "memory": "64Mi",
                "durability": "os_crash_unsafe",
                "protocol": "text",
                "config": {"binlog_format": "STATEMENT", **ONE_APPLIER[setup.kind]},
                "topology": {"kind": setup.form, "nodes": setup.nodes},
            }
        },
        "setup": {
            "tables": {
                "counters": {
                    "rows": 1000,
                    "columns": {
                        "id": {"type": "bigint", "sequence": 1, "key": "primary"},
                        "n": {"type": "bigint", "uniform": [0, 9]},
                    },
                }
            }
        },
        "groups": {
            "writers": {
                "kind": "mix",
                "sessions": 8,
                "arrivals": "uniform",
                "rate": f"{rates[0]}/s",
                "deadline": "10s",
                "params": {"row": {"uniform": [1, 1000]}},
                "statements": {"count": {"sql": CHANGE.format(PAUSE_S)}},
            }
        },
        "factors": {"rate": {f"{rate}": {"writers.rate": f"{rate}/s"} for rate in rates}},
        "blocks": 1 if effort.quick else BLOCKS,
        "seed": 1,
        "interval": "500ms",
        "warmup": "500ms",
        "duration": f"{QUICK_LENGTH_S if effort.quick else LENGTH_S:g}s",
    }
    return json.dumps(plan, indent=1)


def _table(found: list[Compared]) -> Table:
    head = ("server", "source commits", "predicted", "measured", "off")
    rows = tuple(
        (
            *(one.kind, one.rate, f"{one.predicted:.2f} s/s"),
            *(f"{one.measured:.2f} s/s", f"{one.off:.2f} s/s"),
        )
        for one in found
    )
    return Table("Growth of the lag of a replica with one applier", head, rows)


ROW = Row(
    name="apply_lag",
    claim="The lag of a replica that applies too little grows as fast as the model says",
    how=(
        "A source and a replica of MariaDB and of MySQL. The source commits 100 to 400 transactions"
        " a second, each of which takes the replica's only applier 5 ms. From one rate at which the"
        " lag grows follows how many it applies a second, and from that how fast the lag grows at"
        " the other rates, as a report shows it: at the lowest rate not at all."
    ),
    bar=f"each growth within {WITHIN:g} s a second of what was measured",
    measure=measure,
    timed=True,
)
