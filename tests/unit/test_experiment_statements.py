"""A refused statement's place in the file, and the place within it that the server names."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.experiment.file import document, statements
from dbdyno.experiment.file.statements import RefusedStatement
from dbdyno.experiment.targets import sqltext

FORMS = {
    "plain": "q: SELECT a FORM t",
    "single quotes": "q: 'SELECT ''a'' FORM t'",
    "double quotes": 'q: "SELECT \\"a\\" FORM t"',
    "an escaped break": 'q: "SELECT a\\nFORM t"',
    "block": "q: |\n  SELECT a\n\n    FORM t\n",
    "block without its last break": "q: |-\n    SELECT 'a'\n    FORM t",
    "folded block": "q: >\n  SELECT a\n  FORM t\n",
    "plain over two lines": "q: SELECT a\n  FORM t",
    "flow": "q: {sql: SELECT a FORM t, weight: 2}",
}


@pytest.mark.parametrize("form", FORMS)
def test_a_character_is_found_in_every_form_of_a_text(form: str) -> None:
    text = FORMS[form]
    node = document.parse(text, "e.yaml").mapping["q"]
    node = node.mapping.get("sql", node)
    for word in ("SELECT", "a", "FORM", "t"):
        at = node.text.rindex(word) if word != "SELECT" else 0
        found = statements.within(node, text, at)
        line = text.split("\n")[found.line - 1]
        assert line[found.column - 1 :].startswith(word), (word, found)
    end = statements.within(node, text, len(node.text) + 5)  # beyond: behind the last character
    assert text.split("\n")[end.line - 1][: end.column - 1].endswith("t")


@pytest.mark.parametrize("at", [0, 3, 40])
def test_a_source_that_cannot_be_followed_has_its_beginning(at: int) -> None:
    text = 'q: "\\x53ELECT 1"'
    node = document.parse(text, "e.yaml").mapping["q"]
    assert statements.within(node, text, at) == node.where


def test_an_error_is_placed_where_the_file_holds_the_statement(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text("a: SELECT 1\nfactors:\n  f: {one: {workload.statements.x: SELEC 2}}\n")
    error = RefusedStatement("no", sql="SELEC 2", at=None, fix="")
    error.locate(file)
    assert str(error.where) == f"{file}:3:36"
    lost = RefusedStatement("no", sql="SELECT 3", at=1, fix="")
    for place in (file, tmp_path / "gone.yaml"):
        lost.locate(place)
        assert lost.where is None


def test_a_place_in_what_was_sent_is_one_in_what_was_written() -> None:
    sql = "SELECT :a, ':b', :long_name FORM t"

    def number(name: str) -> str:
        return {"a": "$1", "long_name": "$2"}[name]

    sent = sqltext.replaced(sql, number)
    for word in ("SELECT", "FORM", "t", "':b'"):
        assert sqltext.written(sql, number, sent.index(word)) == sql.index(word)
    assert sqltext.written(sql, number, sent.index("$2") + 1) == sql.index(":long_name")
    assert sqltext.written(sql, number, len(sent)) == len(sql)
