"""Reads tables of PostgreSQL, and makes their SQL with the server's own pg_get_... functions.

Sources: the manual on pg_attribute, pg_index, pg_constraint, pg_type, pg_sequences, pg_depend and
the functions of system catalogue information, pg_get_viewdef among them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from dbdyno.copies.schema import tables as of
from dbdyno.copies.schema.tables import (
    Check,
    Column,
    DomainCheck,
    ForeignKey,
    Index,
    Schema,
    Table,
    View,
    not_copied,
)
from dbdyno.copies.source import Source

_FAMILIES = {
    **dict.fromkeys(("int2", "int4", "int8"), of.WHOLE),
    **dict.fromkeys(("float4", "float8"), of.FLOAT),
    **dict.fromkeys(("timestamp", "timestamptz"), of.TIME),
    **dict.fromkeys(("text", "varchar", "bpchar", "citext"), of.TEXT),
    **dict.fromkeys(("json", "jsonb"), of.JSON),
    "numeric": of.DECIMAL,
    "date": of.DAY,
    "bool": of.BOOLEAN,
    "bytea": of.BINARY,
    "uuid": of.UUID,
}
DECIMALS = 6  # of a numeric without a scale
_OWN = "NOT EXISTS (SELECT FROM pg_depend e WHERE e.objid = {} AND e.deptype = 'e')"


def read(source: Source) -> Schema:
    """All tables with rows of their own. Refused if the catalogue is not readable."""
    return _Reader(source).schema()


class _Reader:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._in = f"n.nspname = {source.literal(source.schema)}"
        self._omitted: list[str] = []
        functions = self._rows(
            "SELECT DISTINCT p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace"
            f" WHERE {self._in} AND {_OWN.format('p.oid')} ORDER BY 1"
        )
        self._functions = {str(row[0]) for row in functions}
        self._not_copied("functions", functions)

    def _rows(self, sql: str) -> Sequence[Sequence[Any]]:
        return self._source.rows(sql)

    def schema(self) -> Schema:
        before = [*self._extensions(), *self._types(), *self._sequences()]
        columns, indexes = self._columns(), self._indexes()
        checks: dict[str, list[Check]] = defaultdict(list)
        constraints, foreign = self._constraints(checks), self._foreign()
        tables: dict[str, Table] = {}
        for name, kind, rows in self._rows(
            "SELECT c.relname, c.relkind::text, c.reltuples FROM pg_class c JOIN pg_namespace n ON"
            f" n.oid = c.relnamespace WHERE {self._in} AND c.relkind IN ('r', 'p') AND NOT"
            f" c.relispartition AND {_OWN.format('c.oid')} ORDER BY c.relname"
        ):
            table = str(name)
            if table != table.lower():
                self._omitted.append(f"table {table}: capital letters in its name")
                continue
            if kind == "p":
                self._omitted.append(f"partitions of {table}: its copy is one table")
            lines = [line for _, line in columns[table]]
            tables[table] = Table(
                name=table,
                columns={column.name: column for column, _ in columns[table]},
                indexes=[index for index, _ in indexes[table]],
                foreign=foreign[table],
                rows=self._count(table) if rows is None or rows <= 0 else int(rows),
                create=f"CREATE TABLE {self._name(table)} (\n  " + ",\n  ".join(lines) + "\n)",
                after=[
                    *constraints[table],
                    *(sql for _, sql in indexes[table] if sql),
                    *self._next(table, columns[table]),
                ],
                checks=checks[table],
            )
        self._others()
        return Schema(
            tables=tables,
            views=self._views(indexes),
            domain_checks=self._domain_checks(),
            before=before,
            after=self._statistics(),
            omitted=self._omitted,
            folds_names=True,
        )

    def _name(self, name: str) -> str:
        return self._source.name(name)

    def _count(self, table: str) -> int:
        """Of a table that was never analysed or is empty, up to a bound."""
        inner = f"SELECT FROM {self._source.table(table)} LIMIT 1000000"
        return int(self._rows(f"SELECT count(*) FROM ({inner}) d")[0][0])

    def _columns(self) -> dict[str, list[tuple[Column, str]]]:
        labels: dict[str, list[str]] = defaultdict(list)
        for oid, label in self._rows(
            "SELECT enumtypid::text, enumlabel FROM pg_enum ORDER BY enumtypid, enumsortorder"
        ):
            labels[str(oid)].append(str(label))
        found: dict[str, list[tuple[Column, str]]] = defaultdict(list)
        for row in self._rows(
            "SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,"
            " a.attidentity::text, a.attgenerated::text, pg_get_expr(d.adbin, d.adrelid),"
            " b.typname, b.oid::text, CASE WHEN m.typmod > 4 AND b.typname IN ('varchar', 'bpchar')"
            " THEN m.typmod - 4 END, CASE WHEN m.typmod > 4 AND b.typname = 'numeric' THEN"
            " (m.typmod - 4) & 2047 END,"
            " CASE WHEN a.attcollation <> t.typcollation THEN"
            " (SELECT quote_ident(l.collname) FROM pg_collation l WHERE l.oid = a.attcollation) END"
            " FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON"
            " n.oid = c.relnamespace JOIN pg_type t ON t.oid = a.atttypid JOIN pg_type b ON b.oid ="
            " CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END CROSS JOIN LATERAL"
            " (SELECT CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END AS typmod) m"
            " LEFT JOIN pg_attrdef d ON"
            f" d.adrelid = c.oid AND d.adnum = a.attnum WHERE {self._in} AND a.attnum > 0 AND NOT"
            " a.attisdropped AND c.relkind IN ('r', 'p') ORDER BY c.relname, a.attnum"
        ):
            made, line = self._column(labels, *row)
            found[str(row[0])].append((made, line))
        return found

    def _column(
        self, labels: dict[str, list[str]], table: str, name: str, type_: str, required: bool,
        identity: str, generated: str, default: str | None, base: str, oid: str,
        length: int | None, scale: int | None, collation: str | None,
    ) -> tuple[Column, str]:  # fmt: skip
        """A column and its line in CREATE TABLE."""
        family = of.ENUM if oid in labels else _FAMILIES.get(base, of.OTHER)
        line = f"{self._name(name)} {type_}" + (f" COLLATE {collation}" if collation else "")
        if default is not None and self._calls_own(default):
            kind = "expression" if generated else "default"
            self._omitted.append(f"the {kind} of {table}.{name}: it calls a function")
            default, generated = None, ""
        if identity:
            line += " GENERATED BY DEFAULT AS IDENTITY"
        elif generated and default is not None:
            line += f" GENERATED ALWAYS AS ({default}) STORED"
        elif default is not None:
            line += f" DEFAULT {default}"
        column = Column(
            name=name,
            type=type_,
            family=family,
            length=length,
            scale=(DECIMALS if scale is None else scale) if family == of.DECIMAL else 0,
            labels=labels.get(oid, ()),
            is_nullable=not required,
            is_generated=bool(generated),
        )
        return column, line + (" NOT NULL" if required else "")

    def _calls_own(self, expression: str) -> bool:
        """Whether an expression calls a function of the schema, which is not copied."""
        called = set(re.findall(r'([A-Za-z_]\w*)"?\s*\(', expression))
        return bool(called & self._functions)

    def _next(self, table: str, columns: Sequence[tuple[Column, str]]) -> Iterator[str]:
        """Sets sequences to what comes after the rows."""
        for column, line in columns:
            drawn = re.search(r"DEFAULT nextval\(('(?:[^']|'')+')::regclass\)", line)
            sequence = drawn[1] if drawn else None
            if " GENERATED BY DEFAULT AS IDENTITY" in line:
                names = (self._source.literal(self._name(table)), self._source.literal(column.name))
                sequence = f"pg_get_serial_sequence({', '.join(names)})"
            if sequence:
                greatest = f"SELECT coalesce(max({self._name(column.name)}), 0) + 1"
                yield f"SELECT setval({sequence}, ({greatest} FROM {self._name(table)}), false)"

    def _indexes(self) -> dict[str, list[tuple[Index, str]]]:
        found: dict[str, list[tuple[Index, str]]] = defaultdict(list)
        for table, name, unique, primary, partial, names, sql, constraint in self._rows(
            "SELECT t.relname, i.relname, x.indisunique, x.indisprimary, x.indpred IS NOT NULL,"
            " ARRAY(SELECT a.attname::text FROM unnest(x.indkey[0:x.indnkeyatts - 1]) WITH"
            " ORDINALITY k (number, place) LEFT JOIN pg_attribute a ON a.attrelid = x.indrelid AND"
            " a.attnum = k.number AND k.number > 0 ORDER BY k.place), pg_get_indexdef(i.oid),"
            " EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.oid AND k.contype IN"
            " ('p', 'u', 'x')) FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN"
            " pg_class t ON t.oid = x.indrelid JOIN pg_namespace n ON n.oid = t.relnamespace WHERE"
            f" {self._in} AND NOT t.relispartition AND x.indisvalid ORDER BY t.relname, i.relname"
        ):
            columns = [*names]
            plain = columns[: columns.index(None)] if None in columns else columns
            statement = "" if constraint else self._unqualified(str(sql))
            if self._calls_own(statement.partition(" USING ")[2]):
                self._omitted.append(f"index {name}: it calls a function")
                continue
            index = Index(
                name=str(name),
                columns=[str(each) for each in plain],
                is_unique=bool(unique),
                is_primary=bool(primary),
                is_whole=None not in columns and not partial,
            )
            found[str(table)].append((index, statement))
        return found

    def _unqualified(self, sql: str) -> str:
        """Without the schema, which the copy does not have, and of partitioned tables ONLY."""
        schema = re.escape(self._source.schema)
        return re.sub(rf'\b(ON|FROM) (?:ONLY )?(?:{schema}|"{schema}")\.', r"\1 ", sql, count=1)

    def _constraints(self, checks: dict[str, list[Check]]) -> dict[str, list[str]]:
        """Primary keys, then unique ones; checks are put into `checks`."""
        found: dict[str, list[str]] = defaultdict(list)
        for table, name, kind, sql, valid in self._rows(
            "SELECT t.relname, k.conname, k.contype::text, pg_get_constraintdef(k.oid),"
            " k.convalidated FROM"
            " pg_constraint k JOIN pg_class t ON t.oid = k.conrelid JOIN pg_namespace n ON n.oid ="
            f" t.relnamespace WHERE {self._in} AND NOT t.relispartition AND k.contype <> 'f'"
            " ORDER BY t.relname, k.contype, k.conname"
        ):
            if kind in ("p", "u"):
                add = f"ADD CONSTRAINT {self._name(str(name))} {sql}"
                found[str(table)].append(f"ALTER TABLE {self._name(str(table))} {add}")
            elif kind == "c" and valid and not self._calls_own(str(sql)):
                checks[str(table)].append(self._check(str(name), str(sql)))
            elif kind in ("c", "x"):
                why = "rows need not pass it" if kind == "x" or not valid else "it calls a function"
                self._omitted.append(f"constraint {name} of {table}: {why}")
        return found

    def _check(self, name: str, sql: str) -> Check:
        """From CHECK ((...)), perhaps with NO INHERIT behind it."""
        what = sql.removeprefix("CHECK (").removesuffix(" NO INHERIT").removesuffix(")")
        return Check(name=name, expression=what, sql=f"CONSTRAINT {self._name(name)} {sql}")

    def _domain_checks(self) -> list[DomainCheck]:
        found: list[DomainCheck] = []
        for name, type_, domain, sql, valid in self._rows(
            "SELECT k.conname, format_type(t.oid, NULL), t.typname, pg_get_constraintdef(k.oid),"
            " k.convalidated FROM pg_constraint k JOIN pg_type t ON t.oid = k.contypid JOIN"
            f" pg_namespace n ON n.oid = t.typnamespace WHERE {self._in} AND k.contype = 'c' AND"
            f" {_OWN.format('t.oid')} ORDER BY t.typname, k.conname"
        ):
            if not valid or self._calls_own(str(sql)):
                why = "it calls a function" if valid else "rows need not pass it"
                self._omitted.append(f"check `{name}` of domain `{domain}`: {why}")
                continue
            check = self._check(str(name), str(sql))
            add = f"ALTER DOMAIN {self._name(str(domain))} ADD {check.sql}"
            found.append(
                DomainCheck(name=check.name, type=str(type_), expression=check.expression, sql=add)
            )
        return found

    def _views(self, indexes: dict[str, list[tuple[Index, str]]]) -> dict[str, View]:
        found: dict[str, View] = {}
        for row in self._rows(
            "SELECT c.relname, c.relkind::text, pg_get_viewdef(c.oid) FROM pg_class c JOIN"
            f" pg_namespace n ON n.oid = c.relnamespace WHERE {self._in} AND c.relkind IN"
            f" ('v', 'm') AND {_OWN.format('c.oid')} ORDER BY c.relname"
        ):
            name, kind, select = str(row[0]), str(row[1]), str(row[2]).strip().rstrip(";")
            what = "MATERIALIZED VIEW" if kind == "m" else "VIEW"
            found[name] = View(
                name=name,
                select=select,
                create=[
                    f"CREATE {what} {self._name(name)} AS {select}",
                    *(sql for _, sql in indexes[name] if sql),
                ],
                lacks="it calls a function" if self._calls_own(select) else "",
            )
        return found

    def _foreign(self) -> dict[str, list[ForeignKey]]:
        found: dict[str, list[ForeignKey]] = defaultdict(list)
        names = (
            "ARRAY(SELECT a.attname::text FROM unnest({1}) WITH ORDINALITY k (number, place) JOIN"
            " pg_attribute a ON a.attrelid = {0} AND a.attnum = k.number ORDER BY k.place)"
        )
        here = names.format("f.conrelid", "f.conkey")
        there = names.format("f.confrelid", "f.confkey")
        for table, name, to, where, columns, keys, sql in self._rows(
            f"SELECT t.relname, f.conname, o.relname, m.nspname, {here}, {there},"
            " pg_get_constraintdef(f.oid) FROM pg_constraint f JOIN pg_class t ON t.oid ="
            " f.conrelid JOIN pg_namespace n ON n.oid = t.relnamespace JOIN pg_class o ON o.oid ="
            f" f.confrelid JOIN pg_namespace m ON m.oid = o.relnamespace WHERE {self._in} AND NOT"
            " t.relispartition AND NOT o.relispartition AND f.contype = 'f' AND f.conparentid = 0"
            " ORDER BY t.relname, f.conname"
        ):
            if where != self._source.schema:
                self._omitted.append(f"foreign key {name} of {table}: it refers to schema {where}")
                continue
            add = f"ADD CONSTRAINT {self._name(str(name))} {sql}"
            found[str(table)].append(
                ForeignKey(
                    name=str(name),
                    columns=[str(each) for each in columns],
                    table=str(to),
                    references=[str(each) for each in keys],
                    sql=f"ALTER TABLE {self._name(str(table))} {add}",
                )
            )
        return found

    def _extensions(self) -> list[str]:
        """Those whose types the schema's columns have: the copy's server must have them, too."""
        rows = self._rows(
            "SELECT DISTINCT x.extname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid"
            " JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_depend d ON d.objid ="
            " a.atttypid AND d.deptype = 'e' JOIN pg_extension x ON x.oid = d.refobjid WHERE"
            f" {self._in} AND c.relkind IN ('r', 'p')"
        )
        return [f"CREATE EXTENSION IF NOT EXISTS {self._name(str(row[0]))}" for row in rows]

    def _types(self) -> Iterator[str]:
        """Enumerations, and domains without their checks."""
        for name, labels in self._rows(
            "SELECT t.typname, ARRAY(SELECT e.enumlabel::text FROM pg_enum e WHERE e.enumtypid ="
            " t.oid ORDER BY e.enumsortorder) FROM pg_type t JOIN pg_namespace n ON n.oid ="
            f" t.typnamespace WHERE {self._in} AND t.typtype = 'e' AND {_OWN.format('t.oid')}"
            " ORDER BY t.typname"
        ):
            listed = ", ".join(self._source.literal(str(label)) for label in labels)
            yield f"CREATE TYPE {self._name(str(name))} AS ENUM ({listed})"
        for name, base, required in self._rows(
            "SELECT t.typname, format_type(t.typbasetype, t.typtypmod), t.typnotnull FROM pg_type t"
            f" JOIN pg_namespace n ON n.oid = t.typnamespace WHERE {self._in} AND t.typtype = 'd'"
            f" AND {_OWN.format('t.oid')} ORDER BY t.typname"
        ):
            yield f"CREATE DOMAIN {self._name(str(name))} AS {base}" + " NOT NULL" * bool(required)

    def _sequences(self) -> Iterator[str]:
        """Those that defaults may draw from; identity columns have their own."""
        for name, type_, step in self._rows(
            "SELECT c.relname, format_type(s.seqtypid, NULL), s.seqincrement FROM pg_sequence s"
            " JOIN pg_class c ON c.oid = s.seqrelid JOIN pg_namespace n ON n.oid = c.relnamespace"
            f" WHERE {self._in} AND {_OWN.format('c.oid')} AND NOT EXISTS (SELECT FROM pg_depend d"
            " WHERE d.objid = c.oid AND d.deptype = 'i') ORDER BY c.relname"
        ):
            yield f"CREATE SEQUENCE {self._name(str(name))} AS {type_} INCREMENT BY {step}"

    def _statistics(self) -> list[str]:
        rows = self._rows(
            "SELECT pg_get_statisticsobjdef(s.oid) FROM pg_statistic_ext s JOIN pg_namespace n ON"
            f" n.oid = s.stxnamespace WHERE {self._in} ORDER BY s.stxname"
        )
        schema = re.escape(self._source.schema)
        return [re.sub(rf"\b{schema}\.", "", str(row[0])) for row in rows]

    def _others(self) -> None:
        for what, sql in {
            "triggers": "g.tgname FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid JOIN"
            " pg_namespace n ON n.oid = c.relnamespace WHERE NOT g.tgisinternal",
            "foreign tables": "c.relname FROM pg_class c JOIN pg_namespace n ON n.oid ="
            " c.relnamespace WHERE c.relkind = 'f'",
        }.items():
            self._not_copied(what, self._rows(f"SELECT {sql} AND {self._in} ORDER BY 1"))

    def _not_copied(self, what: str, rows: Sequence[Sequence[Any]]) -> None:
        if said := not_copied(what, [str(row[0]) for row in rows]):
            self._omitted.append(said)
