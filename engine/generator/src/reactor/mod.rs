//! Load threads: an event loop a thread for network sessions, a thread a session where calls block.
//!
//! | module | what |
//! |---|---|
//! | [`worker`] | the state of a load thread |
//! | [`event_loop`] | its turns: wait, receive, handle, send |
//! | [`connecting`], [`receiving`], [`sending`] | the parts of a turn |
//! | [`session_slot`] | a session together with its connection |
//! | [`connect_queue`], [`receive_buffer`], [`timers`] | what a turn works on |
//! | [`unread`] | how long answers lay unread |
//! | [`blocking`] | a load thread whose calls block |
//! | [`control`], [`cancel`] | start, end, and the cancellation of statements |

pub mod blocking;
pub mod cancel;
pub mod connect_queue;
pub mod connecting;
pub mod control;
pub mod event_loop;
pub mod receive_buffer;
pub mod receiving;
pub mod sending;
pub mod session_slot;
pub mod timers;
pub mod unread;
pub mod worker;
