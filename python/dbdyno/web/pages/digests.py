"""Saved digests: list, one with a filter, two side by side."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from dbdyno.digest import compare
from dbdyno.digest.document import Class, Document, parse, saved
from dbdyno.errors import DynoError
from dbdyno.report.digest import beside, page
from dbdyno.report.sections.setting.tested import moment
from dbdyno.web import documents
from dbdyno.web.documents import Saved
from dbdyno.web.page import Page
from dbdyno.web.site import NotFound, Site
from dbdyno.wording.numbers import size


def listing(site: Site, request: Request) -> Page:
    """All digests below the directory; with `?a=` the first of two is chosen."""
    found = documents.below(site.directory)
    picked = next((one for one in found if one.id == request.query_params.get("a")), None)
    return Page(
        "digests.html.j2",
        lambda: {"digests": found, "picked": picked, "moment": moment, "size": size},
        lambda: [
            {"id": one.id, "name": one.name, "size_bytes": one.size_bytes,
             "saved_unix_s": one.saved_unix_s}
            for one in found
        ],
    )  # fmt: skip


def shown(site: Site, request: Request) -> Page:
    """One digest, of it the classes that fit the filter."""
    one = _saved(site, request.path_params["id"])
    raw, document = _document(site, one)
    asked = request.query_params.get("q", "").strip()
    only = [each for each in document.classes if _fits(each, asked)]
    kept = {each.rank for each in only}

    def twin() -> Any:
        classes = [each for each in raw["classes"] if each.get("rank") in kept]
        return {**raw, "classes": classes}

    return Page(
        "digest_one.html.j2",
        lambda: {
            **page.view(document, only),
            "one": one,
            "asked": asked,
            "found": len(only),
            "listed": len(document.classes),
        },
        twin,
        ("digest.js",),
    )


def compared(site: Site, request: Request) -> Page:
    """B compared with A."""
    sides = [_saved(site, request.query_params.get(name, "")) for name in ("a", "b")]
    if sides[0].id == sides[1].id:
        raise DynoError(f"{sides[0].name} is on both sides", fix="choose another digest")
    a, b = (_document(site, one)[1] for one in sides)
    found = compare.compare(a, b)
    return Page(beside.TEMPLATE, lambda: beside.view(found), lambda: compare.to_json(found))


def _fits(one: Class, asked: str) -> bool:
    """Whether each word of what is asked is in the class's text, tables, users or hosts."""
    names = (*one.tables, *one.users, *one.hosts, *one.databases)
    text = " ".join((one.fingerprint, one.distill, *names)).lower()
    return all(word in text for word in asked.lower().split())


def _saved(site: Site, identity: str) -> Saved:
    for one in documents.below(site.directory):
        if one.id == identity:
            return one
    raise NotFound("There is no such digest: it was moved or removed.")


def _document(site: Site, one: Saved) -> tuple[Any, Document]:
    """Its JSON, and that as types. DynoError if it is damaged."""

    def make() -> tuple[Any, Document]:
        raw = saved(one.path)
        return raw, parse(raw, one.name)

    return site.once(("digest", str(one.path), one.stamp), make)
