//! A script: its text, its states, its sessions, and what the `sysbench` table is made of.
//!
//! One LuaJIT state a load thread, in it a table of globals and a coroutine a session
//! (docs/decisions/lua-states.md). What waits yields, and the load thread goes on with others.
//!
//! | module | what |
//! |---|---|
//! | [`Script`] | a script as the command line knows it |
//! | `declared` | the options that it declares |
//! | `alone` | carries the main session on |
//! | [`source`] | text of a script, and where its modules are |
//! | [`setup`] | what scripts are told of the run |
//! | [`primitives`] | what the prelude is written over: the contract |
//! | `bind` | values of parameters |
//! | `database` | what primitives do with connections |
//! | `events` | what compiled code calls: events, random numbers |
//! | `reporting` | reports and histograms of scripts |
//! | `current` | the session that runs on this thread |
//! | `slot` | a session's side in Lua |
//! | `state`, `memory` | one state, and the bound on its memory |
//! | `trace` | tells what drivers are asked and answer |
//! | `watch` | tells of scripts that block their thread |
//! | `worker` | the sessions of one state, as load threads know them |

mod alone;
mod bind;
mod current;
mod database;
mod declared;
mod events;
mod memory;
mod prelude;
pub mod primitives;
mod reply;
mod reporting;
mod script;
pub mod setup;
mod slot;
pub mod source;
mod state;
#[cfg(test)]
mod tests;
mod trace;
mod watch;
mod worker;

pub use script::{Command, Message, Script};
pub use setup::{Driver, Ignore, Setup};
pub use source::{Builtin, Source};
pub use worker::{Task, Worker};
