"""Words of other tools for keys of an experiment: `threads` and `clients` for `sessions`, `name`
for `experiment`. They mean the same wherever a key may stand: in the file, a level, `--set`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from dbdyno.errors import DynoError
from dbdyno.experiment.file.document import Node

OF_FILE: Mapping[str, str] = {"name": "experiment"}
OF_GROUP: Mapping[str, str] = {"threads": "sessions", "clients": "sessions"}


def spelt(key: str, known: Mapping[str, str]) -> str:
    """The key that `key` means."""
    return known.get(key, key)


def same(one: str, other: str) -> bool:
    """Whether two names of factors mean the same key."""
    head, dot, last = one.rpartition(".")
    other_head, other_dot, other_last = other.rpartition(".")
    return (head, dot) == (other_head, other_dot) and spelt(last, OF_GROUP) == spelt(
        other_last, OF_GROUP
    )


def kept(key: str, known: Mapping[str, str], written: Iterable[str]) -> str:
    """How a file that has `written` spells `key` itself."""
    there = set(written)
    words = (word for word, meant in known.items() if meant == key and word in there)
    return key if key in there else next(words, key)


def normal(node: Node, known: Mapping[str, str]) -> Node:
    """The mapping with its keys as dbdyno calls them, at their places. DynoError for a key that
    occurs in two words."""
    if not known.keys() & node.mapping.keys():
        return node
    entries: dict[str, Node] = {}
    words: dict[str, str] = {}
    for word, child in node.mapping.items():
        key = spelt(word, known)
        if key in entries:
            raise DynoError(
                f"`{words[key]}` and `{word}` are the same key",
                where=child.place,
                fix=f"keep one of them: `{key}`",
            )
        entries[key], words[key] = child, word
    return replace(node, value=entries)
