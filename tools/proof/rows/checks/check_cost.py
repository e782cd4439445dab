"""What a check costs a server under load: whether it or an idle twin is checked is a factor of an
experiment.

The program that checks takes CPU time and caches from the load generator that it runs beside, a
third of the throughput on two CPUs, which it would not take on another host. So it runs in all
trials alike, and what differs is the server that it asks.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tools.proof import runs, unrest
from tools.proof.checks import planted
from tools.proof.checks.servers import PASSWORD, Checked, started
from tools.proof.row import Effort, Outcome, Row, Table

from dbdyno.analysis.types import SUPPORTED
from dbdyno.wording.numbers import percent

KINDS = ("mariadb", "postgres")
CLAIM = "tps[checked] ~= tps[unchecked] within 1%"
FULL = {"trials": "{min: 10, max: 30, until: decided}", "warmup": "500ms", "duration": "10s"}
QUICK = {"blocks": "3", "warmup": "100ms", "duration": "1s"}
CHECKS, QUICK_CHECKS = 20, 1
TIMEOUT_S = 3600.0
AT_S = {True: 0.2, False: 1.0}  # quick or not: when the check begins

EXPERIMENT = """
experiment: check-cost
question: What does a check cost a server under load?
targets:
  db: {{url: "{url}", password_file: {password}}}
workload: {{kind: oltp, preset: read_write, tables: 2, rows: 10000, sessions: 8}}
hooks:
  during_trial:
    run: '{check} $(cat {urls}-$DYNO_LEVEL_CHECKS) {how} > $DYNO_LEVEL_CHECKS-$DYNO_TRIAL.json'
    at_s: {at_s}
factors:
  checks:
    checked: {{apply: "true"}}
    unchecked:
interval: 100ms
{design}
claims: ["{claim}"]
"""


def measure(effort: Effort) -> Outcome:
    """An experiment a kind of server."""
    first, *others = unrest.usable()
    kinds = KINDS[:1] if effort.quick else KINDS
    rows, cpu, supported = [], [], 0
    for kind in kinds:
        with (
            started(kind, cpus=others or [first]) as server,
            started(kind, cpus=[first]) as twin,
        ):
            _permit(server)
            _fill(twin)
            cpu.append(_cpu(effort, server))
            found = runs.answer(
                *(effort, "run", _file(effort, server, twin), "--dir", _run(effort, kind)),
                timeout_s=TIMEOUT_S,
            )
        [claim] = found["claims"]
        supported += claim["verdict"] == SUPPORTED
        rows.append(_row(server, claim))
    return Outcome(
        measured="; ".join(f"{row[0]}: {row[1]} ({row[2]}), {row[4]}" for row in rows),
        met=None if effort.quick else supported == len(KINDS),
        tables=(
            Table(
                "Throughput with a check of the server every trial against one of its twin",
                ("server", "ratio", "interval", "blocks", "verdict"),
                tuple(rows),
            ),
            Table(
                "CPU time of the server for one check, the mean of several without load",
                ("server", "ms a check", "of one CPU, if every 5 s"),
                tuple(cpu),
            ),
        ),
        notes=(
            f"A check of all packs in each trial of {FULL['duration']}, by an account that may see"
            " all it asks for. `dyno` itself runs on the load generator's CPU, in all trials: the"
            " twin, which is idle and has that CPU, is checked where the server is not.",
        ),
    )


def _run(effort: Effort, kind: str) -> Path:
    return effort.scratch / f"run-{kind}"


def _permit(server: Checked) -> None:
    planted.permit(server.kind, server.server)
    if server.kind == "postgres":
        server.server.run_in("shop", ["GRANT CREATE ON DATABASE shop TO app"])
    else:
        server.server.rows("GRANT ALL ON `dbdyno\\_%`.* TO app@'127.0.0.1'")


def _fill(twin: Checked) -> None:
    """What the load makes on the other server, so that a check reads as much."""
    _permit(twin)
    for number in (1, 2):
        table = f"twin{number} (id INTEGER PRIMARY KEY, k INTEGER, c CHAR(120), pad CHAR(60))"
        if twin.kind == "postgres":
            rows = "SELECT n, n, 'c', 'p' FROM generate_series(1, 10000) n"
            twin.server.run_in(
                "shop", [f"CREATE TABLE {table}", f"INSERT INTO twin{number} {rows}"]
            )
        else:
            twin.server.rows(f"CREATE TABLE shop.{table}")
            rows = "SELECT seq, seq, 'c', 'p' FROM shop.seq_1_to_10000"
            twin.server.rows(f"INSERT INTO shop.twin{number} {rows}")


def _password(effort: Effort) -> Path:
    """A file with it: commands of hooks are given no password."""
    path = effort.scratch / "password"
    path.write_text(PASSWORD)
    path.chmod(0o600)
    return path


def _file(effort: Effort, server: Checked, twin: Checked) -> str:
    """The experiment's path; its command is pinned to the generator's CPU."""
    for level, one in (("checked", server), ("unchecked", twin)):
        (effort.scratch / f"url-{level}").write_text(one.url)
    cpu, *others = unrest.usable()
    password = _password(effort)
    design = {**(QUICK if effort.quick else FULL)}
    if others:
        design["cpus"] = f"{{generator: [{cpu}], servers: {others}}}"
    # Beside tests the lowest priority would mean never.
    priority = "" if effort.quick else "nice -n 19 "
    check = f"{priority}taskset -c {cpu} {runs.DYNO} check"
    file = effort.scratch / f"check-{server.kind}.yaml"
    file.write_text(
        EXPERIMENT.format(
            url=server.url,
            password=password,
            check=check,
            urls=effort.scratch / "url",
            how=f"--password-file {password} --json --fail-on critical",
            at_s=AT_S[effort.quick],
            design="\n".join(f"{key}: {value}" for key, value in design.items()),
            claim=CLAIM,
        )
    )
    return str(file)


def _cpu(effort: Effort, server: Checked) -> tuple[str, ...]:
    """What the server's processes, those that ended among them, spend on a check."""
    arguments = ("check", server.url, "--password-file", _password(effort), "--json")
    runs.dyno(effort, *arguments, codes=(0, 1))
    before = _spent_s(server.server.pid)
    checks = QUICK_CHECKS if effort.quick else CHECKS
    for _ in range(checks):
        runs.dyno(effort, *arguments, codes=(0, 1))
    each_s = (_spent_s(server.server.pid) - before) / checks
    return (server.named, f"{1000 * each_s:.0f}", percent(each_s / 5.0))


def _spent_s(pid: int) -> float:
    """utime, stime, cutime and cstime of proc(5)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _row(server: Checked, claim: dict[str, Any]) -> tuple[str, ...]:
    [part] = claim["parts"]
    ratio, low, high = (part.get(key) for key in ("ratio", "ci_low", "ci_high"))
    return (
        server.named,
        "-" if ratio is None else f"{ratio:.4f}",
        "-" if low is None or high is None else f"{low:.4f} to {high:.4f}",
        str(part.get("n", 0)),
        str(claim["verdict"]),
    )


ROW = Row(
    name="check_cost",
    claim="A check costs a loaded server nothing that its clients notice",
    how=(
        "An experiment on MariaDB and PostgreSQL under a saturated load, whose factor is a"
        " `dyno check` at a second of each trial: of this server or of an idle twin, alternating"
        " within blocks, judged by dbdyno's own claims."
    ),
    bar="throughput equivalent within 1 %",
    before=(
        "0.63 and 0.62 times the throughput: the checking program took CPU time from the load"
        " generator next to it in half of the trials only (commit b221b96e)"
    ),
    measure=measure,
    timed=True,
)
