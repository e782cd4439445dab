//! Languages of statements.

/// Whose statements these are, which decides how they are taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// MySQL and MariaDB: backslashes escape, double quotes hold strings, backticks names.
    Mysql,
    /// PostgreSQL: double quotes hold names, dollar quotes strings.
    Postgres,
    /// MongoDB's commands as JSON.
    Mongo,
}
