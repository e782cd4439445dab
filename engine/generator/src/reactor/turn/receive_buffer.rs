//! Bytes that a worker has received in one turn, and the limits on them.

use std::io;

/// Maximum bytes of one `recv`: more than an answer usually has, so that one call empties the socket.
pub const RECEIVE_BYTES: usize = 64 * 1024;
/// Bytes received in one turn before any is handled, without gaps, so that small answers stay in the
/// CPU cache.
pub(crate) const ARENA_BYTES: usize = 1024 * 1024;
/// Maximum reads of one socket in a turn: a socket that always has more must not delay other sockets,
/// timers and the end.
pub const READS_A_TURN: usize = 16;
/// Capacity in bytes above which a buffer is freed once empty.
pub const KEEP_BYTES: usize = 4096;

/// Bytes received from one socket.
pub(crate) struct Received {
    /// Token of the connection.
    pub token: u64,
    pub start: u32,
    pub outcome: io::Result<u32>,
    /// The peer has closed its side: the end of the stream follows the bytes.
    pub is_closing: bool,
    pub stamp_ns: u64,
}
