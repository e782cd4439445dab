"""What a page lacks for people with a screen reader, weak eyes or no mouse: a few of WCAG 2.2's
rules that a program can check (1.1.1, 1.3.1, 1.4.3, 2.4.2, 2.4.6, 3.1.1, 4.1.2)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_suffix(".js")


def problems(page: Any) -> list[str]:
    """What is wrong with an open page, a line each."""
    found: list[str] = page.evaluate(SCRIPT.read_text())
    return found
