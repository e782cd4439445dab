"""Statements of a load that may not write: those that a read-only session can keep from writing.

A read-only session refuses every change within a transaction, a function's too. What it does not
stop is refused here: several statements in one, of which one could lift the guard, rows into a file
of the server, and functions that act outside of transactions. Where it is unclear where a string or
a comment ends, which depends on the server's settings, the statement is refused.

Sources: the manuals' pages on lexical structure; MySQL 8.4 ("SELECT ... INTO Statement");
PostgreSQL 17 ("SET TRANSACTION", "System Administration Functions", appendix on modules).
"""

from __future__ import annotations

import itertools
import re

from dbdyno import kinds
from dbdyno.experiment.targets.read_only import session

_READING = ("select", "with", "table", "values", "show", "explain", "desc", "describe", "help")
_UNCLEAR = re.compile(r"""\\['"`]|/\*M?!|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]""")
_DOLLARS = re.compile(r"\$\w*\$")
_QUOTED = r"""'(?:[^']|'')*'|"(?P<name>(?:[^"]|"")*)"|`(?P<mysqls>(?:[^`]|``)*)`"""
_MYSQL = re.compile(
    rf"{_QUOTED}|/\*.*?\*/|(?:\#|--(?=\s|\Z))[^\n]*|(?P<word>[\w$@]+)|(?P<mark>\S)", re.DOTALL
)
_POSTGRES = re.compile(rf"{_QUOTED}|/\*.*?\*/|--[^\n\r]*|(?P<word>[\w$]+)|(?P<mark>\S)", re.DOTALL)
_ACTING = frozenset(
    """set_config dblink dblink_exec dblink_open dblink_send_query lo_import lo_export query_to_xml
    query_to_xmlschema query_to_xml_and_xmlschema sys_exec sys_eval sys_set""".split()  # noqa: SIM905
)
# PostgreSQL's functions of the server that only read, or wait; others act outside of transactions.
_LOOKING = re.compile(
    r"pg_(?:get_\w+|sleep(?:_for|_until)?|typeof|backend_pid|\w*_size|size_(?:pretty|bytes)"
    r"|\w+_is_visible|encoding_to_char|is_in_recovery|postmaster_start_time|conf_load_time"
    r"|has_role|blocking_pids|current_\w+|last_\w+|describe_object|input_is_valid"
    r"|stat_get_\w+|index\w*_has_property|relation_filenode|relation_filepath|collation_for"
    r"|char_to_encoding|client_encoding|my_temp_schema|tablespace_\w+|safe_snapshot_blocking_pids)"
)


def refusal(sql: str, kind: str) -> str:
    """Why a read-only session of such a server does not suffice for a statement; empty: it does."""
    is_postgres = kinds.of(kind).language == kinds.POSTGRES
    if _UNCLEAR.search(sql) or (is_postgres and _DOLLARS.search(sql)):
        return (
            "where its strings and comments end depends on the server: double the quotes in "
            "strings, and avoid dollar quotes and `/*! */`"
        )
    tokens = _tokens(sql, _POSTGRES if is_postgres else _MYSQL)
    if any(token in "'\"`" for token in tokens):
        return "a string or a name in it has no end"
    while tokens and tokens[-1] == ";":
        tokens.pop()
    if ";" in tokens:
        return "it is several statements: give each its own step"
    first = next((token for token in tokens if token != "("), "")
    if first == "set":
        return session.refusal(sql, kind)
    if first not in _READING:
        return f"`{first}` may change data"
    if "outfile" in tokens or "dumpfile" in tokens:
        return "it writes rows into a file of the server"
    return _acting(tokens, is_postgres=is_postgres)


def _tokens(sql: str, pattern: re.Pattern[str]) -> list[str]:
    """Words, names without their quotes, and marks, in small letters."""
    found = []
    for match in pattern.finditer(sql):
        names = (match["word"], match["name"], match["mysqls"], match["mark"])
        found += [name.lower() for name in names if name]
    return found


def _acting(tokens: list[str], *, is_postgres: bool) -> str:
    for name, after in itertools.pairwise(tokens):
        of_server = is_postgres and name.startswith("pg_") and not _LOOKING.fullmatch(name)
        if after == "(" and (name in _ACTING or of_server):
            return f"function {name} acts outside of the transaction"
    return ""
