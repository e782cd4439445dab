"""What people add to a run: customer, author, recommendation, logo."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request

from dbdyno.store import annotation
from dbdyno.store.annotation import LOGO_BYTES_MAX
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
    with site.opened(line) as run:
        before = annotation.read(run.path)
    texts = {name: str(form.get(name, "")) for name in annotation.NAMES if name != "logo"}
    uploaded = form.get("logo")
    if isinstance(uploaded, UploadFile) and uploaded.filename:
        texts["logo"] = annotation.logo(uploaded.file.read(LOGO_BYTES_MAX + 1))
    elif form.get("remove"):
        texts["logo"] = ""
    annotation.write(Path(line.path), before.changed(texts))
    site.forget()
    return Elsewhere(f"/runs/{line.id}")
