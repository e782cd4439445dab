"""Whether all rows whose columns have values of given domains meet a check, and what a check lists.

A check is met where it is TRUE or NULL. Its parts are judged alone, each for all values at once: of
a check that is met for another reason it is not known that it is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from sqlglot import exp

from dbdyno.sql import parsing
from dbdyno.sql.checks.domain import ANYTHING, Domain, Value, moment, number, of_values

Truth = frozenset[bool | None]  # what a condition may be
Node = exp.Expr

_ANY: Truth = frozenset((True, False, None))
_EITHER: Truth = frozenset((True, False))
_PAIRS_MAX = 10_000  # of values that are compared one by one
_OPERATORS: Mapping[type[Node], Callable[[Any, Any], bool]] = {
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
}
_ARITHMETIC: Mapping[type[Node], Callable[[Any, Any], Decimal]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
}
_TYPES = exp.DataType.Type
_WHOLE = {_TYPES.INT, _TYPES.BIGINT}
_EXACT = {_TYPES.DECIMAL, _TYPES.DOUBLE}
_MOMENTS = {_TYPES.DATE, _TYPES.TIMESTAMP, _TYPES.DATETIME, _TYPES.TIMESTAMPNTZ}


def holds(expression: str, dialect: str, domains: Mapping[str, Domain]) -> bool:
    """Whether no row with such values breaks the check. `domains`: by column, small letters. False
    for what is not known."""
    node = _condition(expression, dialect)
    try:
        return node is not None and False not in _Judge(domains).truth(node)
    except (RecursionError, ArithmeticError, TypeError, ValueError):
        return False


def listed(expression: str, dialect: str) -> dict[str, tuple[str, ...]]:
    """Columns that a check allows some texts only, with these."""
    node = _condition(expression, dialect)
    found: dict[str, tuple[str, ...]] = {}
    for part in _conjuncts(node) if node is not None else ():
        chosen = _choice(part)
        if chosen is None:
            continue
        column, items = _bare(chosen[0]), [_text(each) for each in chosen[1]]
        if isinstance(column, exp.Column) and items and None not in items:
            found[column.name] = tuple(dict.fromkeys(each for each in items if each is not None))
    return found


def _condition(expression: str, dialect: str) -> Node | None:
    parsed = parsing.parse(f"SELECT 1 WHERE {expression}", dialect)
    where = parsed.tree.args.get("where") if parsed is not None else None
    return where.this if where is not None else None


def _conjuncts(node: Node) -> Iterator[Node]:
    node = _bare(node)
    if isinstance(node, exp.And):
        yield from _conjuncts(node.this)
        yield from _conjuncts(node.expression)
    else:
        yield node


def _bare(node: Node) -> Node:
    """Without parentheses, character sets and casts between texts."""
    while True:
        if isinstance(node, exp.Paren):
            node = node.this
        elif isinstance(node, exp.Introducer):
            node = node.expression
        elif isinstance(node, exp.Cast) and node.to.this in exp.DataType.TEXT_TYPES:
            node = node.this
        else:
            return node


def _text(node: Node) -> str | None:
    node = _bare(node)
    return str(node.this) if isinstance(node, exp.Literal) and node.is_string else None


def _choice(node: Node) -> tuple[Node, Sequence[Node]] | None:
    """What is compared with a list, and its items: IN (...), or PostgreSQL's = ANY (ARRAY[...])."""
    if isinstance(node, exp.In) and node.expressions:
        return node.this, node.expressions
    if isinstance(node, exp.EQ) and isinstance(node.expression, exp.Any):
        array = _bare(node.expression.this)
        if isinstance(array, exp.Cast):  # to an array of texts
            array = _bare(array.this)
        if isinstance(array, exp.Array):
            return node.this, array.expressions
    return None


class _Judge:
    def __init__(self, domains: Mapping[str, Domain]) -> None:
        self._domains = domains

    def truth(self, node: Node) -> Truth:
        """What a condition may be."""
        node = _bare(node)
        if isinstance(node, exp.And | exp.Or):
            made = _and if isinstance(node, exp.And) else _or
            a, b = self.truth(node.this), self.truth(node.expression)
            return frozenset(made(one, other) for one in a for other in b)
        if isinstance(node, exp.Not):
            return frozenset(None if one is None else not one for one in self.truth(node.this))
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            return self._is_null(self.domain(node.this))
        if isinstance(node, exp.Between):
            a = self._compared(exp.GTE, node.this, node.args["low"])
            b = self._compared(exp.LTE, node.this, node.args["high"])
            return frozenset(_and(one, other) for one in a for other in b)
        if (chosen := _choice(node)) is not None:
            return self._among(self.domain(chosen[0]), [self.domain(one) for one in chosen[1]])
        if type(node) in _OPERATORS and not isinstance(node.expression, exp.Any | exp.All):
            return self._compared(type(node), node.this, node.expression)
        if isinstance(node, exp.Boolean):
            return frozenset((bool(node.this),))
        return _ANY

    @staticmethod
    def _is_null(domain: Domain) -> Truth:
        return _EITHER if domain.has_null else frozenset((False,))

    def _compared(self, kind: type[Node], left: Node, right: Node) -> Truth:
        return _comparison(kind, self.domain(left), self.domain(right))

    @staticmethod
    def _among(domain: Domain, items: Sequence[Domain]) -> Truth:
        """Whether a value is one of a list: each value by itself, which is in it for one item."""
        if domain.values is None:
            return _ANY
        found: set[bool | None] = {None} if domain.has_null else set()
        for value in domain.values:
            one: Truth = frozenset((False,))
            for item in items:
                equal = _comparison(exp.EQ, of_values([value]), item)
                one = frozenset(_or(a, b) for a in one for b in equal)
            found |= one
        return frozenset(found)

    def domain(self, node: Node) -> Domain:
        """The values of an expression."""
        node = _bare(node)
        if isinstance(node, exp.Column):
            return self._domains.get(node.name.lower(), ANYTHING)
        if isinstance(node, exp.Literal):
            value = str(node.this) if node.is_string else number(node.this)
            return ANYTHING if value is None else of_values([value])
        if isinstance(node, exp.Boolean):
            return of_values([Decimal(int(bool(node.this)))])
        if isinstance(node, exp.Neg):
            return _computed(exp.Sub, of_values([Decimal(0)]), self.domain(node.this))
        if isinstance(node, exp.Add | exp.Sub | exp.Mul):
            return _computed(type(node), self.domain(node.this), self.domain(node.expression))
        if isinstance(node, exp.Length):
            inner = self.domain(node.this)
            if inner.lengths is not None:
                low, high = inner.lengths
                return Domain(low=Decimal(low), high=Decimal(high), has_null=inner.has_null)
        if isinstance(node, exp.Cast):
            return _cast(self.domain(node.this), node.to)
        return ANYTHING


def _and(a: bool | None, b: bool | None) -> bool | None:
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def _or(a: bool | None, b: bool | None) -> bool | None:
    if a is True or b is True:
        return True
    return None if a is None or b is None else False


def _cast(inner: Domain, to: exp.DataType) -> Domain:
    """Casts that keep values, or their order."""
    if to.this in _MOMENTS:
        inner = _as_moments(inner)
        if to.this is not _TYPES.DATE or inner.low is None or inner.high is None:
            return inner
        low, high = (each.replace(hour=0, minute=0, second=0, microsecond=0)  # type: ignore[union-attr]
                     for each in (inner.low, inner.high))  # fmt: skip
        return Domain(low=low, high=high, has_null=inner.has_null)
    inner = _as_numbers(inner)
    if to.expressions or not isinstance(inner.low, Decimal) or not isinstance(inner.high, Decimal):
        return ANYTHING
    are_whole = inner.low == int(inner.low) and inner.high == int(inner.high)
    if to.this in _EXACT:
        return inner
    if to.this in _WHOLE and are_whole:
        return Domain(low=inner.low, high=inner.high, has_null=inner.has_null)
    return ANYTHING


def _only(domain: Domain) -> str | None:
    """The text that is the only value."""
    one = next(iter(domain.values)) if domain.values and len(domain.values) == 1 else None
    return one if isinstance(one, str) else None


def _as_moments(domain: Domain) -> Domain:
    found = moment(text) if (text := _only(domain)) is not None else None
    return of_values([found], has_null=domain.has_null) if found is not None else domain


def _as_numbers(domain: Domain) -> Domain:
    found = number(text) if (text := _only(domain)) is not None else None
    return of_values([found], has_null=domain.has_null) if found is not None else domain


def _computed(kind: type[Node], a: Domain, b: Domain) -> Domain:
    """Of two ranges of numbers."""
    ends = (a.low, a.high, b.low, b.high)
    if not all(isinstance(each, Decimal) for each in ends):
        return ANYTHING
    function = _ARITHMETIC[kind]
    found = [function(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return Domain(low=min(found), high=max(found), has_null=a.has_null or b.has_null)


def _comparison(kind: type[Node], a: Domain, b: Domain) -> Truth:
    null: Truth = frozenset((None,)) if a.has_null or b.has_null else frozenset()
    for one, other in ((a, b), (b, a)):  # a text that is compared with numbers or moments
        if _only(one) is not None and other.low is not None:
            convert = _as_numbers if isinstance(other.low, Decimal) else _as_moments
            a, b = (convert(one), other) if one is a else (other, convert(one))
            break
    if a.values is None or b.values is None or len(a.values) * len(b.values) > _PAIRS_MAX:
        return null | _ranges(kind, a, b)
    return null.union(*(_values(kind, x, y) for x in a.values for y in b.values))


def _values(kind: type[Node], a: Value, b: Value) -> Truth:
    if isinstance(a, str) and isinstance(b, str):
        return _texts(kind, a, b)
    if type(a) is not type(b):
        return _EITHER
    return frozenset((_OPERATORS[kind](a, b),))


def _texts(kind: type[Node], a: str, b: str) -> Truth:
    """Which of two texts comes first, and whether different ones are equal, a collation says."""
    if kind not in (exp.EQ, exp.NEQ):
        return _EITHER
    if a == b:
        return frozenset((kind is exp.EQ,))
    alike = a.strip().casefold() == b.strip().casefold() or not (a + b).isascii()
    return _EITHER if alike else frozenset((kind is exp.NEQ,))


def _ranges(kind: type[Node], a: Domain, b: Domain) -> Truth:
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return _EITHER
    if len({type(each) for each in (a.low, a.high, b.low, b.high)}) > 1:
        return _EITHER
    compare = _OPERATORS[kind]
    if kind in (exp.EQ, exp.NEQ):
        apart = a.high < b.low or b.high < a.low  # type: ignore[operator]
        same = a.low == a.high == b.low == b.high
        return frozenset((compare(0, 1 if apart else 0),)) if apart or same else _EITHER
    # Monotone: decided if it is the same for the pairs of ends that are the furthest apart.
    found = {compare(a.low, b.high), compare(a.high, b.low)}
    return frozenset(found)
