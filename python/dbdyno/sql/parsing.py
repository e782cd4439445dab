"""sqlglot, asked so that it never raises, and so that expressions know where they are written."""

from __future__ import annotations

import functools
import logging
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.tokens import TokenType

from dbdyno.sql import text as texts

SPAN = "dbdyno_span"  # of a node's meta: where its text begins, and where it ends
_STRINGS = {
    *(TokenType.STRING, TokenType.RAW_STRING, TokenType.HEREDOC_STRING, TokenType.UNICODE_STRING),
    *(TokenType.NATIONAL_STRING, TokenType.BYTE_STRING),
}
_NUMBERS = {TokenType.NUMBER, TokenType.BIT_STRING, TokenType.HEX_STRING}
_OF_ROWS = (exp.Query, exp.Update, exp.Delete, exp.Insert)
# Methods of its parser, one a level of expressions.
_NOTED = ("_parse_equality", "_parse_range", "_parse_term", "_parse_unary", "_parse_function")
# What it says of statements that it does not know; that they are not read is our answer.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


class Parsed:
    """A tree and the text that it is of."""

    def __init__(self, tree: exp.Expr, text: str, dialect: str, is_replace: bool) -> None:
        self.tree, self.text, self.dialect = tree, text, dialect
        self.is_replace = is_replace  # which was read as an INSERT

    def written(self, node: exp.Expr) -> str:
        """SQL of a node, as it is written where that is known."""
        span = node.meta.get(SPAN)
        if span is not None:
            return texts.squeezed(self.text[span[0] : span[1] + 1], self.dialect)
        return node.sql(dialect=self.dialect, normalize_functions=False, comments=False)


@functools.lru_cache(maxsize=1024)
def parse(text: str, dialect: str) -> Parsed | None:
    """The tree, which is not to be changed: several rules read one statement. None for what is no
    single statement that it knows."""
    if len(text) > texts.CHARACTERS_MAX:
        return None
    ready = texts.prepared(text, dialect).strip().rstrip(";")
    insert = texts.as_insert(ready)
    ready = insert or ready
    try:
        tokens = Dialect.get_or_raise(dialect).tokenize(ready)
        trees = [one for one in _parser(dialect)().parse(tokens, ready) if one is not None]
    except (SqlglotError, RecursionError, ValueError, AttributeError, TypeError, LookupError):
        return None  # its own errors, and what else it trips over
    if len(trees) != 1 or isinstance(trees[0], exp.Command):
        return None
    return Parsed(trees[0], ready, dialect, insert is not None)


def without_literals(text: str, dialect: str) -> str | None:
    """A statement that reads or writes rows, its numbers as 0, its strings empty, without comments.
    None for any other: only of these it is known that all literals are found."""
    parsed = parse(text, dialect)
    if parsed is None or not isinstance(parsed.tree, _OF_ROWS):
        return None
    ready = parsed.text
    tokens = [
        texts.Token(
            one.start,
            one.end,
            one.text,
            one.token_type in _STRINGS,
            one.token_type in _NUMBERS,
        )
        for one in Dialect.get_or_raise(dialect).tokenize(ready)
    ]
    made = texts.blank(tokens, ready)
    return f"REPLACE{made.removeprefix('INSERT')}" if parsed.is_replace else made


@functools.cache
def _parser(dialect: str) -> Any:
    """The dialect's parser, whose expressions note where they are written: its tree has functions
    under other names, and an index on an expression must have the query's own."""
    found = Dialect.get_or_raise(dialect)
    base: Any = found.parser_class

    class Noting(base):  # type: ignore[misc]
        pass

    for name in _NOTED:
        setattr(Noting, name, _noting(name))
    return functools.partial(Noting, dialect=found)


def _noting(name: str) -> Any:
    def parse(self: Any, *args: Any, **kwargs: Any) -> Any:
        first = self._curr
        made = getattr(super(type(self), self), name)(*args, **kwargs)
        if isinstance(made, exp.Expr) and first is not None and self._prev is not None:
            made.meta[SPAN] = (first.start, self._prev.end)
        return made

    return parse
