//! Reads network captures (pcap, pcapng): packets -> TCP segments -> two ordered byte streams per
//! connection -> messages of the MySQL or PostgreSQL protocol -> events.
//!
//! | where | what |
//! |---|---|
//! | `packets/` | extracts packets from files, and TCP segments from packets |
//! | `tcp_reassembly` | orders the segments of both directions by cause and effect |
//! | `framer` | splits a stream into messages, also after a gap |
//! | `protocol_stream`, `decoder`, `mysql/`, `postgres/` | decode messages by protocol |
//! | `events` | builds events from answered requests |
//! | `connection`, `dialect`, `reader` | connections, protocol detection, limits |
//!
//! Memory is bounded: the reader buffers at most `reader::BUFFERED` bytes in all, `framer::LONGEST`
//! bytes of one message, and `reader::CONNECTIONS` connections.
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
