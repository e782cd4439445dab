"""YAML written line by line, with comments, of text that may hold anything."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

COMMENT_MAX = 400  # characters of a comment that come from elsewhere
WIDTH = 110
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_WORDS = frozenset("""true false yes no on off null y n""".split())  # noqa: SIM905


def scalar(value: Any) -> str:
    """A value in flow style: every text that is not a plain word in double quotes, whatever could
    be taken for the end of a line escaped."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(k)}: {scalar(v)}" for k, v in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(scalar, value)) + "]"
    if not isinstance(value, str):
        return json.dumps(value, allow_nan=False)
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return quoted(value)


def quoted(text: str) -> str:
    """Text in double quotes."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    code = ord(char)
    if char == " " or (char.isprintable() and not 0xD800 <= code <= 0xDFFF):
        return char
    if 0xD800 <= code <= 0xDFFF:
        return "\\uFFFD"  # half a pair is no character
    return (
        f"\\x{code:02X}" if code < 256 else f"\\u{code:04X}" if code < 65536 else f"\\U{code:08X}"
    )


def visible(text: str, most: int = COMMENT_MAX) -> str:
    """Text of others for a comment: one line, nothing that moves a terminal or hides, cut."""
    shown = _shown(text[: most * 4])
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def _shown(text: str) -> str:
    return "".join(
        char if char == " " or (char.isprintable() and unicodedata.category(char) != "Cf") else "·"
        for char in " ".join(text.split())
    )


def comment(text: str, indent: int = 0) -> list[str]:
    """Lines of a comment, broken at blanks."""
    lines, line = [], ""
    for word in _shown(text).split(" ") if text else [""]:
        if line and indent + 2 + len(line) + 1 + len(word) > WIDTH:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [f"{' ' * indent}# {each}".rstrip() for each in [*lines, line]]


def length(seconds: float) -> str:
    """`2s`, `1500ms`: a length of time as experiments have it."""
    return f"{seconds:g}s" if seconds == int(seconds) else f"{seconds * 1000:g}ms"
