"""Transactions that a replica has and its source has not.

    errant = executed on the replica - executed on the source - those of the source's ancestry

A promoted replica offers them to all others, or stops these with error 1236 once their binary
logs are purged. Transactions of the source itself are another thing: the source lost them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dbdyno.facts.fact import Fact, Facts
from dbdyno.rules.check.replication import gtids
from dbdyno.rules.check.replication.topology import ancestry, latest, pairs
from dbdyno.rules.check.rule import Fix, Found, Rule, edits

FEW = 20  # transactions that are written out in a plan
NO_LOG = "purged or not readable"
_MYSQL = "https://dev.mysql.com/doc/refman/8.4/en/replication-gtids.html"
_MARIADB = "https://mariadb.com/kb/en/gtid/"


def _mysql(all_facts: Sequence[Facts]) -> Iterator[Found]:
    for replica, source in pairs(all_facts):
        mine = replica.setting("gtid_executed")
        theirs = latest(source, "gtid_executed", mine)
        more = gtids.subtract(gtids.parse(mine.text), gtids.parse(theirs.text))
        upstream = gtids.of(more, ancestry(all_facts, source))
        errant = gtids.subtract(more, upstream)
        if errant:
            logs = _logs(replica, errant)
            yield Found(
                what=f"{gtids.count(errant)} errant transactions, {gtids.text(errant)}, in {logs}",
                evidence=(mine, theirs, Fact("binary log", logs, "SHOW BINLOG EVENTS")),
                effect=f"data differs by {gtids.count(errant)} transactions; if it is promoted,"
                " others execute them, or stop with error 1236 once they are purged",
                fix=_plan(errant, logs, source),
                undo=edits(
                    "An empty transaction cannot be taken back, and does nothing: rebuild"
                    " the source from a backup of before, if need be."
                ),
                about="errant",
                subject=replica.subject,
            )


def _lost(all_facts: Sequence[Facts]) -> Iterator[Found]:
    for replica, source in pairs(all_facts):
        mine = replica.setting("gtid_executed")
        theirs = latest(source, "gtid_executed", mine)
        uuid = source.setting("server_uuid").text.lower()
        more = gtids.subtract(gtids.parse(mine.text), gtids.parse(theirs.text))
        lost = gtids.of(more, [uuid])
        if lost:
            yield Found(
                what=f"the source has lost {gtids.count(lost)} of its own transactions:"
                f" {gtids.text(lost)}",
                evidence=(mine, theirs),
                effect="the replica has what the source lost in a crash or a restore; new"
                " transactions of the same numbers are skipped there",
                fix=edits(
                    f"Stop writes. Promote {replica.subject}, or rebuild it from"
                    f" {source.subject}; then set sync_binlog = 1."
                ),
                undo=edits("Keep both data directories until they were compared."),
                about="lost",
                subject=replica.subject,
            )


def _purged(all_facts: Sequence[Facts]) -> Iterator[Found]:
    for replica, source in pairs(all_facts):
        mine, purged = replica.setting("gtid_executed"), source.setting("gtid_purged")
        gap = gtids.subtract(gtids.parse(purged.text), gtids.parse(mine.text))
        if gap:
            yield Found(
                what=f"the source has purged {gtids.count(gap)} transactions that the replica needs"
                f": {gtids.text(gap)}",
                evidence=(mine, purged),
                effect="with SOURCE_AUTO_POSITION it stops with error 1236",
                fix=edits(
                    f"Rebuild {replica.subject} from a backup or by CLONE, and keep binary"
                    " logs longer than the longest time without a replica."
                ),
                undo=edits("Nothing to undo."),
                about="purged",
                subject=replica.subject,
            )


def _logs(replica: Facts, errant: gtids.Set) -> str:
    """The binary log of the first errant transaction: the last one that begins without it."""
    table = replica.tables.get("binlog_headers")
    first = gtids.parse(gtids.each(errant, 1)[0])
    held = ""
    for row in table.rows if table is not None else ():
        if not gtids.subtract(first, gtids.parse(str(row["before"]))):
            break
        held = str(row["log_name"])
    return held if held and _begins_before(replica, first) else NO_LOG


def _begins_before(replica: Facts, first: gtids.Set) -> bool:
    """Whether it is not purged."""
    purged = replica.get("setting.gtid_purged")
    return purged is None or bool(gtids.subtract(first, gtids.parse(purged.text)))


def _plan(errant: gtids.Set, logs: str, source: Facts) -> Fix:
    read = f"mysqlbinlog --include-gtids='{gtids.text(errant)}' {logs}, at the replica."
    steps = () if logs == NO_LOG else (f"Read what they did: {read}",)
    if gtids.count(errant) > FEW:
        more = f"They are more than {FEW}: rebuild the replica from {source.subject}."
        return Fix(edits=(*steps, more))
    statements = []
    for one in gtids.each(errant, FEW):
        statements += [f"SET GTID_NEXT = '{one}'", "BEGIN", "COMMIT"]
    return Fix(
        edits=(
            *steps,
            "Undo their effect at the replica under sql_log_bin = 0, or repeat it at the source;"
            " rebuild the replica if it is not known.",
            f"Then send these statements to {source.subject}: empty transactions, that make every"
            " server know them.",
        ),
        statements=(*statements, "SET GTID_NEXT = 'AUTOMATIC'"),
    )


def _mariadb(all_facts: Sequence[Facts]) -> Iterator[Found]:
    for replica, source in pairs(all_facts):
        mine = replica.setting("gtid_binlog_state")
        theirs = [latest(source, f"gtid_{one}", mine) for one in ("binlog_state", "slave_pos")]
        known = [gtids.parse_state(fact.text) for fact in theirs]
        more = gtids.ahead(gtids.parse_state(mine.text), *known)
        server = int(source.setting("server_id").number)
        errant = {whose: ends for whose, ends in more.items() if whose[1] != server}
        if errant:
            listed = ", ".join(
                f"{domain}-{by}-{last}" for (domain, by), (_, last) in errant.items()
            )
            logs = _mariadb_logs(replica, errant)
            yield Found(
                what=f"errant transactions up to {listed}, in {logs}",
                evidence=(mine, *theirs, Fact("binary log", logs, "SHOW BINLOG EVENTS")),
                effect=f"data differs by transactions of {len(errant)} servers; if it is promoted,"
                " replicas that ask for later positions stop with error 1236",
                fix=edits(
                    f"Read what they did, if the log is there: mariadb-binlog {logs}.",
                    "Undo their effect at the replica under sql_log_bin = 0, or repeat it at the"
                    " source; rebuild the replica if it is not known.",
                    "MariaDB has no empty transactions to give: after the mend, STOP REPLICA, RESET"
                    " MASTER and SET GLOBAL gtid_slave_pos to the position that it had, START"
                    " REPLICA; replicas of this one are to be built again.",
                ),
                undo=edits("Keep a copy of the binary logs before RESET MASTER."),
                about="errant",
                subject=replica.subject,
            )


def _mariadb_logs(replica: Facts, errant: dict[tuple[int, int], tuple[int, int]]) -> str:
    table = replica.tables.get("binlog_headers")
    whose, (_, last) = min(errant.items())
    held = ""
    for row in table.rows if table is not None else ():
        if gtids.parse_state(str(row["before"])).get(whose, 0) >= last:
            break
        held = str(row["log_name"])
    return held or NO_LOG


def _rule(
    id: str, title: str, about: str, applies: str, needs: tuple[str, ...], judge: object
) -> Rule:
    return Rule(
        id=id,
        pack="replication",
        title=title,
        about=about,
        severity="high",
        applies=(applies,),
        sources=("server",),
        needs=("replicas", *needs),
        judge_all=judge,  # type: ignore[arg-type]
        source=_MYSQL if "mysql" in applies else _MARIADB,
        proof="promote the replica of a throw-away pair whose logs are purged: error 1236",
    )


_SETS = ("setting.gtid_executed", "setting.gtid_purged", "setting.server_uuid")
RULES = (
    _rule(
        "mysql-errant-transactions",
        "Errant transactions",
        "A replica executed what its source did not: it was written to. The source is read again"
        " after all replicas, and transactions of the source and its ancestry do not count.",
        "mysql >=5.6.5",
        _SETS,
        _mysql,
    ),
    _rule(
        "mysql-source-lost-transactions",
        "The source lost transactions",
        "A replica has transactions of its source that the source, read later, has not.",
        "mysql >=5.6.5",
        _SETS,
        _lost,
    ),
    _rule(
        "mysql-source-purged-too-much",
        "The source has purged what a replica needs",
        "gtid_purged of the source is not within gtid_executed of the replica.",
        "mysql >=5.6.5",
        _SETS,
        _purged,
    ),
    _rule(
        "mariadb-errant-transactions",
        "Errant transactions",
        "Domain and server of the replica's gtid_binlog_state with a later sequence than the"
        " source's. gtid_current_pos would hide it: it has the last transaction of a domain only.",
        "mariadb >=10.0.5",
        ("setting.gtid_binlog_state", "setting.gtid_slave_pos", "setting.server_id"),
        _mariadb,
    ),
)
