//! Prepared statements and portals of a connection, by name.

use std::collections::HashMap;
use std::sync::Arc;

/// Maximum number of statements, and of portals, per connection.
const KEPT: usize = 4096;
/// Maximum size of their names, texts, types and parameters per connection, bytes.
const BYTES: usize = 16 << 20;

/// A parsed statement.
#[derive(Debug, Clone, Default)]
pub struct Statement {
    /// Its text.
    pub text: Arc<[u8]>,
    /// Type OIDs of its parameters, as far as known; 0: unknown.
    pub types: Vec<u32>,
}

/// A portal: a statement bound to parameters.
#[derive(Debug, Clone, Default)]
pub struct Portal {
    /// The statement's text; `None`: the text is unknown, such as that of a statement parsed before the
    /// capture.
    pub text: Option<Arc<[u8]>>,
    /// Its parameters, in the format of PostgreSQL's logs.
    pub parameters: Arc<[u8]>,
}

impl Portal {
    fn size(&self, name: &[u8]) -> usize {
        name.len() + self.parameters.len() + self.text.as_ref().map_or(0, |text| text.len())
    }
}

/// Prepared statements and portals of a connection.
#[derive(Debug, Default)]
pub struct Prepared {
    statements: HashMap<Vec<u8>, Statement>,
    portals: HashMap<Vec<u8>, Portal>,
    bytes: usize,
}

impl Prepared {
    /// Number of buffered bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Looks up a statement by name.
    pub fn statement(&self, name: &[u8]) -> Option<&Statement> {
        self.statements.get(name)
    }

    /// Looks up a portal by name.
    pub fn portal(&self, name: &[u8]) -> Option<&Portal> {
        self.portals.get(name)
    }

    /// Stores a statement, if the limits allow.
    pub fn keep_statement(&mut self, name: &[u8], statement: Statement) {
        self.drop_statement(name);
        let size = name.len() + statement.text.len() + statement.types.len() * 4;
        // The unnamed statement is exempt from the limits: the next one replaces it.
        if name.is_empty() || (self.statements.len() < KEPT && self.bytes + size <= BYTES) {
            self.bytes += size;
            self.statements.insert(name.to_vec(), statement);
        }
    }

    /// Stores a portal, if the limits allow.
    pub fn keep_portal(&mut self, name: &[u8], portal: Portal) {
        self.drop_portal(name);
        let size = portal.size(name);
        if name.is_empty() || (self.portals.len() < KEPT && self.bytes + size <= BYTES) {
            self.bytes += size;
            self.portals.insert(name.to_vec(), portal);
        }
    }

    /// Sets the parameter types of a statement, as the server reported them.
    pub fn types(&mut self, name: &[u8], types: Vec<u32>) {
        if let Some(statement) = self.statements.get_mut(name) {
            self.bytes = self.bytes + types.len() * 4 - statement.types.len() * 4;
            statement.types = types;
        }
    }

    /// Removes a statement.
    pub fn drop_statement(&mut self, name: &[u8]) {
        if let Some(gone) = self.statements.remove(name) {
            self.bytes -= name.len() + gone.text.len() + gone.types.len() * 4;
        }
    }

    /// Removes all named portals at the end of their transaction.
    pub fn end_transaction(&mut self) {
        let names: Vec<Vec<u8>> =
            self.portals.keys().filter(|name| !name.is_empty()).cloned().collect();
        names.iter().for_each(|name| self.drop_portal(name));
    }

    /// Removes a portal.
    pub fn drop_portal(&mut self, name: &[u8]) {
        if let Some(gone) = self.portals.remove(name) {
            self.bytes -= gone.size(name);
        }
    }
}
