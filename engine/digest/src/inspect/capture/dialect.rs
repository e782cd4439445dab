//! The protocols that captures are decoded for, and how to recognise them.

use super::mysql;
use super::position::Side;
use super::postgres;
use crate::sql::language::Language;

/// A database protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// MySQL and MariaDB.
    Mysql,
    /// PostgreSQL.
    Postgres,
}

impl Dialect {
    /// The SQL dialect of its statements.
    pub fn language(self) -> Language {
        match self {
            Self::Mysql => Language::Mysql,
            Self::Postgres => Language::Postgres,
        }
    }

    /// The default port of its servers.
    pub fn port(self) -> u16 {
        match self {
            Self::Mysql => 3306,
            Self::Postgres => 5432,
        }
    }

    /// The sender of these bytes, if they begin a connection of this protocol.
    pub fn begins(self, bytes: &[u8]) -> Option<Side> {
        match self {
            Self::Mysql => mysql::is_greeting(bytes).then_some(Side::Server),
            Self::Postgres => postgres::is_startup(bytes).then_some(Side::Client),
        }
    }

    /// The sender of these bytes, if they are a request of this protocol.
    pub fn asks(self, bytes: &[u8]) -> Option<Side> {
        let is = match self {
            Self::Mysql => mysql::is_request(bytes),
            Self::Postgres => postgres::is_request(bytes),
        };
        is.then_some(Side::Client)
    }

    /// The message for a connection of this protocol when the other one is decoded.
    pub fn elsewhere(self) -> &'static str {
        match self {
            Self::Mysql => "a connection of MySQL: the format mysql-capture reads it",
            Self::Postgres => "a connection of PostgreSQL: the format postgres-capture reads it",
        }
    }
}
