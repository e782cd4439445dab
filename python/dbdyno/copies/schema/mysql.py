"""Reads tables and views of MariaDB and MySQL, and their SQL from SHOW CREATE.

Sources: the manuals on SHOW CREATE TABLE, SHOW CREATE VIEW and INFORMATION_SCHEMA's TABLES,
COLUMNS, STATISTICS, KEY_COLUMN_USAGE, VIEWS, ROUTINES, TRIGGERS and EVENTS.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dbdyno.copies.schema import tables as of
from dbdyno.copies.schema.tables import (
    DOCUMENT,
    Check,
    Column,
    ForeignKey,
    Index,
    Schema,
    Table,
    View,
)
from dbdyno.copies.source import Refused, Source
from dbdyno.systems.mysql.control import text

ENGINES = ("innodb", "myisam", "aria", "rocksdb", "memory")
_STRING = r"'(?:''|\\.|[^'\\])*'"
_COMMENT = re.compile(rf" COMMENT[ =]{_STRING}|({_STRING}|`[^`]*`)", re.DOTALL)
_OPTIONS = re.compile(
    rf" (?:AUTO_INCREMENT=\d+|(?:DATA|INDEX) DIRECTORY={_STRING}|CONNECTION={_STRING}"
    rf"|`?ENCRYPT(?:ION|ED|ION_KEY_ID)`?=(?:{_STRING}|\w+)|/\*!\d+ TABLESPACE `[^`]*`[^*]*\*/)",
    re.IGNORECASE,
)
_INDEX = re.compile(r"\s*(?:UNIQUE |FULLTEXT |SPATIAL )?KEY `(?P<name>(?:[^`]|``)*)` ")
_FOREIGN = re.compile(r"\s*CONSTRAINT `(?P<name>(?:[^`]|``)*)` FOREIGN KEY ")
_CHECK = re.compile(
    r"\s*(?:CONSTRAINT `(?P<name>(?:[^`]|``)*)` )?CHECK \((?P<what>.*)\)"
    r"(?: /\*!\d+ NOT ENFORCED \*/)?$"
)
_INLINE_CHECK = re.compile(r" CHECK \((?P<what>(?!json_valid\().*)\)$")
_VIEW = re.compile(
    r"CREATE (?P<algorithm>ALGORITHM=\w+ )?(?:DEFINER=`(?:[^`]|``)*`@`(?:[^`]|``)*` )?"
    r"(?:SQL SECURITY \w+ )?(?P<rest>VIEW .*)",
    re.DOTALL,
)
_CHECK_OPTION = re.compile(r"\s+WITH (?:CASCADED |LOCAL )?CHECK OPTION\s*$", re.IGNORECASE)
_CALLED = re.compile(r"`((?:[^`]|``)+)`\(")
_FAMILIES = {
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "bigint", "year"), of.WHOLE),
    **dict.fromkeys(("float", "double"), of.FLOAT),
    **dict.fromkeys(("datetime", "timestamp"), of.TIME),
    **dict.fromkeys(("char", "varchar", "tinytext", "text", "mediumtext", "longtext"), of.TEXT),
    **dict.fromkeys(
        ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"), of.BINARY
    ),
    "decimal": of.DECIMAL,
    "date": of.DAY,
    "enum": of.ENUM,
    "json": of.JSON,
    "uuid": of.UUID,
}
# Types that LOAD DATA does not take as text, or not from bytes, and a made-up default of each.
STAND_INS = {"json": f"(_utf8mb4'{DOCUMENT}')", "bit": "b'0'"}
_LABEL = re.compile(r"'((?:[^']|'')*)'")
_OTHERS = {  # what they are, and where their names are
    "routines": "routine_name FROM information_schema.routines WHERE routine_schema",
    "triggers": "trigger_name FROM information_schema.triggers WHERE trigger_schema",
    "events": "event_name FROM information_schema.events WHERE event_schema",
}


def read(source: Source) -> Schema:
    """All tables with rows of their own. Refused if the catalogue is not readable."""
    schema = source.literal(source.schema)
    omitted: list[str] = []
    columns = _columns(source, schema)
    indexes, foreign = _indexes(source, schema), _foreign(source, schema, omitted)
    found: dict[str, Table] = {}
    for name, engine, rows in source.rows(
        "SELECT table_name, engine, table_rows FROM information_schema.tables WHERE table_schema ="
        f" {schema} AND table_type = 'BASE TABLE' ORDER BY table_name"
    ):
        table = text(name)
        if text(engine).lower() not in ENGINES:
            omitted.append(f"table `{table}`: its engine is {text(engine)}")
            continue
        create = text(source.rows(f"SHOW CREATE TABLE {source.table(table)}")[0][1])
        made, after, checks = _split(source, table, create, indexes[table])
        for column in (each for each in columns[table].values() if each.has_stand_in):
            made, back = _stand_in(source, table, made, column)
            after += back
        found[table] = Table(
            name=table,
            columns=columns[table],
            indexes=indexes[table],
            foreign=_with_sql(source, foreign[table], create),
            rows=int(rows or 0),
            create=made,
            after=after,
            checks=checks,
        )
    others = {what: _names(source, schema, where) for what, where in _OTHERS.items()}
    omitted += [said for what, names in others.items() if (said := of.not_copied(what, names))]
    return Schema(tables=found, views=_views(source, schema), omitted=omitted)


def _columns(source: Source, schema: str) -> dict[str, dict[str, Column]]:
    json = _json_checks(source, schema)
    found: dict[str, dict[str, Column]] = defaultdict(dict)
    for table, name, data, whole, length, scale, nullable, extra, generated in source.rows(
        "SELECT table_name, column_name, data_type, column_type, character_maximum_length,"
        " numeric_scale, is_nullable, extra, generation_expression FROM"
        f" information_schema.columns WHERE table_schema = {schema}"
        " ORDER BY table_name, ordinal_position"
    ):
        type_, of_table = text(data).lower(), text(table)
        family = _FAMILIES.get(type_, of.OTHER)
        if (of_table, text(name)) in json:
            family = of.JSON
        if text(whole).lower() == "tinyint(1)":
            family = of.BOOLEAN
        found[of_table][text(name)] = Column(
            name=text(name),
            type=text(whole),
            family=family,
            length=int(length) if length is not None else None,
            scale=int(scale or 0) if family == of.DECIMAL else 0,
            labels=[m[1].replace("''", "'") for m in _LABEL.finditer(text(whole))]
            if family == of.ENUM
            else (),
            is_nullable=text(nullable) == "YES",
            is_generated=bool(generated) or "INVISIBLE SYSTEM" in text(extra).upper(),
            has_stand_in=type_ in STAND_INS and not generated,
        )
    return found


def _json_checks(source: Source, schema: str) -> set[tuple[str, str]]:
    """Columns of the type that MariaDB calls JSON: a text with a check."""
    try:
        checks = source.rows(
            "SELECT table_name, check_clause FROM information_schema.check_constraints WHERE"
            f" constraint_schema = {schema} AND check_clause LIKE 'json_valid(%'"
        )
    except Refused:  # MySQL's has no such column, and a type of its own
        return set()
    return {(text(table), text(clause)[11:].strip("`)")) for table, clause in checks}


def _indexes(source: Source, schema: str) -> dict[str, list[Index]]:
    parts: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for table, index, *part in source.rows(
        "SELECT table_name, index_name, column_name, non_unique, sub_part, cardinality FROM"
        f" information_schema.statistics WHERE table_schema = {schema} AND index_type = 'BTREE'"
        " ORDER BY table_name, index_name, seq_in_index"
    ):
        parts[text(table), text(index)].append(part)
    found: dict[str, list[Index]] = defaultdict(list)
    for (table, name), members in parts.items():
        names = [text(column) if column is not None else None for column, *_ in members]
        plain = names[: names.index(None)] if None in names else names
        found[table].append(
            Index(
                name=name,
                columns=[each for each in plain if each is not None],
                is_unique=not members[0][1],
                is_primary=name == "PRIMARY",
                is_whole=None not in names and all(part is None for _, _, part, _ in members),
                prefixes=[int(each[3] or 0) for each in members],
            )
        )
    return found


def _foreign(source: Source, schema: str, omitted: list[str]) -> dict[str, list[ForeignKey]]:
    parts: dict[tuple[str, str, str, str], list[tuple[str, str]]] = defaultdict(list)
    for table, name, column, where, to, key in source.rows(
        "SELECT table_name, constraint_name, column_name, referenced_table_schema,"
        " referenced_table_name, referenced_column_name FROM information_schema.key_column_usage"
        f" WHERE table_schema = {schema} AND referenced_table_name IS NOT NULL"
        " ORDER BY table_name, constraint_name, ordinal_position"
    ):
        parts[text(table), text(name), text(where), text(to)].append((text(column), text(key)))
    found: dict[str, list[ForeignKey]] = defaultdict(list)
    for (table, name, where, to), columns in parts.items():
        if where != source.schema:
            omitted.append(f"foreign key `{name}` of `{table}`: it refers to schema `{where}`")
            continue
        found[table].append(
            ForeignKey(
                name=name,
                columns=[column for column, _ in columns],
                table=to,
                references=[key for _, key in columns],
                sql="",
            )
        )
    return found


def _with_sql(source: Source, keys: Sequence[ForeignKey], create: str) -> list[ForeignKey]:
    """The keys with the SQL that the table's has for them."""
    table = source.name(create.split("`")[1])
    found = {}
    for line in create.split("\n"):
        match = _FOREIGN.match(line)
        if match:
            found[match["name"].replace("``", "`")] = line.strip().rstrip(",")
    return [
        replace(key, sql=f"ALTER TABLE {table} ADD {found[key.name]}")
        for key in keys
        if key.name in found
    ]


def _split(
    source: Source, table: str, create: str, indexes: Sequence[Index]
) -> tuple[str, list[str], list[Check]]:
    """CREATE TABLE without secondary indexes, foreign keys, checks and comments; the statement that
    makes the indexes; the checks."""
    create = _COMMENT.sub(lambda match: match[1] or "", create)
    head, *lines = create.split("\n")
    end = next(at for at, line in enumerate(lines) if line.startswith(")"))
    kept, later = [], []
    checks: list[Check] = []
    auto = next((line.split("`")[1] for line in lines[:end] if " AUTO_INCREMENT" in line), None)
    primary = next((each.columns for each in indexes if each.is_primary), ())
    needed = None if auto is None or [*primary][:1] == [auto] else _first(indexes, auto)
    for line in (line.rstrip(",") for line in lines[:end]):
        index = _INDEX.match(line)
        if index is not None and index["name"] != needed:
            later.append("ADD " + line.strip())
        elif (check := _check(line)) is not None:
            checks.append(check)
            if not _CHECK.match(line):  # a part of its column's line
                kept.append(_INLINE_CHECK.sub("", line))
        elif not _FOREIGN.match(line):
            kept.append(line)
    options = _OPTIONS.sub("", "\n".join(lines[end:]))
    made = head + "\n" + ",\n".join(kept) + "\n" + options
    after = [f"ALTER TABLE {source.name(table)} {', '.join(later)}"] if later else []
    return made, after, checks


def _check(line: str) -> Check | None:
    """The check that a line of CREATE TABLE is or ends with. MariaDB's of a column has its name."""
    alone = _CHECK.match(line)
    found = alone or _INLINE_CHECK.search(line)
    if found is None:
        return None
    name = alone["name"] if alone else line.split("`")[1]
    sql = line.strip() if alone else f"CHECK ({found['what']})"
    return Check(name=(name or "").replace("``", "`"), expression=found["what"], sql=sql)


def _stand_in(source: Source, table: str, create: str, column: Column) -> tuple[str, list[str]]:
    """With a default for a column that has none, and what takes it back."""
    name = source.name(column.name)
    line = re.compile(
        rf"^  ({re.escape(name)} {re.escape(column.type)}(?: NOT NULL)?)(?: DEFAULT NULL)?(?=,?$)",
        re.MULTILINE,
    )
    value = STAND_INS[column.type.partition("(")[0].lower()]
    made, count = line.subn(lambda match: f"  {match[1]} DEFAULT {value}", create)
    null = "NULL" if column.is_nullable else "NOT NULL"
    back = f"ALTER TABLE {source.name(table)} MODIFY COLUMN {name} {column.type} {null}"
    return made, [back] * count


def _first(indexes: Sequence[Index], column: str) -> str | None:
    return next((each.name for each in indexes if [*each.columns][:1] == [column]), None)


def _names(source: Source, schema: str, where: str) -> list[str]:
    try:
        return [text(row[0]) for row in source.rows(f"SELECT {where} = {schema} ORDER BY 1")]
    except Refused:
        return []


def _views(source: Source, schema: str) -> dict[str, View]:
    where = "table_name FROM information_schema.views WHERE table_schema"
    return {name: _view(source, name) for name in _names(source, schema, where)}


def _view(source: Source, name: str) -> View:
    try:
        written = text(source.rows(f"SHOW CREATE VIEW {source.table(name)}")[0][1])
    except Refused as refused:
        return View(name=name, select="", create=(), lacks=str(refused))
    found = _VIEW.match(written)
    if found is None:
        return View(name=name, select="", create=(), lacks="its definition cannot be read")
    # Without the schema, which the copy does not have; texts stay as they are.
    schema = re.escape(source.name(source.schema))
    rest = re.sub(rf"({_STRING})|{schema}\.", lambda match: match[1] or "", found["rest"])
    select = _CHECK_OPTION.sub("", rest.partition(" AS ")[2])
    called = _CALLED.findall(select)  # the server's own functions have no quotes
    return View(
        name=name,
        select=select,
        create=(f"CREATE {found['algorithm'] or ''}{rest}",),
        lacks=f"it calls `{called[0]}`" if called else "",
    )
