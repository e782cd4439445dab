"""Pages that do not verify, and pages from the future.

A running server may be writing a page while it is read: such pages are read again three times
first. After a crash pages may be torn until the server starts: recovery repairs them from the
doublewrite buffer. Pages of temporary tables are written late or never, and are not judged.

Sources: the MySQL manual, "Forcing InnoDB Recovery", "Doublewrite Buffer" and "innochecksum"; the
error message "page log sequence number is in the future".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dbdyno.facts.fact import Fact, Facts, Missing
from dbdyno.facts.innodb.tablespaces import NO_TABLESPACE, UNREAD
from dbdyno.rules.check.rule import Found, Rule, edits
from dbdyno.wording.numbers import size
from dbdyno.wording.plurals import count

_RECOVERY = "https://dev.mysql.com/doc/refman/8.4/en/forcing-innodb-recovery.html"
_MEND = edits(
    "If the server was not shut down cleanly, start it and check again: recovery repairs"
    " pages from the doublewrite buffer.",
    "Else keep a copy of the file, test disk and memory, and restore the table from a backup or"
    " a replica. Do not rebuild it: the server may end when it reads such a page.",
    "Without a backup: on a copy of the data directory, start with innodb_force_recovery = 1, dump"
    " the"
    " table and drop it; then start without, and load it. Rows of the damaged pages are lost. From"
    " 4 on"
    " the option itself can damage files.",
)
_TEMPORARY = re.compile(r"(^|/)ibtmp\d+$|\.ibt$")
_NOTHING = edits("Nothing to undo: nothing was changed.")


def _corrupt(facts: Facts) -> Iterator[Found]:
    damaged = [*_pages(facts), *_files(facts)]
    yield from damaged
    unread = facts.missing.get(UNREAD)
    if unread and not damaged:
        raise Missing(UNREAD, unread)


def _pages(facts: Facts) -> Iterator[Found]:
    table = facts.table("tablespaces")
    for row in table.rows:
        pages = int(row["corrupt_pages"])
        if pages and row["kind"] != "temporary":
            yield _found(
                row,
                f"{row['path']}: {count(pages, 'page')} damaged: {row['corrupt_listed']}",
                (table.fact(row, "corrupt_pages"), table.fact(row, "corrupt_listed")),
                f"{size(pages * int(row['page_bytes']))} cannot be read; a statement or backup that"
                " needs such a page fails, or the server ends",
            )


def _files(facts: Facts) -> Iterator[Found]:
    table = facts.table("skipped_files")
    for row in table.rows:
        is_temporary = _TEMPORARY.search(str(row["path"])) is not None
        if str(row["reason"]).startswith(NO_TABLESPACE) and not is_temporary:
            yield _found(
                row,
                f"{row['path']} {row['reason']}",
                (table.fact(row, "reason"),),
                "the server cannot open the table, if the file is one of its own",
            )


def _found(row: Mapping[str, Any], what: str, evidence: Sequence[Fact], effect: str) -> Found:
    return Found(
        what=what,
        evidence=evidence,
        effect=effect,
        fix=_MEND,
        undo=_NOTHING,
        about=str(row["path"]),
    )


def _future(facts: Facts) -> Iterator[Found]:
    most, ahead = facts.fact("space.most_lsn"), facts.fact("space.files_ahead")
    if not ahead.number:
        return
    table = facts.table("tablespaces")
    rows = sorted(table.rows, key=lambda row: -int(row["lsn"]))
    first = rows[0]
    yield Found(
        what=f"{count(int(ahead.number), 'file')} with pages newer than the redo log, such as"
        f" {first['path']}: LSN {first['lsn']}, and the log ends before {most.text}",
        evidence=(
            Fact("page LSN", first["lsn"], str(first["place"])),
            most,
            ahead,
        ),
        effect="after a crash the log does not know these pages' last changes: rows are lost or"
        " indexes contradict each other",
        fix=edits(
            "Find out how the files came here: copied from another server, a lost or exchanged redo"
            " log, or a backup that was not prepared.",
            "Restore a whole backup, with its redo log; or dump all tables and load them into a new"
            " data directory.",
        ),
        undo=_NOTHING,
        about=str(first["path"]),
    )  # fmt: skip


RULES = (
    Rule(
        id="innodb-pages-corrupt",
        pack="space",
        title="Damaged pages",
        about="Pages whose checksum, number, tablespace or end does not verify, also when read"
        " again; and files with a tablespace's name of which no page verifies.",
        severity="critical",
        applies=("mysql", "mariadb"),
        sources=("directory",),
        needs=("tablespaces", "skipped_files"),
        judge=_corrupt,
        source=_RECOVERY,
    ),
    Rule(
        id="innodb-lsn-in-future",
        pack="space",
        title="Pages newer than the redo log",
        about="A page's LSN above the highest that the redo log can have reached (its last"
        " checkpoint and its size): the log is not the one that these pages were written with.",
        severity="critical",
        applies=("mysql", "mariadb"),
        sources=("directory",),
        needs=("tablespaces", "space.most_lsn", "space.files_ahead"),
        judge=_future,
        source=_RECOVERY,
    ),
)
