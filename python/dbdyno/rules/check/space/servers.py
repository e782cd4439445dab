"""Space as a running server tells it: less than its files do (`dyno check DATADIR`).

MySQL and MariaDB show in DATA_FREE only whole free extents, less those that they keep; pages that
indexes have reserved, and the free part of each page, are not in it. PostgreSQL counts dead rows,
and their share of a table's pages is an estimate: counters start at zero after a crash, and rows
differ in length.

Sources: the MySQL manual, "The INFORMATION_SCHEMA TABLES Table" and "Tablespace AUTOEXTEND_SIZE
Configuration"; the PostgreSQL manual, "Routine Vacuuming" and "The Cumulative Statistics System".
"""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.facts.fact import Facts
from dbdyno.rules.check.rule import Fix, Found, Rule, edits, statements
from dbdyno.rules.check.space.tables import WHILE_IT_WORKS
from dbdyno.wording.numbers import percent, size

LEAST, SHARE, MUCH = 64 << 20, 0.3, 10 << 30
BEHIND = 2  # times the dead rows at which autovacuum begins
_AGAIN = edits("Nothing to undo: no row changes; the file grows again as rows do.")


def _data_free(facts: Facts) -> Iterator[Found]:
    table = facts.table("table_files")
    for row in table.rows:
        free, taken = float(row["data_free"] or 0), float(row["allocated_size"] or 0)
        if free < LEAST or free < SHARE * taken:
            continue
        name = f"`{row['table_schema']}`.`{row['table_name']}`"
        rest = max(0.0, float(row["file_size"]) - free)
        yield Found(
            what=f"{row['table_schema']}.{row['table_name']}: {size(free)} of {size(taken)} are"
            " free extents",
            evidence=[table.fact(row, one) for one in ("data_free", "file_size", "allocated_size")],
            effect=f"a rebuild gives back about {size(free)} and what half-empty pages hold, which"
            f" the server does not tell; while it works it needs up to {size(rest)} more",
            fix=Fix(statements=(f"OPTIMIZE TABLE {name}",), edits=WHILE_IT_WORKS),
            undo=_AGAIN,
            about=f"{row['table_schema']}.{row['table_name']}",
            severity="medium" if free >= MUCH else "low",
        )  # fmt: skip


def _autoextend(facts: Facts) -> Iterator[Found]:
    table = facts.table("table_files")
    idle = [
        row
        for row in table.rows
        if int(row["autoextend_size"] or 0) > 0
        and float(row["data_length"] or 0) + float(row["index_length"] or 0)
        < float(row["autoextend_size"]) / 2
    ]
    lost = sum(
        float(row["allocated_size"]) - float(row["data_length"] or 0)
        - float(row["index_length"] or 0)
        for row in idle
    )  # fmt: skip
    if lost < LEAST:
        return
    names = [f"`{row['table_schema']}`.`{row['table_name']}`" for row in idle]
    yield Found(
        what=f"{len(idle)} of the largest files have an AUTOEXTEND_SIZE of more than twice their"
        " rows",
        evidence=[table.fact(row, "autoextend_size") for row in idle[:5]],
        effect=f"{size(lost)} allocated and not used: each such file is at least AUTOEXTEND_SIZE"
        " long",
        fix=Fix(
            statements=(
                *(f"ALTER TABLE {name} AUTOEXTEND_SIZE = 0" for name in names),
                *(f"OPTIMIZE TABLE {name}" for name in names),
            ),
            edits=WHILE_IT_WORKS,
        ),
        undo=statements(
            *(
                f"ALTER TABLE {name} AUTOEXTEND_SIZE = {int(row['autoextend_size'])}"
                for name, row in zip(names, idle, strict=True)
            )
        ),
    )


def _dead_rows(facts: Facts) -> Iterator[Found]:
    table = facts.table("dead_rows")
    share, least = (
        facts.setting(f"autovacuum_vacuum_{name}") for name in ("scale_factor", "threshold")
    )
    for row in table.rows:
        live, dead = float(row["live"]), float(row["dead"])
        about = float(row["bytes"]) * dead / max(1.0, live + dead)
        if about < LEAST or dead < BEHIND * (least.number + share.number * live):
            continue
        name = f"{row['schema']}.{row['name']}"
        quoted = f"{_identifier(row['schema'])}.{_identifier(row['name'])}"
        yield Found(
            what=f"{name}: about {percent(dead / (live + dead))} of its rows are dead, by the"
            " server's counters",
            evidence=[
                *(table.fact(row, one) for one in ("live", "dead", "bytes", "last_vacuum_age_s")),
                share,
                least,
            ],
            effect=f"about {size(about)} of {size(float(row['bytes']))}, if dead rows are as long"
            " as the others: VACUUM makes them usable for new rows, and gives nothing back to the"
            " file system",
            fix=Fix(
                statements=(f"VACUUM (VERBOSE) {quoted}",),
                edits=(
                    "It lets reads and writes through, and reads the table from disk:"
                    " vacuum_cost_delay"
                    " bounds that.",
                ),
            ),
            undo=edits(
                "Nothing to undo. If dead rows stay, VERBOSE says what needs them: an old"
                " transaction,"
                " a prepared one, or a replication slot. To shrink the file: VACUUM FULL, which"
                " locks"
                " the table and needs as much space again, or pg_repack."
            ),
            about=name,
            severity="medium" if about >= MUCH else "low",
        )  # fmt: skip


def _identifier(name: object) -> str:
    return '"' + str(name).replace('"', '""') + '"'


RULES = (
    Rule(
        id="mysql-data-free",
        pack="space",
        title="Free extents in a table's file",
        about="DATA_FREE of at least 64 MiB and 30 % of the file, of the 100 largest files of one"
        " table each: the least that a rebuild gives back.",
        severity="low",
        applies=("mysql >=8.0.23", "mariadb >=10.2.1"),
        sources=("server",),
        needs=("table_files",),
        judge=_data_free,
        source="https://dev.mysql.com/doc/refman/8.4/en/information-schema-tables-table.html",
    ),
    Rule(
        id="mysql-autoextend-size",
        pack="space",
        title="AUTOEXTEND_SIZE on small tables",
        about="Files with an AUTOEXTEND_SIZE of more than twice their rows, that together waste at"
        " least 64 MiB.",
        severity="low",
        applies=("mysql >=8.0.23",),
        sources=("server",),
        needs=("table_files",),
        judge=_autoextend,
        source="https://dev.mysql.com/doc/refman/8.4/en/innodb-tablespace-autoextend-size.html",
    ),
    Rule(
        id="postgres-dead-rows",
        pack="space",
        title="Dead rows that autovacuum does not keep up with",
        about="At least twice the dead rows at which autovacuum begins, of an estimated 64 MiB: an"
        " estimate by counters, not a measurement of the file.",
        severity="low",
        applies=("postgres",),
        sources=("server",),
        needs=("dead_rows", "setting.autovacuum_vacuum_scale_factor"),
        judge=_dead_rows,
        source="https://www.postgresql.org/docs/current/routine-vacuuming.html",
    ),
)
