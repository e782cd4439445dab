"""A number against an article's figure, or against bounds."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tools.gallery.verdict import REFUTED, SUPPORTED

_FIGURE = re.compile(r"-?[0-9][0-9_]*(?:\.([0-9]+))?")


@dataclass(frozen=True, kw_only=True)
class Figure:
    """What an article says of a number, as evidence has it among its keys: a figure that it rounded
    (right if the number rounds to it, or lies within a share of it), or the least and the most it
    may be."""

    said: str = ""
    within: str = ""
    at_least: str = ""
    at_most: str = ""

    def __post_init__(self) -> None:
        """ValueError if it says nothing, or what is no number."""
        if not (self.said or self.at_least or self.at_most):
            raise ValueError("a figure needs `said`, `at_least` or `at_most`")
        for text in filter(None, (self.said, self.at_least, self.at_most)):
            _number(text)

    def verdict(self, value: float) -> str:
        """Whether the number is what the article says."""
        fits = True
        if self.said:
            figure = _number(self.said)
            near = _share(self.within) * abs(figure) if self.within else _half(self.said)
            fits = abs(value - figure) <= near * (1 + 1e-9)
        if self.at_least:
            fits = fits and value >= _number(self.at_least)
        if self.at_most:
            fits = fits and value <= _number(self.at_most)
        return SUPPORTED if fits else REFUTED

    @property
    def text(self) -> str:
        """What the article says, in words."""
        if self.said:
            return self.said + (f" within {self.within}" if self.within else "")
        if self.at_least and self.at_most:
            return f"{self.at_least} to {self.at_most}"
        return f"at least {self.at_least}" if self.at_least else f"at most {self.at_most}"


def shown(value: float) -> str:
    """Six significant digits, thousands separated."""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.2f}" if abs(value) >= 10_000 else f"{value:.4g}"


def _number(text: str) -> float:
    if _FIGURE.fullmatch(text) is None:
        raise ValueError(f"`{text}` is no figure")
    return float(text.replace("_", ""))


def _half(text: str) -> float:
    """Half the unit of the last digit."""
    found = _FIGURE.fullmatch(text)
    assert found
    return 0.5 * 10.0 ** -len(found.group(1) or "")


def _share(text: str) -> float:
    return float(text.removesuffix("%")) / 100
