//! The sessions of a plan on their load threads.
//!
//! | module | contents |
//! |---|---|
//! | [`worker`] | the state of a load thread |
//! | [`load_thread`] | its implementation of the event loop's trait |
//! | [`session_slot`] | a session together with its connection |
//! | [`turns`] | begin, timers, end |
//! | [`connecting`] | when sessions connect; outages |
//! | [`sending`] | requests |
//! | [`lanes`] | the connections of one session to the nodes of a cluster |
//! | [`routing`] | sessions whose operations go to the nodes of a cluster |

pub mod connecting;
pub mod lanes;
pub mod load_thread;
pub mod routing;
pub mod sending;
pub mod session_slot;
pub mod turns;
pub mod worker;
