"""From a tree to a `Statement`, scope by scope and clause by clause."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from sqlglot import exp

from dbdyno.sql import conditions, parts
from dbdyno.sql.parsing import Parsed
from dbdyno.sql.parts import ColumnUse, Join, Order, Predicate, Statement, Use
from dbdyno.sql.schema import Schema
from dbdyno.sql.scopes import Node, Scope, resolve, scopes

T = TypeVar("T")
_KINDS = {
    exp.Insert: parts.INSERT,
    exp.Update: parts.UPDATE,
    exp.Delete: parts.DELETE,
    exp.Query: parts.SELECT,
}


@dataclass
class _Found:
    predicates: list[Predicate] = field(default_factory=list)
    joins: list[Join] = field(default_factory=list)
    grouping: list[Order] = field(default_factory=list)
    ordering: list[Order] = field(default_factory=list)
    selected: list[ColumnUse] = field(default_factory=list)
    stars: list[Use] = field(default_factory=list)
    read: list[ColumnUse] = field(default_factory=list)
    written: list[ColumnUse] = field(default_factory=list)
    written_all: list[Use] = field(default_factory=list)
    partial: list[str] = field(default_factory=list)


def read(parsed: Parsed, schema: Schema | None) -> Statement:
    """The whole statement. RecursionError if it is nested too deeply."""
    found = _Found()
    all_scopes = scopes(parsed.tree)
    for scope in all_scopes:
        _Clauses(parsed, scope, schema, found).read()
    kind = next((kind for one, kind in _KINDS.items() if isinstance(parsed.tree, one)), parts.OTHER)
    return Statement(
        kind=parts.REPLACE if parsed.is_replace else kind,
        tables=tuple(use for scope in all_scopes for use in scope.uses.values() if use),
        has_limit=any(scope.node.args.get("limit") for scope in all_scopes),
        predicates=_once(found.predicates),
        joins=_once(found.joins),
        grouping=tuple(found.grouping),
        ordering=tuple(found.ordering),
        selected=_once(found.selected),
        stars=_once(found.stars),
        read=_once(found.read),
        written=_once(found.written),
        written_all=_once(found.written_all),
        partial=_once(found.partial),
    )


def _once(values: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(values))


class _Clauses:
    """One scope."""

    def __init__(self, parsed: Parsed, scope: Scope, schema: Schema | None, found: _Found) -> None:
        self._parsed, self._scope, self._schema, self._found = parsed, scope, schema, found

    def read(self) -> None:
        node = self._scope.node
        self._conditions()
        if isinstance(node, exp.Select):
            self._selected(node)
        elif isinstance(node, exp.Insert):
            self._inserted(node)
        elif isinstance(node, exp.Update):
            self._set(node.expressions)
        elif isinstance(node, exp.Delete):
            self._deleted(node)
        self._columns(node)
        self._order("group", self._found.grouping)
        self._order("order", self._found.ordering)

    def _resolve(self, column: exp.Column) -> ColumnUse | None:
        return resolve(column, self._scope, self._schema)

    def _conditions(self) -> None:
        for root in self._roots():
            for one in conditions.conditions(root, self._parsed, self._resolve):
                if isinstance(one, Predicate):
                    self._found.predicates.append(one)
                elif isinstance(one, Join):
                    self._found.joins.append(one)
                else:
                    self._found.partial.append(one)

    def _roots(self) -> Iterator[Node]:
        node = self._scope.node
        if (where := node.args.get("where")) is not None:
            yield where.this
        for one in self._scope.nodes():
            if isinstance(one, exp.Join):
                if (on := one.args.get("on")) is not None:
                    yield on
                if one.args.get("using"):
                    self._using(one)
                if one.args.get("method") == "NATURAL":
                    self._found.partial.append("NATURAL JOIN")

    def _using(self, join: exp.Join) -> None:
        """USING (a): equal columns of the joined table and the one before it."""
        uses = [use for use in self._scope.uses.values() if use]
        joined = self._scope.uses.get(join.this.alias_or_name.lower())
        others = [use for use in uses if use != joined]
        if joined is None or len(others) != 1:
            self._found.partial.append("USING of several tables")
            return
        for name in join.args["using"]:
            left, right = ColumnUse(others[0], name.name), ColumnUse(joined, name.name)
            self._found.joins.append(Join(left, right))
            self._found.read += [left, right]

    def _selected(self, node: exp.Select) -> None:
        for one in node.expressions:
            bare = one.unalias()
            if isinstance(bare, exp.Star):
                self._found.stars += [use for use in self._scope.uses.values() if use]
            elif isinstance(bare, exp.Column) and isinstance(bare.this, exp.Star):
                use = self._scope.uses.get(bare.table.lower())
                self._found.stars += [use] if use else []
            else:
                self._found.selected += self._columns_of(bare)

    def _columns_of(self, root: Node) -> list[ColumnUse]:
        return [
            found
            for node in self._scope.nodes(root)
            if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star)
            if (found := self._resolve(node)) is not None
        ]

    def _columns(self, node: Node) -> None:
        """All that are read; of those that nobody is known to have, that it is so."""
        left_out = {id(one) for one in (*self._targets(node), *self._aliases_used())}
        for one in self._scope.nodes():
            if not isinstance(one, exp.Column) or isinstance(one.this, exp.Star):
                continue
            if id(one) in left_out:
                continue
            found = self._resolve(one)
            if found is not None:
                self._found.read.append(found)
            elif self._is_lost(one):
                self._found.partial.append(f"whose column `{one.name}` is")

    def _is_lost(self, column: exp.Column) -> bool:
        if column.table:
            return not self._is_derived(column.table.lower())
        if column.name.lower() in self._scope.aliases:
            return False
        at: Scope | None = self._scope
        while at is not None:
            if None in at.uses.values():
                return False
            at = at.outer
        return True

    def _is_derived(self, alias: str) -> bool:
        at: Scope | None = self._scope
        while at is not None:
            if alias in at.uses:
                return at.uses[alias] is None
            at = at.outer
        return alias in ("excluded", "new", "old", "values")

    @staticmethod
    def _targets(node: Node) -> Iterator[Node]:
        if isinstance(node, exp.Update):
            yield from (one.this for one in node.expressions if isinstance(one, exp.EQ))

    def _aliases_used(self) -> Iterator[exp.Column]:
        """Names in GROUP BY, HAVING and ORDER BY that are selected expressions'."""
        for clause in ("group", "having", "order"):
            if (root := self._scope.node.args.get(clause)) is not None:
                for one in self._scope.nodes(root):
                    if isinstance(one, exp.Column) and self._alias(one, clause) is not None:
                        yield one

    def _alias(self, column: exp.Column, clause: str) -> Node | None:
        """The expression that a bare name stands for. In GROUP BY a column of that name, if one is
        known, goes before."""
        found = None if column.table else self._scope.aliases.get(column.name.lower())
        is_known = self._schema is not None and self._resolve(column) is not None
        return None if clause == "group" and is_known else found

    def _target(self) -> Use | None:
        return next((use for use in self._scope.uses.values() if use), None)

    def _inserted(self, node: exp.Insert) -> None:
        use = self._target()
        if use is None:
            return
        named = node.this.expressions if isinstance(node.this, exp.Schema) else []
        if named:
            self._found.written += [ColumnUse(use, one.name) for one in named]
        else:
            self._found.written_all.append(use)
        conflict = node.args.get("conflict")
        for one in (conflict.expressions if conflict is not None else None) or ():
            if isinstance(one, exp.EQ):
                self._found.written.append(ColumnUse(use, one.this.name))

    def _set(self, assignments: list[Node]) -> None:
        for one in assignments:
            target = one.this if isinstance(one, exp.EQ) else None
            found = self._resolve(target) if isinstance(target, exp.Column) else None
            if found is not None:
                self._found.written.append(found)
            else:
                self._found.partial.append(f"`{self._parsed.written(one)}`")

    def _deleted(self, node: exp.Delete) -> None:
        named = [one.alias_or_name.lower() for one in node.args.get("tables") or ()]
        uses = [self._scope.uses.get(name) for name in named] or [self._target()]
        self._found.written_all += [use for use in uses if use]

    def _order(self, clause: str, into: list[Order]) -> None:
        found = self._scope.node.args.get(clause)
        for one in found.expressions if found is not None else ():
            descending = bool(isinstance(one, exp.Ordered) and one.args.get("desc"))
            node = self._meant(one.this if isinstance(one, exp.Ordered) else one, clause)
            columns = {*self._columns_of(node)}
            is_one = len(columns) == 1 and not isinstance(node, exp.AggFunc)
            is_bare = isinstance(node, exp.Column)
            into.append(
                Order(
                    columns.pop() if is_one else None,
                    descending,
                    "" if is_bare and is_one else self._parsed.written(node),
                    self._scope.number,
                )
            )

    def _meant(self, node: Node, clause: str) -> Node:
        """What an alias or a position in the list of SELECT stands for."""
        selected = self._scope.node.expressions
        if isinstance(node, exp.Literal) and not node.is_string:
            place = int(node.this) if str(node.this).isdigit() else 0
            return selected[place - 1].unalias() if 0 < place <= len(selected) else node
        if isinstance(node, exp.Column):
            return self._alias(node, clause) or node
        return node
