//! The result of distilling a statement: verb and tables.

use std::fmt;

/// The verb of a statement and the tables that it names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Distilled {
    /// In capitals: `SELECT`, `INSERT SELECT`, `CREATE INDEX`; empty if the text has no statement.
    pub verb: String,
    /// Each table once, in the order of the statement, with its schema if given, without quotes; unquoted
    /// names in lower case.
    pub tables: Vec<String>,
}

impl fmt::Display for Distilled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.verb)?;
        self.tables.iter().try_for_each(|table| write!(f, " {table}"))
    }
}
