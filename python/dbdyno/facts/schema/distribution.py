"""How tables are distributed over a cluster, as a dump says it: clauses of CREATE TABLE, and
calls of Citus' functions.

| system | words |
|---|---|
| Citus | `SELECT create_distributed_table('t', 'c', colocate_with => 'u')`,
`create_reference_table('t')` |
| Postgres-XC, -XL | `DISTRIBUTE BY HASH (c)`, `MODULO (c)`, `REPLICATION`, `ROUNDROBIN` |
| MySQL NDB | `ENGINE=ndbcluster` with `PARTITION BY [LINEAR] KEY (c)`, else the primary key |

The words are found in the text, outside of strings and comments: parsers of SQL do not know all of
them. Sources: Citus, "Utility Functions"; Postgres-XC 1.1 and -XL 10, "CREATE TABLE"; the MySQL
manual, "KEY Partitioning" and "Auto-Sharding in NDB Cluster".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dbdyno.facts.gathered import Gathered
from dbdyno.facts.schema.distributed import CITUS, HASH, NDB, REPLICATED, ROUND_ROBIN, XC

Row = dict[str, Any]
_NAME = r"(?:[`\"][^`\"]+[`\"]|\w+)"
_TABLE = re.compile(
    rf"^\s*CREATE\s+(?:UNLOGGED\s+|FOREIGN\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?"
    rf"((?:{_NAME}\s*\.\s*)?{_NAME})",
    re.IGNORECASE,
)
_ALTER = re.compile(rf"^\s*ALTER\s+TABLE\s+(?:ONLY\s+)?((?:{_NAME}\s*\.\s*)?{_NAME})", re.I)
_XC = re.compile(
    r"\bDISTRIBUTE\s+BY\s+(REPLICATION|ROUND\s*ROBIN|(?:(HASH|MODULO)\s*)?\(\s*([^)]*?)\s*\))"
    r"(?:\s*TO\s+(?:NODE|GROUP)\s*(?:\([^)]*\)|[\w, ]+))?",
    re.IGNORECASE,
)
_NDB = re.compile(r"\bENGINE\s*=?\s*(?:ndbcluster|ndb)\b", re.IGNORECASE)
_BY_KEY = re.compile(
    r"PARTITION\s+BY\s+(?:LINEAR\s+)?KEY\s*(?:ALGORITHM\s*=\s*\d\s*)?\(\s*([^)]*?)\s*\)", re.I
)
_PRIMARY = re.compile(r"PRIMARY\s+KEY\s*(?:USING\s+\w+\s*)?\(\s*([^)]*?)\s*\)", re.IGNORECASE)
_CITUS = re.compile(r"\bcreate_(distributed|reference)_table\s*\(([^)]*)\)", re.IGNORECASE)
_ARGUMENT = re.compile(r"\s*(?:(\w+)\s*(?:=>|:=)\s*)?'((?:[^']|'')*)'(?:::\w+)?\s*")
_COMMENT = re.compile(r"/\*(?!!).*?\*/|--[^\n]*", re.DOTALL)
_ID = re.compile(
    rf"(?:^|[(,])\s*({_NAME})\s+[^,\n]*?(?:\bAUTO_INCREMENT\b|\b(?:big|small)?serial\d?\b"
    r"|\bGENERATED\s+(?:ALWAYS|BY\s+DEFAULT)\s+AS\s+IDENTITY|\bnextval\s*\()",
    re.IGNORECASE | re.MULTILINE,
)
_ALTERED_ID = re.compile(
    rf"ALTER\s+COLUMN\s+({_NAME})\s+(?:SET\s+DEFAULT\s+nextval|ADD\s+GENERATED)", re.IGNORECASE
)


class Distributions:
    """Collects what a dump says, statement by statement. Without a distributed table
    there are no facts of distributions."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.rows: list[Row] = []
        self.counting: list[Row] = []

    def take(self, text: str, line: int) -> None:
        """One statement."""
        plain, place = _COMMENT.sub(" ", text), f"{self._path}:{line}:1"
        self.rows += [{**row, "place": place} for row in (*_clause(plain), *_calls(plain))]
        self.counting += [{**row, "place": place} for row in _counting(plain)]

    def put(self, found: Gathered) -> None:
        """Tables `distributions` (schema, table, system, method, columns, group, with_schema,
        with_table) and `generated_ids` (schema, table, column: one that counts by itself)."""
        found.table("generated_ids", self.counting, self._path)
        if self.rows:
            found.table("distributions", self.rows, self._path)


def is_call(text: str) -> bool:
    """Whether it is a SELECT of Citus' functions."""
    return _CITUS.search(text) is not None and _TABLE.match(text) is None


def _counting(text: str) -> Iterator[Row]:
    if created := _TABLE.match(text):
        names = [one[1] for one in _ID.finditer(text[created.end() :])]
        schema, table = _split(created[1])
    elif altered := _ALTER.match(text):
        names = [one[1] for one in _ALTERED_ID.finditer(text)]
        schema, table = _split(altered[1])
    else:
        return
    for name in names:
        yield {"schema": schema, "table": table, "column": _bare(name).lower()}


def without_clause(text: str) -> str:
    """A CREATE TABLE without Postgres-XC's clause, as other parsers know it."""
    return _XC.sub("", text) if _TABLE.match(text) else text


def _clause(text: str) -> Iterator[Row]:
    created = _TABLE.match(text)
    if created is None:
        return
    schema, table = _split(created[1])
    row = {"schema": schema, "table": table, "group": "", "with_table": "", "with_schema": ""}
    if xc := _XC.search(text):
        word = re.sub(r"\s", "", xc[1].upper())
        if word in ("REPLICATION", "ROUNDROBIN"):
            method = REPLICATED if word == "REPLICATION" else ROUND_ROBIN
            yield {**row, "system": XC, "method": method, "columns": ""}
        else:
            modulo = (xc[2] or "HASH").upper() == "MODULO"
            group = "modulo" if modulo else ""
            yield {**row, "system": XC, "method": HASH, "columns": _columns(xc[3]), "group": group}
    elif _NDB.search(text):
        by_key, primary = _BY_KEY.search(text), _PRIMARY.search(text)
        named = (by_key and by_key[1]) or (primary and primary[1]) or ""
        yield {**row, "system": NDB, "method": HASH, "columns": _columns(named)}


def _calls(text: str) -> Iterator[Row]:
    """`create_distributed_table('public.t', 'c', 'hash', colocate_with => 'u')`."""
    for call in _CITUS.finditer(text):
        arguments = list(_ARGUMENT.finditer(call[2]))
        named = {one[1].lower(): one[2] for one in arguments if one[1]}
        plain = [one[2] for one in arguments if not one[1]]
        if not plain and "table_name" not in named:
            continue
        schema, table = _split(named.get("table_name") or plain[0])
        row = {
            "schema": schema,
            "table": table,
            "system": CITUS,
            "with_table": "",
            "with_schema": "",
        }
        if call[1].lower() == "reference":
            yield {**row, "method": REPLICATED, "columns": "", "group": ""}
            continue
        column = named.get("distribution_column") or (plain[1] if len(plain) > 1 else "")
        other = named.get("colocate_with") or (plain[3] if len(plain) > 3 else "default")
        if other == "none":
            row |= {"group": f"{schema}.{table}"}
        elif other != "default":
            row["with_schema"], row["with_table"] = _split(other)
        yield {"group": "", **row, "method": HASH, "columns": column.lower()}


def _columns(listed: str) -> str:
    return ", ".join(_bare(one).lower() for one in listed.split(",") if one.strip())


def _split(name: str) -> tuple[str, str]:
    """(schema, table)."""
    found = re.findall(_NAME, name)
    return ("", _bare(found[0])) if len(found) == 1 else (_bare(found[0]), _bare(found[1]))


def _bare(name: str) -> str:
    return name.strip().strip('`"')
