"""Which views a workload's statements refer to, by themselves or through other views."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from dbdyno.copies.schema.tables import Schema, View
from dbdyno.sql.statement import read


@dataclass
class Views:
    """`wanted`: those that can be made, each after those that it reads; `omitted`: a sentence for
    all others."""

    wanted: list[View] = field(default_factory=list)
    omitted: list[str] = field(default_factory=list)


def referred(schema: Schema, statements: Sequence[str], language: str) -> Views:
    """The views of a schema that is copied. `language`: of `dbdyno.kinds`."""
    chosen = _Chosen(schema, language)
    meant = {name for each in statements for name in _named(each, language, chosen.views)}
    for name in sorted(meant):
        if why := chosen.take(name):
            chosen.found.omitted.append(f"view `{chosen.views[name].name}`: {why}")
    rest = [f"`{view.name}`" for name, view in chosen.views.items() if name not in chosen.seen]
    if rest:
        said = f"views {', '.join(rest)}: no statement of the workload refers to them"
        chosen.found.omitted.append(said)
    return chosen.found


class _Chosen:
    """`seen`: why each examined view cannot be made; empty: it can."""

    def __init__(self, schema: Schema, language: str) -> None:
        self.views = {name.lower(): view for name, view in schema.views.items()}
        self.found = Views()
        self.seen: dict[str, str] = {}
        self._tables = {name.lower() for name in schema.tables}
        self._language = language

    def take(self, name: str) -> str:
        """Takes a view and those that it reads; why it cannot be made."""
        if name not in self.seen:
            view = self.views[name]
            self.seen[name] = "it reads itself"
            self.seen[name] = view.lacks or next(self._lacking(view), "")
            if not self.seen[name]:
                self.found.wanted.append(view)
        return self.seen[name]

    def _lacking(self, view: View) -> Iterator[str]:
        reads = _relations(view.select, self._language)
        if reads is None:
            yield "what it reads is not known"
        for other in sorted(reads or ()):
            if other in self.views:
                if why := self.take(other):
                    yield f"it reads `{other}`, which is not copied: {why}"
            elif other not in self._tables:
                yield f"it reads `{other}`, which is not copied"


def _named(statement: str, language: str, views: Collection[str]) -> set[str]:
    """Views that a statement names; of one that cannot be taken apart, those whose names are in
    it."""
    relations = _relations(statement, language)
    if relations is None:
        relations = {word.lower() for word in re.findall(r"\w+", statement)}
    return {each.rpartition(".")[2] for each in relations}.intersection(views)


def _relations(statement: str, language: str) -> set[str] | None:
    """Tables and views that it refers to, in small letters; those of another schema with its
    name."""
    found = read(statement, language)
    if found is None:
        return None
    return {f"{use.schema}.{use.name}".lstrip(".").lower() for use in found.tables}
