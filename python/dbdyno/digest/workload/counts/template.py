"""Texts that servers keep with their counts, as statements that can be sent: `:p1`, `:p2` for
values.

Sources: MySQL's and MariaDB's sql_digest.cc and gen_lex_token.cc for what stands for values (`?`,
`?, ...`, `(...)`, `(...) /* , ... */`, `IN (...)`, and `...` behind a text that is cut); the
manual of PostgreSQL on pg_stat_statements (`$1`; from 18 on `$1 /*, ... */`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from dbdyno import kinds
from dbdyno.digest.servers.literals import SQUASHED

IN, ROWS = "in", "rows"  # what a list of unknown length is of: values behind IN, rows of VALUES
CUT = "the server has cut their text: performance_schema_max_digest_length"
COUNTLESS = "a list of values whose number the server's text does not tell"
OFFSET = "offsets: the server's counts do not tell them"
SYNTAX = "numbers or texts in their syntax that the server's text does not tell"
TWICE = "a parameter that comes twice"
_PIECE = re.compile(
    r"""
    (?P<name>"(?:[^"]|"")*"|`(?:[^`]|``)*`|[^\W\d][\w$]*)
  | (?P<rows>\((?:\.\.\.|\?)\)\s*/\*\s*,\s*\.\.\.\s*\*/)
  | (?P<row>\(\.\.\.\))
  | (?P<values>\?\s*,\s*\.\.\.)
  | (?P<value>\?)
  | \$(?P<number>\d+)(?P<more>\s*/\*,\ \.\.\.\ \*/)?
  | (?P<sign>::|<=>|<=|>=|<>|!=|:=|->>|->|\s+|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_TAIL = re.compile(r"\blimit\s+\?\s*,\s*\.\.\.$", re.IGNORECASE)
_INSERT = re.compile(r"\s*(?:insert|replace)\b", re.IGNORECASE)
_UNTOLD = re.compile(r"\((?:_charset|unknown|by_num_col)\)", re.IGNORECASE)
_NOW = re.compile(r"(?<![`\w])NOW\b(?!\s*\(|`)", re.IGNORECASE)
_TABLES = ("from", "join", "update", "into", ",")  # words before the names of tables
_CALL = re.compile(r"(`(?:[^`]|``)*`)|\b([A-Za-z_]\w*)\s+\(")


@dataclass(frozen=True)
class Listed:
    """A list of one element in the template: its first place (from 1), how many places an element
    has, and its text. `of`: IN or ROWS."""

    of: str
    place: int
    places: int
    element: str


@dataclass(frozen=True)
class Template:
    """`places`: how many there are. `refused`: why it cannot be sent, if so."""

    sql: str = ""
    places: int = 0
    lists: tuple[Listed, ...] = ()
    refused: str | None = None


@dataclass
class _Making:
    """A template on the way: `words` are the tokens before, without blanks."""

    pieces: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    lists: list[Listed] = field(default_factory=list)
    places: int = 0

    def put(self, text: str) -> None:
        self.pieces.append(text)
        if not text.isspace():
            self.words.append(text)

    def place(self) -> str:
        self.places += 1
        return f":p{self.places}"


class _Refused(Exception):
    """The text cannot be sent."""


def made(text: str, language: str, columns_of: Callable[[str], int]) -> Template:
    """The template of a server's text; `columns_of`: how many columns a table has, 0 if it is not
    known."""
    try:
        if language == kinds.POSTGRES:
            return _postgres(text)
        return _mysql(text, columns_of)
    except _Refused as refused:
        return Template(refused=str(refused))


def _postgres(text: str) -> Template:
    making, seen = _Making(), set[str]()
    for match in _PIECE.finditer(text):
        number = match["number"]
        if match["value"] or match["values"]:
            raise _Refused(SYNTAX)  # a literal that was part of the text
        if number is None:
            making.put(match.group())
            continue
        if number in seen:
            raise _Refused(TWICE)
        seen.add(number)
        if match["more"] and [word.lower() for word in making.words[-2:]] != ["in", "("]:
            raise _Refused(COUNTLESS)
        name = making.place()
        if match["more"]:
            making.lists.append(Listed(IN, making.places, 1, name))
        making.put(name)
    if SQUASHED in "".join(making.pieces):
        raise _Refused(COUNTLESS)
    return Template("".join(making.pieces).strip(), making.places, tuple(making.lists))


def _mysql(text: str, columns_of: Callable[[str], int]) -> Template:
    if text.rstrip().endswith("...") and not _TAIL.search(text.rstrip()):
        raise _Refused(CUT)
    if _UNTOLD.search(text):
        raise _Refused(SYNTAX)
    making = _Making()
    matches = [*_PIECE.finditer(text)]
    rows = _rows(matches) if _INSERT.match(text) else None
    width = 0
    at = 0
    while at < len(matches):
        match = matches[at]
        if rows is not None and at == rows and _is_open(match):
            width = width or _width(making.words, columns_of)
            at = _mixed(making, matches, at, width)
            rows = _next_row(matches, at)
            continue
        at += 1
        if match["rows"] or match["row"]:
            width = width or _width(making.words, columns_of)
            _listed(making, match, width)
        elif match["values"]:
            is_limit = bool(making.words) and making.words[-1].lower() == "limit"
            raise _Refused(OFFSET if is_limit else COUNTLESS)
        else:
            making.put(making.place() if match["value"] else match.group())
    sql = _NOW.sub("NOW()", _called("".join(making.pieces)))
    return Template(sql.strip(), making.places, tuple(making.lists))


def _is_open(match: re.Match[str]) -> bool:
    return match.group() == "("


def _rows(matches: Sequence[re.Match[str]]) -> int | None:
    """Index of the first row behind VALUES."""
    for at, match in enumerate(matches):
        if match.group().lower() in ("values", "value"):
            return _solid(matches, at + 1)
    return None


def _solid(matches: Sequence[re.Match[str]], at: int) -> int | None:
    return next((i for i in range(at, len(matches)) if not matches[i].group().isspace()), None)


def _next_row(matches: Sequence[re.Match[str]], at: int) -> int | None:
    """Index of the row behind a comma, if one follows."""
    comma = _solid(matches, at)
    if comma is None or matches[comma].group() != ",":
        return None
    return _solid(matches, comma + 1)


def _mixed(making: _Making, matches: Sequence[re.Match[str]], at: int, width: int) -> int:
    """A row in which not all is a value: `?, ...` in it is what the columns leave. The index behind
    it."""
    end, missing = _items(matches, at, width)
    for match in matches[at:end]:
        if match["rows"] or match["row"]:
            raise _Refused(COUNTLESS)
        if match["values"]:
            making.put(", ".join(making.place() for _ in range(missing)))
        else:
            making.put(making.place() if match["value"] else match.group())
    return end


def _items(matches: Sequence[re.Match[str]], at: int, width: int) -> tuple[int, int]:
    """The index behind a row, and how many values its `?, ...` stands for."""
    depth, commas, several = 0, 0, 0
    for i in range(at, len(matches)):
        match = matches[i]
        depth += (match.group() == "(") - (match.group() == ")")
        commas += depth == 1 and match.group() == ","
        if match["values"]:
            if depth != 1:
                raise _Refused(COUNTLESS)  # arguments of a function
            several += 1
        if depth == 0:
            missing = width - commas if several else 0
            if several > 1 or (several and missing < 2):
                raise _Refused(COUNTLESS)
            return i + 1, missing
    raise _Refused(CUT)


def _listed(making: _Making, match: re.Match[str], width: int) -> None:
    """`(...)` behind IN or VALUES, and rows."""
    word = making.words[-1].lower() if making.words else ""
    is_single = match.group().startswith("(?")
    if word == "in" and match["row"]:
        making.put("(")
        name = making.place()
        making.lists.append(Listed(IN, making.places, 1, name))
        making.put(name)
        making.put(")")
        return
    count = 1 if is_single else width
    if word not in ("values", "value", ",") or not count:
        raise _Refused(COUNTLESS)
    first = making.places + 1
    element = "(" + ", ".join(making.place() for _ in range(count)) + ")"
    if match["rows"]:
        making.lists.append(Listed(ROWS, first, count, element))
    making.put(element)


def _width(words: Sequence[str], columns_of: Callable[[str], int]) -> int:
    """How many values a row of an INSERT has: columns that are named, or those of the table; 0 if
    it is no INSERT."""
    lows = [word.lower() for word in words]
    if not lows or lows[0] not in ("insert", "replace") or lows[-1:] not in (["values"], ["value"]):
        return 0
    if lows[-2:-1] == [")"]:
        opening = len(lows) - 1 - lows[::-1].index("(")
        return lows[opening:].count(",") + 1
    return columns_of(words[-2].strip('`"'))


def named(sql: str, tables: Mapping[str, str]) -> str:
    """With the names of tables as they are spelled: MySQL's family writes a name that is a keyword
    in capitals, without quotes. `tables`: by name in small letters."""
    matches = [match for match in _PIECE.finditer(sql) if not match.group().isspace()]
    pieces, at = list[str](), 0
    for number, match in enumerate(matches):
        word, before = match.group(), matches[number - 1].group().lower() if number else ""
        behind = matches[number + 1].group() if number + 1 < len(matches) else ""
        name = tables.get(word.lower()) if word.isupper() else None
        is_table = behind == "." or (before in _TABLES and behind != "(") or before == "into"
        if name is not None and name != word and is_table:
            pieces += [sql[at : match.start()], f"`{name}`"]
            at = match.end()
    return "".join([*pieces, sql[at:]])


def _called(sql: str) -> str:
    """Some functions take no blank before their parenthesis, and the server writes one."""
    return _CALL.sub(lambda found: found[1] or f"{found[2]}(", sql)
