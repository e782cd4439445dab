"""A saved digest (`dyno digest LOG --json`): statement classes with their time. Layout:
schemas/digest.schema.json.

With `--samples raw` a class has the text of its slowest statement, which tells whether a column was
compared with a number or a text. No literal is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.facts.fact import EITHER, Facts
from dbdyno.facts.files import text
from dbdyno.facts.gathered import Gathered
from dbdyno.facts.schema import workload
from dbdyno.facts.schema.bounds import MOST
from dbdyno.store.text import json

BYTES_MAX = 256 << 20
_SIGNS = ('"classes_total"', '"fingerprint"')
_POSTGRES = re.compile(r"postgres|pg_stat|csvlog|jsonlog|stderr|cloudsql")


def detect(path: Path, content: str) -> bool:
    """A document that counts classes of statements."""
    return content.lstrip()[:1] == "{" and all(sign in content for sign in _SIGNS)


def read(path: Path, found: Gathered) -> Facts:
    """Tables `statements` and `statements_total`, as of a server. DynoError if it is damaged."""
    raw = json.loads(text.read(path, BYTES_MAX).encode())
    try:
        engine = _engine(raw)
        every = list(_rows(raw))
        total = float((raw["overall"].get("query_time") or {}).get("sum") or 0.0)
        count = int(raw["classes_total"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DynoError(
            f"{path} is no digest: {type(error).__name__} at {error}"[:300],
            cause="it was damaged, or is of another layout",
            fix="make it again: dyno digest LOG --json > digest.json",
        ) from None
    rows = workload.kept(every[: MOST["statements"]], engine, found)
    found.table("statements", rows, str(path))
    found.table("statements_total", [{"classes": count, "time_s": total}], str(path))
    return found.facts(str(path), "digest", engine)


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
            "rows_examined": (measures.get("rows_examined") or {}).get("sum"),
            "rows_sent": (measures.get("rows_sent") or {}).get("sum"),
        }
