"""The application: all addresses, behind the guard."""

from __future__ import annotations

from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from dbdyno.web import live, page
from dbdyno.web.pages import annotate, compare, digests, editor, history, models, run, runs
from dbdyno.web.security import Access, Guard
from dbdyno.web.site import Site


def create(directory: Path, access: Access, *, read_only: bool = False) -> tuple[ASGIApp, Site]:
    """The application for the runs below a directory, and what its pages share."""
    site = Site(directory, access, read_only=read_only)
    routes = [
        Route("/", _home),
        Route("/static/{name}", page.static),
        *page.get("/runs", runs.listing),
        *page.get("/runs/{id:str}", run.shown),
        *page.get("/runs/{id:str}/brief", run.brief),
        Route("/runs/{id:str}/events", live.events),
        *page.get("/compare", compare.shown),
        *page.get("/history", history.listing),
        *page.get("/digests", digests.listing),
        *page.get("/digests/compare", digests.compared),
        *page.get("/digests/{id:str}", digests.shown),
        *page.get("/models", models.listing),
        *page.get("/models/{name:str}", models.shown),
    ]
    if not read_only:
        routes += [
            *page.get("/experiment", editor.shown),
            *page.post("/experiment", editor.sent),
            *page.post("/runs/{id:str}/stop", editor.stopped),
            *page.get("/runs/{id:str}/annotations", annotate.shown),
            *page.post("/runs/{id:str}/annotations", annotate.sent),
        ]
    app = Starlette(routes=routes, exception_handlers={404: _missing, 405: _missing})
    app.state.site = site
    return Guard(app, access), site


async def _home(request: Request) -> Response:
    return RedirectResponse("/runs", status_code=303)


async def _missing(request: Request, error: Exception) -> Response:
    return page.missing(request)
