"""Tables of a private MySQL or MariaDB in all formats, their files after a clean shutdown, and what
the server said of them before."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mysql_load import PRODUCTS, product_bench
from private_servers import Bench, binaries

from dbdyno import installed
from needed import missing

SETTINGS = {"innodb_flush_log_at_trx_commit": "0", "innodb_buffer_pool_size": "128M"}
COLUMNS = "id INT PRIMARY KEY, a INT, s VARCHAR(120), t TEXT, KEY a (a), KEY s (s)"
DATABASE = "d"
ROWS = 4000
# MariaDB's and MySQL's `innochecksum -S` -> the types of ours that it counts as one.
SUMMARY: Mapping[str, tuple[str, ...]] = {
    "Index page": ("index", "spatial_index", "instant_index_root"),
    "SDI Index page": ("sdi",),
    "Undo log page": ("undo_log",),
    "Inode page": ("inode",),
    "Insert buffer bitmap": ("ibuf_bitmap",),
    "Freshly allocated page": ("allocated",),
    "System page": ("system",),
    "File Space Header": ("space_header",),
    "Extent descriptor page": ("extent_descriptors",),
    "BLOB page": ("blob",),
    "Compressed BLOB page": ("compressed_blob_first", "compressed_blob"),
    "Other type of page": (
        *("lob_first", "lob_data", "lob_index", "rollback_segment_array", "page_compressed"),
    ),
}


def document(*paths: Path) -> tuple[int, dict[str, dict[str, Any]]]:
    """Exit code and, by name of the file, what the engine says of files and directories."""
    done = subprocess.run(
        [installed.find(), "tablespace", *paths], capture_output=True, text=True, timeout=240
    )
    assert done.stderr == ""
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[-1]["event"] == "end"
    found = [one["tablespace"] for one in events if one["event"] == "tablespace"]
    return done.returncode, {Path(one["path"]).name: one for one in found}


@dataclass(frozen=True)
class Facts:
    """What the server says, by name of the table."""

    directory: Path
    product: str
    tables: Mapping[str, tuple[int, int, int, int]]  # DATA_LENGTH, INDEX_LENGTH, DATA_FREE, rows
    # Table -> name of an index -> identifier, root page, reserved pages, used leaf pages.
    indexes: Mapping[str, Mapping[str, tuple[int, int, int, int]]]
    spaces: Mapping[str, int]

    def program(self, name: str) -> list[str]:
        """A program of the same server's package."""
        if self.product == "mysql-9":
            return _of_mysql(name)
        found = shutil.which(name) or missing(f"{name} is not installed: run `make servers`")
        return [found]


def _of_mysql(name: str) -> list[str]:
    """In the prefix, MySQL's programs need the C library that was installed with its server."""
    usr = binaries("mysql").paths["server"].parents[1]
    library = usr / "lib" / "x86_64-linux-gnu"
    program = str(usr / "bin" / name)
    if not (loader := library / "ld-linux-x86-64.so.2").exists():
        return [program]
    places = f"{library}:{usr / 'lib' / 'mysql' / 'private'}"
    return [str(loader), "--library-path", places, program]


def rows_of(kind: str, table: str, *, upto: int = ROWS) -> list[str]:
    """Statements that fill a table, some columns with pages of their own, then thin it."""
    counted = f"WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < {upto})"
    limit = "cte_max_recursion_depth" if kind == "mysql" else "max_recursive_iterations"
    return [
        f"SET SESSION {limit} = {upto + 1}",
        f"INSERT INTO {table} {counted} SELECT i * 7919 % 1000003, i * 31 % 100003,"
        " REPEAT(SHA2(i, 256), 1), IF(i % 200 = 0, REPEAT(SHA2(i, 256), 300), 'x') FROM n",
        f"DELETE FROM {table} WHERE id % 5 < 2",
    ]


def tables(kind: str) -> dict[str, str]:
    """Options of each table, by its name."""
    page_compressed = "COMPRESSION = 'zlib'" if kind == "mysql" else "PAGE_COMPRESSED = 1"
    all_tables = {
        "dynamic": "ROW_FORMAT = DYNAMIC",
        "compact": "ROW_FORMAT = COMPACT",
        "redundant": "ROW_FORMAT = REDUNDANT",
        "compressed": "ROW_FORMAT = COMPRESSED KEY_BLOCK_SIZE = 8",
        "paged": page_compressed,
        "parted": "PARTITION BY HASH (id) PARTITIONS 2",
    }
    return all_tables | ({"shared": "TABLESPACE gen"} if kind == "mysql" else {})


@contextmanager
def stopped(product: str) -> Iterator[Facts]:
    """A data directory of a product with filled tables, shut down with nothing left to purge."""
    kind = PRODUCTS[product][0]
    with product_bench(product, SETTINGS) as made:
        server = made.start()
        try:
            server.rows(f"CREATE DATABASE {DATABASE}")
            if kind == "mysql":
                server.rows("CREATE TABLESPACE gen ADD DATAFILE 'gen.ibd'")
            for name, options in tables(kind).items():
                charset = "" if "PARTITION" in options else "CHARSET latin1 "
                server.rows(f"CREATE TABLE {name} ({COLUMNS}) {charset}{options}", DATABASE)
                for statement in rows_of(kind, name):
                    server.rows(statement, DATABASE)
            server.rows("CREATE TABLE vacant (id INT PRIMARY KEY)", DATABASE)
            server.rows("SET GLOBAL innodb_fast_shutdown = 0")
        finally:
            server.stop()
        server = made.start()
        try:
            facts = _facts(server, data_of(made), product)
            server.rows("SET GLOBAL innodb_fast_shutdown = 0")
        finally:
            server.stop()
        yield facts


def data_of(made: Bench) -> Path:
    """The server's data directory."""
    return next(made.directory.rglob("ibdata1")).parent


def _facts(server: Any, directory: Path, product: str) -> Facts:
    is_mysql = PRODUCTS[product][0] == "mysql"
    if is_mysql:
        server.rows("SET SESSION information_schema_stats_expiry = 0")
    names = [name for (name,) in server.rows(f"SHOW TABLES FROM {DATABASE}")]
    for name in names:
        server.rows(f"ANALYZE TABLE {name}", DATABASE)
    sizes = server.rows(
        "SELECT table_name, data_length, index_length, data_free FROM information_schema.tables"
        f" WHERE table_schema = '{DATABASE}'"
    )
    counts = {name: server.rows(f"SELECT COUNT(*) FROM {name}", DATABASE)[0][0] for name in names}
    part = "" if is_mysql else "SYS_"
    found = server.rows(
        "SELECT t.name, t.space, i.name, i.index_id, i.page_no"
        f" FROM information_schema.INNODB_{part}TABLES t"
        f" JOIN information_schema.INNODB_{part}INDEXES i USING (table_id)"
        f" WHERE t.name LIKE '{DATABASE}/%'"
    )
    stats = {
        (str(table).lower(), str(index), str(stat)): int(value)
        for table, index, stat, value in server.rows(
            "SELECT table_name, index_name, stat_name, stat_value FROM mysql.innodb_index_stats"
            f" WHERE database_name = '{DATABASE}' AND stat_name IN ('size', 'n_leaf_pages')"
        )
    }
    indexes: dict[str, dict[str, tuple[int, int, int, int]]] = {}
    spaces = {}
    for full, space, index, number, root in found:
        table, name = str(full).partition("/")[2], str(index)
        pages = (stats[table.lower(), name, "size"], stats[table.lower(), name, "n_leaf_pages"])
        indexes.setdefault(table, {})[name] = (int(number), int(root), *pages)
        spaces[table] = int(space)
    lengths = {str(name): (int(d), int(i), int(f), counts[name]) for name, d, i, f in sizes}
    return Facts(directory, product, lengths, indexes, spaces)


def summary(facts: Facts, file: Path) -> dict[str, int]:
    """Pages by type as `innochecksum` counts them."""
    lines = re.findall(r"^ +(\d+)\t(.+)$", _innochecksum(facts, file), re.MULTILINE)
    assert len(lines) > 10
    return {name: int(count) for count, name in lines if int(count)}


def index_summary(facts: Facts, file: Path) -> dict[int, tuple[int, ...]]:
    """By index, as `innochecksum` counts: pages, leaves, mean of records and of bytes a page."""
    text = _innochecksum(facts, file).partition("#bytes_per_page")[2].partition("index_id")[0]
    lines = [tuple(map(int, line.split())) for line in text.splitlines() if line.strip()]
    return {line[0]: line[1:] for line in lines}


def _innochecksum(facts: Facts, file: Path) -> str:
    command = [*facts.program("innochecksum"), "-S", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=240)
    return done.stdout


def ours(found: Mapping[str, Any]) -> dict[str, int]:
    """The same, of the engine's document."""
    pages = {one["type"]: one["pages"] for one in found["page_types"]}
    counted = {name: sum(pages.pop(kind, 0) for kind in kinds) for name, kinds in SUMMARY.items()}
    assert pages == {}
    return {name: count for name, count in counted.items() if count}


def lengths_of(indexes: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """Reserved pages of the clustered index, and of all others."""

    def reserved(index: Mapping[str, Any]) -> int:
        return sum(index[f"{which}_segment"]["reserved_pages"] for which in ("leaf", "upper"))

    clustered = sum(reserved(one) for one in indexes if one["is_clustered"])
    return clustered, sum(reserved(one) for one in indexes if not one["is_clustered"])
