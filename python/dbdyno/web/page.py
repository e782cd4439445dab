"""A page and its twin: the same facts for people and for programs."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from dbdyno.errors import DynoError
from dbdyno.report import templating
from dbdyno.report.models.page import coded
from dbdyno.web.security import CSRF_FIELD, CSRF_HEADER
from dbdyno.web.site import NotFound, Site
from dbdyno.wording.numbers import sig3, spread
from dbdyno.wording.quantities import seconds

BODY_BYTES_MAX = 4 << 20

NAVIGATION = (
    ("/runs", "Runs"),
    ("/history", "History"),
    ("/digests", "Digests"),
    ("/models", "Models"),
)
CHANGING = (("/experiment", "Experiment"),)  # not where pages are read-only


@dataclass(frozen=True)
class Page:
    """What an address answers. `data`: of the template; `twin`: what the `.json` holds. Each is
    made only where it is asked for. `scripts`: of `STATIC`, besides those that every page has."""

    template: str
    data: Callable[[], Mapping[str, Any]]
    twin: Callable[[], Any]
    scripts: tuple[str, ...] = ()
    status: int = 200


@dataclass(frozen=True)
class Elsewhere:
    """Where a form leads."""

    place: str


Get = Callable[[Site, Request], Page]
Post = Callable[[Site, Request, FormData], Page | Elsewhere]


def get(path: str, make: Get) -> list[Route]:
    """The routes of a page and its twin."""

    async def endpoint(request: Request) -> Response:
        site: Site = request.app.state.site
        return await run_in_threadpool(_answered, request, lambda: make(site, request))

    twin = f"{path}.json"
    return [Route(twin, endpoint), Route(path, endpoint)]  # `{id}` would fit `x.json` too


def post(path: str, make: Post) -> list[Route]:
    """The routes of a form and its twin. All requests must come from dbdyno's own pages."""

    async def endpoint(request: Request) -> Response:
        site: Site = request.app.state.site
        async with request.form(max_files=1, max_fields=200, max_part_size=BODY_BYTES_MAX) as form:
            if not site.access.is_ours(request, form):
                return _shown(request, _failed("The form is too old, or of another site.", 403))
            return await run_in_threadpool(_answered, request, lambda: make(site, request, form))

    return [
        Route(each, endpoint, methods=["POST"], max_body_size=BODY_BYTES_MAX)
        for each in (f"{path}.json", path)
    ]


def _answered(request: Request, make: Callable[[], Page | Elsewhere]) -> Response:
    try:
        made = make()
        if isinstance(made, Elsewhere):
            if _wants_json(request):
                return JSONResponse({"address": made.place})
            return RedirectResponse(made.place, status_code=303)
        return _shown(request, made)
    except NotFound as error:
        return _shown(request, _failed(str(error), 404))
    except DynoError as error:
        return _shown(request, _failed(error.what, 422, error.cause, error.fix))
    except Exception as error:  # a file of a run that is not what dbdyno writes; or our own defect
        traceback.print_exc(file=sys.stderr)
        what = f"This cannot be shown ({type(error).__name__})."
        fix = "see the terminal of dyno serve"
        cause = "a file was edited or damaged, another version wrote it, or a defect in dbdyno"
        return _shown(request, _failed(what, 500, cause, fix))


def _wants_json(request: Request) -> bool:
    return request.url.path.endswith(".json")


def missing(request: Request) -> Response:
    """The answer to an address that is none."""
    return _shown(request, _failed("There is no such page.", 404))


def _failed(what: str, status: int, cause: str = "", fix: str = "") -> Page:
    facts = {"what": what, "cause": cause, "fix": fix}
    return Page("error.html.j2", lambda: facts, lambda: {"error": facts}, status=status)


def _shown(request: Request, made: Page) -> Response:
    if _wants_json(request):
        text = json.dumps(made.twin(), indent=1, allow_nan=False) + "\n"
        return Response(text, made.status, media_type="application/json")
    site: Site = request.app.state.site
    query = f"?{request.url.query}" if request.url.query else ""
    frame = {
        "navigation": NAVIGATION if site.read_only else NAVIGATION + CHANGING,
        "here": request.url.path,
        "twin": f"{request.url.path}.json{query}",
        "scripts": made.scripts,
        "csrf": site.access.csrf,
        "csrf_field": CSRF_FIELD,
        "htmx_headers": json.dumps({CSRF_HEADER: site.access.csrf}),
        "read_only": site.read_only,
    }
    template = environment().get_template(made.template)
    # htmx shows what was answered well; what is wrong belongs on the page, too.
    status = 200 if "hx-request" in request.headers else made.status
    return HTMLResponse(template.render(**{**made.data(), **frame}), status)


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The report's, with our templates before its own: a page of the report extends our frame."""
    own = templating.environment(escaped=True)
    assert own.loader is not None
    made = own.overlay(loader=ChoiceLoader([PackageLoader("dbdyno.web", "templates"), own.loader]))
    made.filters = {**own.filters, "code": lambda text: coded([text])[0]}
    made.globals = {**own.globals, "sig3": sig3, "length": seconds, "spread": spread}
    return made


STATIC = {  # what the browser loads, and where it stands
    "report.css": ("dbdyno.report", "templates/report.css", "text/css"),
    "uplot.css": ("dbdyno.report", "vendor/uplot/uPlot.min.css", "text/css"),
    "web.css": ("dbdyno.web", "static/web.css", "text/css"),
    "uplot.js": ("dbdyno.report", "vendor/uplot/uPlot.iife.min.js", "text/javascript"),
    "report.js": ("dbdyno.report", "templates/report.js", "text/javascript"),
    "digest.js": ("dbdyno.report", "templates/digest.js", "text/javascript"),
    "htmx.js": ("dbdyno.web", "vendor/htmx/htmx.min.js", "text/javascript"),
    "web.js": ("dbdyno.web", "static/web.js", "text/javascript"),
}


async def static(request: Request) -> Response:
    """A file of the package."""
    found = STATIC.get(request.path_params["name"])
    if found is None:
        return missing(request)
    package, path, kind = found
    return Response((files(package) / path).read_bytes(), media_type=kind)
