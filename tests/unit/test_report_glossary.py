"""The terms of a report: those that it uses, in the glossary's words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dbdyno.report.sections.setting import glossary
from fixtures import reports

ROOT = Path(__file__).parents[2]
TERM = re.compile(r"<dt>([^<]+)</dt><dd>([^<]+)</dd>")


def shown(page: str) -> dict[str, str]:
    return dict(TERM.findall(page))


def test_all_rows_of_the_glossary_are_read() -> None:
    rows = [line for line in (ROOT / "docs/glossary.md").read_text().splitlines() if "](" in line]
    assert len(glossary.TERMS) == len(rows) > 50
    assert not any("`" in term.definition for term in glossary.TERMS)
    assert {term.name for term in glossary.TERMS} >= glossary.BRIEF


def test_a_page_explains_the_terms_that_it_uses_and_no_others() -> None:
    closed = shown(reports.page("engines"))
    assert closed["p95"].startswith("The 95th percentile")
    assert {"interval", "supported", "refuted", "block", "warm-up", "tps"} <= closed.keys()
    assert not {"open loop", "backlog", "knee", "undecided"} & closed.keys()
    opened = shown(reports.page("open_loop"))
    assert {"open loop", "backlog"} <= opened.keys()


def test_two_pages_explain_what_a_customer_must_know() -> None:
    brief = shown(reports.report("engines").brief())
    assert {"interval", "supported", "refuted", "tps"} <= brief.keys() <= glossary.BRIEF


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("p95", "the p99.9 of all", True),
        ("p95", "map95", False),
        ("warm-up", "after 5 s of warm-up", True),
        ("block", "six blocks", True),
        ("block", "block-size", False),
        ("cell", "cancelled", False),
    ],
)
def test_a_term_is_found_as_a_word(name: str, text: str, found: bool) -> None:
    assert next(t for t in glossary.TERMS if t.name == name).among(text) is found
