"""The analysis returns numbers and names of messages; `wording` has the sentences."""

from __future__ import annotations

import ast
import inspect
import re
import string
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from dbdyno.analysis.causes.rules import RULES
from dbdyno.analysis.message import Message
from dbdyno.analysis.types import SAME  # a verdict, in `result.json`
from dbdyno.wording.catalogue import MODULES, TEXTS, texts_of, worded
from dbdyno.wording.causes import CAUSES

ROOT = Path(__file__).parents[2]
ANALYSIS = ROOT / "python/dbdyno/analysis"
FILES = sorted(ANALYSIS.rglob("*.py"))
WORDS_MIN = 4  # fewer are a label, a name or a format

_WORD = re.compile(r"[^\W\d_]{2,}")
# Public functions of the catalogue's modules that others call, and that are no messages.
HELPERS = {"asked", "checked", "counted", "metric_words", "money", "more", "name", "sentence"}


def literals(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Texts of a file except for docstrings, errors and assertions: line, text with {} for
    values."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(id(node.value))
        error = isinstance(node, ast.Call) and getattr(node.func, "id", "").endswith("Error")
        if error or isinstance(node, ast.Raise | ast.Assert):
            skipped |= {id(each) for each in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = [part.value for part in node.values if isinstance(part, ast.Constant)]
            skipped |= {id(each) for each in ast.walk(node)}
            yield node.lineno, " {} ".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def is_prose(text: str) -> bool:
    if "|" in text or " " not in text.strip():  # a regular expression, or a name
        return False
    return len(_WORD.findall(text)) >= WORDS_MIN and text != SAME


def test_the_analysis_has_no_sentence() -> None:
    found = [
        f"{path.relative_to(ANALYSIS)}:{line}: {text!r}"
        for path in FILES
        for line, text in literals(ast.parse(path.read_text()))
        if is_prose(text)
    ]
    assert found == []


@cache
def messages() -> list[tuple[str, str, set[str], bool]]:
    """Where a message is made, its name, the values that are named there, whether those are all."""
    return list(_messages())


def _messages() -> Iterator[tuple[str, str, set[str], bool]]:
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Message":
                named = {word.arg for word in node.keywords if word.arg}
                place = f"{path.relative_to(ANALYSIS)}:{node.lineno}"
                if node.args and isinstance(node.args[0], ast.Constant):
                    whole = len(named) == len(node.keywords)
                    yield place, str(node.args[0].value), named, whole


def taken(name: str) -> set[str]:
    """The values that a message's sentence asks for."""
    text = TEXTS[name]
    if inspect.isfunction(text):
        return set(inspect.signature(text).parameters) - {"plan"}
    assert isinstance(text, str)
    fields = (field for _, field, _, _ in string.Formatter().parse(text) if field is not None)
    return {re.split(r"[.\[]", field)[0] for field in fields}


def test_every_message_has_a_sentence_made_of_its_values() -> None:
    found = messages()
    assert len(found) > 100
    for place, name, named, whole in found:
        assert name in TEXTS, (place, name)
        assert named <= taken(name), (place, name)
        assert not whole or named == taken(name), (place, name)


def test_every_sentence_belongs_to_a_message() -> None:
    assert set(TEXTS) - {name for _, name, _, _ in messages()} == HELPERS


def test_no_two_sentences_have_one_name() -> None:
    assert sum(len(texts_of(module)) for module in MODULES) == len(TEXTS)


def test_every_rule_has_its_words_in_the_file_of_its_family() -> None:
    assert CAUSES.keys() == {rule.name for rule in RULES}
    for rule in RULES:
        family = rule.look.__module__.rpartition(".")[2]
        assert rule.name in import_module(f"dbdyno.wording.causes.{family}").CAUSES


def test_a_message_is_no_text_before_it_is_worded() -> None:
    message = Message("of_run", run="r1", why=Message("not_same_plan"))
    for use in (str, format, "{}".format):
        with pytest.raises(TypeError, match="no sentence yet"):
            use(message)
    assert message == Message("of_run", run="r1", why=Message("not_same_plan"))
    assert message != Message("of_run", run="r2", why=Message("not_same_plan"))
    assert message != "of_run"
    assert worded(("x", [message])) == ("x", ["r1: it is not of the same plan"])
