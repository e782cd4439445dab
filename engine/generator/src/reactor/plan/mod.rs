//! The sessions of a plan on their load threads.
//!
//! | module | what |
//! |---|---|
//! | [`worker`] | the state of a load thread |
//! | [`load_thread`] | what the event loop asks of it |
//! | [`session_slot`] | a session together with its connection |
//! | [`turns`] | begin, moments |
//! | [`connecting`] | who wants a connection, and when; outages |
//! | [`sending`] | requests |

pub mod connecting;
pub mod load_thread;
pub mod sending;
pub mod session_slot;
pub mod turns;
pub mod worker;
