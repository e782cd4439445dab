"""Facts as one JSON document, written on the customer's side and judged elsewhere
(schemas/facts.schema.json)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from dbdyno import __version__
from dbdyno.errors import DynoError
from dbdyno.facts.fact import ENGINES, Fact, Facts, Table

SCHEMA_VERSION = 1
FORMAT = "dbdyno facts"
SOURCES = ("server", "file", "manifest", "log", "directory", "host", "dump", "digest")


def document(all_facts: Sequence[Facts]) -> dict[str, Any]:
    """What `dyno check --collect` prints."""
    return {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "dbdyno_version": __version__,
        "subjects": [_subject(one) for one in all_facts],
    }


def _subject(one: Facts) -> dict[str, Any]:
    return {
        "subject": one.subject,
        "source": one.source,
        "engine": one.engine,
        "version": list(one.version),
        "facts": [asdict(fact) for fact in one.facts.values()],
        "tables": {
            name: {
                "place": table.place,
                "read_unix_s": table.read_unix_s,
                "rows": [dict(row) for row in table.rows],
            }
            for name, table in one.tables.items()
        },
        "missing": dict(one.missing),
    }


def is_one(value: Any) -> bool:
    """Whether a JSON document is one of these."""
    return isinstance(value, Mapping) and value.get("format") == FORMAT


def parse(value: Any, place: str) -> list[Facts]:
    """The facts of a document. DynoError if it is of another version, or damaged."""
    if value.get("schema_version") != SCHEMA_VERSION:
        raise DynoError(
            f"{place}: a bundle of version {value.get('schema_version')}, not {SCHEMA_VERSION}",
            cause="another version of dbdyno collected it",
            fix="collect it again, or use that version",
        )
    try:
        return [_parsed(one) for one in value["subjects"]]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DynoError(
            f"{place} is no bundle of facts: {type(error).__name__} at {error}"[:300],
            cause="it was damaged or edited",
            fix="collect it again: dyno check --collect URL",
        ) from None


def _parsed(one: Mapping[str, Any]) -> Facts:
    engine, source = str(one["engine"]), str(one["source"])
    if source not in SOURCES or not set(engine.split("|")) <= {*ENGINES}:
        raise ValueError(f"{source}, {engine}")
    facts = [
        Fact(
            str(fact["key"]),
            _scalar(fact["value"]),
            str(fact["place"]),
            str(fact["unit"]),
            float(fact["read_unix_s"]),
        )
        for fact in one["facts"]
    ]
    tables = {
        str(name): Table(
            tuple({str(k): _scalar(v) for k, v in row.items()} for row in table["rows"]),
            str(table["place"]),
            float(table["read_unix_s"]),
        )
        for name, table in one["tables"].items()
    }
    return Facts(
        subject=str(one["subject"]),
        source=source,
        engine=engine,
        version=tuple(int(part) for part in one["version"]),
        facts={fact.key: fact for fact in facts},
        tables=tables,
        missing={str(key): str(why) for key, why in one["missing"].items()},
    )


def _scalar(value: Any) -> Any:
    if isinstance(value, list):
        return [_scalar(one) for one in value]
    if value is not None and not isinstance(value, str | int | float | bool):
        raise ValueError("a value that is no scalar")
    return value
