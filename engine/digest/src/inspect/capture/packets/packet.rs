//! Packets, and the steps in which a capture file of either kind is read.

/// A packet as it was captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Nanoseconds since 1970 (UTC).
    pub time_ns: Option<i64>,
    /// The type of its link.
    pub link: u32,
    /// What was kept of it.
    pub data: &'a [u8],
    /// How long it was.
    pub length: usize,
}

/// What stands somewhere in a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Found<'a> {
    /// A packet.
    Packet(Packet<'a>),
    /// Something else that is known.
    Nothing,
    /// Something whose length is right, but not what is in it.
    Broken,
    /// Nothing that can be.
    Damaged,
}

/// A piece of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Step<'a> {
    /// How long it is.
    pub length: usize,
    /// What it is.
    pub found: Found<'a>,
}
