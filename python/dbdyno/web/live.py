"""Server-sent events: a run's progress as a piece of a page, once a second while it lasts.
Source: WHATWG HTML 9.2."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from dbdyno.errors import DynoError
from dbdyno.store.catalogue import UNREADABLE
from dbdyno.store.manifest import RUNNING
from dbdyno.web.page import environment, missing
from dbdyno.web.progress import Progress, Watch
from dbdyno.web.site import NotFound, Site

EACH_S = 1.0


async def events(request: Request) -> Response:
    """The stream of one run. It ends with the run, by an event `end`."""
    site: Site = request.app.state.site
    try:
        line = await run_in_threadpool(site.line, request.path_params["id"])
    except NotFound:
        return missing(request)
    if line.status == UNREADABLE:  # somebody else's, perhaps: not to be parsed here
        return missing(request)
    return StreamingResponse(_stream(Path(line.path)), media_type="text/event-stream")


async def _stream(path: Path) -> AsyncIterator[str]:
    watch = Watch(path)
    while True:
        try:
            progress = await run_in_threadpool(watch.progress)
        except DynoError:  # it was removed meanwhile
            break
        yield _message(drawn(progress))
        if progress.status != RUNNING:
            break
        await anyio.sleep(EACH_S)
    yield "event: end\ndata: \n\n"


def drawn(progress: Progress) -> str:
    """The piece of a page."""
    return environment().get_template("progress.html.j2").render(progress=progress)


def _message(text: str) -> str:
    return "".join(f"data: {line}\n" for line in text.splitlines()) + "\n"
