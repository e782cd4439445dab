"""The project's voice: the glossary defines each term once, in order, with a link to a page on it,
and pages, docstrings and comments have no coinage that a term of the field replaced."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pytest

from fixtures.sources import Source, parsed, source

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GLOSSARY = DOCS / "glossary.md"
ROW = re.compile(r"^\| (?P<term>[^|]+) \| (?P<definition>[^|]+) \| (?P<used_in>[^|]+) \|$", re.M)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")

PAGES = [ROOT / f"{name}.md" for name in ("README", "ARCHITECTURE", "CONTRIBUTING")]
PAGES += sorted(DOCS.rglob("*.md"))
# Refused in pages, docstrings and comments, with what to write instead.
REFUSED = {
    r"what is there": "the existing data, the existing server",
    r"(that|which) (is|are) there": "existing; of a server: external",
    r"surroundings|surround(s|ed)?": "environment; hooks",
    r"(told|tells?|telling) (\w+ )?apart": "distinguished, distinguishes",
    r"(cannot|can) be told": "does not differ significantly; is known",
    r"(is|are|was|were|be) (said|told)": "reported, stated; or a subject that says it",
    r"what was said": "the output",
    r"says? so of": "names",
    r"stands? (in|at|on|below|beside|under|behind|alone)": "is in, appears below",
    r"(held|holds?) against": "compared with",
    r"(is|are|was|were|be) looked (at|for|up)": "examined, searched, analysed",
    r"left out|leaves? out": "omitted, omits",
    r"puts? back": "restored, restores",
    r"puts? (\w+ )?down to": "attributes to",
    r"gives? (\w+ )?away": "reveals",
    r"brings? about": "causes, applies",
    r"befalls?|befell": "happens to",
    r"be had": "be available, be used",
    r"beside": "next to, besides, during",
    r"but for": "except for",
    r"lest": "so that ... not",
    r"in the mean": "on average",
    r"anew": "again, new",
    r"moods?": "conditions",
    r"(servers?|of|are|is|not) (of )?ours": "dbdyno's; of a server: managed",
    r"nobody's": "of no account",
    r"whoever": "the user, the session",
    r"as (it|they) (is|are) found": "unchanged, as configured",
    r"not understood": "unrecognised",
    r"(falls?|fell|fallen|falling) due": "is due, becomes due",
    r"where there (is|are)": "if there is",
    r"own counts": "statement counters",
    r"started privately": "managed",
}
# Refused in texts of the programs, which users read as messages and help: string literals that are
# neither docstrings nor in tests.
REFUSED_IN_STRINGS = {
    r"(is|are) there already": "exists already, is an external server",
    r"put(ting)? back": "restored, restores",
    r"stands? (twice|still|in|at|where|exactly)": "is given twice, is stalled, is in",
    r"left out|leaves? (it|them|out)|leave [^ ]+ out": "skipped, omitted, remove",
    r"nobody|whoever": "the user, the process",
    r"anew": "again",
    r"lacks": "has no",
    r"says nothing": "is meaningless, needs",
    r"looked at": "sampled, analysed, searched",
    r"hold (it )?against|held against": "compare with",
    r"befalls?|befell": "event of",
    r"what is there": "existing",
    r"in its own (way|words)": "differently, normalised",
    r"does not fit together|fit together": "inconsistent",
    r"cannot be had": "cannot be used",
}
RUST_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|'(?:\\[^\n']+|[^\\'\n])'|r(?P<hashes>\#+)"(?P<raw>.*?)"(?P=hashes)"""
    r"""|"(?P<text>(?:\\.|[^"\\])*)\"""",
    re.DOTALL,
)
# Strings, in which a # is no comment, and comments; tokenize takes 20 times as long.
PYTHON_TOKEN = re.compile(
    r""""{3}(?:\\.|[^\\])*?"{3}|'{3}(?:\\.|[^\\])*?'{3}"""
    r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|(?P<comment>\#[^\n]*)""",
    re.DOTALL,
)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


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


def prose(page: Path) -> str:
    """The page's text in one line, without blocks of code and output."""
    return " ".join(FENCED.sub("", page.read_text()).split())


def pattern_of(refused: Collection[str]) -> re.Pattern[str]:
    """Finds any of these in text in lower case: to ignore case takes three times as long."""
    return re.compile(rf"\b({'|'.join(refused)})\b")


COINAGE = pattern_of(REFUSED)


def coinages(text: str) -> list[str]:
    return [
        f"{found[0]!r}: write {better}"
        for found in COINAGE.finditer(text.lower())
        for pattern, better in REFUSED.items()
        if re.fullmatch(pattern, found[0])
    ]


def test_pages_have_standard_terms() -> None:
    found = [f"{page.relative_to(ROOT)}: {one}" for page in PAGES for one in coinages(prose(page))]
    assert found == []


def remarks(file: Source) -> Iterator[str]:
    """Docstrings, and comments with those of neighbouring lines, in one line each."""
    yield from (" ".join(text.split()) for text in file.docstrings)
    lines, number, end = {}, 1, 0
    for found in PYTHON_TOKEN.finditer(file.text):
        number, end = number + file.text.count("\n", end, found.start()), found.start()
        if found["comment"]:
            lines[number] = found["comment"].lstrip("#: ")
    starts = [number for number in lines if number - 1 not in lines]
    for start in starts:
        run = itertools.takewhile(lines.__contains__, itertools.count(start))
        yield " ".join(lines[number] for number in run)


def test_docstrings_and_comments_are_found() -> None:
    file = parsed('''"""Of a
    module."""
def f():  # one
    # and two
    return "text"
''')
    assert list(remarks(file)) == ["Of a module.", "one and two"]
    assert file.literals == ("text",)


def test_docstrings_and_comments_have_standard_terms() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {coinage} in {text!r}"
        for path in (ROOT / "python" / "dbdyno").rglob("*.py")
        for text in remarks(source(path))
        for coinage in coinages(text)
    ]
    assert found == []


def rust_literals(source: str) -> Iterator[str]:
    """String literals of several words, in one line each, up to the file's module of tests."""
    for token in RUST_TOKEN.finditer(source.split("#[cfg(test)]\nmod ")[0]):
        text = token["raw"] or token["text"] or ""
        if " " in text:
            yield " ".join(re.sub(r"\\\n\s*", "", text).split())


def python_texts() -> Iterator[tuple[Path, str]]:
    for path in (ROOT / "python" / "dbdyno").rglob("*.py"):
        yield from ((path, text) for text in source(path).literals if " " in text)


def rust_texts() -> Iterator[tuple[Path, str]]:
    for path in (ROOT / "engine").glob("*/src/**/*.rs"):
        if path.name != "tests.rs" and "tests" not in path.parts[len(ROOT.parts) :]:
            yield from ((path, text) for text in rust_literals(path.read_text()))


def test_literals_of_rust_are_found() -> None:
    source = """// "a comment"
let (quote, life) = ('"', &'static str); say("one \\"text\\" \\
    of two lines"); raw(r#"another "text" here"#);
#[cfg(test)]
mod tests { "not this one" }"""
    found = list(rust_literals(source))
    assert found == ['one \\"text\\" of two lines', 'another "text" here']


@pytest.mark.parametrize("texts", [python_texts, rust_texts])
def test_programs_speak_in_standard_terms(
    texts: Callable[[], Iterator[tuple[Path, str]]],
) -> None:
    pattern = pattern_of(REFUSED_IN_STRINGS)
    found = [
        f"{path.relative_to(ROOT)}: {coinage[0]!r} in {text!r}"
        for path, text in texts()
        if (coinage := pattern.search(text.lower()))
    ]
    assert found == []
