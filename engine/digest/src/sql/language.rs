//! Languages of statements.

/// The language of statements, which selects the lexical rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// MySQL and MariaDB: backslash is an escape, double quotes delimit strings, backticks names.
    Mysql,
    /// PostgreSQL: double quotes delimit names, dollar quotes strings.
    Postgres,
    /// MongoDB's commands in JSON.
    Mongo,
}
