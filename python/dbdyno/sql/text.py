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
_LEFT_OUT = (
    (r"\(\s*\?\+\s*\)|\(\s*\.\.\.\s*\)", "(?)"),  # (?+) of dbdyno, (...) of performance_schema
    (r"\?\s*,\s*\.\.\.", "?, ?"),  # ?, ...
    (r"\b(?:timestamp|date|time)\s+\?", "?"),  # a literal with its type
)
# performance_schema writes the last name of a keyword that has several, and its own for literals.
_SYNONYMS = (
    (r"\bSQL_TSI_(\w+)", r"\1"),
    (r"\bSYSTEM_USER\b(?!\s*\()", "USER"),
    (r"\bNOW\b(?!\s*\()", "NOW()"),
    (r"\bDISTINCTROW\b", "DISTINCT"),
    (r"\(_charset\)\s*", ""),
    (r"\(unknown\)", "?"),
    (r"\b(DECIMAL|CHARACTER|BINARY|FLOAT|DATETIME|TIME)\s*\(\s*(?:\?|\.\.\.)\s*\)", r"\1"),
)
_WRITTEN = {
    dialect: [(re.compile(pattern, re.IGNORECASE), instead) for pattern, instead in forms]
    for dialect, forms in {
        kinds.MYSQL: (*_SYNONYMS, *_LEFT_OUT),
        kinds.POSTGRES: ((r"\$\d+", "?"), *_LEFT_OUT),
    }.items()
}
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
    """Placeholders of digests as `?`, and their words as an application writes them, without
    comments. A list of omitted values has one or two: their number is lost anyway."""
    quotes = re.compile(f"({_QUOTED[dialect]}|{_COMMENT})", re.DOTALL)
    pieces = quotes.split(text)
    pieces[1::2] = [" " if one.startswith("/*") else one for one in pieces[1::2]]
    # Marks keep quoted texts out of the way; a lone NUL is in no statement.
    marked = "".join(
        f"\0{number}\0" if number % 2 else one.replace("\0", " ")
        for number, one in enumerate(pieces)
    )
    for pattern, instead in _WRITTEN[dialect]:
        marked = pattern.sub(instead, marked)
    return re.sub(r"\0(\d+)\0", lambda found: pieces[int(found[1])], marked)


def as_insert(text: str) -> str | None:
    """A REPLACE of MySQL as an INSERT, which has the same form; None for other statements."""
    found = _REPLACE.match(text)
    return f"INSERT INTO {text[found.end() :]}" if found else None


def squeezed(text: str, dialect: str) -> str:
    """`YEAR ( c )` of a digest as `YEAR(c)`: some functions allow no space there. Names of
    others are quoted in performance_schema."""
    pieces = re.split(f"({_QUOTED[dialect]})", " ".join(text.split()), flags=re.DOTALL)
    pieces[::2] = [_SPACE_BEHIND.sub("", _SPACE_BEFORE.sub("", one)) for one in pieces[::2]]
    joined = "".join(pieces)
    joined = re.sub(r"([(.])\s+(?=[`\"])", r"\1", joined)
    joined = re.sub(r"([`\"])\s+(?=[(),.])", r"\1", joined)
    return re.sub(r"[`\"](\w+)[`\"](?=\()", r"\1", joined)


def blank(tokens: Sequence[Token], text: str) -> str:
    """The text without comments, numbers as 0 and strings empty; of patterns behind LIKE, whether
    they begin with a wildcard stays. Whatever has an apostrophe or begins with a digit is taken for
    a literal."""
    pieces: list[str] = []
    last_end, word = -1, ""
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
