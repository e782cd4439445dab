"""Secrets out: what is stored of a plan that the engine was given.

An engine plan holds the password of each target, since the engine needs it on standard input. The
stored copy must not: a run directory is mailed, archived and published.
"""

from __future__ import annotations

import re
from typing import Any

from dbdyno.experiment.file.hidden import HIDDEN

SECRET_KEYS = frozenset(
    {"password", "passwd", "pwd", "secret", "token", "password_command", "access_key", "secret_key"}
)
_URL_PASSWORD = re.compile(
    r"(?P<head>\b[a-z][a-z0-9+.-]*://[^\s/@]*?(?::|%(?:25)*3a))[^\s@/]+(?=@)", re.IGNORECASE
)
# As `--set` gives one.
_SET_COMMAND = re.compile(r"(?P<head>\bpassword_command\s*=).+", re.DOTALL)
_SQL_PASSWORD = re.compile(
    r"(?P<head>\b(?:identified\s+by|password)\s*(?:=\s*)?)(?:'(?:[^'\\]|\\.|'')*'|\"[^\"]*\")",
    re.IGNORECASE,
)


def scrub(value: Any) -> Any:
    """A copy of `value` (JSON-like: mappings, lists, scalars) without secrets.

    Values of keys that name a secret become `***` (an empty one stays empty: no password is worth
    knowing), passwords in URLs and in SQL text are masked. Nothing else changes, and neither does
    the argument.
    """
    if isinstance(value, dict):
        return {key: _member(str(key), member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [scrub(member) for member in value]
    if isinstance(value, str):
        text = _URL_PASSWORD.sub(rf"\g<head>{HIDDEN}", value)
        text = _SET_COMMAND.sub(rf"\g<head>{HIDDEN}", text)
        return _SQL_PASSWORD.sub(rf"\g<head>'{HIDDEN}'", text)
    return value


def _member(key: str, value: Any) -> Any:
    if key.lower() in SECRET_KEYS:
        return HIDDEN if value else value
    return scrub(value)
