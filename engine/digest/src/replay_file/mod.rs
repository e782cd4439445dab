//! The replay file (`--trace`): what each session sent, in order and with times, so that it can be sent again.
//!
//! The begin of an event is its end less its duration. Where the log's clock ticks in seconds, what ended
//! in the same second is spread evenly over it, in the log's order: the rate is right, the moment a guess.
//! A connection's number that comes again after the connection was closed, or for another user, is
//! another session. What cannot be sent again is left out and counted, by reason.

mod effect;
pub mod from_logs;
mod parameters;
mod tracer;

pub use effect::effect;
pub use tracer::Tracer;
