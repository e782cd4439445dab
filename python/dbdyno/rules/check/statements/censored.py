"""Logs that lack statements by the server's own settings.

Sources: the MySQL manual on the slow query log; MariaDB's on log_slow_rate_limit; the PostgreSQL
manual on log_min_duration_statement and log_transaction_sample_rate.
"""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.facts.fact import Fact, Facts
from dbdyno.rules.check.indexes import names
from dbdyno.rules.check.rule import Found, Rule, edits
from dbdyno.rules.check.statements.told import SOURCES

_THRESHOLD = {
    "mysql": "SET GLOBAL long_query_time = 0 for some minutes, and sessions that begin then",
    "postgres": "log_min_duration_statement = 0 for some minutes, and a reload",
}
_SAMPLED = {
    "mysql": "Log all: log_slow_rate_limit = 1",
    "postgres": "Log all: log_statement_sample_rate and log_transaction_sample_rate = 1",
}


def _judge(facts: Facts) -> Iterator[Found]:
    table = facts.table("log_censored")
    language = "postgres" if names.is_postgres(facts) else "mysql"
    for row in table.rows:
        is_threshold = row["kind"] == "threshold"
        limit = float(row["limit"])
        lacks = f"statements faster than {limit:g} s" if is_threshold else f"all but 1 in {limit:g}"
        how = "as the log says" if row["evidence"] == "said" else "as it looks: none is there"
        yield Found(
            what=f"The log is without {lacks} statements" if not is_threshold
            else f"The log is without {lacks}",
            evidence=[
                Fact("shortest time logged" if is_threshold else "one logged in", limit,
                     str(row["log"]), "s" if is_threshold else ""),
                Fact("known", how, table.place),
            ],
            effect="Shares of time are of the statements that were logged. What is fast and"
            " frequent may cost more than what is slow, and cannot be seen"
            if is_threshold
            else "Rare statements may be missing",
            fix=edits((_THRESHOLD if is_threshold else _SAMPLED)[language]),
            undo=edits("Set it as it was"),
            about=str(row["kind"]),
        )  # fmt: skip


def _rule(engine: str, applies: tuple[str, ...], source: str) -> Rule:
    return Rule(
        id=f"{engine}-log-lacks-statements",
        pack="statements",
        title="A log without some statements, by its settings",
        about="Only statements slower than a limit, or one in several, were logged. What such a log"
        " shows is there; what it does not show may be there as well.",
        severity="low",
        applies=applies,
        sources=SOURCES,
        needs=("log_censored",),
        judge=_judge,
        source=source,
    )


RULES = (
    _rule(
        "mysql",
        ("mysql", "mariadb"),
        "https://dev.mysql.com/doc/refman/8.4/en/slow-query-log.html",
    ),
    _rule(
        "postgres",
        ("postgres",),
        "https://www.postgresql.org/docs/current/runtime-config-logging.html",
    ),
)
