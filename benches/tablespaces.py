"""InnoDB's data files: our reader against the server's own `innochecksum`, on one file of each.

The file is in the page cache, and both verify every page of it; ours also adds up indexes, extents
and segments. Rates are GB of the file a CPU second, start to exit.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import cast

from pairs import alternate
from servers import server
from sides import run

from dbdyno import systems
from dbdyno.execute.engine import job
from dbdyno.execute.engine.request import DATABASE
from dbdyno.systems.mysql.managed import MysqlServer

GB = 1e9
BATCH = 100_000

Row = str
Options = argparse.Namespace


def tablespace(options: Options) -> list[Row]:
    """Reading a data file, one core, from the page cache."""
    return [_measured(kind, options) for kind in ("mariadb", "mysql")]


def _measured(kind: str, options: Options) -> Row:
    binaries = systems.load(kind).find(None)
    peer = _innochecksum(binaries.paths["server"])
    with tempfile.TemporaryDirectory(prefix="dyno-bench-") as directory:
        path = Path(directory) / "t.ibd"
        with server(kind) as bench:  # MySQL's innochecksum refuses a file that a server has open
            shutil.copy(
                _filled(cast("MysqlServer", bench.server), kind, options.tablespace_mb), path
            )
        size = path.stat().st_size
        run([*peer, path])  # pages come into the page cache
        pairs = alternate(
            f"tablespace {kind}",
            partial(_gb_s, [job.find(), "tablespace", path], size),
            partial(_gb_s, [*peer, path], size),
            options.pairs,
        )
    return (
        f"| data file of {kind} {binaries.version} ({size / GB:.2f} GB) from the page cache, one"
        " core,"
        f" against its `innochecksum` | {pairs.row('GB/s')} | >= 1 GB/s |"
    )


def _gb_s(command: list[str | Path], size: int) -> float:
    return size / GB / run(command).cpu_s


def _innochecksum(server_program: Path) -> list[str | Path]:
    """That of the server's own package. In a prefix, it needs the C library of that prefix."""
    usr = server_program.parents[1]
    library = usr / "lib" / "x86_64-linux-gnu"
    program = usr / "bin" / "innochecksum"
    if not program.exists():
        sys.exit(f"{program} is not installed: run `make servers`")
    if not (loader := library / "ld-linux-x86-64.so.2").exists():
        return [program]
    return [loader, "--library-path", f"{library}:{usr / 'lib' / 'mysql' / 'private'}", program]


def _filled(server: MysqlServer, kind: str, megabytes: int) -> Path:
    """The file of a table with an index, of about so many MB, with all its pages written."""
    limit = "cte_max_recursion_depth" if kind == "mysql" else "max_recursive_iterations"
    server.rows(
        f"CREATE TABLE {DATABASE}.t (id INT PRIMARY KEY, a INT, s CHAR(200) CHARSET latin1, KEY"
        " (a))"
    )
    server.rows(f"SET SESSION {limit} = {BATCH + 1}")
    for first in range(0, megabytes * 4000, BATCH):  # 250 bytes a row, both indexes together
        server.rows(
            f"INSERT INTO {DATABASE}.t WITH RECURSIVE n AS (SELECT {first} i UNION ALL SELECT i + 1"
            f" FROM n WHERE i < {first + BATCH - 1})"
            " SELECT i, i * 31 % 1000003, SHA2(i, 256) FROM n"
        )
    server.rows(f"FLUSH TABLES {DATABASE}.t FOR EXPORT")
    server.rows("UNLOCK TABLES")
    ((directory,),) = server.rows("SELECT @@datadir")
    return Path(str(directory)) / DATABASE / "t.ibd"
