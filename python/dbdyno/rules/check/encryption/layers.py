"""What a server of MySQL's family says that it encrypts, by class of data; and whether it has data
that is meant to be encrypted.

MySQL has no setting for temporary files, and encrypts a temporary table only if it was made so; its
system tablespace cannot be encrypted. MariaDB does not encrypt Aria's log (MDEV-8587), and neither
server its logs of statements. Sources: the manuals' pages on InnoDB data-at-rest encryption, and
MariaDB's "Data-at-Rest Encryption Overview".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbdyno.facts.at_rest import classes
from dbdyno.facts.fact import Fact, Facts, Missing

YES, NO, PARTLY = "encrypted", "plain", "partly encrypted"
ON_VALUES = ("ON", "1", "FORCE", "YES")
SETTINGS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "mysql": {
        classes.UNDO: ("innodb_undo_log_encrypt",),
        classes.REDO: ("innodb_redo_log_encrypt",),
        classes.BINLOG: ("binlog_encryption",),
    },
    "mariadb": {
        classes.REDO: ("innodb_encrypt_log",),
        classes.BINLOG: ("encrypt_binlog",),
        classes.TEMPORARY: (
            *("innodb_encrypt_temporary_tables", "encrypt_tmp_disk_tables"),
            "encrypt_tmp_files",
        ),
        classes.OTHER: ("aria_encrypt_tables",),
    },
}
"""Class -> settings that must all be on."""
DEFAULT = {"mysql": "default_table_encryption", "mariadb": "innodb_encrypt_tables"}


@dataclass(frozen=True)
class Told:
    """What the server says of a class: YES, NO or PARTLY, and where."""

    state: str
    evidence: tuple[Fact, ...]


def is_on(fact: Fact) -> bool:
    """A switch, of which MariaDB's innodb_encrypt_tables has a third position."""
    return fact.text.strip().upper() in ON_VALUES


def by_setting(facts: Facts, kind: str) -> Told:
    """Missing for a class that no setting of this engine is for, or that is not known."""
    names = SETTINGS.get(facts.engine, {}).get(kind)
    if names is None:
        raise Missing(kind, f"{facts.engine} has no setting for it")
    if kind == classes.BINLOG and not facts.setting("log_bin").on:
        raise Missing(kind, "there is none: log_bin is off")
    told = tuple(facts.setting(name) for name in names)
    on = sum(is_on(fact) for fact in told)
    return Told(YES if on == len(told) else NO if on == 0 else PARTLY, told)


def by_catalogue(facts: Facts, kind: str) -> Told:
    """Of tablespaces. Missing if it has none of this class, or shows none."""
    table = facts.table("tablespaces")
    rows = [row for row in table.rows if row["class"] == kind]
    if not rows:
        raise Missing(kind, "the catalogue lists none")
    counts: dict[str, int] = {}
    for row in rows:
        counts[str(row["encryption"])] = counts.get(str(row["encryption"]), 0) + int(row["spaces"])
    words = {"Y": "encrypted", "N": "not encrypted", "partly": "partly encrypted"}
    said = ", ".join(f"{n:,} {words.get(name, name)}" for name, n in sorted(counts.items()))
    state = PARTLY if len(counts) > 1 else {"Y": YES, "N": NO}.get(next(iter(counts)), PARTLY)
    return Told(state, (Fact(kind, said, table.place),))


def encrypted_tables(facts: Facts) -> int:
    """How many tables are encrypted, in part too. Missing if the catalogue is hidden."""
    table = facts.table("tablespaces")
    rows = [row for row in table.rows if row["class"] == classes.TABLES]
    return sum(int(row["spaces"]) for row in rows if row["encryption"] != "N")


def meant(facts: Facts) -> Fact | None:
    """What shows that data here is meant to be encrypted: tables that are, or the default for new
    ones. None: nothing is. Missing if neither is known."""
    default = facts.get(f"setting.{DEFAULT[facts.engine]}") if facts.engine in DEFAULT else None
    if default is not None and is_on(default):
        return default
    if not facts.is_server and default is not None:
        return None
    count = encrypted_tables(facts)
    if not count:
        return None
    return Fact("encrypted tables", count, facts.table("tablespaces").place)
