//! Load threads: one event loop per thread for sessions over a network, one thread per session where
//! calls block.
//!
//! | module | contents |
//! |---|---|
//! | [`load_thread`] | the parts of a load thread, and the trait that its sessions implement |
//! | [`event_loop`] | its turns: wait, receive, handle, send |
//! | [`turn`] | the parts of a turn |
//! | [`timers`] | what is due without an event |
//! | [`plan`] | the sessions of a plan; those of scripts are in `sysbench/src/drive/` |
//! | [`blocking`] | a load thread whose calls block |
//! | [`control`], [`cancel`] | start, end, and the cancellation of statements |

pub mod blocking;
pub mod cancel;
pub mod control;
pub mod event_loop;
pub mod load_thread;
pub mod plan;
pub mod timers;
pub mod turn;
