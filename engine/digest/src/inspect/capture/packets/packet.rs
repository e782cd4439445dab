//! Types shared by the parsers of both capture file formats.

/// A captured packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Nanoseconds since 1970 (UTC); `None` if the file has no time for it.
    pub time_ns: Option<i64>,
    /// Link-layer type.
    pub link: u32,
    /// Captured bytes.
    pub data: &'a [u8],
    /// Length on the wire, bytes.
    pub length: usize,
}

/// Content of a piece of a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Found<'a> {
    /// A packet.
    Packet(Packet<'a>),
    /// Valid content other than a packet.
    Nothing,
    /// A block with a valid length and an invalid body.
    Broken,
    /// Invalid bytes.
    Damaged,
}

/// A piece of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Step<'a> {
    /// Its length, bytes.
    pub length: usize,
    /// Its content.
    pub found: Found<'a>,
}
