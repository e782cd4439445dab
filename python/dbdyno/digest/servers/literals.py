"""Takes what is left of literals out of texts that a server gives.

PostgreSQL before 16 keeps utility statements as they were typed, `ALTER ROLE ... PASSWORD 'x'`
included. Source: the manual's chapter "Lexical Structure".
"""

from __future__ import annotations

import re

SQUASHED = "/*, ... */"  # what PostgreSQL from 18 on writes for the rest of a list
_PIECE = re.compile(
    r"""
    (?P<name>"(?:[^"]|"")*")
    | (?P<gone>--[^\n]*|/\*.*?(?:\*/|\Z))
    | (?P<text>\b[Ee]'(?:[^'\\]|''|\\.)*(?:'|\Z)|(?:\b(?:[BbXxNn]|[Uu]&))?'(?:[^']|'')*(?:'|\Z)
        |\$(?P<tag>[A-Za-z_\x80-\uffff]\w*|)\$.*?(?:\$(?P=tag)\$|\Z))
    | (?P<parameter>\$\d+)
    | (?P<number>(?<![\w$.])(?:0[xXoObB][0-9A-Fa-f_]+
        |(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?))
    """,
    re.VERBOSE | re.DOTALL,
)


def without_literals(statement: str) -> str:
    """Strings and numbers as `?`, comments gone but the mark of a list, white space single.
    Parameters (`$1`) and quoted names stay. A string without an end reaches to the end."""
    return " ".join(_PIECE.sub(_kept, statement).split())


def _kept(found: re.Match[str]) -> str:
    if found["gone"] == SQUASHED:
        return SQUASHED
    if found["name"] is not None or found["parameter"] is not None:
        return found[0]
    return " " if found["gone"] is not None else "?"
