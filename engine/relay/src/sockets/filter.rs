//! Losses and partitions: packets that the kernel drops before TCP sees them.
//!
//! A filter on a socket discards packets that arrive at it, so that real TCP answers: the peer retransmits,
//! backs off, and gives up after `tcp_retries2` retries (some 15 minutes) or its own timeout; a filter on a
//! listening socket discards SYNs, so that connects hang. What is lost are packets to the relay: those of
//! clients on the way to the server, and those of the server on the way to clients. The acknowledgements among them
//! are lost too, as in a network that is cut one way. What the relay had already received arrives.
//!
//! The model's limits: TCP between the relay and each end does not see the relay's delay. A packet lost in the
//! middle of a stream is therefore repaired sooner than over the delay; one at its end after TCP's
//! timeout (200 ms and more), as in reality. Packets on loopback carry up to 64 KiB. The kernel draws
//! the losses: they have no seed.
//!
//! Sources: socket(7) `SO_ATTACH_FILTER`; Linux `net/core/filter.c` (`sk_filter_trim_cap`),
//! `Documentation/networking/filter.rst` (extension `rand`).

use crate::conditions::{Conditions, Direction, Way};
use socket2::{SockFilter, Socket};
use std::io;

const LOAD_WORD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const JUMP_IF_AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
/// Where the kernel has a random number of 32 bits.
const RANDOM: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_RANDOM) as u32;

/// Has a socket lose the packets that arrive at it, as the way says that they come.
///
/// # Errors
/// The system's: filters are not allowed.
pub fn apply(socket: &Socket, way: &Way) -> io::Result<()> {
    let drop_all = [SockFilter::new(RETURN, 0, 0, 0)];
    if way.is_dropped {
        return socket.attach_filter(&drop_all);
    }
    if way.loss > 0.0 {
        return socket.attach_filter(&[
            SockFilter::new(LOAD_WORD, 0, 0, RANDOM),
            SockFilter::new(JUMP_IF_AT_LEAST, 0, 1, (way.loss * 4_294_967_296.0) as u32),
            SockFilter::new(RETURN, 0, 0, u32::MAX),
            SockFilter::new(RETURN, 0, 0, 0),
        ]);
    }
    match socket.detach_filter() {
        // There was none.
        Err(why) if why.raw_os_error() == Some(libc::ENOENT) => Ok(()),
        other => other,
    }
}

/// Whether packets of this way may be lost.
pub fn is_lossy(way: &Way) -> bool {
    way.is_dropped || way.loss > 0.0
}

/// The way of packets to a listening socket: no handshake succeeds over a cut of either direction.
pub fn handshakes(conditions: &Conditions) -> Way {
    let is_dropped = conditions.ways.iter().any(|way| way.is_dropped);
    Way { is_dropped, ..*conditions.way(Direction::ToServer) }
}
