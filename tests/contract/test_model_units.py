"""Formulas of models keep their units: bytes are not added to seconds, and a step has the unit that
its formula gives. Plain numbers in a formula take any unit in sums and comparisons."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import pytest

from dbdyno import models
from dbdyno.models.model import Model

Unit = tuple[int, int, int] | None  # powers of bytes, seconds, money; None: any

PLAIN: Unit = (0, 0, 0)
BYTES, SECONDS, MONEY = (1, 0, 0), (0, 1, 0), (0, 0, 1)
OF_KIND: Mapping[str, Unit] = {
    "size": BYTES,
    "duration": SECONDS,
    "rate": (0, -1, 0),
    "throughput": (1, -1, 0),
    "price": MONEY,  # for a month, which is no second: prices of other times are converted on input
    "money": MONEY,
    "share": PLAIN,
    "count": PLAIN,
    "number": PLAIN,
    "date": PLAIN,
    "word": None,
}
OF_CONSTANT: Mapping[str, Unit] = {
    **dict.fromkeys(("byte", "KiB", "MiB", "GiB", "TiB", "KB", "MB", "GB", "TB"), BYTES),
    **dict.fromkeys(("ms", "second", "minute", "hour", "day", "month"), SECONDS),
    **dict.fromkeys(("million", "billion"), PLAIN),
    "unknown": None,
}


def unit(node: ast.expr, known: Mapping[str, Unit]) -> Unit:
    """Of an expression. AssertionError where units do not fit."""
    if isinstance(node, ast.Constant):
        return None
    if isinstance(node, ast.Name):
        return known[node.id]
    if isinstance(node, ast.BinOp):
        return of_operation(node, known)
    if isinstance(node, ast.UnaryOp):
        return unit(node.operand, known)
    if isinstance(node, ast.BoolOp):
        for part in node.values:
            unit(part, known)
        return PLAIN
    if isinstance(node, ast.Compare):
        same([unit(part, known) for part in (node.left, *node.comparators)], node)
        return PLAIN
    if isinstance(node, ast.IfExp):
        unit(node.test, known)
        return same([unit(node.body, known), unit(node.orelse, known)], node)
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    parts = [unit(part, known) for part in node.args]
    if node.func.id in ("min", "max"):
        return same(parts, node)
    if node.func.id in ("sum", "nth", "floor", "ceil", "round", "abs"):
        return parts[0]
    return PLAIN if node.func.id in ("len", "exp", "log") else None


def of_operation(node: ast.BinOp, known: Mapping[str, Unit]) -> Unit:
    left, right = unit(node.left, known), unit(node.right, known)
    if isinstance(node.op, ast.Add | ast.Sub):
        return same([left, right], node)
    if isinstance(node.op, ast.Pow):
        return None
    # In products a plain number is one; a name of any unit makes any unit.
    left = PLAIN if isinstance(node.left, ast.Constant) else left
    right = PLAIN if isinstance(node.right, ast.Constant) else right
    if left is None or right is None:
        return None
    sign = 1 if isinstance(node.op, ast.Mult) else -1
    return (left[0] + sign * right[0], left[1] + sign * right[1], left[2] + sign * right[2])


def same(units: list[Unit], node: ast.expr) -> Unit:
    named = {one for one in units if one is not None}
    assert len(named) <= 1, f"{ast.unparse(node)}: {named}"
    return named.pop() if named else None


@pytest.mark.parametrize("model", [models.load(n) for n in models.names()], ids=lambda m: m.name)
def test_formulas_keep_their_units(model: Model) -> None:
    known = {**OF_CONSTANT, **{one.name: OF_KIND[one.kind_name] for one in model.inputs}}
    for step in model.document.steps:
        found = unit(ast.parse(step.expression.text, mode="eval").body, known)
        same([found, OF_KIND[step.kind.name]], ast.parse(step.name, mode="eval").body)
        known[step.name] = OF_KIND[step.kind.name]
    whens = [when for when, _ in model.says if when]
    for when in (*whens, *(one.when for one in (*model.notes, *model.refusals))):
        unit(ast.parse(when, mode="eval").body, known)


def test_units_that_do_not_fit_are_found() -> None:
    known = {"a": BYTES, "b": SECONDS}
    for text in ("a + b", "max(a, b)", "a < b", "a if b > 1 else b"):
        with pytest.raises(AssertionError):
            unit(ast.parse(text, mode="eval").body, known)
    assert unit(ast.parse("a / b * 2 + 1", mode="eval").body, known) == (1, -1, 0)
