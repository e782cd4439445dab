"""Tables that the SELECTs of a statement use, and which of them a column's name means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from dbdyno.sql.parts import ColumnUse, Use
from dbdyno.sql.schema import Schema

Node = exp.Expr


@dataclass
class Scope:
    """One SELECT, UPDATE, DELETE or INSERT. `uses`: its tables by alias; None: a derived one, whose
    columns are of no table. `outer`: the scope that it is within."""

    node: Node
    number: int
    outer: Scope | None = None
    uses: dict[str, Use | None] = field(default_factory=dict)
    aliases: dict[str, Node] = field(default_factory=dict)  # of selected expressions

    def nodes(self, root: Node | None = None) -> Iterator[Node]:
        """Nodes of this scope below one, without those of SELECTs within."""
        waiting = [root or self.node]
        while waiting:
            node = waiting.pop()
            yield node
            inner = (one for one in node.iter_expressions(reverse=True))
            waiting.extend(one for one in inner if not isinstance(one, exp.Query | exp.With))


def scopes(tree: Node) -> list[Scope]:
    """All of a statement, outer ones first."""
    found: list[Scope] = []
    common: set[str] = {one.alias.lower() for one in tree.find_all(exp.CTE)}
    _collect(tree, None, common, found)
    return found


def _collect(node: Node, outer: Scope | None, common: set[str], found: list[Scope]) -> None:
    inside = outer
    if isinstance(node, exp.Select | exp.Update | exp.Delete | exp.Insert):
        # A derived table sees nothing of the SELECT around it, but names do not clash in practice.
        inside = Scope(node, len(found), outer)
        _take_tables(inside, common)
        _take_aliases(inside)
        found.append(inside)
    for child in node.iter_expressions():
        _collect(child, inside, common, found)


def _take_tables(scope: Scope, common: set[str]) -> None:
    for node in scope.nodes():
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            alias = (node.alias or node.name).lower()
            if node.name.lower() in common and not node.db:
                scope.uses[alias] = None
            elif scope.uses.get(alias) is None:
                scope.uses[alias] = Use(node.name, alias, node.db, scope.number)
        elif isinstance(node, exp.Table | exp.Lateral | exp.Unnest) and node.alias:
            scope.uses[node.alias.lower()] = None
    _take_derived(scope)


def _take_derived(scope: Scope) -> None:
    """SELECTs in FROM: `nodes` leaves them out."""
    node = scope.node
    joins = [one.this for one in node.args.get("joins") or ()]
    first = node.args.get("from_")
    for one in ([first.this] if first is not None else []) + joins:
        if isinstance(one, exp.Subquery):
            scope.uses[one.alias.lower()] = None


def _take_aliases(scope: Scope) -> None:
    if isinstance(scope.node, exp.Select):
        for one in scope.node.expressions:
            if isinstance(one, exp.Alias):
                scope.aliases[one.alias.lower()] = one.this


def resolve(column: exp.Column, scope: Scope, schema: Schema | None) -> ColumnUse | None:
    """Whose column it is; None if that is not known, or if it is of a derived table."""
    name, alias = column.name, column.table.lower()
    at: Scope | None = scope
    while at is not None:
        if alias:
            if alias in at.uses:
                use = at.uses[alias]
                return ColumnUse(use, name) if use else None
        elif (use := _bare(name, at, schema)) is not None:
            return ColumnUse(use, name)
        at = at.outer
    return None


def _bare(name: str, scope: Scope, schema: Schema | None) -> Use | None:
    """The only table of a scope that has the column; without a schema, its only table."""
    uses = [one for one in scope.uses.values() if one is not None]
    if schema is not None:
        has = [
            use
            for use in uses
            if (table := schema.find(use.name, use.schema)) and name.lower() in table.columns
        ]
        unknown = [use for use in uses if schema.find(use.name, use.schema) is None]
        if has or not unknown:
            return has[0] if len(has) == 1 else None
    return uses[0] if len(scope.uses) == 1 and uses else None
