//! The protocols that captures are read for, and how the bytes of each begin.

use super::mysql;
use super::position::Side;
use super::postgres;
use crate::sql::language::Language;

/// Whose protocol is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// MySQL's and MariaDB's.
    Mysql,
    /// PostgreSQL's.
    Postgres,
}

impl Dialect {
    /// The language of its statements.
    pub fn language(self) -> Language {
        match self {
            Self::Mysql => Language::Mysql,
            Self::Postgres => Language::Postgres,
        }
    }

    /// The port that servers have if nobody says otherwise.
    pub fn port(self) -> u16 {
        match self {
            Self::Mysql => 3306,
            Self::Postgres => 5432,
        }
    }

    /// Whose bytes these are, if they begin a connection.
    pub fn begins(self, bytes: &[u8]) -> Option<Side> {
        match self {
            Self::Mysql => mysql::is_greeting(bytes).then_some(Side::Server),
            Self::Postgres => postgres::is_startup(bytes).then_some(Side::Client),
        }
    }

    /// Whose bytes these are, if they ask for something.
    pub fn asks(self, bytes: &[u8]) -> Option<Side> {
        let is = match self {
            Self::Mysql => mysql::is_request(bytes),
            Self::Postgres => postgres::is_request(bytes),
        };
        is.then_some(Side::Client)
    }

    /// What to do with a connection of this protocol in a log of the other one.
    pub fn elsewhere(self) -> &'static str {
        match self {
            Self::Mysql => "a connection of MySQL: the format mysql-capture reads it",
            Self::Postgres => "a connection of PostgreSQL: the format postgres-capture reads it",
        }
    }
}
