"""What an audit of commits costs a load that writes: on and off as a factor of an ordinary
experiment. And what trials without an audit have of one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tools.proof import runs, unrest
from tools.proof.row import Effort, Outcome, Row, Table

from dbdyno.analysis.types import SUPPORTED
from dbdyno.audit import identities, outcomes
from dbdyno.experiment.audit import COMMITS
from dbdyno.store.run import ENGINE_PLAN, Run

CLAIM = "tps[on] >= 0.9 * tps[off] at each log"
LOGS = {"flushed": "at each commit", "unflushed": "once a second"}
FULL = {"trials": "{min: 10, max: 20, until: decided}", "warmup": "1s", "duration": "5s"}
QUICK = {"blocks": "1", "warmup": "100ms", "duration": "200ms"}
ROWS, QUICK_ROWS = 100_000, 1000
TIMEOUT_S = 3600.0

EXPERIMENT = """
experiment: audit-cost
question: What does an audit of commits cost a load that writes?
targets:
  db: {{kind: mariadb, isolation: repeatable_read, memory: 256Mi}}
workload: {{kind: oltp, preset: write_only, tables: 1, rows: {rows}, sessions: 16}}
state: {{data: reuse, cache: warm}}
factors:
  log:
    flushed: {{db.durability: full}}
    unflushed: {{db.durability: os_crash_unsafe}}
  audited:
    on: {{audit: commits}}
    off: {{audit: off}}
interval: 100ms
{design}
claims: ["{claim}"]
"""


def measure(effort: Effort) -> Outcome:
    """One experiment."""
    directory = effort.scratch / "run"
    found = runs.answer(effort, "run", _file(effort), "--dir", directory, timeout_s=TIMEOUT_S)
    [claim] = found["claims"]
    rows = [_row(part) for part in claim["parts"]]
    off, on = (_traced(Run.open(directory), audit) for audit in (None, COMMITS))
    clean = not any(off.found.values()) and all(n == on.trials for n in on.found.values())
    return Outcome(
        measured="; ".join(f"log flushed {row[0]}: {row[1]} ({row[2]}), {row[4]}" for row in rows)
        + f"; {sum(off.found.values())} traces of an audit in {off.trials} trials without one",
        met=None if effort.quick else claim["verdict"] == SUPPORTED and clean,
        tables=(
            Table(
                "Throughput with `audit: commits` over that without, on the same server",
                ("log flushed", "ratio", "interval", "blocks", "verdict"),
                tuple(rows),
            ),
            Table(
                "Trials that have something of an audit",
                ("what", "with `audit: off`", "with `audit: commits`"),
                tuple((what, *(one.of(what) for one in (off, on))) for what in TRACES),
            ),
        ),
        notes=(
            "Generator and server have CPUs of their own. With the log flushed at each commit the"
            " disk limits the load, otherwise the CPU of the server does: an audit adds one"
            " statement to the six of a transaction, BEGIN and COMMIT included.",
            "Without an audit the engine gets, byte for byte, the plan that it got before there"
            " were audits (`tests/unit/test_execute_request.py`), so that the workload is not"
            " wrapped, no table is made and no log written. What is left of audits in its code is"
            " the comparison of two flags a transaction.",
        ),
    )


def _file(effort: Effort) -> str:
    """The experiment's path."""
    design = {**(QUICK if effort.quick else FULL)}
    first, *others = unrest.usable()
    if others:
        design["cpus"] = f"{{generator: [{first}], servers: {others}}}"
    file = effort.scratch / "audit-cost.yaml"
    file.write_text(
        EXPERIMENT.format(
            rows=QUICK_ROWS if effort.quick else ROWS,
            design="\n".join(f"{key}: {value}" for key, value in design.items()),
            claim=CLAIM,
        )
    )
    return str(file)


def _row(part: Mapping[str, Any]) -> tuple[str, ...]:
    ratio, low, high = (part.get(key) for key in ("ratio", "ci_low", "ci_high"))
    return (
        LOGS[part["at"]["log"]],
        "-" if ratio is None else f"{ratio:.4f}",
        "-" if low is None or high is None else f"{low:.4f} to {high:.4f}",
        str(part.get("n", 0)),
        str(part["verdict"]),
    )


# ---- what trials without an audit have of one


@dataclass(frozen=True)
class Traced:
    """In how many of these trials each of `TRACES` was found."""

    trials: int
    found: Mapping[str, int]

    def of(self, what: str) -> str:
        """A cell."""
        return f"{self.found[what]} of {self.trials}"


def _traced(run: Run, audit: str | None) -> Traced:
    """Trials of cells with that audit."""
    trials = [
        trial.id
        for trial in run.plan.trials
        if run.plan.cells[trial.cell].audit == audit and run.is_complete(trial.id)
    ]
    found = {what: sum(is_in(run, trial) for trial in trials) for what, is_in in TRACES.items()}
    return Traced(len(trials), found)


def _asked(run: Run, trial: str) -> bool:
    plan = json.loads((run.trial_dir(trial) / ENGINE_PLAN).read_text())
    return any("audit" in group or "history" in group for group in plan["groups"])


def _logged(run: Run, trial: str) -> bool:
    return (run.trial_dir(trial) / outcomes.LOG).exists()


def _sent(run: Run, trial: str) -> bool:
    ends = [event for event in run.each_event(trial) if event["event"] == "end"]
    groups = [group for end in ends for group in end["groups"].values()]
    return any(identities.TABLE in group["classes"] for group in groups)


TRACES: Mapping[str, Callable[[Run, str], bool]] = {
    "an audit in what the engine was asked": _asked,
    "a log of outcomes": _logged,
    "statements with identities": _sent,
}

ROW = Row(
    name="audit_cost",
    claim="An audit of commits costs a writing load at most a tenth, and nothing where it is off",
    how=(
        "An ordinary experiment on MariaDB with `oltp`, `preset: write_only`, whose factor is"
        " `audit`: `commits` and `off`, alternating within blocks on the same server, with the log"
        " flushed at each commit and once a second; judged by dbdyno's own claims. All trials"
        " without an audit are searched for traces of one."
    ),
    bar=(
        "throughput at least 0.9 times that without (whole interval, both logs); no trace where"
        " an audit is off, each of them where it is on"
    ),
    measure=measure,
    timed=True,
)
