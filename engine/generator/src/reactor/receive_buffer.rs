//! Bytes that one turn of a worker has received, and the bounds on them.

use std::io;

/// Most bytes of one `recv`: more than an answer usually has, so that one call empties the socket.
pub const RECEIVE_BYTES: usize = 64 * 1024;
/// Bytes received in one turn before they are looked at. Packed, so that small answers stay in
/// cache.
pub(crate) const ARENA_BYTES: usize = 1024 * 1024;
/// Reads of one socket in a turn: one that always has more must not keep its thread from the others,
/// from timers, and from the end.
pub const READS_A_TURN: usize = 16;
/// Buffers above this size are given back once empty.
pub const KEEP_BYTES: usize = 4096;

/// Bytes received from one socket.
pub(crate) struct Received {
    /// Whose, in which life.
    pub token: u64,
    pub start: u32,
    pub outcome: io::Result<u32>,
    /// The peer has closed its side: the end of the stream stands behind the bytes.
    pub is_closing: bool,
    pub stamp_ns: u64,
}
