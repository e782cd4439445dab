"""Texts of statements as sqlglot can read them, and without their literals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from dbdyno import kinds

CHARACTERS_MAX = 100_000  # of a statement
_QUOTED = {
    kinds.MYSQL: r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"|`[^`]*`",
    kinds.POSTGRES: r"\b[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|\"[^\"]*\"",
}
_COMMENT = r"/\*(?![!+]).*?\*/"
_REPLACE = re.compile(r"\s*replace(\s+(?:low_priority|delayed))?\s+(?:into\s+)?", re.IGNORECASE)
# What digests write for literals that they leave out.
_LEFT_OUT = (
    r"\(\s*\?\+\s*\)|\(\s*\.\.\.\s*\)",  # (?+) of dbdyno, (...) of performance_schema
    r"\s*,\s*\.\.\.",  # ?, ...
)
_SPACE_BEFORE = re.compile(
    r"\s+(?=[),.;])|(?<=\w)(?<!\bin)(?<!\band)(?<!\bor)\s+(?=\()", re.IGNORECASE
)
_SPACE_BEHIND = re.compile(r"(?<=[(.])\s+")


class Token(NamedTuple):
    """`start` and `end` (the last character's) in the text; `text`: what a string says."""

    start: int
    end: int
    text: str
    is_string: bool
    is_number: bool


def prepared(text: str, dialect: str) -> str:
    """Placeholders of digests as `?`, without comments. A value of a list that is left out stays
    one value: its number is lost anyway."""
    pattern = re.compile(
        rf"(?P<kept>{_QUOTED[dialect]})|(?P<none>{_COMMENT}|{_LEFT_OUT[1]})|(?P<list>{_LEFT_OUT[0]})"
        + (r"|(?P<number>\$\d+)" if dialect == kinds.POSTGRES else ""),
        re.DOTALL,
    )

    def instead(match: re.Match[str]) -> str:
        if match["kept"]:
            return match[0]
        if match["list"]:
            return "(?)"
        return " " if match["none"] else "?"

    return pattern.sub(instead, text)


def as_insert(text: str) -> str | None:
    """A REPLACE of MySQL as an INSERT, which has the same form; None for other statements."""
    found = _REPLACE.match(text)
    return f"INSERT INTO {text[found.end() :]}" if found else None


def squeezed(text: str, dialect: str) -> str:
    """`YEAR ( c )` of a digest as `YEAR(c)`: some functions allow no space there."""
    pieces = re.split(f"({_QUOTED[dialect]})", " ".join(text.split()), flags=re.DOTALL)
    pieces[::2] = [_SPACE_BEHIND.sub("", _SPACE_BEFORE.sub("", one)) for one in pieces[::2]]
    joined = "".join(pieces)
    joined = re.sub(r"([(.])\s+(?=[`\"])", r"\1", joined)
    return re.sub(r"([`\"])\s+(?=[(),.])", r"\1", joined)


def blank(tokens: Sequence[Token], text: str) -> str:
    """The text without comments, numbers as 0 and strings empty; of patterns behind LIKE, whether
    they begin with a wildcard stays. Whatever has an apostrophe or begins with a digit is taken for
    a literal."""
    pieces, last_end, word = [], -1, ""
    for token in tokens:
        source = text[token.start : token.end + 1]
        if pieces and token.start > last_end + 1:
            pieces.append(" ")
        if token.is_string or "'" in source:
            source = _pattern(token.text) if word in ("LIKE", "ILIKE") else "''"
        elif token.is_number or source[:1].isdigit():
            source = "0"
        pieces.append(source)
        last_end, word = token.end, source.upper()
    return "".join(pieces)


def _pattern(text: str) -> str:
    if text[:1] in ("%", "_"):
        return "'%'"
    return "'x%'" if text else "''"
