"""What the files of a data directory show: mixed classes, files that are not what they say, keys in
logs, and a value that was written and found again.

Sources: the manuals' pages on data-at-rest encryption; of file formats, `facts.at_rest.headers`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dbdyno.facts.at_rest import classes
from dbdyno.facts.at_rest.headers import ENCRYPTED, PLAIN, UNKNOWN
from dbdyno.facts.at_rest.tablespaces import PARTLY
from dbdyno.facts.fact import Fact, Facts, Table
from dbdyno.rules.check.rule import Found, Rule, edits
from dbdyno.wording.plurals import count

_MYSQL = "https://dev.mysql.com/doc/refman/8.4/en/"
_BOTH = ("mysql", "mariadb")
_SETTINGS = {
    classes.REDO: "innodb_redo_log_encrypt = ON (MySQL), innodb_encrypt_log = ON and a restart"
    " (MariaDB)",
    classes.UNDO: "innodb_undo_log_encrypt = ON (MySQL), innodb_encrypt_tables = ON (MariaDB)",
    classes.BINLOG: "binlog_encryption = ON (MySQL), encrypt_binlog = ON and a restart (MariaDB);"
    " then FLUSH BINARY LOGS, and PURGE BINARY LOGS of the old files once no replica and no"
    " restore to"
    " a point in time needs them",
    classes.OTHER: "aria_encrypt_tables = ON (MariaDB), or tables of InnoDB",
}
_SEVERITY = {classes.BINLOG: "high", classes.OTHER: "low"}
Row = Mapping[str, Any]


def _of(table: Table, kind: str, *states: str) -> list[Row]:
    return [row for row in table.rows if row["class"] == kind and row["state"] in states]


def _evidence(table: Table, rows: Sequence[Row]) -> tuple[Fact, ...]:
    return tuple(table.fact(row, "how", str(row["path"])) for row in rows[:5])


def _mixed(facts: Facts) -> Iterator[Found]:
    """One finding a class: tables are encrypted, its files are plain."""
    table = facts.table("at_rest")
    encrypted = _of(table, classes.TABLES, ENCRYPTED, PARTLY)
    if not encrypted:
        return
    for kind, how in _SETTINGS.items():
        plain = _of(table, kind, PLAIN)
        if not plain:
            continue
        size = sum(int(row["bytes"]) for row in plain)
        yield Found(
            what=f"{count(len(encrypted), 'file')} of tables encrypted, and"
            f" {count(len(plain), 'file')} of the class {kind} plain",
            evidence=(*_evidence(table, plain), *_evidence(table, encrypted[:1])),
            effect=f"{size:,} bytes in files that are not encrypted, which get rows of encrypted"
            " tables"
            if kind != classes.OTHER
            else f"{size:,} bytes in files that are not encrypted",
            fix=edits(f"{how}."),
            undo=edits("Set it off again; what is encrypted stays so until it is rewritten."),
            about=kind,
            severity=_SEVERITY.get(kind, "medium"),
        )


def _not_as_said(facts: Facts) -> Iterator[Found]:
    table = facts.table("at_rest")
    partly = [row for row in table.rows if row["state"] == PARTLY]
    # A header that says encrypted, and a content that is readable.
    partly += [row for row in table.rows if row["state"] == UNKNOWN and "; but " in row["how"]]
    if partly:
        yield Found(
            what=f"{count(len(partly), 'file')} encrypted in part, such as {partly[0]['path']}",
            evidence=_evidence(table, partly),
            effect="what was written before the encryption began is readable until each page is"
            " written again",
            fix=edits(
                "MariaDB: innodb_encryption_threads = 4, until MIN_KEY_VERSION is not 0 in"
                " INNODB_TABLESPACES_ENCRYPTION. Else rebuild: ALTER TABLE ... FORCE, which needs"
                " the"
                " table's size on disk again."
            ),
            undo=edits("Nothing to undo."),
            about="partly",
        )


def _leaks(facts: Facts) -> Iterator[Found]:
    table, total = facts.table("key_leaks"), facts.fact("log.key_leaks")
    if not table.rows:
        return
    sorts = Counter(str(row["sort"]) for row in table.rows)
    said = ", ".join(f"{sort} ({n:,})" for sort, n in sorts.most_common())
    first = {str(row["sort"]): row for row in reversed(table.rows)}
    yield Found(
        what=f"{count(int(total.number), 'statement')} with secrets: {said}",
        evidence=tuple(table.fact(row, "sort", "secret") for row in first.values()),
        effect="each reader of the log, or of a copy, has the secret; encrypted columns are as"
        " safe as this file",
        fix=edits(
            "Regard the secret as known: make another, and encrypt or log in with that one.",
            "Remove the log and its copies, a binary log only once no replica and no restore needs"
            " it,"
            " and keep the key out of statements: encrypt in the"
            " application, or read the key into a user variable by a statement that is not logged.",
        ),
        undo=edits("Nothing to undo."),
        about="secrets",
    )


def _needle(facts: Facts) -> Iterator[Found]:
    """A value that dbdyno wrote and found again in the clear."""
    table, asked = facts.table("needle"), facts.fact("needle.table")
    if not table.rows:
        return
    counted = Counter(str(row["class"]) for row in table.rows)
    encrypted = asked.value == ENCRYPTED
    yield Found(
        what=f"a value written to a table that is {asked.value} lies in the clear in"
        f" {', '.join(f'{kind} ({n})' for kind, n in counted.items())}",
        evidence=(asked, *(table.fact(row, "class", "found") for row in table.rows[:10])),
        effect="each value of such a table is in these files likewise, for each of their readers",
        fix=edits(
            "Encrypt these classes too; see the matrix, and the other findings of this pack."
        ),
        undo=edits("Nothing to undo: the schema of the value is dropped."),
        about="needle",
        severity="high" if encrypted else "info",
    )


def _rule(id: str, title: str, about: str, severity: str, judge: Any, **more: Any) -> Rule:
    return Rule(
        id=id,
        pack="encryption",
        title=title,
        about=about,
        severity=severity,
        applies=more.get("applies", _BOTH),
        sources=more.get("sources", ("directory",)),
        needs=more["needs"],
        judge=judge,
        source=more["source"],
    )


RULES = (
    _rule(
        "innodb-files-mixed",
        "Encrypted tables with plain logs",
        "By the headers of files: tables are encrypted, and redo log, undo logs, binary logs or"
        " tables of other engines are not.",
        "medium",
        _mixed,
        needs=("at_rest",),
        source=_MYSQL + "innodb-data-encryption.html",
    ),
    _rule(
        "innodb-files-partly-encrypted",
        "Files that are encrypted in part",
        "Pages of both kinds in one file, or a header that says encrypted before readable content.",
        "medium",
        _not_as_said,
        needs=("at_rest",),
        source="https://mariadb.com/docs/server/security/encryption/data-at-rest-encryption/"
        "innodb-encryption/innodb-background-encryption-threads",
    ),
    _rule(
        "mysql-keys-in-logs",
        "Keys and passwords in a log",
        "A literal key of AES_ENCRYPT, pgp_sym_encrypt and their like, or the password of an"
        " account or a source of replication, in a general, slow or binary log or in PostgreSQL's."
        " The finding has places, never the text. MySQL masks the passwords of accounts in its"
        " logs, and no argument of a function.",
        "high",
        _leaks,
        applies=("linux", "mysql", "mariadb", "postgres"),
        sources=("log", "directory"),
        needs=("key_leaks", "log.key_leaks"),
        source=_MYSQL + "password-logging.html",
    ),
    _rule(
        "mysql-needle-in-the-clear",
        "A value that was written is readable in files",
        "With --write-needle: dbdyno writes a random value into a schema of its own and looks for"
        " it in the files. High if the table is encrypted, else what is to be expected.",
        "high",
        _needle,
        needs=("needle", "needle.table"),
        source=_MYSQL + "innodb-data-encryption.html",
    ),
)
