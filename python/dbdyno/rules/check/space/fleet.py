"""All files of a directory together: extents that are kept free in small files, and holes.

A file grows by pages up to 592 KiB (one index), then to 2 MiB, then to 9 MiB: the server keeps
seven extents of 1 MiB free, however small the table (model `innodb-growth`). 100,000 tables of 1
MiB of rows can so take 900 GB.
"""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.facts.fact import Facts
from dbdyno.rules.check.rule import Found, Rule, edits
from dbdyno.wording.numbers import percent, size

LEAST, SHARE, MUCH = 1 << 30, 0.3, 100 << 30
HOLES, HOLES_LEAST = 0.2, 1 << 30
JUMP = 9 << 20
_NOTHING = edits("Nothing to undo: nothing was changed.")


def _kept(facts: Facts) -> Iterator[Found]:
    kept, files, used = (
        facts.fact(f"space.{name}") for name in ("kept_bytes", "kept_files", "kept_used_bytes")
    )
    small, all_of_it = facts.fact("space.jump_files"), facts.fact("space.apparent_bytes")
    if kept.number < LEAST or kept.number < SHARE * all_of_it.number:
        return
    yield Found(
        what=f"{files.number:,.0f} small files keep {size(kept.number)} of extents free, with"
        f" {size(used.number)} in use",
        evidence=(kept, files, used, small, all_of_it),
        effect=f"{percent(kept.number / all_of_it.number)} of all files' length;"
        f" {small.number:,.0f} smaller files grow to 9 MiB each once they pass 592 KiB:"
        f" {size(small.number * JUMP)}",
        fix=edits(
            "Have fewer, larger tables: one table with a column for the tenant or day instead of a"
            " table each; of MySQL also a general tablespace for many small tables.",
            "OPTIMIZE TABLE does not help: MySQL's new file has these extents again at once,"
            " MariaDB's with the first rows that change.",
        ),
        undo=edits("Move the rows back into tables of their own."),
        severity="medium" if kept.number >= MUCH else "low",
    )


def _holes(facts: Facts) -> Iterator[Found]:
    long, taken = facts.fact("space.apparent_bytes"), facts.fact("space.allocated_bytes")
    saved = long.number - taken.number
    if saved < HOLES_LEAST or saved < HOLES * long.number:
        return
    yield Found(
        what=f"files of {size(long.number)} take {size(taken.number)} on disk",
        evidence=(long, taken, facts.fact("space.files")),
        effect=f"{size(saved)} less than `ls` and information_schema say: sparse files, page"
        " compression or a file system that compresses; a copy without them needs it all",
        fix=edits("Plan capacity by what is allocated (du), and copies by the length (du --apparent"
                  "-size); copy with cp --sparse=always, rsync --sparse."),
        undo=_NOTHING,
    )  # fmt: skip


RULES = (
    Rule(
        id="innodb-small-files-kept-extents",
        pack="space",
        title="Many small files, mostly kept free",
        about="Free extents in files of at most 32 extents that add up to 1 GiB and 30 % of all"
        " files' length; medium from 100 GiB on.",
        severity="low",
        applies=("mysql", "mariadb"),
        sources=("directory",),
        needs=("tablespaces", "space.kept_bytes"),
        judge=_kept,
        source="https://dev.mysql.com/doc/refman/8.4/en/innodb-file-space.html",
        proof="dyno model innodb-growth: the file's size by rows",
    ),
    Rule(
        id="innodb-length-is-not-allocated",
        pack="space",
        title="Files are longer than what they take on disk",
        about="At least 1 GiB and 20 % of the files' length is not allocated: sizes by length"
        " mislead in both directions.",
        severity="info",
        applies=("mysql", "mariadb"),
        sources=("directory",),
        needs=("tablespaces", "space.apparent_bytes"),
        judge=_holes,
        source="https://man7.org/linux/man-pages/man1/du.1.html",
    ),
)  # fmt: skip
