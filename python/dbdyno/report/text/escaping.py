"""Makes strangers' text harmless in HTML and Markdown.

Questions, level names, statements, settings and server messages come from outside. HTML escaping is
Jinja's (autoescape), control characters are made visible by `wording.visible`; this module does
what these leave: JSON inside a script element, CSS, Markdown. Sources: WHATWG HTML 13.2.5 (script
data states), CommonMark 0.31.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup, escape

from dbdyno.wording.numbers import sig3
from dbdyno.wording.visible import visible

_OPENING = re.compile(r"^(\d*)([-+=.)])")  # of a list's item, or under a heading
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~#&])")


_OTHER = re.compile(r"[<>&|\\]")
_QUOTED = re.compile(r"`([^`\n]+)`")  # names of settings, commands and claims in sentences


_NUMBER = re.compile(r"\d[\d.,]*\d|\d")


def alike(texts: Sequence[str]) -> str:
    """Texts that differ in numbers only, as one: each number that differs as `LEAST to MOST`, to
    three digits. The first of them where they differ in more."""
    words = _NUMBER.split(texts[0])
    if any(_NUMBER.split(text) != words for text in texts):
        return texts[0]
    numbers = zip(*(_NUMBER.findall(text) for text in texts), strict=True)
    said = [*map(_span, numbers), ""]
    return "".join(word + number for word, number in zip(words, said, strict=True))


def _span(numbers: Sequence[str]) -> str:
    """One number, or the least and the most of several."""
    if len(set(numbers)) == 1:
        return numbers[0]
    values = [float(number.replace(",", "")) for number in numbers]
    low, high = sig3(min(values)), sig3(max(values))
    return low if low == high else f"{low} to {high}"


def html(text: object) -> Markup:
    """Text made visible and escaped, for use inside an element or a quoted attribute."""
    return escape(visible(text))


def code(text: object) -> Markup:
    """Text of an element of HTML, escaped; what stands between backticks is code."""
    parts = _QUOTED.split(visible(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if at % 2 else escape(part)
        for at, part in enumerate(parts)
    )


def markdown_code(text: object) -> str:
    """The same for a Markdown paragraph. Code with a character that begins or ends other markup
    somewhere (a comment's forge, a table's cell) is escaped text instead."""
    parts = _QUOTED.split(" ".join(visible(text).split()))
    return "".join(
        f"`{part}`" if at % 2 and not _OTHER.search(part) else _MARKDOWN.sub(r"\\\1", part)
        for at, part in enumerate(parts)
    )


def script_json(value: Any) -> Markup:
    """Compact JSON that is safe inside a script element: no `<`, `>`, `&` survives, so neither a
    closing tag nor a comment can be formed."""
    dumped = json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    for character, code in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        dumped = dumped.replace(character, code)
    return Markup(dumped)


def css_string(text: object) -> Markup:
    """Text as a string of CSS, safe inside a style element: all but letters and digits by their
    codes."""
    codes = (c if c.isascii() and c.isalnum() else f"\\{ord(c):x} " for c in visible(text))
    return Markup(f'"{"".join(codes)}"')


def markdown(text: object) -> str:
    """Text for a Markdown paragraph or table cell: one line, nothing in it is markup."""
    return _MARKDOWN.sub(r"\\\1", " ".join(visible(text).split()))


def paragraphs(text: object) -> str:
    """Text for Markdown in its own lines and paragraphs, where nothing in it is markup."""
    blocks = re.split(r"\n\s*\n", visible(text).strip())
    return "\n\n".join("\\\n".join(map(_line, block.split("\n"))) for block in blocks)


def _line(text: str) -> str:
    return _OPENING.sub(r"\1\\\2", markdown(text))


def fence(text: object) -> str:
    """A fenced code block whose fence is longer than any run of backticks inside."""
    body = visible(text).rstrip("\n")
    longest = max((len(run) for run in re.findall(r"`+", body)), default=0)
    mark = "`" * max(3, longest + 1)
    return f"{mark}\n{body}\n{mark}"


def slug(text: object) -> str:
    """A file name or element id made of what is safe in both."""
    return re.sub(r"[^a-z0-9]+", "-", str(text).lower()).strip("-")[:60] or "x"
