//! Position of bytes in a capture, and the sides of a connection.

/// Position of a packet in the capture, and its time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
    /// Nanoseconds since 1970 (UTC); `None` if the capture has no times.
    pub time_ns: Option<i64>,
    /// Offset of the packet's first byte in the capture.
    pub offset: u64,
    /// Offset behind its last byte.
    pub end: u64,
}

/// One of the two ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The side that connects.
    Client,
    /// The side that answers.
    Server,
}
