"""Tables, as statements of a schema dump define them: CREATE TABLE, CREATE INDEX, ALTER TABLE ADD.

Forms: what SHOW CREATE TABLE and mysqldump print, and pg_dump; others as far as sqlglot reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from sqlglot import exp

from dbdyno.sql import keyparts
from dbdyno.sql.keyparts import Node
from dbdyno.sql.parsing import Parsed, parse
from dbdyno.sql.schema import Column, ForeignKey, Index, Table

# Types that sqlglot does not know; for indexes they are alike.
_SPATIAL = re.compile(
    r"(?P<name>[`\"][^`\"]+[`\"]|\b\w+)\s+(?:point|linestring|polygon|multi\w+|geo\w*collection)\b",
    re.IGNORECASE,
)
_INVISIBLE = re.compile(r"KEY `([^`]+)` [^\n]*?(?:/\*!80000 INVISIBLE \*/|\bIGNORED\b)")
_MARK = re.compile(r"/\*!80000 INVISIBLE \*/|(?<=\))\s+IGNORED\b")


class Tables:
    """Tables of a dump, statement by statement. `not_read`: the lines of those that cannot be."""

    def __init__(self, dialect: str) -> None:
        self._dialect = dialect
        self._tables: dict[tuple[str, str], Table] = {}
        self.lines: dict[tuple[str, str], int] = {}
        self.not_read: list[int] = []

    def all(self) -> Iterator[tuple[Table, int]]:
        """Each table, and the line of its CREATE TABLE."""
        for key, table in self._tables.items():
            yield table, self.lines[key]

    def take(self, text: str, line: int, schema: str) -> None:
        """One statement; `schema`: where its names are, unless they say it."""
        hidden = {*_INVISIBLE.findall(text)}
        parsed = parse(_SPATIAL.sub(r"\g<name> geometry", _MARK.sub("", text)), self._dialect)
        tree = parsed.tree if parsed is not None else None
        if parsed is None or not isinstance(tree, exp.Create | exp.Alter):
            self.not_read.append(line)
        elif isinstance(tree, exp.Alter):
            self._alter(parsed, tree, line, schema)
        elif isinstance(tree.this, exp.Schema):
            self._create(parsed, tree, line, schema, hidden)
        elif isinstance(tree.this, exp.Index):
            self._index(parsed, tree, line, schema)
        else:
            self.not_read.append(line)

    def _create(
        self, parsed: Parsed, tree: exp.Create, line: int, schema: str, hidden: set[str]
    ) -> None:
        named = tree.this.this
        properties = tree.args.get("properties")
        own = list(properties.expressions) if properties is not None else []
        collation = next((_word(one) for one in own if isinstance(one, exp.CollateProperty)), None)
        engine = next((_word(one) for one in own if isinstance(one, exp.EngineProperty)), "")
        table = Table(name=named.name, schema=named.db or schema, engine=engine.lower())
        columns = [one for one in tree.this.expressions if isinstance(one, exp.ColumnDef)]
        table = replace(
            table,
            columns={one.name.lower(): _column(one, parsed, collation) for one in columns},
        )
        for one in tree.this.expressions:
            table = _with(table, one, parsed)
            if isinstance(one, exp.ColumnDef):
                for constraint in one.constraints:
                    table = _with_column_key(table, one.name, constraint.kind)
        indexes = tuple(replace(one, usable=one.name not in hidden) for one in table.indexes)
        key = (table.schema.lower(), table.name.lower())
        self._tables[key] = replace(table, indexes=indexes)
        self.lines[key] = line

    def _alter(self, parsed: Parsed, tree: exp.Alter, line: int, schema: str) -> None:
        key = self._key(tree.this, schema)
        added = [
            one
            for action in tree.args.get("actions") or ()
            if isinstance(action, exp.AddConstraint)
            for one in action.expressions
        ]
        if not added:
            return  # owners, defaults and so on say nothing of indexes
        if key not in self._tables:
            self.not_read.append(line)
            return
        for one in added:
            self._tables[key] = _with(self._tables[key], one, parsed)

    def _index(self, parsed: Parsed, tree: exp.Create, line: int, schema: str) -> None:
        made, params = tree.this, tree.this.args.get("params")
        key = self._key(made.args["table"], schema)
        if key not in self._tables or params is None:
            self.not_read.append(line)
            return
        where = params.args.get("where")
        include = params.args.get("include") or ()
        index = Index(
            name=made.name,
            parts=keyparts.parts(params.args.get("columns") or (), parsed),
            unique=bool(tree.args.get("unique")),
            kind=keyparts.kind(params.args.get("using")),
            include=tuple(one.name for one in include),
            predicate=parsed.written(where.this) if where is not None else "",
        )
        self._tables[key] = _added(self._tables[key], index)

    @staticmethod
    def _key(named: Node, schema: str) -> tuple[str, str]:
        return ((named.text("db") or schema).lower(), named.name.lower())


def _word(node: Node) -> str:
    return str(node.this.name or node.this)


def _column(node: exp.ColumnDef, parsed: Parsed, collation: str | None) -> Column:
    kinds = [one.kind for one in node.constraints]
    given = next((one for one in kinds if isinstance(one, exp.CollateColumnConstraint)), None)
    charset = any(isinstance(one, exp.CharacterSetColumnConstraint) for one in kinds)
    made = next((one for one in kinds if isinstance(one, exp.ComputedColumnConstraint)), None)
    kind = node.kind.sql(dialect=parsed.dialect).lower() if node.kind is not None else ""
    is_text = any(word in kind for word in ("char", "text", "enum", "set("))
    own = _word(given) if given is not None else (None if charset else collation)
    return Column(
        name=node.name,
        type=kind,
        collation=own if is_text else None,
        nullable=not any(
            (isinstance(one, exp.NotNullColumnConstraint) and not one.args.get("allow_null"))
            or isinstance(one, exp.PrimaryKeyColumnConstraint)
            for one in kinds
        ),
        generated=parsed.written(made.this.unnest()) if made is not None else "",
    )


def _with(table: Table, node: Node, parsed: Parsed) -> Table:
    """The table with one more definition of a key."""
    if isinstance(node, exp.Constraint):
        for one in node.expressions:
            table = _with(table, one, parsed)
            if isinstance(one, exp.PrimaryKey | exp.UniqueColumnConstraint):
                last = replace(table.indexes[-1], name=node.name)
                table = replace(table, indexes=(*table.indexes[:-1], last))
            elif isinstance(one, exp.ForeignKey):
                key = replace(table.foreign_keys[-1], name=node.name)
                table = replace(table, foreign_keys=(*table.foreign_keys[:-1], key))
        return table
    if isinstance(node, exp.ForeignKey):
        return _referring(table, [one.name for one in node.expressions], node.args["reference"])
    index = keyparts.index(node, parsed)
    return table if index is None else _added(table, index)


def _with_column_key(table: Table, column: str, kind: Node) -> Table:
    """PRIMARY KEY, UNIQUE or REFERENCES behind a column."""
    if isinstance(kind, exp.Reference):
        return _referring(table, [column], kind)
    primary = isinstance(kind, exp.PrimaryKeyColumnConstraint)
    if primary or (isinstance(kind, exp.UniqueColumnConstraint) and kind.this is None):
        return _added(table, keyparts.of_column(column, primary))
    return table


def _referring(table: Table, columns: Iterable[str], reference: Node) -> Table:
    target = reference.this
    named = target.this if isinstance(target, exp.Schema) else target
    key = ForeignKey(
        name="",
        columns=tuple(columns),
        references_schema=named.text("db") or table.schema,
        references_table=named.name,
        references_columns=tuple(one.name for one in target.expressions),
    )
    return replace(table, foreign_keys=(*table.foreign_keys, key))


def _added(table: Table, index: Index) -> Table:
    return replace(table, indexes=(*table.indexes, index))
