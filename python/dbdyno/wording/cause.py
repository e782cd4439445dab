"""Texts on a cause that has a rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class CauseText:
    """The words of one rule, by its name in the `CAUSES` of its family. `sentence` and `cure`:
    templates, or functions, of the rule's evidence by name; `sentence` also of what is in question
    and otherwise, `here` and `there`."""

    title: str
    condition: str  # in plain terms
    source: str  # the page that says so
    sentence: str | Callable[..., str]
    cure: str | Callable[..., str]  # what to change, with what it costs
