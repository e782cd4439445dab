"""Files of the server that grow and do not shrink: system tablespace, undo logs, temporary tables.

Sources: MariaDB's pages "InnoDB System Tablespaces", "InnoDB Temporary Tablespaces" and "InnoDB
Undo Log"; the MySQL manual, "The System Tablespace", "Undo Tablespaces" and "Temporary
Tablespaces".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dbdyno.facts.fact import Facts
from dbdyno.rules.check.rule import Fix, Found, Rule, edits
from dbdyno.wording.numbers import percent, size

LEAST, SHARE, MUCH = 1 << 30, 0.5, 100 << 30
_NOTHING = edits("Nothing to undo: the file grows again as it must.")


def _system(facts: Facts) -> Fix:
    if facts.engine == "mariadb" and facts.version >= (11, 2):
        return Fix(
            edits=(
                "Write autoshrink behind autoextend in innodb_data_file_path and restart: the"
                " file is"
                " cut behind its last used page.",
            )
        )  # fmt: skip
    return edits(
        "It never shrinks. Dump all tables, make a new data directory and load them; or build a"
        " replica that way and switch over.",
        "Keep it from growing again: innodb_file_per_table = ON, and no transaction that stays open"
        " for hours.",
    )


def _undo(facts: Facts) -> Fix:
    return Fix(
        statements=("SET GLOBAL innodb_undo_log_truncate = ON",),
        edits=(
            "End transactions that stay open for hours: undo logs that one of them needs are kept.",
            "Two undo tablespaces at least must exist, and the option belongs into the file too.",
        ),
    )


def _temporary(facts: Facts) -> Fix:
    if facts.engine == "mariadb" and facts.version >= (11, 3):
        return Fix(statements=("SET GLOBAL innodb_truncate_temporary_tablespace_now = 1",))
    return edits(
        "Restart the server: it makes a new file.",
        "Bound it: innodb_temp_data_file_path = ibtmp1:12M:autoextend:max:20G; a statement that"
        " needs"
        " more then fails.",
    )


def _judge(
    kinds: tuple[str, ...], fix: Callable[[Facts], Fix]
) -> Callable[[Facts], Iterator[Found]]:
    def judge(facts: Facts) -> Iterator[Found]:
        table = facts.table("tablespaces")
        for row in table.rows:
            free = _free(row)
            if row["kind"] in kinds and free >= LEAST and free >= SHARE * row["allocated_bytes"]:
                yield Found(
                    what=f"{row['path']}: {percent(free / row['allocated_bytes'])} of"
                    f" {size(row['allocated_bytes'])} is free",
                    evidence=tuple(
                        table.fact(row, f"{one}_bytes") for one in ("allocated", "apparent", "free")
                    ),
                    effect=f"{size(free)} that no table of its own file can use",
                    fix=fix(facts),
                    undo=_NOTHING,
                    about=str(row["path"]),
                    severity="medium" if free >= MUCH else "low",
                )

    return judge


def _free(row: Mapping[str, Any]) -> float:
    """On disk, at least: what is allocated beyond the pages in use."""
    used = float(row["apparent_bytes"]) - float(row["free_bytes"])
    return max(0.0, float(row["allocated_bytes"]) - used)


_SYSTEM = "https://mariadb.com/docs/server/server-usage/storage-engines/innodb/innodb-tablespaces/"
RULES = (
    Rule(
        id="innodb-system-tablespace-free",
        pack="space",
        title="Free space in the system tablespace",
        about="`ibdata1` with at least 1 GiB free and half of it: it does not shrink, except in"
        " MariaDB since 11.2.",
        severity="low",
        applies=("mysql", "mariadb"),
        sources=("directory",),
        needs=("tablespaces",),
        judge=_judge(("system",), _system),
        source=_SYSTEM + "innodb-system-tablespaces",
    ),
    Rule(
        id="innodb-undo-free",
        pack="space",
        title="Free space in an undo tablespace",
        about="An undo tablespace with at least 1 GiB free and half of it: it is truncated by"
        " innodb_undo_log_truncate alone, and not while a transaction needs it.",
        severity="low",
        applies=("mysql", "mariadb"),
        sources=("directory",),
        needs=("tablespaces",),
        judge=_judge(("undo",), _undo),
        source="https://dev.mysql.com/doc/refman/8.4/en/innodb-undo-tablespaces.html",
    ),
    Rule(
        id="innodb-temporary-free",
        pack="space",
        title="Free space in the temporary tablespace",
        about="`ibtmp1` with at least 1 GiB free and half of it: one large temporary table made it"
        " grow, and it shrinks at a restart.",
        severity="low",
        applies=("mysql", "mariadb"),
        sources=("directory",),
        needs=("tablespaces",),
        judge=_judge(("temporary",), _temporary),
        source=_SYSTEM + "innodb-temporary-tablespaces",
    ),
)
