//! The result of distilling a statement: verb and tables.

use std::fmt;

/// What a statement does, and to which tables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Distilled {
    /// In capitals: `SELECT`, `INSERT SELECT`, `CREATE INDEX`; empty where there is no statement.
    pub verb: String,
    /// Each once, as they come, with their schema where the statement says it, without quotes; unquoted
    /// names in lower case.
    pub tables: Vec<String>,
}

impl fmt::Display for Distilled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.verb)?;
        self.tables.iter().try_for_each(|table| write!(f, " {table}"))
    }
}
