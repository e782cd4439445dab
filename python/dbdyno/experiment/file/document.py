"""YAML 1.2 with a position for every key and value.

ruamel.yaml composes the nodes; turning them into values is done here, since it must know that a
mapping key is always text (`on`, `true` and `16` are names of levels) and must refuse what would
be lost silently: duplicate keys, tags, merge keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from dbdyno.errors import DynoError, Where

DEPTH_MAX = 32
KEY_MAX = 300  # characters of a key: a name, or a path
NODES_MAX = 100_000  # aliases can multiply: a short file may describe a huge tree
_TAG = "tag:yaml.org,2002:"

_PASSWORD = re.compile(
    r"(://[^\s/@]*?(?::|%(?:25)*3a))[^\s/]*@", re.IGNORECASE
)  # in a URL, where it is refused, not repeated

Scalar = str | int | float | bool | None


@dataclass(frozen=True)
class Node:
    """A value as read. `value` is a mapping of nodes, a tuple of nodes, or a scalar; `text` the
    scalar's own spelling; `key` the place of its key if it is in a mapping."""

    value: Mapping[str, Node] | tuple[Node, ...] | Scalar
    where: Where
    text: str = ""
    quoted: bool = False
    key: Where | None = None

    @property
    def mapping(self) -> Mapping[str, Node]:
        """Its children by key; empty if it is no mapping."""
        return self.value if isinstance(self.value, Mapping) else {}

    @property
    def items(self) -> tuple[Node, ...]:
        """Its elements; empty if it is no sequence."""
        return self.value if isinstance(self.value, tuple) else ()

    @property
    def is_scalar(self) -> bool:
        """Whether it is neither mapping nor sequence."""
        return not isinstance(self.value, Mapping | tuple)

    @property
    def place(self) -> Where:
        """Where to point for the entry as a whole: its key, else its value."""
        return self.key or self.where

    @property
    def start(self) -> Where:
        """Where a scalar's text begins: behind the quote if there is one."""
        return replace(self.where, column=self.where.column + 1) if self.quoted else self.where

    def plain(self) -> Any:
        """The value without positions."""
        if isinstance(self.value, Mapping):
            return {key: child.plain() for key, child in self.value.items()}
        if isinstance(self.value, tuple):
            return [child.plain() for child in self.value]
        return self.value

    def find(self, path: tuple[str | int, ...]) -> tuple[Node, int]:
        """The deepest node along `path`, and how many steps led there."""
        node = self
        for depth, step in enumerate(path):
            child: Node | None = None
            if isinstance(step, int):
                child = node.items[step] if step < len(node.items) else None
            else:
                child = node.mapping.get(step)
            if child is None:
                return node, depth
            node = child
        return node, len(path)


def parse(text: str, file: Path | str) -> Node:
    """Reads one YAML document. DynoError, with its place, if it is none."""
    root = _composed(text, file, lambda yaml: yaml.compose(text))
    if root is None:
        raise DynoError(
            "the file is empty",
            where=Where(file, 1, 1),
            fix="start with `experiment: NAME`; `docs/guide` shows a whole one",
        )
    return _Builder(file).build(root, 0)


def parse_all(text: str, file: Path | str) -> list[Node]:
    """Reads a stream of YAML documents, less those that are empty. DynoError as `parse`."""
    roots = _composed(text, file, lambda yaml: list(yaml.compose_all(text)))
    return [_Builder(file).build(root, 0) for root in roots if root is not None]


def _composed(text: str, file: Path | str, compose: Callable[[YAML], Any]) -> Any:
    """What the parser makes of a text, its errors as DynoError."""
    try:
        return compose(YAML(typ="rt", pure=True))
    except MarkedYAMLError as error:
        raise _syntax(error, file) from None
    except ReaderError as error:
        raise _unreadable(error, text, file) from None
    except YAMLError as error:
        raise DynoError(
            f"this is not YAML: {str(error).splitlines()[0]}",
            where=Where(file, 1, 1),
            fix="compare with an experiment in `studies/`",
        ) from None
    except RecursionError:  # the parser descends once a bracket
        raise _too_deep(Where(file, 1, 1)) from None


def overlay(base: Node, patch: Node) -> Node:
    """`patch` laid over `base`: mappings merge deep, anything else replaces. Places of the patch
    win, so that an error in a patched value points at the patch."""
    if not isinstance(base.value, Mapping) or not isinstance(patch.value, Mapping):
        return patch
    merged = dict(base.value)
    for key, child in patch.value.items():
        merged[key] = overlay(merged[key], child) if key in merged else child
    return replace(base, value=merged)


def nested(path: tuple[str, ...], leaf: Node) -> Node:
    """Mappings down `path` that end in `leaf`, all at the leaf's place."""
    node = leaf
    for key in reversed(path):
        node = Node({key: node}, leaf.where, key=leaf.key)
    return node


def leaves(node: Node, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Node]]:
    """Paths of everything below `node` that is not itself a mapping with entries."""
    if not node.mapping:
        yield path, node
    for key, child in node.mapping.items():
        yield from leaves(child, (*path, key))


def shown(node: Node) -> str:
    """A value for a message, short."""
    if isinstance(node.value, Mapping):
        return "a mapping"
    if isinstance(node.value, tuple):
        return "a list"
    if node.value is None:
        return f"`{node.text}`" if node.text else "nothing"
    text = _PASSWORD.sub(r"\1***@", node.text)
    return f"`{text}`" if len(text) <= 40 else f"`{text[:40]}...`"


class _Builder:
    def __init__(self, file: Path | str) -> None:
        self.file = file
        self.count = 0

    def build(self, node: Any, depth: int, key: Where | None = None) -> Node:
        where = self._where(node)
        self.count += 1
        if depth > DEPTH_MAX or self.count > NODES_MAX:
            raise _too_deep(where)
        if isinstance(node, MappingNode):
            return Node(self._mapping(node, depth), where, key=key)
        if isinstance(node, SequenceNode):
            return Node(tuple(self.build(child, depth + 1) for child in node.value), where, key=key)
        assert isinstance(node, ScalarNode)
        return Node(
            self._scalar(node), where, _text(node), quoted=node.style in ("'", '"'), key=key
        )

    def _mapping(self, node: MappingNode, depth: int) -> dict[str, Node]:
        entries: dict[str, Node] = {}
        for key_node, value_node in node.value:
            where = self._where(key_node)
            if not isinstance(key_node, ScalarNode) or not key_node.value:
                raise DynoError("a key must be a word", where=where)
            key = key_node.value
            if len(key) > KEY_MAX:
                raise DynoError(
                    f"a key has {len(key):,} characters, {KEY_MAX} is the most: `{key[:40]}...`",
                    where=where,
                    cause="a name is written as a text",
                    fix="give it a short name",
                )
            if key in entries:
                raise DynoError(
                    f"`{key}` occurs twice in one mapping",
                    where=where,
                    cause=f"the first is in line {entries[key].place.line}",
                    fix="keep one of them",
                )
            entries[key] = self.build(value_node, depth + 1, where)
        return entries

    def _scalar(self, node: ScalarNode) -> Scalar:
        tag = str(node.tag).removeprefix(_TAG)
        text = _text(node)
        if tag == "null":
            return None
        if tag == "bool":
            return text.lower() == "true"
        try:
            if tag == "int":
                return _whole(text)
            if tag == "float":
                return float(text.replace("_", ""))
        except ValueError:
            return text
        if tag in ("str", "timestamp", "value", "merge"):
            return text
        raise DynoError(
            f"tags such as `{node.tag}` mean nothing here",
            where=self._where(node),
            fix="remove the tag",
        )

    def _where(self, node: Any) -> Where:
        return Where(self.file, node.start_mark.line + 1, node.start_mark.column + 1)


def _text(node: ScalarNode) -> str:
    """A scalar as it reads. The parser marks the folds of a `>` block by a bell (U+0007), to write
    them back, and the YAML itself may hold no such character."""
    return str(node.value).replace("\a", "") if node.style == ">" else str(node.value)


def _whole(text: str) -> int:
    plain = text.replace("_", "")
    return int(plain, 0) if plain.lstrip("+-")[:2].lower() in ("0x", "0o", "0b") else int(plain)


def _syntax(error: MarkedYAMLError, file: Path | str) -> DynoError:
    mark = error.problem_mark or error.context_mark
    where = Where(file, mark.line + 1, mark.column + 1) if mark else Where(file, 1, 1)
    problem = (error.problem or error.context or "unreadable").strip().removeprefix("but ")
    cause, fix = next(
        (found for sign, *found in _SYNTAX if sign in problem),
        (
            "indentation, an unclosed bracket or quote, or a `:` inside an unquoted text",
            "quote the text, or compare with an experiment in `studies/`",
        ),
    )
    return DynoError(f"this is not YAML: {problem}", where=where, cause=cause, fix=fix)


def _unreadable(error: ReaderError, text: str, file: Path | str) -> DynoError:
    """A character that YAML does not allow anywhere: its offset becomes a line and a column."""
    before = text[: error.position]
    where = Where(file, before.count("\n") + 1, len(before) - before.rfind("\n"))
    found = ord(text[error.position]) if error.position < len(text) else 0
    return DynoError(
        f"this is not YAML: it contains a control character (U+{found:04X})",
        where=where,
        cause="the file is binary, or is text in another encoding than UTF-8",
        fix="remove the character, or save the file as UTF-8 text",
    )


def _too_deep(where: Where) -> DynoError:
    return DynoError(
        f"the file nests deeper than {DEPTH_MAX} levels or holds more than {NODES_MAX} values",
        where=where,
        cause="aliases (`*name`) that contain themselves or multiply, or stray brackets",
        fix="write the values out",
    )


# (words of the parser, likely cause, next step)
_SYNTAX = (
    ("'\\t'", "a tab: YAML is indented with spaces", "replace the tab by spaces"),
    (
        "another document",
        "`---` begins a second document",
        "put each experiment in a file of its own",
    ),
    ("undefined alias", "`*` begins the name of an alias in YAML", "quote the text"),
    ("incompatible YAML document", "the line `%YAML` asks for another YAML", "remove that line"),
)
