//! SQL and MongoDB statements as text: tokens, fingerprints, verbs and tables.
//!
//! | module | contents |
//! |---|---|
//! | `language` | SQL dialects, and MongoDB's commands |
//! | `token/` | the SQL lexer |
//! | `fingerprint/` | statements without their literals, and the keys of their classes |
//! | `distill/`, `distilled` | verb and tables of a statement |
//! | `mongo` | fingerprint, verb and collection of MongoDB's commands |
//! | `server_text` | converts the texts in servers' statement statistics to the form of logs |

mod administrator_command;
pub mod distill;
mod distilled;
pub mod fingerprint;
pub mod language;
pub(crate) mod mongo;
pub mod server_text;
pub mod token;
