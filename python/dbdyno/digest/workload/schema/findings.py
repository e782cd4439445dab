"""What of a `mix` will fail or match no row: by its statements alone, and by the schema.

Each finding is a sentence; none says that all the rest is well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.digest.workload.profile import Statement, Summary
from dbdyno.digest.workload.schema import naming
from dbdyno.digest.workload.schema.catalog import Catalog, Column
from dbdyno.digest.workload.values.places import Place, look
from dbdyno.experiment.targets import sqltext
from dbdyno.experiment.values.generators import END_MAX
from dbdyno.experiment.workloads import mix

FINDINGS_MAX = 40  # of a group
_UNKNOWN = Summary(count=0, kind="null")
_INSERTED = re.compile(
    r"\s*(?:insert|replace)\b[^(]*?\binto\s+(?P<table>[\w.`\"]+)\s*\((?P<names>[^()]*)\)\s*"
    r"(?:values?|select)\b",
    re.IGNORECASE,
)
_NUMBERS = ("uniform", "zipfian", "gaussian", "pareto", "special")

Generator = Mapping[str, Any]


@dataclass(frozen=True)
class Sent:
    """A statement of a group: its position, its text, and its places with their generators."""

    path: str
    sql: str
    statement: Statement
    places: Sequence[tuple[Place, str, Generator]]


def sent(options: Mapping[str, Any]) -> list[Sent]:
    """The statements of a group that are ever sent."""
    params: Mapping[str, Generator] = options.get("params", {})
    return [_sent(path, sql, params) for path, sql in mix.statements(options)]


def _sent(path: str, sql: str, params: Mapping[str, Generator]) -> Sent:
    names = sqltext.parameters(sql)
    numbers = {name: f"p{n}" for n, name in enumerate(names, start=1)}
    template = sqltext.renamed(sql, numbers)
    places = look(template, [_UNKNOWN] * len(names)).places
    named = [(place, names[place.number - 1]) for place in places]
    return Sent(
        path,
        sql,
        Statement(id="", template=template, template_share=1.0, database="", count=0,
                  parameters=()),
        [(place, name, params.get(name, {})) for place, name in named],
    )  # fmt: skip


def alone(group: str, options: Mapping[str, Any]) -> list[str]:
    """What is known without a server: made-up texts find no row."""
    found = (
        f"group `{group}`, {one.path}: `{name}` is a made-up text, and the statement searches rows"
        f" that have it{_of(place)}: it will match none, which is fast. `column: TABLE.COLUMN`"
        " draws existing keys"
        for one in sent(options)
        for place, name, made in one.places
        if place.is_key and "text" in made
    )
    return _limited(found)


def _of(place: Place) -> str:
    return f" in `{place.column}`" if place.column is not None else ""


def by_schema(group: str, options: Mapping[str, Any], catalog: Catalog) -> list[str]:
    """What a schema says of a group's statements."""
    found = (
        f"group `{group}`, {one.path}: {said}" for one in sent(options) for said in _of_statement(
            one, catalog)
    )  # fmt: skip
    return _limited(found)


def _limited(found: Iterator[str]) -> list[str]:
    all_ = list(dict.fromkeys(found))
    more = len(all_) - FINDINGS_MAX
    return all_[:FINDINGS_MAX] + ([f"and {more:,} more of the kind"] if more > 0 else [])


def _of_statement(one: Sent, catalog: Catalog) -> Iterator[str]:
    yield from _left_out(one, catalog)
    for place, name, made in one.places:
        found = naming.resolve(catalog, one.statement, [*catalog.tables], place)
        if found is None:
            continue
        where = f"{found.table.name}.{found.column.name}"
        if place.is_set:
            yield from _written(name, made, where, found, catalog)
        if place.is_key:
            yield from _looked_for(name, made, where, found)
    for _, name, made in one.places:
        if "column" in made:
            yield from _column(name, str(made["column"]), catalog)


def _left_out(one: Sent, catalog: Catalog) -> Iterator[str]:
    """Columns that an INSERT must name, and does not."""
    match = _INSERTED.match(one.sql)
    table = catalog.table(match["table"].rpartition(".")[2].strip('`"')) if match else None
    if match is None or table is None:
        return
    named = {name.strip().strip('`"').lower() for name in match["names"].split(",")}
    for column in table.columns.values():
        if column.is_required and column.name.lower() not in named:
            yield (
                f"`{table.name}.{column.name}` is NOT NULL without a default, and the INSERT does"
                " not name it: it will fail where the server is strict"
            )


def _written(
    name: str, made: Generator, where: str, found: naming.Found, catalog: Catalog
) -> Iterator[str]:
    column = found.column
    if strange := _no_choice(column, made):
        yield f"`{name}` makes {strange}, which `{where}` does not take: it will fail"
    longest = max((len(text) for text in _texts(made)), default=0)
    if column.length is not None and longest > column.length:
        yield f"`{name}` makes {longest} characters, and `{where}` takes {column.length}"
    if column.references is not None and made:
        table, key = catalog.root(found.table.name, column.name)
        if made.get("column", "").lower() not in (f"{table}.{key}".lower(), where.lower()):
            yield (
                f"`{where}` must hold a key of `{table}.{key}`, and `{name}` makes its own: it will"
                f" fail where there is none. `column: {table}.{key}` draws existing keys"
            )
    elif column.is_unique and ({"column", "const", "values", *_NUMBERS} & made.keys()):
        yield f"`{where}` is unique, and `{name}` comes to values again: these will fail"
    elif column.greatest is not None and made.get("sequence", END_MAX) <= column.greatest:
        yield (
            f"`{where}` is unique, and `{name}` counts from {made['sequence']:,} on, where the"
            f" table has keys up to {column.greatest:,}: existing ones will fail"
        )


def _looked_for(name: str, made: Generator, where: str, found: naming.Found) -> Iterator[str]:
    if strange := _no_choice(found.column, made):
        yield f"`{name}` makes {strange}, which `{where}` never contains: it will match no row"
    elif "text" in made:
        yield f"`{name}` is a made-up text, and the statement searches it: it will match none"


def _column(name: str, source: str, catalog: Catalog) -> Iterator[str]:
    table, _, column = source.partition(".")
    known = catalog.table(table)
    if known is None or catalog.column(table, column) is None:
        yield f"`{name}` draws from `{source}`, which does not exist: the run will stop"


def _no_choice(column: Column, made: Generator) -> str:
    """What a generator makes that an ENUM does not have."""
    if not column.choices or column.type != "enum":
        return ""
    if "text" in made:
        return "made-up texts"
    known = {choice.lower() for choice in column.choices}
    strange = [each for each in _texts(made) if each.lower() not in known]
    return f"{strange[0]!r}" if strange else ""


def _texts(made: Generator) -> list[str]:
    """Texts that a generator makes; of a pattern one."""
    all_ = [made.get("const"), *made.get("values", ()), made.get("text")]
    return [each for each in all_ if isinstance(each, str)]
