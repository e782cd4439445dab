//! The sockets: [`listener`] has a port and its conditions, [`connection`] one socket of each end, [`filter`]
//! the packets that they lose.

pub mod connection;
pub mod filter;
pub mod listener;
