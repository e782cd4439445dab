"""`setup:` of a target: what is put into dbdyno's schema before any load.

Paths are relative to the experiment's file. What they lead to is hashed when the experiment is
read, so that a changed dump is another data set. A dump is hashed whole; of a template (a data
directory, which may be huge) names, sizes and times of change of its files are.
"""

from __future__ import annotations

import functools
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from dbdyno.errors import DynoError
from dbdyno.experiment.file.document import Node
from dbdyno.experiment.file.names import did_you_mean
from dbdyno.experiment.types import Setup
from dbdyno.experiment.values.generators import generator
from dbdyno.experiment.values.scalars import Strict, Whole
from dbdyno.experiment.values.unions import Short

SQL_NAME = r"^[A-Za-z_][A-Za-z0-9_]{0,62}$"
ROWS_MAX = 100_000_000_000
COLUMNS_MAX = 1000
TABLES_MAX = 1000
FILES_MAX = 100
TEMPLATE_FILES_MAX = 1_000_000
COLUMN_BYTES = 12  # of a column on disk with its share of the row's head, about
INDEX_BYTES = 24  # of an entry of an index

Name = Annotated[str, Field(pattern=SQL_NAME)]
Statement = Annotated[str, Field(min_length=1)]

ColumnModel: Any = generator(
    "Column",
    leave_out=("column", "sum"),
    type=(str, Field(min_length=1, description="SQL type of the system")),
    key=(Literal["primary"] | None, Field(None, description="primary: part of the primary key")),
    null=(
        bool | None,
        Field(
            None,
            description="whether the column is nullable; default: if its generator makes NULLs",
        ),
    ),
    by=(
        str | None,
        Field(
            None,
            description="of a histogram: column declared before, also with a histogram, by whose "
            "position (the share of its distribution below) this one's is drawn",
        ),
    ),
    spread=(
        float | None,
        Field(
            None,
            ge=0,
            le=1,
            description="of a histogram: greatest distance from the position of `by`, or of the "
            "row in the table; 0: the same, 1: not correlated",
        ),
    ),
    descending=(
        bool | None,
        Field(None, description="of a histogram: high where `by`, or the row's number, is low"),
    ),
    determined=(
        bool | None,
        Field(None, description="of a histogram: rows with the same value in `by` have the same"),
    ),
    numbered=(
        str | None,
        Field(
            None,
            description="of a histogram: number the rows that have the same value in this column "
            "(`spread: 0`, no `by`), from the first value on, or from one in the first `spread` of "
            "all values: pairs are unique",
        ),
    ),
)
POSITIONS = ("by", "spread", "descending", "determined", "numbered")


class Index(Strict):
    """An index of a declared table."""

    columns: list[Name] = Field(min_length=1, description="columns in index order")
    unique: bool = Field(False, description="whether the index is unique")


class Table(Strict):
    """A declared table, filled by the engine."""

    rows: Whole = Field(ge=0, le=ROWS_MAX, description="number of rows")
    columns: dict[Name, ColumnModel] = Field(
        min_length=1,
        max_length=COLUMNS_MAX,
        description="columns by name, with a type and a generator",
    )
    existing: bool | None = Field(
        None, description="whether `dump` or `sql` has made the table, which is still empty"
    )
    indexes: list[Annotated[Index, Short("columns", list)]] = Field(
        [], description="indexes, created after the rows; a list of columns, or a mapping"
    )


class DataSetup(Strict):
    """Data of a target before any load, in this order."""

    template: str | None = Field(
        None, description="data directory of a stopped server (sqlite: database file) to copy"
    )
    schema_: Name | None = Field(
        None,
        alias="schema",
        description="schema of the template to use; default: the only one",
    )
    dump: str | None = Field(None, description="SQL dump, optionally .gz or .zst")
    sql: list[str] = Field([], max_length=FILES_MAX, description="SQL files, in order")
    tables: dict[Name, Table] = Field(
        {}, max_length=TABLES_MAX, description="tables to create and fill"
    )
    after: list[Statement] = Field([], description="statements to run after all rows are loaded")


def typed(model: DataSetup | None, node: Node, base: Path) -> Setup | None:
    """The setup with absolute paths and what they hold, or None if it is empty. `node` is where it
    was written, `base` the experiment's directory. DynoError for what is not there."""
    if model is None:
        return None
    if model.schema_ is not None and model.template is None:
        raise DynoError(
            "`setup` has a `schema` but no `template` that it could be in",
            where=node.mapping["schema"].place,
            cause="any other `setup:` goes into a schema of dbdyno's own",
            fix="remove it, or give the `template`",
        )
    tables = {name: each.model_dump(exclude_none=True) for name, each in model.tables.items()}
    for name, table in tables.items():
        _check_table(name, table, node.mapping["tables"].mapping[name])
    hashes: dict[str, str] = {}
    template = _template(model, node, base, hashes)
    dump = _sql_file(model.dump, node.mapping.get("dump"), base, hashes)
    files = [
        _sql_file(text, place, base, hashes)
        for text, place in zip(
            model.sql, node.mapping["sql"].items if model.sql else (), strict=True
        )
    ]
    found = Setup(
        template=template,
        schema=model.schema_,
        dump=dump,
        sql=tuple(file for file in files if file is not None),
        tables=tables,
        after=tuple(model.after),
        hashes=hashes,
    )
    return None if found == Setup() else found


def changed(setup: Setup) -> str | None:
    """The first path whose content is not what it was when the experiment was read."""
    for path, digest in setup.hashes.items():
        try:
            if _digest(Path(path)) != digest:
                return path
        except OSError:
            return path
    return None


def _check_table(name: str, table: Mapping[str, Any], node: Node) -> None:
    columns = table["columns"]
    for column, options in columns.items():
        if options.get("key") and (options.get("null") or options.get("nulls")):
            raise DynoError(
                f"table `{name}`: column `{column}` of the primary key cannot be NULL",
                where=node.mapping["columns"].mapping[column].place,
                fix="remove `null`, `nulls` or `key`",
            )
    _check_positions(name, columns, node.mapping["columns"])
    if table.get("existing") and table["indexes"]:
        raise DynoError(
            f"table `{name}` exists: its indexes are those of its SQL",
            where=node.mapping["indexes"].where,
            fix="write them under `after:`",
        )
    for number, index in enumerate(table["indexes"]):
        for column in index["columns"]:
            if column not in columns:
                raise DynoError(
                    f"table `{name}`: there is no column `{column}` for an index",
                    where=node.mapping["indexes"].items[number].where,
                    fix=did_you_mean(column, columns),
                )


def _check_positions(name: str, columns: Mapping[str, Any], node: Node) -> None:
    before: list[str] = []
    for column, options in columns.items():
        place = node.mapping[column]
        given = [key for key in POSITIONS if key in options]
        if given and "histogram" not in options:
            raise DynoError(
                f"table `{name}`: `{given[0]}` of column `{column}` needs a histogram",
                where=place.mapping[given[0]].place,
                fix="remove it, or give the column a `histogram`",
            )
        for key in ("by", "numbered"):
            if key in options and options[key] not in before:
                raise DynoError(
                    f"table `{name}`: no column `{options[key]}` with a histogram comes before"
                    f" `{column}`",
                    where=place.mapping[key].where,
                    fix=did_you_mean(str(options[key]), before),
                )
        if "histogram" in options:
            before.append(column)


def _template(model: DataSetup, node: Node, base: Path, hashes: dict[str, str]) -> str | None:
    if model.template is None:
        return None
    place = node.mapping["template"]
    path = _path(model.template, base)
    if not path.exists():
        raise _missing(path, place, "template")
    hashes[str(path)] = _read(path, place)
    return str(path)


def _sql_file(
    text: str | None, place: Node | None, base: Path, hashes: dict[str, str]
) -> str | None:
    if text is None or place is None:
        return None
    path = _path(text, base)
    if not path.exists():
        raise _missing(path, place, "file")
    if not path.is_file():
        raise DynoError(
            f"{path} is no file",
            where=place.where,
            cause="a dump in directory format, or a template",
            fix="dump in plain SQL; a data directory goes under `template:`",
        )
    with path.open("rb") as file:
        if file.read(5) == b"PGDMP":
            raise DynoError(
                f"{path} is a dump in PostgreSQL's custom format",
                where=place.where,
                fix="dump in plain SQL (`pg_dump -Fp`), or convert it: `pg_restore -f OUT FILE`",
            )
    hashes[str(path)] = _read(path, place)
    return str(path)


def _path(text: str, base: Path) -> Path:
    path = (base / Path(text).expanduser()).absolute()
    # The place of a file that is not written yet has no links to follow.
    return path if base.exists() else Path(os.path.normpath(path))


def _missing(path: Path, place: Node, what: str) -> DynoError:
    near = sorted(each.name for each in path.parent.iterdir()) if path.parent.is_dir() else []
    return DynoError(
        f"there is no {what} {path}",
        where=place.where,
        cause="paths are relative to the experiment's file",
        fix=did_you_mean(path.name, near[:1000]) if near else f"{path.parent} is missing, too",
    )


def _read(path: Path, place: Node) -> str:
    try:
        return _digest(path)
    except OSError as error:
        raise DynoError(
            f"{error.filename or path} cannot be read: {error.strerror}",
            where=place.where,
            fix="check its permissions",
        ) from None


def _digest(path: Path) -> str:
    if path.is_dir():
        return _digest_of_tree(path)
    info = path.stat()
    return _digest_of_file(path, info.st_size, info.st_mtime_ns, info.st_ino)


@functools.lru_cache(maxsize=256)
def _digest_of_file(path: Path, size_bytes: int, changed_ns: int, inode: int) -> str:
    """SHA-256 of a file; read once as long as it stays the same (each cell asks)."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest_of_tree(root: Path) -> str:
    digest = hashlib.sha256()
    for count, (name, info) in enumerate(_files(root)):
        if count >= TEMPLATE_FILES_MAX:
            raise OSError(0, f"more than {TEMPLATE_FILES_MAX} files", str(root))
        facts = (name, info.st_size, info.st_mtime_ns) if stat.S_ISREG(info.st_mode) else (name,)
        digest.update(repr(facts).encode())
    return digest.hexdigest()


def _files(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Everything below, in a fixed order."""
    for directory, inner, names in os.walk(root, onerror=_raise):
        inner.sort()
        for name in sorted([*names, *inner]):
            path = os.path.join(directory, name)
            yield os.path.relpath(path, root), os.lstat(path)


def _raise(error: OSError) -> None:
    raise error


def tables_bytes(tables: Mapping[str, Any]) -> int:
    """About how large declared tables are on disk, bytes."""
    total = 0
    for table in tables.values():
        row = sum(
            COLUMN_BYTES + len(str(column.get("text", ""))) for column in table["columns"].values()
        )
        total += table["rows"] * (row + INDEX_BYTES * len(table.get("indexes", ())))
    return int(total)


def files_bytes(setup: Setup) -> int:
    """About how large what files and template bring is on disk, bytes: packed SQL grows."""
    total = 0
    for path in (setup.template, setup.dump, *setup.sql):
        if path is None:
            continue
        try:
            packed = 5 if path.endswith((".gz", ".zst")) else 1
            place = Path(path)
            sizes = [info.st_size for _, info in _files(place)] if place.is_dir() else []
            total += sum(sizes) if sizes else place.stat().st_size * packed
        except OSError:  # gone meanwhile: execution reports it
            continue
    return total
