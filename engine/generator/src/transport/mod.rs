//! Connections to servers: addresses, sockets, TLS and polling.

pub mod channel;
pub mod endpoint;
pub mod link;
pub mod patience;
pub mod poller;
pub mod tls;
