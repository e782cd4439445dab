"""An experiment as text: checked by line, dry-run, started and stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request

from dbdyno.errors import DynoError
from dbdyno.experiment import load
from dbdyno.experiment.types import Spec
from dbdyno.plan.make import check_settings
from dbdyno.store import lock
from dbdyno.store.catalogue import Wanted
from dbdyno.store.manifest import RUNNING
from dbdyno.web.page import Elsewhere, Page
from dbdyno.web.runner import FOLDER, Runner
from dbdyno.web.site import Site

AROUND = 2  # lines shown above and below a mistake
EXAMPLE = """\
experiment: first
question: Does the write-ahead log of SQLite commit more than its rollback journal?

targets:
  db: {kind: sqlite}

workload: {kind: oltp, preset: write_only, tables: 1, rows: 2000}

factors:
  journal:
    wal: {db.config.journal_mode: wal}
    rollback: {db.config.journal_mode: delete}

warmup: 1s
duration: 5s
blocks: 3

claims:
  - tps[wal] / tps[rollback] >= 1.5
"""


@dataclass(frozen=True)
class Mistake:
    """What is wrong, and where (lines and columns from 1; 0: nowhere in particular). `excerpt`:
    numbered lines about the place."""

    what: str
    cause: str = ""
    fix: str = ""
    line: int = 0
    column: int = 0
    excerpt: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class Checked:
    """All mistakes of a text, by line; if there is none, the experiment."""

    spec: Spec | None
    mistakes: tuple[Mistake, ...] = ()


def shown(site: Site, request: Request) -> Page:
    """The editor, with the experiment of `?run=`, else an example."""
    text = EXAMPLE
    if run := request.query_params.get("run"):
        with site.opened(site.line(run)) as found:
            text = found.plan.spec_text
    return _page(site, text)


def sent(site: Site, request: Request, form: FormData) -> Page | Elsewhere:
    """What the button `do` asks: check, dry-run or start."""
    text = str(form.get("text", "")).replace("\r\n", "\n")
    found = check(site, text)
    if found.spec is None or form.get("do") not in ("dry-run", "start"):
        return _page(site, text, found)
    if form.get("do") == "dry-run":
        return _page(site, text, found, _runner(site).dry_run(text))
    try:
        _refuse_second(site)
        _runner(site).start(text, found.spec.name)
    except DynoError as error:
        return _page(site, text, _refused(error, text))
    return Elsewhere("/experiment")


def stopped(site: Site, request: Request, form: FormData) -> Elsewhere:
    """Ends the run with the id in the address, wherever on this machine it was started. DynoError
    where that cannot be done from here."""
    run, now = request.path_params["id"], form.get("do") == "now"
    if not _runner(site).stop(run, now=now):
        lock.stop(Path(site.line(run).path), now=now)
    return Elsewhere(f"/runs/{run}" if form.get("from") == "run" else "/experiment")


def check(site: Site, text: str) -> Checked:
    """Reads an experiment as `--check` does."""
    try:
        spec = load(f"{text}\n", file=site.directory / FOLDER / "experiment.yaml")
        check_settings(spec)
    except DynoError as error:
        return _refused(error, text)
    return Checked(spec)


def _refused(error: DynoError, text: str) -> Checked:
    return Checked(None, tuple(_mistake(one, text) for one in error.each))


def _mistake(error: DynoError, text: str) -> Mistake:
    where = error.where
    line, column = (where.line, where.column) if where else (0, 0)
    return Mistake(error.what, error.cause, error.fix, line, column, _excerpt(text, line))


def _refuse_second(site: Site) -> None:
    """DynoError while any run below the directory is under way, also from another terminal."""
    under_way, _ = site.catalogue().search(Wanted(status=RUNNING), most=1)
    for line in under_way:
        raise DynoError(
            f"{line.name} is under way, and another run would disturb it",
            fix="wait for its end, or stop it",
        )


def _excerpt(text: str, line: int) -> tuple[tuple[int, str], ...]:
    if not line:
        return ()
    first = max(1, line - AROUND)
    lines = text.split("\n")[first - 1 : line + AROUND]
    return tuple(enumerate(lines, first))


def _runner(site: Site) -> Runner:
    assert site.runner is not None, "no form is served read-only"
    return site.runner


def _page(
    site: Site, text: str, found: Checked | None = None, dry: tuple[int, str] | None = None
) -> Page:
    started = _runner(site).listed()
    known = {line.id for line in (site.catalogue().run(one.id) for one in started) if line}

    def data() -> Mapping[str, Any]:
        return {
            "text": text,
            "found": found,
            "dry": dry,
            "started": started,
            "known": known,
            "running": _runner(site).running(),
            "rows": min(40, max(16, text.count("\n") + 2)),
        }

    def twin() -> Any:
        return {
            "text": text,
            "checked": _as_json(found),
            "dry_run": dry and {"code": dry[0], "output": dry[1]},
            "started": [
                {"id": one.id, "name": one.name, "code": one.code, "output": one.said}
                for one in started
            ],
        }

    return Page("editor.html.j2", data, twin)


def _as_json(found: Checked | None) -> dict[str, Any] | None:
    if found is None:
        return None
    if found.spec is not None:
        spec = found.spec
        return {"ok": True, "experiment": spec.name, "cells": len(spec.cells),
                "blocks": spec.blocks}  # fmt: skip
    mistakes = [
        {"what": one.what, "cause": one.cause, "fix": one.fix,
         "line": one.line, "column": one.column}
        for one in found.mistakes
    ]  # fmt: skip
    return {"ok": False, **mistakes[0], "mistakes": mistakes}  # the first also by itself
