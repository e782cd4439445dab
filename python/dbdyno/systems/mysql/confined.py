"""SQL files for an external MariaDB or MySQL: tables of one schema, their rows, nothing else.

On a managed server a stray statement does no harm. Here others have data too, so that every
statement, wherever in a line it begins, must be of a kind that is known, and name no schema where
it names what it changes. Routines, triggers, events and views are not taken: they could reach out
later. What conditional comments hold counts as if it were executed.

Sources: the two manuals' pages on lexical structure (comments, strings, identifiers), on the
statements named here, and on mysqldump's output.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dbdyno.systems.sql_files import Importer, Rejected

TOKENS_MAX = 100_000  # of a statement, except for the rows of INSERT and REPLACE
_HEAD_TOKENS = 32  # of an INSERT: what it fills is known by then

_STRING = rb"""'[^'\\]*+(?:(?:\\.|'')[^'\\]*+)*+'|"[^"\\]*+(?:(?:\\.|"")[^"\\]*+)*+\""""
_TOKEN = re.compile(
    rb"(?P<string>" + _STRING + rb")"
    rb"""
  | (?P<name>`(?:[^`]|``)*+`)
  | (?P<open>['"`])
  | (?P<remark>--(?=\s|\Z)[^\n]*|\#[^\n]*)
  | (?P<comment>/\*M?!9{6}|/\*(?!M?!))
  | (?P<condition>/\*M?!\d*|\*/)
  | (?P<number>\d+\.\d*|\.\d+)
  | (?P<word>[\w$@\x80-\xff]+)
  | (?P<space>\s+)
  | (?P<mark>.)
    """,
    re.VERBOSE | re.DOTALL,
)
# A run of a row's values: everything up to what could end a statement or hide its end.
_VALUES = re.compile(rb"(?:[^'\"`;/\#\-*]++|" + _STRING + rb"|-(?!-))*+", re.DOTALL)

# Statement -> the word up to which no schema may be named; "" for all of it, None for nowhere.
_ALLOWED: Mapping[str, str | None] = {
    "alter": "",
    "begin": None,
    "commit": None,
    "create": "(",
    "delete": "where",
    "drop": "",
    "insert": "(",
    "lock": "",
    "replace": "(",
    "rename": "",
    "set": None,
    "start": None,
    "truncate": "",
    "unlock": None,
    "update": "set",
}
_ROWS = ("insert", "replace")
_MAKES = ("create", "drop", "alter", "rename", "lock", "truncate", "unlock", "start")
_OBJECTS = frozenset(["table", "tables", "index", "transaction"])  # of these
_BEFORE_OBJECT = frozenset(["or", "replace", "temporary", "unique", "fulltext", "spatial"])
_ENDS_OF_NAME = frozenset(("(", "values", "value", "select", "set"))
# Settings of the whole server, and those that would change what this module reads.
_NOT_SET = re.compile(
    r"\b(?:global|persist|persist_only|password|role|sql_log_bin|ansi_quotes|no_backslash_escapes)\b"
    r"|@@(?:global|persist)",
    re.IGNORECASE,
)
_FIX = "keep to tables and rows: `mysqldump --skip-triggers` of one schema, without views"


class OneSchema:
    """Checks every statement before another importer gets its lines."""

    def __init__(self, inner: Importer) -> None:
        self._inner = inner
        self._line = 0
        self._inside = b""  # a quote or `*/` that a line has left open
        self._tokens: list[str] = []  # of the statement so far, small letters

    def feed(self, line: bytes) -> None:
        """One line; Rejected if a statement in it is not allowed here."""
        self._line += 1
        self._read(line)
        self._inner.feed(line)

    def finish(self) -> None:
        """The last statement may be incomplete."""
        self._end()
        self._inner.finish()

    def abort(self) -> None:
        """As the inner one."""
        self._inner.abort()

    def stop(self) -> None:
        """As the inner one."""
        self._inner.stop()

    def _read(self, line: bytes) -> None:
        at = self._closed(line) if self._inside else 0
        while at < len(line):
            if self._in_rows():
                values = _VALUES.match(line, at)
                at = values.end() if values else at
                if at == len(line):
                    return
            found = _TOKEN.match(line, at)
            assert found is not None
            at, kind = found.end(), found.lastgroup
            if kind in ("open", "comment"):
                self._inside = b"*/" if kind == "comment" else found[0]
                at = self._closed(line, at)
            elif found[0] == b";":
                self._end()
            elif kind not in ("space", "remark", "condition"):
                self._add(found[0].decode("utf-8", "replace").lower())

    def _closed(self, line: bytes, at: int = 0) -> int:
        """Where what was left open ends; the line's end if it does not."""
        text = {b"'": rb"(?:[^'\\]|\\.|'')*+'", b'"': rb'(?:[^"\\]|\\.|"")*+"'}
        pattern = text.get(self._inside, rb".*?" + re.escape(self._inside))
        found = re.compile(pattern, re.DOTALL).match(line, at)
        if found is None:
            return len(line)
        self._inside = b""
        return found.end()

    def _in_rows(self) -> bool:
        return len(self._tokens) > _HEAD_TOKENS and self._tokens[0] in _ROWS

    def _add(self, token: str) -> None:
        if self._in_rows():
            return
        if len(self._tokens) >= TOKENS_MAX:
            self._refuse("is longer than can be looked through here")
        self._tokens.append(token)
        if len(self._tokens) == 1 and token not in _ALLOWED:
            self._refuse("is not taken by an external server")
        if self._in_rows():  # enough to judge by, before anything of it is sent
            self._judge()

    def _end(self) -> None:
        if self._tokens and not self._in_rows():
            self._judge()
        self._tokens = []

    def _judge(self) -> None:
        """Rejected unless the statement stays in the schema."""
        kind, until = self._tokens[0], _ALLOWED[self._tokens[0]]
        if kind in _MAKES and self._object() not in _OBJECTS:
            self._refuse("is not taken by an external server")
        if kind == "set" and _NOT_SET.search(" ".join(self._tokens)):
            self._refuse("changes the server, or how the rest is read")
        if until is None:
            return
        named = self._tokens[: self._until(until)]
        if any(token.startswith(".") for token in named):  # `.5` too: `shop.5tables` is a name
            self._refuse("names a schema, and only ours may be touched")

    def _object(self) -> str:
        words = (token for token in self._tokens[1:] if token not in _BEFORE_OBJECT)
        return next(words, "")

    def _until(self, word: str) -> int:
        ends = _ENDS_OF_NAME if word == "(" else frozenset((word,))
        for number, token in enumerate(self._tokens):
            if word and number and token in ends:
                return number
        return len(self._tokens)

    def _refuse(self, why: str) -> None:
        shown = " ".join(self._tokens[:8])
        raise Rejected(self._line, f"`{shown[:60]}` {why}", fix=_FIX)
