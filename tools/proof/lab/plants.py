"""Losses that are planted into trials under load, and how many they are.

A `Plant` is an ordinary experiment whose faults (`do: sql`, `do: kill`) or whose network do the
harm. `planted` is known without any audit: from the relay's own count, from the statement that did
it, or from what the servers hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tools.proof.lab.recount import ACKNOWLEDGED, Attempt, outcomes
from tools.proof.lab.setups import (
    ALONE,
    GALERA,
    MARIADB,
    MYSQL,
    PAIRS,
    POSTGRES,
    Load,
    Setup,
    missing,
)
from tools.proof.lab.trials import Trial

from dbdyno.errors import DynoError
from dbdyno.experiment.types import Volume
from dbdyno.storage import needed as storage

SKIPPED, DELETED = 50, 20  # transactions
EVERY = {True: 25, False: 1000}  # quick or not: one in so many commits is swallowed
LENGTH_S = {True: 2.5, False: 8.0}
STATEMENT, CONTENTS, RELAY = "the statement", "the servers' contents", "the relay"

_BEHIND = "SUBSTRING_INDEX({position}, '{mark}', -1)"
_MARIADB_AT = "@@GLOBAL.gtid_slave_pos"
_MYSQL_AT = "@@GLOBAL.gtid_executed"
_MYSQL_LAST = _BEHIND.format(position=_MYSQL_AT, mark="-")
_UNLOGGED = (
    "BEGIN NOT ATOMIC SET SESSION {switch} = OFF;"
    f" DELETE FROM dbdyno_audit ORDER BY session, n LIMIT {DELETED}; END"
)
STOP = {MARIADB: "STOP SLAVE", MYSQL: "STOP REPLICA"}
START = {MARIADB: "START SLAVE", MYSQL: "START REPLICA"}
SKIP = {
    MARIADB: (
        f"SET GLOBAL gtid_slave_pos = CONCAT(SUBSTRING_INDEX({_MARIADB_AT}, '-', 2), '-',"
        f" SUBSTRING_INDEX({_MARIADB_AT}, '-', -1) + {SKIPPED})"
    ),
    MYSQL: (
        f"SET GLOBAL gtid_purged = CONCAT('+', SUBSTRING_INDEX({_MYSQL_AT}, ':', 1), ':',"
        f" {_MYSQL_LAST} + 1, '-', {_MYSQL_LAST} + {SKIPPED})"
    ),
}
PROMOTE: Mapping[str, Sequence[str]] = {
    MARIADB: (STOP[MARIADB], "SET GLOBAL read_only = OFF"),
    MYSQL: (STOP[MYSQL], "SET GLOBAL super_read_only = OFF", "SET GLOBAL read_only = OFF"),
    POSTGRES: ("SELECT pg_promote()",),
}


@dataclass(frozen=True)
class Plant:
    """Something that loses. `planted`: what the audit must count, by metric; what is absent must be
    0. Empty: the relay knows how many are lost. `by`: whence the numbers are known."""

    what: str
    setup: Setup
    by: str
    planted: Callable[[Trial], Mapping[str, int]]
    faults: Sequence[tuple[float, Mapping[str, Any]]] = ()  # at shares of the measured time
    durability: str = "full"
    swallows: bool = False
    target: Mapping[str, Any] = field(default_factory=dict)  # further keys of the target

    @property
    def name(self) -> str:
        """For files."""
        return f"{self.setup.short}-{self.what.replace(' ', '-')}"

    def load(self, seed: int, quick: bool) -> Load:
        """The run."""
        length_s = LENGTH_S[quick]
        faults = [{"at": f"{at * length_s:.1f}s", **fault} for at, fault in self.faults]
        network = {"limits": {"network": {"delay": "0s"}}} if self.swallows else {}
        target = {**network, **self.target}
        return Load(seed, length_s, durability=self.durability, faults=faults, target=target)

    @property
    def missing(self) -> str:
        """Why it cannot be had here; empty if it can."""
        why = missing(self.setup)
        if not why and "volume" in self.target:
            try:
                storage.check(Volume())
            except DynoError as error:
                why = f"{self.setup.name}, {self.what}: {error.what}"
        return why


def plants() -> Iterator[Plant]:
    """All of them."""
    for setup in ALONE:
        yield Plant("swallowed commits", setup, RELAY, lambda trial: {}, swallows=True)
    for setup in PAIRS[:2]:
        statements = (STOP[setup.kind], SKIP[setup.kind], START[setup.kind])
        yield Plant(
            "skipped events",
            setup,
            STATEMENT,
            lambda trial: {"diverged": SKIPPED},
            faults=_sql(setup, *statements),
        )
    for setup in PAIRS:
        faults = _sql(setup, *PROMOTE[setup.kind])
        yield Plant("early promotion", setup, CONTENTS, _behind, faults=faults)
    for setup, node, switch in ((PAIRS[0], "db", "sql_log_bin"), (GALERA, "db.2", "wsrep_on")):
        sql = _UNLOGGED.format(switch=switch)
        yield Plant(
            "unlogged delete",
            setup,
            STATEMENT,
            lambda trial: {"lost": DELETED, "diverged": DELETED},
            faults=[(0.5, {"do": "sql", "node": node, "sql": sql})],
        )
    for setup in ALONE:
        yield Plant(
            "crash without durability",
            setup,
            CONTENTS,
            _gone,
            faults=[(0.6, {"do": "kill"})],
            durability="none",
        )
    for setup in ALONE:
        # MariaDB, MySQL: innodb_flush_log_at_trx_commit = 2 and sync_binlog = 0
        logged = {} if setup.kind == POSTGRES else {"config": {"log_bin": "binlog"}}
        yield Plant(
            "power cut without flushes",
            setup,
            CONTENTS,
            _gone,
            faults=[(0.6, {"do": "power_cut"})],
            durability="os_crash_unsafe",
            target={"volume": {"size": "512Mi"}, **logged},
        )


def _sql(setup: Setup, *statements: str) -> Sequence[tuple[float, Mapping[str, Any]]]:
    """Statements at the replica, some time after each other."""
    return [
        (0.3 + 0.2 * number, {"do": "sql", "node": "db.2", "sql": statement})
        for number, statement in enumerate(statements)
    ]


def _rows(trial: Trial, name: str) -> set[Attempt]:
    return {(session, n, attempt) for session, n, attempt in trial.nodes[name]["rows"]}


def _acknowledged(trial: Trial) -> set[Attempt]:
    return outcomes(trial.log)[ACKNOWLEDGED]


def _gone(trial: Trial) -> Mapping[str, int]:
    """What the only server has no more of what was acknowledged."""
    return {"lost": len(_acknowledged(trial) - _rows(trial, "db"))}


def _behind(trial: Trial) -> Mapping[str, int]:
    """What the promoted replica lacks: acknowledged transactions, and rows of the primary."""
    has = _rows(trial, "db.2")
    return {"lost": len(_acknowledged(trial) - has), "diverged": len(_rows(trial, "db") - has)}
