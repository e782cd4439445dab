"""A run's report: result.json, report.md, report.html, and the answer in the terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from jinja2 import Template
from markupsafe import Markup
from rich.console import RenderableType

from dbdyno.analysis import result
from dbdyno.analysis.types import Findings
from dbdyno.report import sections, short, templating, terminal
from dbdyno.report.context import Context
from dbdyno.report.sections.setting.glossary import Term
from dbdyno.store.run import Run
from dbdyno.store.text import files

HTML, MARKDOWN, RESULT = "report.html", "report.md", "result.json"
_TAG = re.compile(r"<[^>]*>")
BRIEF = "brief.html"  # only where it was asked for


@dataclass(frozen=True)
class Drawn:
    """Sections in one medium. A section without a view, or without a partial, leaves no trace."""

    views: Mapping[str, Any]
    medium: str  # ending of the partials: html or md
    texts: list[str] = field(default_factory=list)  # what was drawn so far, without markup

    def summary(self, place: str) -> Markup:
        """What the page says at its head: the sections of a place, see `Section`."""
        return self._joined((f"summary/{one.name}", one.name) for one in sections.summary(place))

    def brief(self) -> Markup:
        """The short form: two printed pages."""
        chosen = [one for one in sections.summary("brief") if one.name in self.views]
        kept = {one.name: self.views[one.name] for one in chosen}
        kept |= {one.name: one.shortened(kept[one.name]) for one in chosen if one.shortened}
        own = {name for name in kept if f"brief/{name}.{self.medium}.j2" in templating.templates()}
        partials = ((f"{'brief' if name in own else 'summary'}/{name}", name) for name in kept)
        return Drawn(kept, self.medium)._joined(partials)

    def body(self, inside: str = "") -> Markup:
        """All sections in their order; in HTML those within the element of `inside`."""
        return self._joined(
            (f"sections/{one.path}", one.name)
            for one in sections.SECTIONS
            if one.inside == inside or self.medium == "md"
        )

    @property
    def contents(self) -> list[tuple[str, str]]:
        """Anchor and title of each section in the table of contents."""
        return [
            (s.name, s.contents) for s in sections.SECTIONS if s.contents and s.name in self.views
        ]

    def used(self, terms: Iterable[Term]) -> list[Term]:
        """Those of the terms that sections above use."""
        text = " ".join(self.texts).lower()
        return [term for term in terms if term.among(text)]

    def _joined(self, partials: Iterable[tuple[str, str]]) -> Markup:
        environment = templating.environment(escaped=self.medium == "html")
        there = templating.templates()
        drawn = (
            self._drawn(environment.get_template(path), self.views[name])
            for partial, name in partials
            if name in self.views and (path := f"{partial}.{self.medium}.j2") in there
        )
        apart = "" if self.medium == "html" else "\n\n"
        return Markup(apart).join(map(Markup, drawn))

    def _drawn(self, template: Template, view: Any) -> str:
        made = template.render(view=view, sections=self)
        self.texts.append(_TAG.sub(" ", made))
        return made


@dataclass(frozen=True)
class Report:
    """A run and its findings, shown. The sections' views are made once for all media.

    DynoError if a file of the run cannot be read.
    """

    run: Run
    findings: Findings

    @cached_property
    def views(self) -> dict[str, Any]:
        """The sections' data, by their names."""
        return sections.views(Context(self.run, self.findings))

    def html(self) -> str:
        """The page: one file with style, script and data in it."""
        return templating.styled(
            "report.html.j2",
            {"sections": Drawn(self.views, "html")},
            script="report.js",
            uplot_css=templating.asset("vendor/uplot/uPlot.min.css"),
            uplot_js=templating.asset("vendor/uplot/uPlot.iife.min.js"),
        )

    def brief(self) -> str:
        """The short form as a page without scripts, of two pages on paper."""
        return templating.styled("brief.html.j2", {"sections": Drawn(self.views, "html")})

    def markdown(self) -> str:
        """The same facts in Markdown, without the charts."""
        template = templating.environment(escaped=False).get_template("report.md.j2")
        return _squeeze(template.render(sections=Drawn(self.views, "md")))

    def head(self) -> str:
        """The beginning of the Markdown: the answer and its verdicts."""
        return _squeeze(Drawn(self.views, "md").summary("markdown"))

    def terminal(self, to: Path | None = None) -> RenderableType:
        """What `dyno run` prints at the end; print it with a rich Console (which honours NO_COLOR).
        `to`: where the reports are, if not in the run's directory."""
        return terminal.ending(self.views, (to or self.run.path) / HTML)

    def short(self) -> RenderableType:
        """What `dyno try` prints at the end, in the same way."""
        context = Context(self.run, self.findings)
        return short.ending(context, self.views, self.run.path / HTML)

    def write(self, to: Path | None = None) -> None:
        """Writes result.json, report.md and report.html into `to`, which is the run's directory
        unless another one is given, each atomically.

        All three are made in memory first, so that a template that fails leaves the last report as
        it was. DynoError if one cannot be written.
        """
        found = result.to_json(self.findings, self.run.plan, self.run.manifest)
        written = {
            RESULT: json.dumps(found, indent=2, allow_nan=False) + "\n",
            MARKDOWN: self.markdown(),
            HTML: self.html(),
        }
        for name, body in written.items():
            path = (to or self.run.path) / name
            with files.explained(path, self.run.path):
                files.write_atomically(path, body)


def _squeeze(body: str) -> str:
    """At most one blank line in a row, outside fenced blocks."""
    pieces = re.split(r"(?ms)(^(`{3,})\n.*?^\2$)", body)
    kept = []
    for i, piece in enumerate(pieces):
        if i % 3 == 0:
            kept.append(re.sub(r"\n{3,}", "\n\n", piece))
        elif i % 3 == 1:
            kept.append(piece)
    return "".join(kept).strip() + "\n"
