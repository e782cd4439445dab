"""Which node has run a statement: its log says so, with `log_statement = all`.

Lines as PostgreSQL writes them, whatever `log_line_prefix` is: `LOG:  statement: TEXT` for one that
came as text, `LOG:  execute NAME: TEXT` for one that was prepared by the protocol.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from dbdyno.audit.routing.cases import Tag

_LINE = re.compile(r"LOG:\s+(?:statement|execute [^:]*): .*/\* dyno (\d+)\.(\d+)\.(\d+) \*/\s*$")


def tags(lines: Iterable[str]) -> set[Tag]:
    """The statements of an examination that a log has."""
    found = filter(None, map(_LINE.search, lines))
    return {Tag(int(one[1]), int(one[2]), int(one[3])) for one in found}


def nodes(logs: Mapping[str, Iterable[str]]) -> dict[Tag, frozenset[str]]:
    """By statement the names of the nodes that have logged it; `logs`: the lines of each."""
    found: dict[Tag, set[str]] = {}
    for name, lines in logs.items():
        for tag in tags(lines):
            found.setdefault(tag, set()).add(name)
    return {tag: frozenset(names) for tag, names in found.items()}
