//! Network captures: packets -> segments -> two ordered streams a connection -> messages of MySQL's or
//! PostgreSQL's protocol -> events.
//!
//! | where | what |
//! |---|---|
//! | `pcap`, `pcapng`, `file` | packets in a file |
//! | `link`, `ip` | TCP segments in packets |
//! | `order` | segments of both directions in the order of cause and effect |
//! | `framer` | messages in a stream, also after a gap |
//! | `speech`, `mysql/`, `postgres/` | what the two ends say |
//! | `connection`, `reader` | who talks to whom; limits |
//!
//! What is buffered is bounded: `reader::BUFFERED` bytes in all, `framer::LONGEST` for one message,
//! `reader::CONNECTIONS` connections.
//!
//! Sources: "PCAP Capture File Format" and "PCAP Next Generation Capture File Format" (IETF drafts),
//! tcpdump.org's list of link types, RFC 791, 8200 and 9293, MySQL's source documentation
//! ("Client/Server Protocol"), MariaDB's knowledge base of the same name, PostgreSQL's manual,
//! "Frontend/Backend Protocol".

mod connection;
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
