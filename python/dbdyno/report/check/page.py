"""Findings as one HTML file; it needs no network and no other file."""

from __future__ import annotations

from dbdyno.report import templating
from dbdyno.report.check import space, words
from dbdyno.rules.check.judging import Judged

_CHIPS = {"critical": "refuted", "high": "refuted", "medium": "undecided"}


def page(judged: Judged) -> str:
    """The page."""
    found = [words.shown(one) for one in judged.findings]
    return templating.styled(
        "check.html.j2",
        {
            "subjects": [words.subject(facts) for facts in judged.subjects],
            "summary": words.summary(judged),
            "spaces": space.views(judged.subjects),
            "space_head": space.HEAD,
            "findings": [(one, _CHIPS.get(one.severity, "untested")) for one in found],
            "overviews": judged.overviews,
            "known": [words.shown(one) for one in judged.known],
            "ignored": [(words.shown(one.finding), one.reason) for one in judged.ignored],
            "unknown": [*words.unknown(judged), *words.unread(judged)],
        },
    )
