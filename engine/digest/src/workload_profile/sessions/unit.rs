//! Units: statements that a session sends together.

use schemars::JsonSchema;
use serde::Serialize;

/// Statements that a session sends in sequence: a transaction, or statements under autocommit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Unit {
    /// Number of occurrences.
    pub count: u64,
    /// Whether the unit is a transaction.
    pub is_transaction: bool,
    /// Whether the transaction was rolled back.
    pub is_rolled_back: bool,
    /// The statements in order.
    pub steps: Vec<Step>,
}

/// A step of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct Step {
    /// Index of the statement in `statements`, from 0.
    pub statement: u32,
    /// Number of consecutive executions.
    pub repeat: u32,
}
