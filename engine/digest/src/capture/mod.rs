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
mod file;
mod framer;
mod ip;
mod link;
mod mysql;
mod order;
mod pcap;
mod pcapng;
mod postgres;
mod reader;
mod speech;
#[cfg(test)]
mod tests;

pub use reader::{Dialect, Reader, is_capture, spoken};

/// Where and when bytes were captured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moment {
    /// Nanoseconds since 1970 (UTC); none where the capture has no times.
    pub time_ns: Option<i64>,
    /// Where the packet begins in the capture.
    pub offset: u64,
    /// Where it ends.
    pub end: u64,
}

/// One of the two ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Who connects.
    Client,
    /// Who answers.
    Server,
}
