"""Draws pages by their templates: HTML escaped by Jinja, Markdown by the filter `md`."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files as package_files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dbdyno import __version__
from dbdyno.report.text import escaping
from dbdyno.wording.plurals import count
from dbdyno.wording.visible import visible


def styled(
    template: str, data: Mapping[str, Any], script: str | None = None, **assets: Markup
) -> str:
    """A page in the report's style: a template with the style sheet as `css`, a script as `js`, and
    more `assets`."""
    css = asset("templates/report.css")
    js = asset(f"templates/{script}") if script else Markup()
    return environment(escaped=True).get_template(template).render(data, css=css, js=js, **assets)


@lru_cache(maxsize=2)
def environment(*, escaped: bool) -> Environment:
    """Jinja with undefined names as errors."""
    made = Environment(
        loader=PackageLoader("dbdyno.report", "templates"),
        autoescape=escaped,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(
        script_json=escaping.script_json,
        css=escaping.css_string,
        md=escaping.markdown,
        code=escaping.code,
        mdcode=escaping.markdown_code,
        paragraphs=escaping.paragraphs,
        fence=escaping.fence,
        slug=escaping.slug,
    )
    made.globals.update(version=__version__, count=count, data_link=data_link)
    return made


@lru_cache(maxsize=1)
def templates() -> frozenset[str]:
    """The names of all templates."""
    return frozenset(environment(escaped=True).list_templates())


def _finalize(value: Any) -> Any:
    return visible(value) if isinstance(value, str) else value


def data_link(text: str, kind: str) -> str:
    """A data: URL of a file."""
    encoded = base64.b64encode(text.encode()).decode("ascii")
    return f"data:{kind};charset=utf-8;base64,{encoded}"


@lru_cache(maxsize=8)
def asset(name: str) -> Markup:
    """A file that pages contain unchanged."""
    return Markup((package_files("dbdyno.report") / name).read_text(encoding="utf-8"))
