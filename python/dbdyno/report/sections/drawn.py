"""A run's sections as a page's template draws them, by their partials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from dbdyno.report import templating
from dbdyno.report.sections import SECTIONS

HTML, MARKDOWN = "html", "md"  # endings of partials


@dataclass(frozen=True)
class Drawn:
    """Sections in one medium. A section without a view, or without a partial, leaves no trace."""

    views: Mapping[str, Any]
    medium: str

    def summary(self, *names: str) -> Markup:
        """What the page says at its head of these sections."""
        return self._joined((f"summary/{name}", name) for name in names)

    def body(self, inside: str = "") -> Markup:
        """All sections in their order; in HTML those that stand in the element of `inside`."""
        return self._joined(
            (f"sections/{one.path}", one.name)
            for one in SECTIONS
            if one.inside == inside or self.medium == MARKDOWN
        )

    @property
    def contents(self) -> list[tuple[str, str]]:
        """Anchor and title of each section in the table of contents."""
        return [(s.name, s.contents) for s in SECTIONS if s.contents and s.name in self.views]

    def _joined(self, partials: Iterable[tuple[str, str]]) -> Markup:
        environment = templating.environment(escaped=self.medium == HTML)
        there = templating.templates()
        drawn = (
            environment.get_template(path).render(view=self.views[name], sections=self)
            for partial, name in partials
            if name in self.views and (path := f"{partial}.{self.medium}.j2") in there
        )
        apart = "" if self.medium == HTML else "\n\n"
        return Markup(apart).join(map(Markup, drawn))
