"""SQL of an experiment that a server refuses: the error, and its place in the user's file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dbdyno.errors import DynoError, Where
from dbdyno.experiment.file import document
from dbdyno.experiment.file.document import Node


class RefusedStatement(DynoError):
    """A server does not take `sql`. `at`: the character of it that the server names, from 0."""

    def __init__(self, what: str, *, sql: str, at: int | None, fix: str) -> None:
        super().__init__(what, fix=fix)
        self._sql, self._at = sql, at

    def locate(self, file: Path | str) -> None:
        """Gives it its place in the file; none if the file does not hold the statement, as for what
        came from `--set`."""
        try:
            text = Path(file).read_text("utf-8-sig")
            root = document.parse(text, file)
        except (OSError, UnicodeDecodeError, DynoError):
            return
        nodes = (node for node in _scalars(root) if node.text == self._sql)
        if (node := next(nodes, None)) is not None:
            self.where = within(node, text, self._at or 0)


def _scalars(node: Node) -> Iterator[Node]:
    for child in (*node.mapping.values(), *node.items):
        yield from _scalars(child)
    if node.is_scalar:
        yield node


def within(node: Node, text: str, at: int) -> Where:
    """The place of a character of a text's value, found behind quotes, escapes, folds and
    indentation; the beginning of the value where its source in `text` cannot be followed."""
    lines = text.splitlines(keepends=True)[node.where.line - 1 :]
    source = "".join([lines[0][node.where.column - 1 :], *lines[1:]])
    place = source.find("\n") + 1 if source.startswith(("|", ">")) else 0
    for number, char in enumerate(node.text.rstrip()[: at + 1]):
        if char.isspace():
            continue
        found = _next(source, place, char)
        if found is None:
            return node.where
        place = found + (number < at)  # the last one is not passed
    before = source[:place].split("\n")
    column = len(before[-1]) + (node.where.column if len(before) == 1 else 1)
    return Where(node.where.file, node.where.line + len(before) - 1, column)


def _next(source: str, place: int, char: str) -> int | None:
    """Where a character of a value is in its source, from a place on; None if it is not next."""
    while place < len(source) and source[place] != char:
        if source[place] == "\\" and source[place + 1 : place + 2] in ("n", "r", "t"):
            place += 2
        elif source[place].isspace() or source[place] in "\\'\"":
            place += 1
        else:
            return None
    return place if place < len(source) else None
