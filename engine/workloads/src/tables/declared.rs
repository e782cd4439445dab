//! A declared table: parses its columns and indexes and renders its SQL.

use super::position::Position;
use super::types;
use crate::generator::Generator;
use crate::node::{Node, check_name};
use dyno_core::error::Result;
use dyno_core::workload::{Dialect, Table};

const COLUMNS_MAX: usize = 1000;
const INDEXES_MAX: usize = 64;
const ROWS_MAX: i64 = 100_000_000_000;

/// A table with the generators of its rows.
#[derive(Debug)]
pub struct Declared {
    pub name: String,
    pub rows: u64,
    pub columns: Vec<Column>,
    indexes: Vec<Index>,
    /// Whether it is there already, empty.
    is_existing: bool,
}

/// A column with its generator.
#[derive(Debug)]
pub struct Column {
    /// Unquoted.
    pub name: String,
    /// The type in the server's dialect.
    sql_type: String,
    pub generator: Generator,
    /// Where in its histogram its values lie; `None`: its generator is none.
    pub position: Option<Position>,
    is_key: bool,
    is_nullable: bool,
}

#[derive(Debug)]
struct Index {
    columns: Vec<String>,
    is_unique: bool,
}

impl Declared {
    /// Parses and validates the table's declaration.
    pub fn read(name: &str, node: &Node, dialect: Dialect) -> Result<Self> {
        check_name(node, name, "table")?;
        let mut fields = node.fields()?;
        let rows = fields.need("rows")?.whole(0..=ROWS_MAX)? as u64;
        let listed = fields.need("columns")?;
        let members = listed.members()?;
        if members.is_empty() || members.len() > COLUMNS_MAX {
            let count = members.len();
            return Err(listed.wrong(format_args!("{count} columns: 1 to {COLUMNS_MAX}")));
        }
        let is_existing = fields.get("existing").map_or(Ok(false), |node| node.flag())?;
        let mut columns: Vec<Column> = Vec::with_capacity(members.len());
        for (name, node) in &members {
            let column = Column::read(name, node, dialect, &columns)?;
            columns.push(column);
        }
        let indexes = match fields.get("indexes") {
            None => Vec::new(),
            Some(node) => read_indexes(&node, &columns)?,
        };
        fields.finish()?;
        if is_existing && !indexes.is_empty() {
            return Err(node.wrong("the indexes of an existing table are made by its SQL"));
        }
        Ok(Self { name: name.to_owned(), rows, columns, indexes, is_existing })
    }

    /// The table's definition for the loader, in `dialect`.
    pub fn table(&self, dialect: Dialect) -> Table {
        if self.is_existing {
            return Table {
                name: self.name.clone(),
                columns: self.columns.iter().map(|column| column.name.clone()).collect(),
                create: String::new(),
                finish: Vec::new(),
                rows: self.rows,
            };
        }
        let key: Vec<&str> =
            self.columns.iter().filter(|c| c.is_key).map(|c| c.name.as_str()).collect();
        let key = (!key.is_empty()).then(|| format!("PRIMARY KEY ({})", key.join(", ")));
        // PostgreSQL builds a key faster after loading than row by row. MySQL and SQLite store rows
        // in the key, which must therefore exist before them.
        let later = dialect == Dialect::Postgres;
        let name = &self.name;
        let mut parts: Vec<String> = self.columns.iter().map(Column::definition).collect();
        parts.extend(key.clone().filter(|_| !later));
        let mut finish: Vec<String> = key
            .filter(|_| later)
            .map(|key| format!("ALTER TABLE {name} ADD {key}"))
            .into_iter()
            .collect();
        finish.extend(self.indexes.iter().enumerate().map(|(number, index)| {
            let unique = if index.is_unique { "UNIQUE " } else { "" };
            let columns = index.columns.join(", ");
            // Most systems require unique index names in a schema; 50 characters fit all limits.
            format!("CREATE {unique}INDEX {name:.50}_index_{} ON {name} ({columns})", number + 1)
        }));
        Table {
            name: name.clone(),
            columns: self.columns.iter().map(|column| column.name.clone()).collect(),
            create: format!("CREATE TABLE {name} ({})", parts.join(", ")),
            finish,
            rows: self.rows,
        }
    }
}

impl Column {
    /// `before`: the columns declared before it.
    fn read(name: &str, node: &Node, dialect: Dialect, before: &[Self]) -> Result<Self> {
        check_name(node, name, "column")?;
        let mut fields = node.fields()?;
        let sql_type = types::read(&fields.need("type")?, dialect)?;
        let generator = Generator::read(&mut fields)?;
        let position = match generator.histogram() {
            Some(_) => {
                let before: Vec<_> =
                    before.iter().map(|one| (one.name.as_str(), one.position.as_ref())).collect();
                Some(Position::read(&mut fields, &before)?)
            }
            None => None,
        };
        let key = fields.get("key");
        let is_key = key.as_ref().map(|node| node.word(&["primary"])).transpose()?.is_some();
        let is_nullable = fields
            .get("null")
            .map(|node| node.flag())
            .transpose()?
            .unwrap_or_else(|| generator.has_nulls());
        fields.finish()?;
        if is_key && is_nullable {
            return Err(node.wrong("a column of the primary key cannot be NULL"));
        }
        if generator.has_nulls() && !is_nullable {
            return Err(node.wrong("it makes NULLs, but null is false"));
        }
        Ok(Self { name: name.to_owned(), sql_type, generator, position, is_key, is_nullable })
    }

    fn definition(&self) -> String {
        let null = if self.is_nullable { "NULL" } else { "NOT NULL" };
        format!("{} {} {null}", self.name, self.sql_type)
    }
}

fn read_indexes(node: &Node, columns: &[Column]) -> Result<Vec<Index>> {
    let items = node.items()?;
    if items.len() > INDEXES_MAX {
        let count = items.len();
        return Err(node.wrong(format_args!("{count} indexes: {INDEXES_MAX} are the most")));
    }
    items.iter().map(|item| read_index(item, columns)).collect()
}

/// Reads a list of columns, or a mapping `{columns, unique}`.
fn read_index(node: &Node, columns: &[Column]) -> Result<Index> {
    if node.value.is_array() {
        return Ok(Index { columns: names(node, columns)?, is_unique: false });
    }
    let mut fields = node.fields()?;
    let listed = names(&fields.need("columns")?, columns)?;
    let is_unique = fields.get("unique").map_or(Ok(false), |node| node.flag())?;
    fields.finish()?;
    Ok(Index { columns: listed, is_unique })
}

fn names(node: &Node, columns: &[Column]) -> Result<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for item in node.items()? {
        let name = item.text()?;
        if !columns.iter().any(|column| column.name == name) {
            let known: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            return Err(item
                .wrong(format_args!("the table has no column {name}"))
                .hint(format!("its columns are {}", known.join(", "))));
        }
        if names.iter().any(|other| other == name) {
            return Err(item.wrong(format_args!("column {name} occurs in it twice")));
        }
        names.push(name.to_owned());
    }
    if names.is_empty() {
        return Err(node.wrong("an index has at least one column"));
    }
    Ok(names)
}
