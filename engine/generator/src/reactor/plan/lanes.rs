//! The connections of one session to the nodes of a cluster: a *lane* to each. The poller, timers and
//! queues of a load thread know a lane by a number of its own, which holds session and node.

use crate::transport::channel::Channel;
use dyno_core::driver::Wire;

/// Bits of a session's index in a lane's number: a plan has 64 groups of 2^20 sessions at most.
const SESSION_BITS: u32 = 26;
/// Most nodes of a cluster.
pub const NODES_MAX: usize = (1 << (u32::BITS - SESSION_BITS)) - 1;

/// Whether the number is that of a lane, and not of a session.
#[inline]
pub fn is_lane(at: u32) -> bool {
    at >> SESSION_BITS > 0
}

/// Index of the session and node of a lane; `None` for the number of a session.
#[inline]
pub fn split(at: u32) -> Option<(usize, usize)> {
    let node = (at >> SESSION_BITS).checked_sub(1)?;
    Some((session_of(at), node as usize))
}

/// Index of the session of a lane, or of a session's own number.
#[inline]
pub fn session_of(at: u32) -> usize {
    (at & ((1 << SESSION_BITS) - 1)) as usize
}

/// Number of the lane of session `index` to `node`.
#[inline]
pub fn lane_of(index: u32, node: usize) -> u32 {
    (node as u32 + 1) << SESSION_BITS | index
}

/// A connection to one node.
#[derive(Default)]
pub struct Lane {
    /// Stage, socket and buffers.
    pub channel: Channel,
    /// Its protocol, while it is connected.
    pub wire: Option<Box<dyn Wire>>,
    /// Whether the connection is requested or being made.
    pub is_opening: bool,
    /// Whether the next attempt to connect must wait for a timer.
    pub is_pausing: bool,
    /// Failed attempts to connect since the last success, and connections that were lost soon.
    pub failures: u32,
    /// When the last attempt to connect began.
    pub opened_ns: u64,
    /// When the connection came up.
    pub up_ns: u64,
}

impl Lane {
    /// Closes the connection; events and timers that refer to it become void.
    pub fn close(&mut self) {
        self.channel.close();
        self.wire = None;
        self.is_opening = false;
        self.is_pausing = false;
    }
}

/// All of them, and the operation under way.
pub struct Lanes {
    /// By node.
    pub nodes: Vec<Lane>,
    /// The node that the operation was sent to, or will be.
    pub active: usize,
    /// Whether the operation waits for the connection.
    pub waits: bool,
    /// Whether the operation must be announced to the node: another one sent it there.
    pub asking: bool,
    /// How often nodes have sent the operation on.
    pub redirects: u32,
}

impl Lanes {
    /// None connected. `active`: the first node to connect to.
    pub fn new(count: usize, active: usize) -> Self {
        debug_assert!(count <= NODES_MAX, "checked with the plan");
        let nodes = (0..count).map(|_| Lane::default()).collect();
        Self { nodes, active, waits: false, asking: false, redirects: 0 }
    }

    /// Ends all connections.
    pub fn quit(&mut self) {
        for lane in &mut self.nodes {
            if let Some(wire) = &mut lane.wire {
                lane.channel.quit(&mut **wire);
            }
            lane.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_holds_session_and_node() {
        for (index, node) in [(0, 0), (7, 0), ((1 << SESSION_BITS) - 1, NODES_MAX - 1)] {
            let at = lane_of(index, node);
            assert!(is_lane(at));
            assert_eq!(split(at), Some((index as usize, node)));
            assert_eq!(session_of(at), index as usize);
        }
        assert!(!is_lane((1 << SESSION_BITS) - 1));
        assert_eq!((split(5), session_of(5)), (None, 5));
    }
}
