"""The glossary defines each term once, in order, and its links lead to pages and headings."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GLOSSARY = DOCS / "glossary.md"
ROW = re.compile(r"^\| (?P<term>[^|]+) \| (?P<definition>[^|]+) \| (?P<used_in>[^|]+) \|$", re.M)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def rows() -> list[re.Match[str]]:
    """The table's rows below its head."""
    found = list(ROW.finditer(GLOSSARY.read_text()))
    assert found[0]["term"] == "term"
    return found[1:]


def test_every_line_of_the_table_is_a_row() -> None:
    lines = [line for line in GLOSSARY.read_text().splitlines() if line.startswith("|")]
    assert len(lines) == len(rows()) + 2


def test_every_term_is_defined_once_and_in_alphabetical_order() -> None:
    terms = [row["term"] for row in rows()]
    assert len(terms) >= 40
    assert terms == sorted(set(terms))
    assert all(term == term.lower() for term in terms)


def test_every_definition_is_one_or_two_sentences() -> None:
    for row in rows():
        assert row["definition"].endswith("."), row["term"]
        assert len(re.findall(r"\.(?= |$)", row["definition"])) <= 2, row["term"]


def test_every_term_links_to_a_page_that_uses_it() -> None:
    for row in rows():
        (target,) = LINK.findall(row["used_in"])
        assert (DOCS / target).is_file(), row["term"]


def test_readme_and_guide_link_to_the_glossary() -> None:
    assert "(docs/glossary.md)" in (ROOT / "README.md").read_text()
    assert "[glossary]: ../glossary.md" in (DOCS / "guide" / "README.md").read_text()
