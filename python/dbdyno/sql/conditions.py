"""Conditions on columns: what is compared with what, and what wraps the column."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from sqlglot import exp

from dbdyno.sql import parts
from dbdyno.sql.parsing import Parsed
from dbdyno.sql.parts import ColumnUse, Join, Predicate

Node = exp.Expr
Resolve = Callable[[exp.Column], ColumnUse | None]

_CALL = re.compile(r"[`\"]?(\w+)[`\"]?\s*\((?:[^()]|\([^()]*\))*\)$")
_RANGES = (exp.GT, exp.GTE, exp.LT, exp.LTE)
_COMPARED = {
    exp.EQ: parts.EQUAL,
    exp.NullSafeEQ: parts.EQUAL,
    exp.NEQ: parts.DIFFERENT,
    **dict.fromkeys(_RANGES, parts.RANGE),
}
_ARITHMETIC = (
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg),
    *(exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.DPipe),
)


def conditions(root: Node, parsed: Parsed, resolve: Resolve) -> Iterator[Predicate | Join | str]:
    """Those of a WHERE or ON, also below OR and NOT; a text for what is not taken apart."""
    reader = _Conditions(parsed, resolve)
    yield from reader.read(root, True)


class _Conditions:
    def __init__(self, parsed: Parsed, resolve: Resolve) -> None:
        self._parsed, self._resolve = parsed, resolve

    def read(self, node: Node, must: bool) -> Iterator[Predicate | Join | str]:
        """Of any condition."""
        if isinstance(node, exp.Paren):
            yield from self.read(node.this, must)
        elif isinstance(node, exp.And):
            for one in node.flatten():
                yield from self.read(one, must)
        elif isinstance(node, exp.Or | exp.Xor):
            for one in (node.this, node.expression):
                yield from self.read(one, False)
        elif isinstance(node, exp.Not):
            yield from self._negated(node, must)
        else:
            yield from self._simple(node, must)

    def _negated(self, node: exp.Not, must: bool) -> Iterator[Predicate | Join | str]:
        inner = node.this.unnest()
        if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null):
            yield from self._one(inner.this, parts.IS_NOT_NULL, None, node, must)
        elif isinstance(inner, exp.In | exp.EQ | exp.Like | exp.ILike | exp.Between):
            yield from self._one(inner.this, parts.DIFFERENT, None, node, must)
        elif isinstance(inner, exp.Column):
            yield from self._one(inner, parts.EQUAL, None, node, must)
        else:
            yield from self.read(inner, False)

    def _simple(self, node: Node, must: bool) -> Iterator[Predicate | Join | str]:
        for kind, operator in _COMPARED.items():
            if isinstance(node, kind):
                yield from self._comparison(node, operator, must)
                return
        if isinstance(node, exp.In):
            yield from self._in(node, must)
        elif isinstance(node, exp.Between):
            low = node.args["low"]
            yield from self._one(node.this, parts.RANGE, low, node, must)
        elif isinstance(node, exp.Like | exp.ILike):
            operator = _pattern(node.expression) if isinstance(node, exp.Like) else parts.LIKE
            yield from self._one(node.this, operator, node.expression, node, must)
        elif isinstance(node, exp.Is):
            is_null = isinstance(node.expression, exp.Null)
            operator = parts.IS_NULL if is_null else parts.EQUAL
            yield from self._one(node.this, operator, node.expression, node, must)
        elif isinstance(node, exp.Column):
            yield from self._one(node, parts.EQUAL, None, node, must)
        elif _columns(node):
            yield f"`{self._parsed.written(node)}`"

    def _comparison(
        self, node: Node, operator: str, must: bool
    ) -> Iterator[Predicate | Join | str]:
        left, right = self._bare(node.this), self._bare(node.expression)
        if isinstance(left, exp.Tuple) or isinstance(right, exp.Tuple):
            yield f"rows are compared: `{self._parsed.written(node)}`"
            return
        if _is_any(right):
            operator = parts.IN if operator == parts.EQUAL else operator
        if isinstance(left, exp.Column) and isinstance(right, exp.Column):
            yield from self._columns_compared(left, right, operator, node, must)
            return
        for side, other in ((left, right), (right, left)):
            if _columns(side):
                yield from self._one(side, operator, other, node, must)

    def _columns_compared(
        self, left: exp.Column, right: exp.Column, operator: str, node: Node, must: bool
    ) -> Iterator[Predicate | Join | str]:
        one, other = self._resolve(left), self._resolve(right)
        if one and other and one.table != other.table and operator == parts.EQUAL and must:
            yield Join(one, other)
            return
        for found in (one, other):
            if found is not None:
                yield self._predicate(found, operator, parts.COLUMN, node, must)

    def _in(self, node: exp.In, must: bool) -> Iterator[Predicate | Join | str]:
        if isinstance(node.this.unnest(), exp.Tuple):
            yield f"rows are compared: `{self._parsed.written(node)}`"
            return
        values = node.expressions
        value = node.args.get("query") or (values[0] if values else None)
        operator = parts.EQUAL if len(values) == 1 and not _is_list(values[0]) else parts.IN
        yield from self._one(node.this, operator, value, node, must)

    def _one(
        self, side: Node, operator: str, value: Node | None, node: Node, must: bool
    ) -> Iterator[Predicate | str]:
        """A column, bare or wrapped, on one side."""
        bare = self._bare(side)
        columns = _columns(bare)
        if not columns:
            return
        found = {one for column in columns if (one := self._resolve(column)) is not None}
        if len(found) > 1:
            yield f"several columns in `{self._parsed.written(bare)}`"
            return
        if not found:  # of a derived table, or of one that is not known
            return
        kind = _value(value)
        if isinstance(bare, exp.Column):
            yield self._predicate(found.pop(), operator, kind, node, must)
            return
        expression = self._parsed.written(bare)
        called = _CALL.match(expression)
        yield Predicate(
            found.pop(),
            operator,
            kind,
            self._parsed.written(node),
            expression,
            _wrap(bare, called is not None),
            called[1].upper() if called else "",
            must,
        )

    def _bare(self, node: Node) -> Node:
        """Without parentheses that are written; some functions become trees with others."""
        while isinstance(node, exp.Paren) and self._parsed.written(node).startswith("("):
            node = node.this
        return node

    def _predicate(
        self, column: ColumnUse, operator: str, value: str, node: Node, must: bool
    ) -> Predicate:
        return Predicate(column, operator, value, self._parsed.written(node), must_hold=must)


def _columns(node: Node) -> list[exp.Column]:
    """Columns below a node, without those of SELECTs within."""
    if isinstance(node, exp.Query):
        return []
    if isinstance(node, exp.Column):
        return [node]
    return [column for child in node.iter_expressions() for column in _columns(child)]


def _wrap(node: Node, is_call: bool) -> str:
    if isinstance(node, exp.Cast | exp.Collate | exp.AtTimeZone):
        return parts.CAST
    is_arithmetic = isinstance(node, _ARITHMETIC) and not is_call
    return parts.ARITHMETIC if is_arithmetic else parts.FUNCTION


def _is_any(node: Node) -> bool:
    return isinstance(node, exp.Any)


def _is_list(node: Node) -> bool:
    """Whether `(?)` may stand for several values, as digests have it."""
    return isinstance(node, exp.Placeholder | exp.Parameter | exp.Paren | exp.Tuple)


def _value(node: Node | None) -> str:
    if node is None:
        return parts.EXPRESSION
    bare = node.unnest()
    if isinstance(bare, exp.Neg | exp.Cast):
        bare = bare.this
    if isinstance(bare, exp.Literal):
        return parts.STRING if bare.is_string else parts.NUMBER
    if isinstance(bare, exp.Placeholder | exp.Parameter):
        return parts.PARAMETER
    if isinstance(bare, exp.Any):
        return _value(bare.this)
    if isinstance(node, exp.Query) or isinstance(bare, exp.Query | exp.Subquery):
        return parts.SUBQUERY
    return parts.COLUMN if _columns(bare) else parts.EXPRESSION


def _pattern(node: Node) -> str:
    bare = node.unnest()
    if not isinstance(bare, exp.Literal):
        return parts.LIKE
    return parts.LIKE_WILDCARD if str(bare.this)[:1] in ("%", "_", "") else parts.LIKE_PREFIX
