//! A script: its text, its Lua states, its sessions, and the implementation of the `sysbench` table.
//!
//! Each load thread has one LuaJIT state, and each session in it has a table of globals and a coroutine
//! (docs/decisions/lua-states.md). A session that waits yields, and its load thread runs others.
//!
//! | module | what |
//! |---|---|
//! | [`Script`] | a script as the command line uses it |
//! | `declared` | the options that a script declares |
//! | `worker`, `main_session` | the sessions of one state on a load thread; the main session |
//! | [`source`] | the text of a script, and the paths of its modules |
//! | [`setup`] | the data of the run that scripts receive |
//! | `interpreter` | one LuaJIT state: its libraries, its memory limit |
//! | `sessions` | Lua state of a session; the current session; blocking scripts; the debug log |
//! | [`primitives`] | the functions under the prelude: the contract |
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
