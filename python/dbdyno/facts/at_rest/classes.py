"""The classes of data in a data directory of MySQL or MariaDB, by the names of files.

Sources: the two manuals' pages on InnoDB's tablespaces, redo logs and temporary tablespaces, on the
binary log and on Aria.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

TABLES, DICTIONARY, SYSTEM = "tables", "data dictionary", "system tablespace"
UNDO, REDO, DOUBLEWRITE = "undo log", "redo log", "doublewrite buffer"
BINLOG, TEMPORARY, OTHER = "binary log", "temporary tables", "tables of other engines"
ARIA_LOG, TEXT_LOG = "Aria log", "server logs"
SERVER_TABLES = "tables of the server"  # of the schemas mysql and sys, of any engine

TABLESPACES = (TABLES, SERVER_TABLES, DICTIONARY, SYSTEM, UNDO, TEMPORARY)
ALL = (*TABLESPACES, REDO, DOUBLEWRITE, BINLOG, OTHER, ARIA_LOG, TEXT_LOG)
_OF_SERVER = ("mysql", "sys", "performance_schema")

FILES_MAX = 2000  # of a directory
BINLOG_MAGIC = (b"\xfebin", b"\xfdbin")
_BY_NAME = (
    (SYSTEM, re.compile(r"ibdata\d+")),
    (DICTIONARY, re.compile(r"mysql\.ibd")),
    (UNDO, re.compile(r"undo_?\d+|.+\.ibu")),
    (TEMPORARY, re.compile(r"ibtmp\d+|.+\.ibt|#sql.+\.(?:ibd|MAD|MYD)")),
    (DOUBLEWRITE, re.compile(r"#ib_.+\.b?dblwr")),
    (REDO, re.compile(r"ib_logfile\d+|#ib_redo\d+")),
    (TEXT_LOG, re.compile(r"(?:general|slow)_log\.CSV")),
    (ARIA_LOG, re.compile(r"aria_log\.\d+")),
    (TABLES, re.compile(r".+\.ibd")),
    (OTHER, re.compile(r".+\.(?:MAD|MYD|CSV|ARZ)")),
    (TEXT_LOG, re.compile(r"(?!ddl_|tc\.).+\.(?:log|err)")),
)


def of(path: Path, head: bytes) -> str | None:
    """The class of a file, by its name and its first bytes; None: it holds no rows."""
    if head[:4] in BINLOG_MAGIC:
        return BINLOG
    kind = next((name for name, form in _BY_NAME if form.fullmatch(path.name)), None)
    is_of_server = kind in (TABLES, OTHER) and path.parent.name in _OF_SERVER
    return SERVER_TABLES if is_of_server else kind


def files(directory: Path, lacking: list[str]) -> Iterator[Path]:
    """Files of a data directory and of its schemas, without links. What cannot be listed goes to
    `lacking`."""
    try:
        inside = sorted(directory.iterdir())
    except OSError as error:
        lacking.append(f"{directory}: {error.strerror}")
        return
    for path in inside:
        if path.is_symlink():
            continue
        if path.is_dir():
            try:
                yield from sorted(one for one in path.iterdir() if _is_plain(one))
            except OSError as error:
                lacking.append(f"{path}: {error.strerror}")
        elif _is_plain(path):
            yield path


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()
