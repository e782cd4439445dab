"""A VSchema of Vitess: JSON of one keyspace, or of several in `keyspaces`.

Source: Vitess, "VSchema" and "Vindexes": the first column vindex of a table is its primary one; a
type of table `reference` is in every shard; `auto_increment` names the sequence that fills a
column.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.facts.fact import Facts
from dbdyno.facts.files import text
from dbdyno.facts.gathered import Gathered
from dbdyno.facts.schema.distributed import HASH, LOCAL, REPLICATED, VITESS

# Vindexes whose result has the order of their input: ids that grow fall into the last shard, and
# small ones into the first.
ORDERED = ("numeric", "numeric_static_map")
_UNIQUE_LOOKUPS = ("lookup_unique", "lookup_hash_unique", "consistent_lookup_unique",
                   "lookup_unicodeloosemd5_hash_unique")  # fmt: skip


def detect(path: Path, content: str) -> bool:
    """A JSON object with the words of a VSchema."""
    return content.lstrip()[:1] == "{" and (
        '"column_vindexes"' in content or ('"sharded"' in content and '"tables"' in content)
    )


def read(path: Path, found: Gathered) -> Facts:
    """Table `distributions`, as of DDL. DynoError if it is no VSchema."""
    try:
        whole = json.loads(text.read(path))
        spaces = whole.get("keyspaces") or {"": whole}
        rows = [row for name, space in spaces.items() for row in _rows(str(name), space)]
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise DynoError(
            f"{path} is no VSchema: {type(error).__name__}: {error}"[:300],
            cause="it is damaged, or another JSON document",
            fix="write it again: vtctldclient GetVSchema KEYSPACE > vschema.json",
        ) from None
    found.table("distributions", [{**row, "place": str(path)} for row in rows], str(path))
    return found.facts(str(path), "vschema", "mysql")


def _rows(keyspace: str, space: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    vindexes = {str(name): str(one["type"]) for name, one in (space.get("vindexes") or {}).items()}
    for name, table in (space.get("tables") or {}).items():
        row: dict[str, Any] = {
            "schema": "", "table": str(name), "system": VITESS, "columns": "", "lookup": "",
            "sequences": str((table.get("auto_increment") or {}).get("column") or ""),
            "group": keyspace, "with_table": "", "with_schema": "", "order_preserving": False,
        }  # fmt: skip
        listed = table.get("column_vindexes") or []
        if table.get("type") == "reference":
            yield {**row, "method": REPLICATED}
        elif not space.get("sharded") or not listed:
            yield {**row, "method": LOCAL}
        else:
            first = listed[0]
            kind = vindexes.get(str(first["name"]), str(first["name"]))
            lookups = [
                "+".join(_columns(one))
                for one in listed[1:]
                if vindexes.get(str(one["name"])) in _UNIQUE_LOOKUPS
            ]
            yield {
                **row,
                "method": HASH,
                "columns": ", ".join(_columns(first)),
                "group": f"{keyspace}/{first['name']}",
                "lookup": ",".join(lookups),
                "order_preserving": kind in ORDERED,
            }


def _columns(vindex: Mapping[str, Any]) -> list[str]:
    listed = vindex.get("columns") or [vindex["column"]]
    return [str(one).lower() for one in listed]
