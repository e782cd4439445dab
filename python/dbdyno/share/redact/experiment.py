"""Redacts an experiment's file, and what a plan holds in the file's own form.

The file is read as data and written again, so that comments go. Each text is judged by its key;
under an unknown key, only dbdyno's words and quantities stay.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from dbdyno.experiment.faults import KEYS
from dbdyno.experiment.types import POINTS
from dbdyno.experiment.values.scalars import VERSION_PATTERN
from dbdyno.kinds import KINDS
from dbdyno.share.redact import vocabulary
from dbdyno.share.redact.claims import claim
from dbdyno.share.redact.texts import LEFT_OUT, Texts

_SQL = frozenset({"sql", "steps", "one_of", "session", "after", "session_sql", "init"})
_PATHS = frozenset(
    {"dump", "template", "basedir", "password_file", "file", "defaults_file", "server_public_key"}
)
_COMMANDS = frozenset({"run", "apply", "undo", "wait_until", "password_command", *POINTS})
_URLS = frozenset({"url", "write", "read", "on", "host", "nodes"})
_SECRETS = frozenset({"password_env", "defaults_group", "password", "secret", "token"})
_SCHEMAS = frozenset({"existing", "schema"})
_PROSE = frozenset({"question"})
_GONE = frozenset({"context", "notes"})
_CLAIMS = frozenset({"claims", "claim", "require", "while"})
_NAMED = ("columns", "indexes", "key", "references", "on", "column", "include", "name")
_LABELS = frozenset({"experiment", "target", "groups", "levels", "set"})
_SETTINGS = frozenset({"config"})
_TOOLS = frozenset(
    tool for kind in KINDS.values() for tool in (*kind.backups, *kind.schema_changes)
)
_TYPE = re.compile(r"[a-z][a-z ]*(?:\(\d+(?:, *\d+)?\))?(?: unsigned)?", re.IGNORECASE)
_AMOUNT = re.compile(
    r"[+-]?\d[\d,_]*(?:\.\d+)?\s*[A-Za-z%]*(?:/[a-z]+)?|\d{4}-\d\d-\d\d(?:[ T][\d:.]+)?"
)
_RELATIVE_SET = re.compile(r"[\w.-]+(?:\.[\w-]+)*")


def experiment(texts: Texts, text: str) -> str:
    """An experiment's file without its author's identity; comments are gone, as is a file that is
    no YAML mapping."""
    try:
        root = YAML(typ="safe", pure=True).load(text)
    except YAMLError:
        root = None
    if not isinstance(root, dict):
        return f"# {LEFT_OUT}\n"
    out = io.StringIO()
    yaml = YAML()
    yaml.default_flow_style = False
    yaml.width = 100
    yaml.dump(nested(texts, root, ""), out)
    return out.getvalue()


def nested(texts: Texts, value: Any, key: str, parents: tuple[str, ...] = ()) -> Any:
    """A value under `key` below `parents`, outermost first."""
    if isinstance(value, Mapping):
        inner = (*parents, key)
        return {
            _key(texts, str(k), inner): nested(texts, item, str(k), inner)
            for k, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [nested(texts, item, key, parents) for item in value]
    if isinstance(value, str):
        return _text(texts, value, key, parents)
    return value


def _key(texts: Texts, key: str, parents: tuple[str, ...]) -> str:
    """A key that the author chose, or one of dbdyno."""
    where = parents[-1] if parents else ""
    if where == "params":
        return texts.name("parameter", key)
    if where == "tables":
        return texts.name("table", key)
    if where == "columns":
        return texts.name("column", key)
    if where == "config" or where.endswith(".config"):
        return key
    return texts.label(key)


def _text(texts: Texts, text: str, key: str, parents: tuple[str, ...]) -> str:
    last = key.rpartition(".")[2]  # a level's patch: `db.url`
    above = {parent.rpartition(".")[2] for parent in parents}
    if (parents and parents[-1].rpartition(".")[2] in _SETTINGS) or ".config." in f".{key}":
        return texts.setting(last, text)
    if last in ("author", "customer"):
        return texts.name(last, text)
    if (last in _GONE and not parents[1:]) or (last == "say" and parents[-1:] == ("claims",)):
        return LEFT_OUT
    if last in _SECRETS:
        return texts.whole("value", text)
    if "faults" in above and (shown := _of_fault(texts, text, last)):
        return shown
    if last == "sql" and "setup" in above:
        return texts.path(text)
    if last in _SQL and not (last == "after" and "setup" not in above):
        return texts.sql(text)
    if last == "of" and "lists" in above:
        return texts.sql(text)
    if last == "sum" and "params" in above:
        return texts.name("parameter", text)
    if "steps" in above or (parents and parents[-1] == "statements"):
        return texts.sql(text) if last in ("sql", *_words_of(parents)) else _word(texts, text)
    if last in _COMMANDS or (parents and parents[-1] in _COMMANDS and last != "on"):
        return texts.whole("command", text)
    if "://" in text or text.startswith("prometheus:"):
        return texts.url(text) if " " not in text.strip() else texts.prose(text)
    if last in _URLS:
        return _word(texts, text)
    if last in _PATHS or text.startswith(("/", "~/", "./", "../")):
        return texts.path(text)
    if last == "script" and text.endswith(".lua"):
        return texts.path(text)
    if last == "text" and parents == ("options",):
        return texts.whole("script", text)
    if last in _SCHEMAS:
        return texts.name("schema", text)
    if last == "version" and re.fullmatch(VERSION_PATTERN, text):
        return text
    if last in _PROSE:
        return texts.prose(text)
    if last in _CLAIMS:
        return claim(texts, text)
    if "tables" in above or "params" in above:
        return _declared(texts, text, last)
    if last in _LABELS or key == "" or (last == "node" and "faults" in above):
        return texts.label(text)
    return _word(texts, text)


def _of_fault(texts: Texts, text: str, key: str) -> str:
    """What a fault is, and of which table; empty where its key says no more than elsewhere."""
    if key in ("do", "of") and text in KEYS:
        return text
    if key == "tool" and text in _TOOLS:
        return text
    if key == "table":
        return texts.name("table", text)
    return texts.sql(text) if key == "change" else ""


def _words_of(parents: tuple[str, ...]) -> tuple[str, ...]:
    return ("steps",) if parents and parents[-1] == "steps" else ()


def _declared(texts: Texts, text: str, key: str) -> str:
    """A text in the declaration of a table or a parameter."""
    if key == "type" and _TYPE.fullmatch(text):
        return text
    if key == "column" and "." in text:
        table, _, column = text.partition(".")
        return f"{texts.name('table', table)}.{texts.name('column', column)}"
    if key == "key" and text in ("primary", "unique"):
        return text
    if key in _NAMED and re.fullmatch(r"\w+", text):
        return texts.name("column", text)
    return text if _harmless(text) else texts.whole("value", text)


def _word(texts: Texts, text: str) -> str:
    """A word of dbdyno, a quantity, or a name of the experiment; anything else goes as a whole."""
    if _harmless(text):
        return text
    shown = texts.label(text)
    if shown != text:
        return shown if _RELATIVE_SET.fullmatch(shown) else texts.whole("text", text)
    known = text.casefold() in texts.labels or all(
        part in texts.labels or part in vocabulary.OWN
        for part in re.findall(r"[^\W\d_][^\W_]*", text.casefold())
    )
    return text if known else texts.whole("text", text)


def _harmless(text: str) -> bool:
    return (
        not text.strip()
        or text.casefold() in vocabulary.OPTION
        or text.casefold() in vocabulary.SETTING
        or _AMOUNT.fullmatch(text) is not None
    )
