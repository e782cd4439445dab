"""What is known about a statement without a server: its parameters, and whether it only reads.

Parameters are `:name`, outside quotes and comments; `::` (a cast) and `:=` are none. Quotes are
doubled inside quotes; a backslash takes the next character along, as MySQL and MariaDB read it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_TOKEN = re.compile(
    r"""
    (?P<skip>
        '(?:[^'\\]|\\.|'')*'            # text
      | "(?:[^"\\]|\\.|"")*"
      | `[^`]*`
      | --[^\n]*
      | /\*.*?\*/
      | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$ # PostgreSQL's dollar quotes
      | ::
      | :=
    )
  | (?P<end>;)
  | :(?P<name>[A-Za-z_]\w*)
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT = re.compile(r"(?:\s|\(|--[^\n]*(?:\n|$)|/\*(?!!).*?\*/)*", re.DOTALL)
_WORD = re.compile(r"[A-Za-z]+")
READING = frozenset(
    """select values table show explain describe desc set use begin start commit rollback
    savepoint release pragma help""".split()  # noqa: SIM905
)
_WRITE_WORD = re.compile(r"\b(?:insert|update|delete|merge|replace)\b", re.IGNORECASE)


def parameters(sql: str) -> list[str]:
    """The names of the parameters of a statement, each once, in the order of the text."""
    found = (match["name"] for match in _TOKEN.finditer(sql))
    return list(dict.fromkeys(name for name in found if name is not None))


def replaced(sql: str, put: Callable[[str], str]) -> str:
    """A statement with something else for each parameter, by its name."""

    def of(match: re.Match[str]) -> str:
        return put(match["name"]) if match["name"] is not None else match.group()

    return _TOKEN.sub(of, sql)


def written(sql: str, put: Callable[[str], str], at: int) -> int:
    """The character of a statement that is number `at` of the same with its parameters
    `replaced`."""
    longer = 0
    for match in _TOKEN.finditer(sql):
        if match["name"] is None:
            continue
        put_at = match.start() + longer
        if at < put_at:
            break
        there = put(match["name"])
        if at < put_at + len(there):
            return match.start()
        longer += len(there) - len(match.group())
    return at - longer


def renamed(sql: str, names: Mapping[str, str]) -> str:
    """A statement whose parameters have other names."""
    return replaced(sql, lambda name: f":{names[name]}")


def out_of_reach(sql: str) -> list[str]:
    """Names like parameters' in comments that servers read: hints, `/*+ ... */`, and MySQL's code
    for some versions, `/*! ... */`. They would be sent unchanged."""
    comments = (match["skip"] or "" for match in _TOKEN.finditer(sql))
    read = (one for one in comments if one.startswith(("/*+", "/*!", "/*M!")))
    return list(dict.fromkeys(name for one in read for name in parameters(one[2:-2])))


def occurrences(sql: str, part: str) -> int:
    """How often a part of a statement occurs in it, not counting the beginnings and ends of longer
    names."""
    before = r"(?<![\w:])" if part[:1] == ":" or re.match(r"\w", part) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", part) else ""
    return len(re.findall(before + re.escape(part) + after, sql))


def bare(sql: str) -> str:
    """A text of SQL with a space for each comment and all that is quoted."""
    return _TOKEN.sub(lambda match: " " if match["skip"] else match.group(), sql)


def keyword(sql: str) -> str:
    """The first word of a statement, small; empty if there is none."""
    start = _COMMENT.match(sql)
    word = _WORD.match(sql, start.end() if start else 0)
    return word.group().lower() if word else ""


def statements(sql: str) -> list[str]:
    """The statements of a string, which semicolons part; empty ones and comments are none."""
    ends = [match for match in _TOKEN.finditer(sql) if match["end"]]
    begins = [0, *(match.end() for match in ends)]
    parts = zip(begins, [*(match.start() for match in ends), len(sql)], strict=True)
    cut = (sql[begin:end] for begin, end in parts)
    return [part for part in cut if not _COMMENT.fullmatch(part)]


def reads(sql: str) -> bool:
    """Whether a string of statements, mostly one, surely changes nothing. A common table expression
    may hold one that does; what a function does cannot be seen, so `reads:` may say otherwise."""
    parts = statements(sql)
    return bool(parts) and all(map(_reads, parts))


def _reads(sql: str) -> bool:
    first = keyword(sql)
    if first in ("with", "explain"):
        plain = _TOKEN.sub(lambda match: "''" if match["skip"] else match.group(), sql)
        return not _WRITE_WORD.search(re.sub(r"(?i)\bfor\s+(?:no\s+key\s+)?update\b", "", plain))
    return first in READING
