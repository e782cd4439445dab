"""Keys and passwords in statements that a log holds: where, and of which sort, never which.

A key reaches a log as a literal argument of a function that encrypts (`AES_ENCRYPT(x, 'key')`), or
in a statement about an account or a source of replication. Masks (`<secret>`, `*****`, `?`) and
hashes are none. Sources: the manuals' pages on these functions, on CREATE USER and on CHANGE
REPLICATION SOURCE; MySQL's "Password Logging".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from dbdyno.facts.gathered import Gathered

TABLE, COUNT = "key_leaks", "log.key_leaks"
ROWS_MAX = 1000
_ARGUMENTS_BYTES = 16 << 10
CALLS_MAX = 100_000  # of a log that are examined: a log may be written to slow its reader down
_CALL = re.compile(  # the key is the second argument of each
    rb"\b((?:aes|des)_(?:en|de)crypt|pgp_(?:sym_(?:en|de)|pub_de)crypt(?:_bytea)?|(?:en|de)crypt(?:_iv)?"
    rb"|hmac)\s*\(",
    re.IGNORECASE,
)
_STRING = rb"('(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\")"
_SECRET = _STRING.replace(b")*", b"){0,256}")  # none is longer
_TOKEN = re.compile(_STRING + rb"|[(),;]", re.DOTALL)
_LITERAL = re.compile(rb"\b0x[0-9a-f]+|" + _STRING, re.IGNORECASE | re.DOTALL)
_PARAMETER = re.compile(rb"\$\d+")
_DETAILS = (  # behind a statement: in the next line, csvlog's next column, jsonlog's next member
    re.compile(rb"[^\n]*\n[^\n]{0,200}DETAIL:  [Pp]arameters: ([^\n]*)"),
    re.compile(rb'(?:[^"]|""){0,4096}","[Pp]arameters: ([^\n]*)'),
    re.compile(rb'(?:[^"\\]|\\.){0,4096}","detail":"[Pp]arameters: ([^\n]*)'),
)
_ESCAPE = re.compile(rb'\\(?:(["\\/])|[bfnrt])')
_STATEMENT = re.compile(
    rb"\b(?P<account>IDENTIFIED)\s+(?:(?:WITH|VIA)\s+\S+\s+)?(?:BY|USING)\s+" + _SECRET + rb"|"
    rb"\b(?P<source>MASTER_PASSWORD|SOURCE_PASSWORD)\s*=\s*" + _SECRET + rb"|"
    rb"\bPASSWORD\s*(?:=\s*)?(?:PASSWORD\s*)?\(?\s*" + _SECRET,
    re.IGNORECASE | re.DOTALL,
)
_MASKED = re.compile(
    rb"<secret>|\*+|\?*|\.\.\.|\*[0-9A-F]{40}|\$[0-9A-Za-z]\$.*|SCRAM-SHA-256\$.*|md5[0-9a-f]{32}"
    rb"|invalid",
    re.DOTALL,
)


@dataclass(frozen=True)
class Leak:
    """`sort`: what the secret is of. `offset`: where its function or clause begins."""

    sort: str
    offset: int


def leaks(content: bytes) -> Iterator[Leak]:
    """Calls and statements with a secret in them, of the first `CALLS_MAX` of each sort."""
    for found in islice(_CALL.finditer(content), CALLS_MAX):
        given = _arguments(content, found.end())
        if len(given) > 1 and (_is_literal(given[1]) or _is_logged(given[1], content, found.end())):
            yield Leak(f"the key of {found[1].decode().upper()}", found.start())
    for found in islice(_STATEMENT.finditer(content), CALLS_MAX):
        literal = next(one for one in found.groups() if one is not None and one[:1] in b"'\"")
        if not _MASKED.fullmatch(literal[1:-1]):
            yield Leak(_sort(found), found.start())


def _sort(found: re.Match[bytes]) -> str:
    if found["source"]:
        return "a source's password"
    return "an account's password" if found["account"] else "a password"


def rows(path: str, content: bytes, *, begin: int | None = None) -> list[dict[str, Any]]:
    """Rows of the table `key_leaks`: sort, place, which is a line; or a byte, where `content`
    begins at byte `begin` of a file that has no lines, or of which they are not counted."""
    made, line, last = [], 1, 0
    for leak in sorted(leaks(content), key=lambda one: one.offset):
        if begin is not None:
            place = f"{path} at byte {begin + leak.offset}"
        else:
            line += content.count(b"\n", last, leak.offset)
            last = leak.offset
            place = f"{path}:{line}:1"
        made.append({"sort": leak.sort, "place": place})
    return made


def tell(found: Gathered, made: list[dict[str, Any]], place: str) -> None:
    """The first of them as the table, and how many there are."""
    found.table(TABLE, made[:ROWS_MAX], place)
    found.add(COUNT, len(made), place)


def unescaped(content: bytes) -> bytes:
    """A log of JSON with blanks for the escapes of blanks, as many bytes: words begin there."""
    return _ESCAPE.sub(lambda found: found[0] if found[1] else b"  ", content)


def _arguments(content: bytes, start: int) -> list[bytes]:
    """Arguments of a call whose parenthesis is just before `start`; those before the end of the
    statement, if it has no end."""
    given, depth, begin = [], 0, start
    for token in _TOKEN.finditer(content, start, start + _ARGUMENTS_BYTES):
        sign = token[0]
        if sign == b"(":
            depth += 1
        elif sign == b")" and depth:
            depth -= 1
        elif sign == b";" or (sign in (b",", b")") and not depth):
            given.append(content[begin : token.start()])
            begin = token.end()
            if sign != b",":
                break
    return given


def _is_logged(argument: bytes, content: bytes, start: int) -> bool:
    """PostgreSQL logs the values of `$1` as the detail of the statement."""
    parameter = _PARAMETER.fullmatch(argument.strip())
    if parameter is None:
        return False
    details = (detail.match(content, start) for detail in _DETAILS)
    found = next((one for one in details if one is not None), None)
    return found is not None and parameter[0] + b" = '" in found[1]


def _is_literal(argument: bytes) -> bool:
    found = _LITERAL.search(argument)
    return found is not None and not _MASKED.fullmatch(found[0].strip(b"'\""))
