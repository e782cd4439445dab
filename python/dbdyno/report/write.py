"""Writes a run's report: result.json, report.md and report.html, each atomically.

All three are made in memory first, so that a template that fails leaves the last report as it was.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dbdyno.analysis import result
from dbdyno.analysis.types import Findings
from dbdyno.report import page
from dbdyno.report.text import escaping
from dbdyno.store.run import Run
from dbdyno.store.text import files

HTML, MARKDOWN, RESULT = "report.html", "report.md", "result.json"


def render(run: Run, findings: Findings, to: Path | None = None) -> None:
    """Writes result.json, report.md and report.html into `to`, which is the run's directory unless
    another one is given.

    DynoError if a file of the run cannot be read or the report cannot be written.
    """
    data = page.context(run, findings)
    written = {
        RESULT: json.dumps(
            result.to_json(findings, run.plan, run.manifest), indent=2, allow_nan=False
        )
        + "\n",
        MARKDOWN: markdown(data),
        HTML: html(data),
    }
    for name, body in written.items():
        path = (to or run.path) / name
        with files.explained(path, run.path):
            files.write_atomically(path, body)


def html(data: dict[str, Any]) -> str:
    """The page: one file with style, script and data in it."""
    return (
        _environment(escaped=True)
        .get_template("report.html.j2")
        .render(
            data,
            css=Markup(_asset("templates/report.css")),
            js=Markup(_asset("templates/report.js")),
            uplot_css=Markup(_asset("vendor/uplot/uPlot.min.css")),
            uplot_js=Markup(_asset("vendor/uplot/uPlot.iife.min.js")),
        )
    )


def styled(template: str, data: dict[str, Any], script: str | None = None) -> str:
    """Another page in the report's style: a template of ours with the same style sheet, and with
    one of our scripts as `js`."""
    css = Markup(_asset("templates/report.css"))
    js = Markup(_asset(f"templates/{script}")) if script else Markup()
    return _environment(escaped=True).get_template(template).render(data, css=css, js=js)


def markdown(data: dict[str, Any]) -> str:
    """The same facts in Markdown, without the charts."""
    body = _environment(escaped=False).get_template("report.md.j2").render(data)
    return _squeeze(body)


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


@lru_cache(maxsize=2)
def _environment(*, escaped: bool) -> Environment:
    """Jinja with undefined names as errors. HTML is escaped by Jinja, Markdown by the filter
    `md`."""
    made = Environment(
        loader=PackageLoader("dbdyno.report", "templates"),
        autoescape=escaped,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )
    made.filters.update(
        script_json=escaping.script_json,
        md=escaping.markdown,
        fence=escaping.fence,
        slug=escaping.slug,
    )
    return made


def _finalize(value: Any) -> Any:
    return escaping.visible(value) if isinstance(value, str) else value


@lru_cache(maxsize=8)
def _asset(name: str) -> str:
    return (package_files("dbdyno.report") / name).read_text(encoding="utf-8")
