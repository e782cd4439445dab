//! Decodes the MySQL protocol from captured traffic.
//!
//! | where | what |
//! |---|---|
//! | `command` | client commands |
//! | `prepared`, `values` | prepared statements, and their parameters as literals |
//! | `answer` | the end of an answer, and its results |
//! | `decoder` | the state machine of a connection |
//!
//! If the capture lacks the start of a connection, its capability flags are unknown. The decoder then
//! infers them from packet structure: it recognises EOF packets by length, and query attributes by the
//! bytes before the statement.

mod answer;
mod command;
mod decoder;
mod prepared;
mod values;

pub use command::{is_greeting, is_request};
pub use decoder::Mysql;
