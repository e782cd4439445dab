"""Aliases: one for each name, the same wherever that name occurs in a run.

They are numbered in the order in which names are first met, and the table is kept in the run
directory (`aliases.json`, readable by its owner only): a later report of the same run agrees, and
the run's owner can translate back. An alias is never a name that the run already holds.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.store.text import files

FILE = "aliases.json"
VERSION = 1

# Kinds whose names are replaced wherever they occur in a text, since they identify its author.
NAMES = ("customer", "author", "host", "domain", "user", "schema", "table")
# Kinds whose names are replaced only in their own fields: in SQL, plans and declarations.
INNER = ("column", "function", "parameter", "index")
# Whole texts.
TEXTS = ("path", "command", "message", "value", "text")
KINDS = (*NAMES, *INNER, *TEXTS)

LIKE_AN_ALIAS = re.compile(rf"(?<![a-z0-9])(?:{'|'.join(KINDS)})-[0-9]+(?![0-9])", re.IGNORECASE)


class Aliases:
    """The table of a run. Names are compared without regard to case."""

    def __init__(
        self, reserved: Collection[str] = (), known: Mapping[str, Mapping[str, str]] | None = None
    ) -> None:
        """`reserved`: names in the run that look like aliases; `known`: aliases given before, by
        kind and name. DynoError if these two, or two names, collide."""
        self._reserved = {name.casefold() for name in reserved}
        self._table: dict[str, dict[str, str]] = {kind: {} for kind in KINDS}
        self._synonyms: dict[str, str] = {}
        self._used: set[str] = set()
        self._next = dict.fromkeys(KINDS, 1)
        self._pattern: re.Pattern[str] | None = None
        for kind, names in (known or {}).items():
            for name, alias in names.items():
                self._adopt(kind, name, alias)

    def of(self, kind: str, name: str) -> str:
        """The alias of a name of a kind. A name that has one of another kind among `NAMES` keeps
        that."""
        key = name.casefold()
        if kind in (*NAMES, *INNER):
            if (known := self._named(key)) is not None:
                return known
        elif (known := self._table[kind].get(key)) is not None:
            return known
        alias = self._fresh(kind)
        self._table[kind][key] = alias
        self._used.add(alias)
        self._pattern = None
        return alias

    def also(self, name: str, alias: str) -> None:
        """Another spelling of something that has an alias, unless it has one of its own."""
        if self._named(name.casefold()) is None:
            self._synonyms[name.casefold()] = alias
            self._pattern = None

    def in_text(self, text: str, keep: Collection[str] = ()) -> str:
        """A text with all names of `NAMES` replaced, whole words only, except those in `keep`
        (casefolded): words of dbdyno that a name happens to be."""
        if self._pattern is None:
            free = {name for kind in NAMES for name in self._table[kind]} | set(self._synonyms)
            longest_first = sorted(free, key=lambda name: (-len(name), name))
            body = "|".join(re.escape(name) for name in longest_first) or r"(?!)"
            # An underscore ends a word here: `acme_orders` names the customer too.
            self._pattern = re.compile(rf"(?<![^\W_])(?:{body})(?![^\W_])", re.IGNORECASE)

        def alias(found: re.Match[str]) -> str:
            key = found[0].casefold()
            return found[0] if key in keep else self._named(key) or found[0]

        return self._pattern.sub(alias, text)

    def table(self) -> dict[str, dict[str, str]]:
        """Alias by kind and name, in the order of their numbers."""
        return {kind: dict(names) for kind, names in self._table.items() if names}

    def _named(self, key: str) -> str | None:
        for kind in (*NAMES, *INNER):
            if key in self._table[kind]:
                return self._table[kind][key]
        return self._synonyms.get(key)

    def _fresh(self, kind: str) -> str:
        while True:
            alias = f"{kind}-{self._next[kind]}"
            self._next[kind] += 1
            if alias not in self._reserved and alias not in self._used:
                return alias

    def _adopt(self, kind: str, name: str, alias: str) -> None:
        if alias.casefold() in self._reserved:
            raise DynoError(
                f"the alias {alias} is also a real name in this run",
                cause="the run has grown, or was edited, since that alias was given",
                fix=f"remove {FILE} from the run directory: aliases are then chosen again",
            )
        if alias in self._used:
            raise DynoError(
                f"{FILE} gives the alias {alias} to two names",
                cause="the file was edited",
                fix="remove it from the run directory: aliases are then chosen again",
            )
        self._table[kind][name.casefold()] = alias
        self._used.add(alias)


def load(directory: Path, reserved: Collection[str]) -> Aliases:
    """The aliases of a run directory, those given before included."""
    path = directory / FILE
    if not path.exists():
        return Aliases(reserved)
    stored = files.read_json(path)
    try:
        if stored["version"] != VERSION:
            raise ValueError(f"version {stored['version']}, not {VERSION}")
        for kind, names in stored["aliases"].items():
            wrong = [a for a in names.values() if not re.fullmatch(rf"{kind}-[0-9]+", a)]
            if kind not in KINDS or wrong:
                raise ValueError(f"{kind}: {', '.join(map(str, wrong[:3]))}")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DynoError(
            f"{path} is not a table of aliases: {error!r}",
            cause="the file was edited or damaged, or another version of dbdyno wrote it",
            fix="remove it: aliases are then chosen again",
        ) from None
    return Aliases(reserved, stored["aliases"])


def save(directory: Path, aliases: Aliases) -> None:
    """Keeps the table, for its owner's eyes only."""
    path = directory / FILE
    text = files.dumps({"version": VERSION, "aliases": aliases.table()})
    with files.explained(path, directory):
        files.write_atomically(path, text, private=True)


def looking_alike(texts: Iterator[str]) -> set[str]:
    """Words of these texts that look like aliases."""
    return {found for text in texts for found in LIKE_AN_ALIAS.findall(text)}
