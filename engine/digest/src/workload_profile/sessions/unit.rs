//! Units: statements that a session sends together.

use schemars::JsonSchema;
use serde::Serialize;

/// Statements that a session sends one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Unit {
    /// How often.
    pub count: u64,
    /// Whether between BEGIN and COMMIT.
    pub is_transaction: bool,
    /// Whether it was rolled back.
    pub is_rolled_back: bool,
    /// Positions in `statements`, with how many times in a row.
    pub steps: Vec<Step>,
}

/// A step of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct Step {
    /// Position in `statements`.
    pub statement: u32,
    /// Times in a row.
    pub repeat: u32,
}
