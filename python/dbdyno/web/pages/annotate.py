"""What people add to a run: customer, author, recommendation, logo."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request

from dbdyno.errors import DynoError
from dbdyno.store import annotation
from dbdyno.store.annotation import LOGO_BYTES_MAX, Annotations
from dbdyno.store.catalogue import Line
from dbdyno.web.page import Elsewhere, Page
from dbdyno.web.site import Site


def shown(site: Site, request: Request) -> Page:
    """The form, with what was added so far."""
    line = site.line(request.path_params["id"])
    with site.opened(line) as run:
        found = annotation.read(run.path)
    return Page("annotate.html.j2", lambda: {"line": line, "found": found}, lambda: asdict(found))


def sent(site: Site, request: Request, form: FormData) -> Elsewhere:
    """Replaces the run's annotations. DynoError for what is too long, or no image."""
    line = site.line(request.path_params["id"])
    path = _directory(line)
    with site.opened(line) as run:
        before = annotation.read(run.path)
    texts = {
        name: str(form.get(name, "")).replace("\r\n", "\n").strip()
        for name in ("customer", "author", "recommendation")
    }
    logo = "" if form.get("remove") else before.logo
    uploaded = form.get("logo")
    if isinstance(uploaded, UploadFile) and uploaded.filename:
        logo = annotation.logo(uploaded.file.read(LOGO_BYTES_MAX + 1))
    try:
        annotation.write(path, Annotations(**texts, logo=logo))
    except ValueError as error:
        raise DynoError(f"{error}", fix="shorten it") from None
    site.forget()
    return Elsewhere(f"/runs/{line.id}")


def _directory(line: Line) -> Path:
    """The run's own directory. DynoError for a bundle, which is never changed."""
    path = Path(line.path)
    if path.is_file():
        raise DynoError(
            f"{line.name} is a bundle, which is not changed",
            fix="annotate the run that it was made of, and make the bundle again",
        )
    return path
