"""What a server's catalogue says of its tables, and the SQL that makes them again."""

from __future__ import annotations

from dataclasses import replace

from dbdyno.copies.schema import mysql, postgres
from dbdyno.copies.schema.tables import Schema
from dbdyno.copies.source import Refused, Source
from dbdyno.errors import DynoError
from dbdyno.systems.external.server import MARKER


def read(source: Source) -> Schema:
    """The tables of the source's schema. DynoError if they are not readable, or there is none."""
    try:
        found = postgres.read(source) if source.is_postgres else mysql.read(source)
    except Refused as refused:
        raise DynoError(
            f"{source.server.place}: the tables of schema `{source.schema}` cannot be read",
            cause=str(refused),
            fix="grant SELECT on them to the user",
        ) from None
    tables = {name: table for name, table in found.tables.items() if name != MARKER}
    if not tables:
        raise DynoError(
            f"{source.server.place}: no table is seen in schema `{source.schema}`",
            cause="the schema is empty, or the user has no right on its tables",
            fix="name another schema, or grant SELECT on it to the user",
        )
    return replace(found, tables=tables)
