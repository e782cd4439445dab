"""A run: its report by sections; while it runs, how far it is and what it has found so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from starlette.requests import Request

from dbdyno.analysis import result
from dbdyno.errors import DynoError
from dbdyno.report.write import Drawn, Report
from dbdyno.store import lock
from dbdyno.store.catalogue import UNREADABLE, Line, as_json
from dbdyno.store.manifest import RUNNING
from dbdyno.web.page import Page
from dbdyno.web.progress import Progress, Watch
from dbdyno.web.site import Site
from dbdyno.wording.findings import analyse

SCRIPTS = ("uplot.js", "report.js")


def shown(site: Site, request: Request) -> Page:
    """The report of the run with the id in the address."""
    line = _line(site, request)
    progress = Watch(Path(line.path)).progress() if line.status == RUNNING else None
    found = report(site, line) if line.done else None

    def data() -> Mapping[str, Any]:
        asked = progress is not None and not site.read_only
        refused = _why_not_stoppable(line) if asked else None
        facts: dict[str, Any] = {"line": line, "progress": progress}
        facts |= {"stoppable": asked and refused is None, "not_stoppable": refused}
        if found is not None:
            facts["sections"] = Drawn(found[0], "html")
        return facts

    template = "run.html.j2" if found else "begun.html.j2"
    return Page(template, data, lambda: _twin(line, progress, found), SCRIPTS if found else ())


def brief(site: Site, request: Request) -> Page:
    """The short form of the same report."""
    line = _line(site, request)
    if not line.done:
        raise DynoError(f"{line.name} has nothing to report yet", fix="wait for its first trial")
    found = report(site, line)
    facts = {"line": line, "sections": Drawn(found[0], "html")}
    return Page("run_brief.html.j2", lambda: facts, lambda: _twin(line, None, found))


def _line(site: Site, request: Request) -> Line:
    line = site.line(request.path_params["id"])
    if line.status == UNREADABLE:
        raise DynoError(f"{line.name} cannot be read: {line.problem}")
    return line


def _why_not_stoppable(line: Line) -> DynoError | None:
    """Why the run cannot be stopped from here, and how it can be; None if it can."""
    try:
        lock.check_stoppable(Path(line.path))
    except DynoError as error:
        return error
    return None


def report(site: Site, line: Line) -> tuple[dict[str, Any], dict[str, Any]]:
    """Views of the sections, and result.json, of the trials that are over."""

    def make() -> tuple[dict[str, Any], dict[str, Any]]:
        with site.opened(line) as run:
            findings = analyse(
                run.plan, run.records(), run.trace, run.histograms, void=run.voided()
            )
            found = result.to_json(findings, run.plan, run)
            return Report(run, findings).views, found

    return site.once(("report", line.path, line.stamp, str(line.done)), make)


def _twin(line: Line, progress: Progress | None, found: Any) -> dict[str, Any]:
    return {
        "run": as_json(line),
        "progress": asdict(progress) if progress else None,
        "result": found[1] if found else None,
    }
