//! Statements and portals of a connection, by their names.

use std::collections::HashMap;
use std::sync::Arc;

/// Statements that are kept of a connection, and portals.
const KEPT: usize = 4096;
/// Bytes that their texts and parameters may have.
const BYTES: usize = 16 << 20;

/// A statement that was parsed.
#[derive(Debug, Clone, Default)]
pub struct Statement {
    /// Its text.
    pub text: Arc<[u8]>,
    /// Types of its parameters, as far as they are known; 0: not known.
    pub types: Vec<u32>,
}

/// A statement with parameters.
#[derive(Debug, Clone, Default)]
pub struct Portal {
    /// The statement's text; none: the statement was parsed before the capture.
    pub text: Option<Arc<[u8]>>,
    /// Its parameters as logs write them.
    pub parameters: Arc<[u8]>,
}

impl Portal {
    fn size(&self, name: &[u8]) -> usize {
        name.len() + self.parameters.len() + self.text.as_ref().map_or(0, |text| text.len())
    }
}

/// Statements and portals of a connection.
#[derive(Debug, Default)]
pub struct Prepared {
    statements: HashMap<Vec<u8>, Statement>,
    portals: HashMap<Vec<u8>, Portal>,
    bytes: usize,
}

impl Prepared {
    /// Bytes that are kept.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// A statement by its name.
    pub fn statement(&self, name: &[u8]) -> Option<&Statement> {
        self.statements.get(name)
    }

    /// A portal by its name.
    pub fn portal(&self, name: &[u8]) -> Option<&Portal> {
        self.portals.get(name)
    }

    /// Keeps a statement, if there is room.
    pub fn keep_statement(&mut self, name: &[u8], statement: Statement) {
        self.drop_statement(name);
        let size = name.len() + statement.text.len() + statement.types.len() * 4;
        // The one without a name is always replaced: it does not take room for ever.
        if name.is_empty() || (self.statements.len() < KEPT && self.bytes + size <= BYTES) {
            self.bytes += size;
            self.statements.insert(name.to_vec(), statement);
        }
    }

    /// Keeps a portal, if there is room.
    pub fn keep_portal(&mut self, name: &[u8], portal: Portal) {
        self.drop_portal(name);
        let size = portal.size(name);
        if name.is_empty() || (self.portals.len() < KEPT && self.bytes + size <= BYTES) {
            self.bytes += size;
            self.portals.insert(name.to_vec(), portal);
        }
    }

    /// What the server says of a statement's types.
    pub fn types(&mut self, name: &[u8], types: Vec<u32>) {
        if let Some(statement) = self.statements.get_mut(name) {
            self.bytes = self.bytes + types.len() * 4 - statement.types.len() * 4;
            statement.types = types;
        }
    }

    /// Forgets a statement.
    pub fn drop_statement(&mut self, name: &[u8]) {
        if let Some(gone) = self.statements.remove(name) {
            self.bytes -= name.len() + gone.text.len() + gone.types.len() * 4;
        }
    }

    /// Forgets all portals but the one without a name: their transaction has ended.
    pub fn end_transaction(&mut self) {
        let names: Vec<Vec<u8>> =
            self.portals.keys().filter(|name| !name.is_empty()).cloned().collect();
        names.iter().for_each(|name| self.drop_portal(name));
    }

    /// Forgets a portal.
    pub fn drop_portal(&mut self, name: &[u8]) {
        if let Some(gone) = self.portals.remove(name) {
            self.bytes -= gone.size(name);
        }
    }
}
