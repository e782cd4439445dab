"""Redacts metrics, claims and conditions, so that they still mean the same parts of a run."""

from __future__ import annotations

import re

from dbdyno.experiment.claims import known_metrics
from dbdyno.experiment.claims.amounts import AMOUNT
from dbdyno.share.redact.texts import Texts

_WORD = re.compile(rf"{AMOUNT.pattern}|[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_%-]+)*")
_KNOWN_METRICS = frozenset(
    spelling for each in known_metrics.METRICS for spelling in (each.name, *each.aliases)
)
_SELECTORS = re.compile(r"(\[[^\]]*\]|\bat\b.*$)", re.DOTALL)


def metric(texts: Texts, name: str) -> str:
    """A metric's name: only the group or target before it can be somebody's."""
    if name in _KNOWN_METRICS:
        return name
    head, dot, rest = name.partition(".")
    return f"{texts.label(head)}.{rest}" if dot else texts.label(name)


def _word(texts: Texts, found: re.Match[str]) -> str:
    return found[0] if found["number"] else metric(texts, found[0])


def claim(texts: Texts, text: str) -> str:
    """A claim or a condition: metrics stay, levels in brackets and after `at` are labels."""
    parts = _SELECTORS.split(text)
    return "".join(
        texts.label(part) if nth % 2 else _WORD.sub(lambda found: _word(texts, found), part)
        for nth, part in enumerate(parts)
    )
