"""Reports compared with golden files, volatile parts masked.

Update: `pytest tests/golden --snapshot-update`, then read the difference before committing it.
"""

from __future__ import annotations

import re

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from dbdyno import __version__
from dbdyno.report.sections.load import predictions, stalls
from fixtures.printed import printed
from fixtures.reports import page, report


class Html(SingleFileSnapshotExtension):
    _write_mode = WriteMode.TEXT
    file_extension = "html"


class Markdown(Html):
    file_extension = "md"


class Plain(Html):
    file_extension = "txt"


class Svg(Html):
    file_extension = "svg"


def masked(html: str) -> str:
    """The page without what changes for other reasons: style, script, data, drawings, version."""
    html = re.sub(r"(?s)(<(style|script)\b[^>]*>).*?(</\2>)", r"\1...\3", html)
    html = re.sub(r"(?s)<svg\b.*?<title>(.*?)</title>.*?</svg>", r"[drawing: \1]", html)
    html = re.sub(r'"data:[^"]{20,}"', '"data:..."', html)
    return html.replace(__version__, "VERSION").replace("\n\n", "\n")


@pytest.mark.parametrize("name", ["engines", "cache_run", "hostile", "open_loop"])
def test_html(name: str, snapshot: SnapshotAssertion) -> None:
    assert masked(page(name)) == snapshot(extension_class=Html)


@pytest.mark.parametrize("name", ["engines", "cache_run", "hostile", "open_loop"])
def test_markdown(name: str, snapshot: SnapshotAssertion) -> None:
    body = report(name).markdown().replace(__version__, "VERSION")
    assert body == snapshot(extension_class=Markdown)


@pytest.mark.parametrize("name", ["engines", "hostile"])
def test_brief(name: str, snapshot: SnapshotAssertion) -> None:
    assert masked(report(name).brief()) == snapshot(extension_class=Html)


def test_stalls(snapshot: SnapshotAssertion) -> None:
    stalling = report("stalling")
    html = masked(page("stalling"))
    section = html[html.index('<section aria-labelledby="stalls">') :]
    lead = html[html.index("<b>Stalls:</b>") :]
    shown = f"{lead.partition('</p>')[0]}\n{section.partition('</section>')[0]}"
    assert shown == snapshot(extension_class=Html, name="section")
    body = stalling.markdown()
    assert body[body.index("## Stalls") : body.index("## Ratios")] == snapshot(
        extension_class=Markdown, name="section"
    )
    said = "\n".join(map(str, stalls.form(stalling.views["stalls"])))
    assert said == snapshot(extension_class=Plain, name="lines")


def test_predictions(snapshot: SnapshotAssertion) -> None:
    section = masked(page("apart")).partition('<section aria-labelledby="predictions">')[2]
    assert section.partition("</section>")[0] == snapshot(extension_class=Html, name="section")
    body = report("apart").markdown().partition("## Predictions")[2].partition("\n## ")[0]
    assert body == snapshot(extension_class=Markdown, name="section")
    said = "\n".join(map(str, predictions.form(report("apart").views["predictions"])))
    assert said == snapshot(extension_class=Plain, name="lines")


def test_stalls_chart(snapshot: SnapshotAssertion) -> None:
    first = report("stalling").views["stalls"][0]
    assert first.figure is not None
    assert str(first.figure.narrow) == snapshot(extension_class=Svg)


def test_terminal(snapshot: SnapshotAssertion) -> None:
    said = printed(report("engines").terminal())
    assert said == snapshot(extension_class=Plain)


@pytest.mark.parametrize("name", ["engines", "cache_run", "open_loop"])
def test_headline_chart(name: str, snapshot: SnapshotAssertion) -> None:
    drawing = report(name).views["claims"].figures[0].wide.replace("><", ">\n<")
    assert drawing == snapshot(extension_class=Svg)
