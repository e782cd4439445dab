//! A script: its text, its states, its sessions, and what the `sysbench` table is made of.
//!
//! One LuaJIT state a load thread, in it a table of globals and a coroutine a session
//! (docs/decisions/lua-states.md). What waits yields, and the load thread goes on with others.
//!
//! | module | what |
//! |---|---|
//! | [`Script`] | a script as the command line knows it |
//! | `declared` | the options that it declares |
//! | `worker`, `main_session` | the sessions of one state on a load thread; the one that runs alone |
//! | [`source`] | text of a script, and where its modules are |
//! | [`setup`] | what scripts are told of the run |
//! | `interpreter` | one LuaJIT state: its libraries, its memory |
//! | `sessions` | a session's side in Lua, and which one runs; blocking scripts; the debug log |
//! | [`primitives`] | what the prelude is written over: the contract |
//! | `stack` | texts and numbers on Lua's stack |

mod declared;
mod interpreter;
mod main_session;
pub mod primitives;
mod script;
mod sessions;
pub mod setup;
pub mod source;
mod stack;
#[cfg(test)]
mod tests;
mod worker;

pub use script::{Command, Message, Script};
pub use setup::{Driver, Ignore, Setup};
pub use source::{Builtin, Source};
pub use worker::{Task, Worker};
