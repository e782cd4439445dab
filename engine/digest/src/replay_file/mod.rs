//! The replay file (`--trace`): the statements of each session, in order and with times, to send again.
//!
//! An event's start is its end minus its duration. If the log's clock has whole seconds, the statements
//! of one second are spread evenly over it, in the log's order: their rate is exact, their times are
//! estimates. A connection ID that recurs after the connection was closed, or for another user, is
//! another session. Statements that cannot be sent again are omitted and counted by reason.

mod effect;
pub mod from_logs;
mod parameters;
mod tracer;

pub use effect::effect;
pub use tracer::Tracer;
