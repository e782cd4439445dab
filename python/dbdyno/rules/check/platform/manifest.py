"""Objects of manifests, for the families of this pack that judge them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dbdyno.facts.fact import Fact, Facts
from dbdyno.rules.check.rule import Judge, Rule


@dataclass(frozen=True)
class Object:
    """One object: its kind, name and values by path (`spec.replsets[0].size`)."""

    kind: str
    api: str
    name: str
    fields: Mapping[str, Mapping[str, Any]]

    @property
    def title(self) -> str:
        """`StatefulSet mysql`."""
        return f"{self.kind} {self.name}".strip()

    def value(self, path: str) -> str:
        """The value at a path as text; empty if there is none."""
        field = self.fields.get(path)
        return "" if field is None or field["value"] is None else str(field["value"])

    def paths(self, pattern: str) -> list[str]:
        """What a pattern matches at the beginning of paths, in order, each once."""
        found = re.compile(pattern)
        matches = (found.match(path) for path in self.fields)
        return list(dict.fromkeys(match[0] for match in matches if match))

    def fact(self, path: str) -> Fact:
        """A value as evidence; of a mapping, its first entry's."""
        for name, field in self.fields.items():
            if name == path or name.startswith((f"{path}.", f"{path}[")):
                return Fact(name, field["value"], str(field["place"]))
        raise KeyError(path)


def objects(facts: Facts) -> Iterator[Object]:
    """All objects of a manifest. Missing if none was read."""
    fields: dict[int, dict[str, Mapping[str, Any]]] = {}
    for row in facts.table("fields").rows:
        fields.setdefault(int(row["object"]), {})[str(row["path"])] = row
    for row in facts.table("objects").rows:
        own = fields.get(int(row["object"]), {})
        yield Object(str(row["kind"]), str(row["api"]), str(row["name"]), own)


def rule(id_: str, title: str, about: str, severity: str, judge: Judge, source: str) -> Rule:
    """A rule of manifests."""
    return Rule(
        id=id_,
        pack="platform",
        title=title,
        about=about,
        severity=severity,
        applies=("kubernetes",),
        sources=("manifest",),
        needs=("objects", "fields"),
        judge=judge,
        source=source,
    )
