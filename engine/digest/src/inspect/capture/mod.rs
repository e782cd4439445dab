//! Network captures: packets -> segments -> two ordered streams a connection -> messages of MySQL's or
//! PostgreSQL's protocol -> events.
//!
//! | where | what |
//! |---|---|
//! | `packets/` | packets in a file, TCP segments in packets |
//! | `tcp_reassembly` | segments of both directions in the order of cause and effect |
//! | `framer` | messages in a stream, also after a gap |
//! | `protocol_stream`, `decoder`, `mysql/`, `postgres/` | messages decoded by protocol |
//! | `events` | events of what was answered |
//! | `connection`, `dialect`, `reader` | who talks to whom; limits |
//!
//! What is buffered is bounded: `reader::BUFFERED` bytes in all, `framer::LONGEST` for one message,
//! `reader::CONNECTIONS` connections.
//!
//! Sources: "PCAP Capture File Format" and "PCAP Next Generation Capture File Format" (IETF drafts),
//! tcpdump.org's list of link types, RFC 791, 8200 and 9293, MySQL's source documentation
//! ("Client/Server Protocol"), MariaDB's knowledge base of the same name, PostgreSQL's manual,
//! "Frontend/Backend Protocol".

mod connection;
mod decoder;
mod dialect;
mod events;
mod framer;
mod mysql;
mod packets;
mod position;
mod postgres;
mod protocol_stream;
mod reader;
mod tcp_reassembly;
#[cfg(test)]
mod tests;

pub use dialect::Dialect;
pub use reader::{Reader, is_capture, spoken};
