//! MySQL's protocol as a passive listener sees it.
//!
//! | where | what |
//! |---|---|
//! | `command` | what clients ask |
//! | `prepared`, `values` | prepared statements, and their parameters as literals |
//! | `answer` | where an answer ends, and what it says |
//! | `decoder` | the whole |
//!
//! Of a connection whose begin is not in the capture the capabilities are not known; then, as far as
//! anything depends on them, the structure decides: end-of-file packets by their length, query
//! attributes by the bytes before a statement.

mod answer;
mod command;
mod decoder;
mod prepared;
mod values;

pub use command::{is_greeting, is_request};
pub use decoder::Mysql;
