"""Formulas: a small part of Python's expressions, computed on numbers and on NumPy arrays alike.

Arithmetic, comparisons, `and`, `or`, `not`, `a if b else c`, words in quotes, names, and the
functions of `FUNCTIONS`. A model's own functions take and give single values; they are called once
for each element of an array. Lists of inputs are tuples and never become arrays.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

CONSTANTS: Mapping[str, float] = {
    "byte": 1.0,
    "KiB": 2.0**10,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
    "TiB": 2.0**40,
    "KB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "TB": 1e12,
    "ms": 1e-3,
    "second": 1.0,
    "minute": 60.0,
    "hour": 3600.0,
    "day": 86400.0,
    "month": 2_592_000.0,
    "million": 1e6,
    "billion": 1e9,
    "unknown": math.nan,
}


def _least(*values: Any) -> Any:
    return _fold(np.minimum, min, values)


def _largest(*values: Any) -> Any:
    return _fold(np.maximum, max, values)


def _fold(pair: Any, of_list: Any, values: Sequence[Any]) -> Any:
    if len(values) == 1 and isinstance(values[0], tuple):
        return of_list(values[0])
    result = values[0]
    for value in values[1:]:
        result = pair(result, value)
    return result


def _nth(values: tuple[float, ...], place: float) -> float:
    """The value at a place, the largest being the first; zero past the end."""
    ordered = sorted(values, reverse=True)
    return ordered[int(place) - 1] if 1 <= place <= len(ordered) else 0.0


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "min": _least,
    "max": _largest,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.round,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "abs": np.abs,
    "sum": lambda values: float(math.fsum(values)),
    "len": lambda values: float(len(values)),
    "nth": _nth,
}
_BINARY: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: np.true_divide(a, b),
    ast.FloorDiv: lambda a, b: np.floor_divide(a, b),
    ast.Mod: lambda a, b: np.mod(a, b),
    ast.Pow: lambda a, b: np.power(a, b),
}
_COMPARE: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Lt: lambda a, b: np.less(a, b),
    ast.LtE: lambda a, b: np.less_equal(a, b),
    ast.Gt: lambda a, b: np.greater(a, b),
    ast.GtE: lambda a, b: np.greater_equal(a, b),
    ast.Eq: lambda a, b: np.equal(a, b),
    ast.NotEq: lambda a, b: np.not_equal(a, b),
}


class Expression:
    """A parsed formula. ValueError if it is none, or uses what is not offered here."""

    def __init__(self, text: str) -> None:
        self.text = " ".join(text.split())
        try:
            self._tree = ast.parse(self.text, mode="eval").body
        except SyntaxError as error:
            raise ValueError(f"`{self.text}` is no formula: {error.msg}") from None
        called = {n.func for n in ast.walk(self._tree) if isinstance(n, ast.Call)}
        self.functions = {n.id for n in called if isinstance(n, ast.Name)}
        self.names = {
            n.id for n in ast.walk(self._tree) if isinstance(n, ast.Name) and n not in called
        }

    def __call__(
        self, values: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]] | None = None
    ) -> Any:
        """Its value with these names. What cannot be computed (0 / 0) is nan."""
        with np.errstate(all="ignore"):
            return _value(self._tree, {**CONSTANTS, **values}, functions or {})


@lru_cache(maxsize=1024)
def parsed(text: str) -> Expression:
    """The same, parsed once."""
    return Expression(text)


def _value(node: ast.expr, values: Mapping[str, Any], own: Mapping[str, Any]) -> Any:
    def of(part: ast.expr) -> Any:
        return _value(part, values, own)

    if isinstance(node, ast.Constant):
        return float(node.value) if isinstance(node.value, int) else node.value
    if isinstance(node, ast.Name):
        return values[node.id]
    if isinstance(node, ast.BinOp):
        return _BINARY[type(node.op)](of(node.left), of(node.right))
    if isinstance(node, ast.UnaryOp):
        one = of(node.operand)
        return np.logical_not(one) if isinstance(node.op, ast.Not) else -one
    if isinstance(node, ast.BoolOp):
        join = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
        return join.reduce(np.broadcast_arrays(*map(of, node.values)))
    if isinstance(node, ast.Compare):
        sides = [of(node.left), *map(of, node.comparators)]
        pairs = zip(node.ops, sides[:-1], sides[1:], strict=True)
        found = [_COMPARE[type(op)](left, right) for op, left, right in pairs]
        return np.logical_and.reduce(np.broadcast_arrays(*found))
    if isinstance(node, ast.IfExp):
        return np.where(of(node.test), of(node.body), of(node.orelse))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        arguments = [of(part) for part in node.args]
        if node.func.id in FUNCTIONS:
            return FUNCTIONS[node.func.id](*arguments)
        return _each(own[node.func.id], arguments)
    raise ValueError(f"a formula may not contain {ast.unparse(node)}")


def _each(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """A model's own function for each element of the arrays among its arguments."""
    sizes = {np.size(a) for a in arguments if isinstance(a, np.ndarray) and np.ndim(a)}
    if not sizes:
        return function(
            *(a.item() if isinstance(a, np.generic | np.ndarray) else a for a in arguments)
        )
    (size,) = sizes

    def at(argument: Any, i: int) -> Any:
        if isinstance(argument, np.ndarray):
            return argument[i].item() if np.ndim(argument) else argument.item()
        return argument

    return np.array([function(*(at(a, i) for a in arguments)) for i in range(size)])
