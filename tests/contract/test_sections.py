"""Sections of the report: listed, drawn in each medium, made of nothing but their own view."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jinja2 import meta

from dbdyno.report import Report, sections, templating
from dbdyno.report.sections import SECTIONS
from fixtures import reports, synthetic

FOLDER = Path(sections.__file__).parent
NAMES = [one.name for one in SECTIONS]
PAGE = {"sections", "css", "js", "uplot_css", "uplot_js"}  # what the page's template is given
NO_MARKDOWN = {
    "searches": "the rate that was found is among the results",
    "time": "charts only",
    "latency": "charts only; what it has in numbers are sections of their own",
    "waits": "a chart only",
    "glossary": "its readers know the terms, or where docs/glossary.md is",
}


def partials(medium: str) -> Iterator[tuple[str, str]]:
    """Folder and section of each partial."""
    for template in sorted(templating.templates()):
        if found := re.fullmatch(rf"(summary|sections|brief)/(.+)\.{medium}\.j2", template):
            yield found[1], found[2]


def source(template: str) -> str:
    environment = templating.environment(escaped=True)
    assert environment.loader is not None
    return environment.loader.get_source(environment, template)[0]


def variables(template: str) -> set[str]:
    environment = templating.environment(escaped=True)
    return meta.find_undeclared_variables(environment.parse(source(template))) - {
        *environment.globals
    }


def test_every_module_is_listed_once() -> None:
    modules = {f"{path.parent.name}/{path.stem}" for path in FOLDER.glob("*/*.py")}
    assert sorted(one.path for one in SECTIONS) == sorted(
        path for path in modules if not path.endswith("/__init__")
    )
    assert len(set(NAMES)) == len(NAMES)
    assert {one.inside for one in SECTIONS} - {""} < set(NAMES)


@pytest.mark.parametrize("medium", ["html", "md"])
def test_every_partial_is_a_sections_and_every_section_has_one(medium: str) -> None:
    found = list(partials(medium))
    assert {name for folder, name in found if folder == "sections"} <= {s.path for s in SECTIONS}
    drawn = {name.rpartition("/")[2] for _, name in found}
    missing = set(NAMES) - drawn
    if medium == "md":
        missing -= {"warnings"}  # `tested` lists them
    assert missing == (set(NO_MARKDOWN) if medium == "md" else set())


@pytest.mark.parametrize("medium", ["html", "md"])
def test_a_page_names_every_summary(medium: str) -> None:
    places = re.findall(r'sections\.summary\("(\w+)"\)', source(f"report.{medium}.j2"))
    named = [one.name for place in places for one in sections.summary(place)]
    assert sorted(named) == [name for folder, name in partials(medium) if folder == "summary"]
    for place in places:
        taken = [getattr(one, place) for one in sections.summary(place)]
        assert len(set(taken)) == len(taken), f"two sections at one place of {place}"


def test_every_section_of_the_short_form_has_a_partial() -> None:
    chosen = sections.summary("brief")
    names = {
        folder: {n for f, n in partials("html") if f == folder} for folder in ("brief", "summary")
    }
    assert {one.name for one in chosen} <= names["brief"] | names["summary"]
    assert names["brief"] <= {one.name for one in chosen}
    assert len({one.brief for one in chosen}) == len(chosen)
    assert all(one.brief for one in SECTIONS if one.shortened)


def test_a_page_is_given_nothing_but_its_sections() -> None:
    assert variables("report.html.j2") | variables("base.html.j2") == PAGE
    assert variables("brief.html.j2") == {"sections", "css"}
    assert variables("report.md.j2") == {"sections"}


@pytest.mark.parametrize("medium", ["html", "md"])
def test_a_partial_is_given_nothing_but_its_view(medium: str) -> None:
    for folder, name in partials(medium):
        assert variables(f"{folder}/{name}.{medium}.j2") <= {"view", "sections"}, name


def test_what_is_drawn_in_the_terminal_has_a_form_and_a_place() -> None:
    shown = sections.summary("terminal")
    assert shown == sorted(
        (one for one in SECTIONS if one.form is not None), key=lambda one: one.terminal
    )
    assert len({one.terminal for one in shown}) == len(shown) > 0


def having(views: dict[str, Any]) -> Report:
    made = Report(*synthetic.engines(Path("RUN")))  # type: ignore[arg-type]
    vars(made)["views"] = views
    return made


@pytest.fixture(scope="module")
def views() -> dict[str, Any]:
    """Of several runs, so that most sections have one."""
    made = [reports.report(name) for name in ("stalling", "engines", "open_loop")]
    return {name: view for report in made for name, view in report.views.items()}


@pytest.fixture(scope="module")
def whole(views: dict[str, Any]) -> str:
    return having(views).html()


@pytest.mark.parametrize("one", [one for one in SECTIONS if one.name != "heading"], ids=NAMES[1:])
def test_a_section_without_a_view_leaves_no_trace(
    one: sections.Section, views: dict[str, Any], whole: str
) -> None:
    made = having({name: view for name, view in views.items() if name != one.name})
    page, listed = made.html(), f'<li><a href="#{one.name}">'
    assert f'<h2 id="{one.name}">' not in page and listed not in page
    assert (listed in whole) == (bool(one.contents) and one.name in views)
    assert made.markdown() and made.terminal()


def test_without_any_view_a_page_is_its_head(views: dict[str, Any]) -> None:
    bare = having({"heading": views["heading"]})
    assert "<section" not in bare.html() and "<li>" not in bare.html()
    assert bare.markdown() == f"# {views['heading'].question}\n"
