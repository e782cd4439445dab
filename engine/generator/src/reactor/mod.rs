//! Load threads: one event loop per thread for sessions over a network, one thread per session where
//! calls block.
//!
//! | module | contents |
//! |---|---|
//! | [`load_thread`] | the parts of a load thread, and the trait that its sessions implement |
//! | [`event_loop`] | its turns: wait, receive, handle, send |
//! | [`connecting`], [`receiving`], [`sending`], [`closing`] | the parts of a turn |
//! | [`connect_queue`], [`receive_buffer`], [`timers`] | data structures of a turn |
//! | [`unread`] | how long answers waited unread |
//! | [`plan`] | the sessions of a plan; those of scripts are in `sysbench/src/drive/` |
//! | [`blocking`] | a load thread whose calls block |
//! | [`control`], [`cancel`] | start, end, and the cancellation of statements |

pub mod blocking;
pub mod cancel;
pub mod closing;
pub mod connect_queue;
pub mod connecting;
pub mod control;
pub mod event_loop;
pub mod load_thread;
pub mod plan;
pub mod receive_buffer;
pub mod receiving;
pub mod sending;
pub mod timers;
pub mod unread;
