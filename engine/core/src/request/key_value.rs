//! Operations on records by key, and their SQL.

use super::{Effect, ParamType, Sql};
use std::sync::Arc;

/// A named set of records with the same fields: a table, or the keys with one prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    /// Name of the table.
    pub name: String,
    /// Column of the key.
    pub key: String,
    /// Columns of the values; at least one.
    pub fields: Vec<String>,
}

/// An operation on records of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyValue {
    /// Where the records are.
    pub store: Arc<Store>,
    /// The operation.
    pub verb: Verb,
}

/// An operation on a record. The parameters of each, in order:
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// key: returns all fields.
    Read,
    /// value, key: writes the field of that index.
    Update(u16),
    /// key, and a value for each field: adds a record.
    Insert,
    /// key, count: returns up to `count` records from `key` on, in the order of their keys.
    Scan,
}

impl KeyValue {
    /// Its effect on the transaction.
    pub fn effect(&self) -> Effect {
        match self.verb {
            Verb::Read | Verb::Scan => Effect::Read,
            Verb::Update(_) | Verb::Insert => Effect::Write,
        }
    }

    /// Types of its parameters.
    pub fn params(&self) -> Vec<ParamType> {
        match self.verb {
            Verb::Read => vec![ParamType::Text],
            Verb::Update(_) => vec![ParamType::Text; 2],
            Verb::Insert => vec![ParamType::Text; self.store.fields.len() + 1],
            Verb::Scan => vec![ParamType::Text, ParamType::BigInt],
        }
    }

    /// The statement for it, in any dialect.
    pub fn sql(&self) -> Sql {
        let Store { name, key, fields } = &*self.store;
        let list = fields.join(", ");
        match self.verb {
            Verb::Read => format!("SELECT {list} FROM {name} WHERE {key} = ?"),
            Verb::Update(field) => {
                format!("UPDATE {name} SET {} = ? WHERE {key} = ?", fields[usize::from(field)])
            }
            Verb::Insert => {
                let marks = vec!["?"; fields.len() + 1].join(", ");
                format!("INSERT INTO {name} ({key}, {list}) VALUES ({marks})")
            }
            Verb::Scan => {
                format!("SELECT {key}, {list} FROM {name} WHERE {key} >= ? ORDER BY {key} LIMIT ?")
            }
        }
        .into()
    }
}
