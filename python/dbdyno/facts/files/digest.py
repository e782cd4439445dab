"""A digest of logs (`dyno digest LOG --json`): statement classes with their time, and which
statements the log lacks. Layout: schemas/digest.schema.json.

With `--samples raw` a class has the text of its slowest statement, which tells whether a column was
compared with a number or a text. No literal is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.facts.fact import EITHER, Facts, version_of
from dbdyno.facts.files import text
from dbdyno.facts.gathered import Gathered
from dbdyno.facts.schema import workload
from dbdyno.facts.schema.bounds import MOST
from dbdyno.store.text import json

BYTES_MAX = 256 << 20
MEASURES = (
    *("rows_examined", "rows_sent", "rows_affected", "lock_time", "innodb_rec_lock_wait"),
    *("full_scan", "tmp_disk_tables", "tmp_table_on_disk"),
)
_SIGNS = ('"classes_total"', '"fingerprint"')
_POSTGRES = re.compile(r"postgres|pg_stat|csvlog|jsonlog|stderr|cloudsql")


def detect(path: Path, content: str) -> bool:
    """A document that counts classes of statements."""
    return content.lstrip()[:1] == "{" and all(sign in content for sign in _SIGNS)


def read(path: Path, found: Gathered) -> Facts:
    """Tables `statements`, `statements_total` and `log_censored`, as of a server. DynoError if it
    is damaged."""
    raw = json.loads(text.read(path, BYTES_MAX).encode())
    return found.facts(str(path), "digest", tell(raw, str(path), found))


def of_log(raw: Mapping[str, Any], path: str, found: Gathered) -> Facts:
    """The same of a log, whose digest was made meanwhile; engine and version as the log says."""
    engine = tell(raw, path, found)
    servers = {str(server) for one in raw["inputs"] for server in one.get("servers") or ()}
    version = version_of(next(iter(servers))) if len(servers) == 1 else ()
    if engine == EITHER and servers:
        of_mariadb = {"mariadb" in server.lower() for server in servers}
        if len(of_mariadb) == 1:
            engine = "mariadb" if of_mariadb.pop() else "mysql"
    return found.facts(path, "log", engine, version)


def tell(raw: Mapping[str, Any], path: str, found: Gathered) -> str:
    """Tells the facts of a document; its engine. DynoError if it is damaged."""
    try:
        engine = _engine(raw)
        every = list(_rows(raw))
        total = float((raw["overall"].get("query_time") or {}).get("sum") or 0.0)
        count = int(raw["classes_total"])
        censored = list(_censored(raw))
    except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
        raise DynoError(
            f"{path} is no digest: {type(error).__name__} at {error}"[:300],
            cause="it was damaged, or is of another layout",
            fix="make it again: dyno digest LOG --json > digest.json",
        ) from None
    rows = workload.kept(every[: MOST["statements"]], engine, found)
    found.table("statements", rows, path)
    found.table("statements_total", [{"classes": count, "time_s": total}], path)
    found.table("log_censored", censored, path)
    return engine


def _censored(raw: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Why statements are missing, of each log."""
    for one in raw.get("censored") or ():
        yield {
            "log": str(raw["inputs"][int(one["input"])]["path"]),
            "kind": str(one["kind"]),
            "limit": float(one["value"]),
            "evidence": str(one["evidence"]),
        }


def _engine(raw: Mapping[str, Any]) -> str:
    formats = {str(one["format"]) for one in raw["inputs"]}
    return "postgres" if any(map(_POSTGRES.search, formats)) else EITHER


def _rows(raw: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for one in raw["classes"]:
        measures = one.get("measures") or {}
        sample = (one.get("sample") or {}).get("text")
        whole = sample and not one["sample"].get("is_cut")
        databases = one.get("databases") or {}
        yield {
            "id": str(one["id"]),
            "schema": max(databases, key=databases.__getitem__) if databases else None,
            "sql": sample if whole else one["fingerprint"],
            "count": int(one["count"]),
            "time_s": float((one.get("query_time") or {}).get("sum") or 0.0),
            **{name: (measures.get(name) or {}).get("sum") for name in MEASURES},
        }
