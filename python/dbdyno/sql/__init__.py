"""What statements do to which columns, and which indexes would serve them: plain data.

`statement.read` takes a statement apart, `schema` describes tables, `candidates` proposes indexes.
The only package that uses sqlglot (docs/decisions/sql-by-sqlglot.md), imported where a statement is
read.
"""
