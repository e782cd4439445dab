"""The end of a run in the terminal: the answer, the claims in a line or two each, one table of
ratios, the path of the report. To be read in ten seconds; the report has all of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from dbdyno.report import sections


def ending(views: Mapping[str, Any], report: Path) -> RenderableType:
    """The sections that have a form; `views` by their names."""
    shown = dict(views)
    if "ratios" in shown:
        shown.pop("results", None)  # what is compared need not be repeated
    parts = [
        part
        for one in sections.summary("terminal")
        if one.form is not None and one.name in shown
        for part in one.form(shown[one.name])
    ]
    path = Text(f"report: {report}", no_wrap=True, overflow="ignore")
    return Group(*parts, Text(), path)
