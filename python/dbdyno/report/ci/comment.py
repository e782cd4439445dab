"""The head of `report.md` as a comment on a pull or merge request.

Markdown of strangers is escaped by the report's own templates. What forges do beyond Markdown is
undone here: mentions, references, links made of bare URLs, and GitLab's quick actions.
"""

from __future__ import annotations

import re

from dbdyno.report.write import Report

LENGTH_MAX = 50_000  # characters; GitHub takes 65,536, with what share/ci/summary.sh adds
_BREAK = "\u200b"  # zero-width space
_REACTED_TO = re.compile(r"@(?=\w)|[#!&](?=\d)|:(?=//)|(?i:\bwww)(?=\.)|(?i:\bGH-)(?=\d)")
_QUICK_ACTION = re.compile(r"(?m)^(\s*)/")


def draw(report: Report) -> str:
    """The question, the answer, the claims and what was tested."""
    return shortened(harmless(report.head()))


def harmless(text: str) -> str:
    """Markdown in which no forge finds a user, an issue, a bare URL or a quick action."""
    return _QUICK_ACTION.sub(r"\1\\/", _REACTED_TO.sub(rf"\g<0>{_BREAK}", text))


def shortened(text: str, length: int = LENGTH_MAX) -> str:
    """Whole lines of at most `length` characters; says so where it omits some."""
    if len(text) <= length:
        return text
    kept = text[: text.rfind("\n", 0, length) + 1]
    return f"{kept}\n**Shortened: report.md has all of it.**\n"
