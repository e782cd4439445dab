//! Statements as text: tokens, fingerprints, what a statement does to which tables.
//!
//! | where | what |
//! |---|---|
//! | `language` | whose SQL, or MongoDB's commands |
//! | `token/` | SQL as tokens |
//! | `fingerprint/` | statements without their literals, and the keys of their classes |
//! | `distill/`, `distilled` | verb and tables of a statement |
//! | `mongo` | fingerprint, verb and collection of MongoDB's commands |
//! | `server_text` | statements as servers keep them beside their counters, as logs have them |

mod administrator_command;
pub mod distill;
mod distilled;
pub mod fingerprint;
pub mod language;
pub(crate) mod mongo;
pub mod server_text;
pub mod token;
