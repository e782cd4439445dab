//! Where, when and from whom bytes were captured.

/// Where and when bytes were captured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
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
