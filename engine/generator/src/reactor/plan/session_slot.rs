//! A session together with its connection: what a worker keeps for each of them.

use crate::session::Session;
use crate::transport::channel::Channel;
use dyno_core::driver::{Reply, Timed, Wire};

/// First wait before connecting again after a failure; doubles up to [`RECONNECT_MAX_NS`].
pub const RECONNECT_FIRST_NS: u64 = 10_000_000;
/// Longest wait between two attempts to connect.
pub const RECONNECT_MAX_NS: u64 = 1_000_000_000;
/// A connection lost sooner counts like a failed attempt: a server that admits and then drops its
/// clients must not be hammered.
pub const SHORT_LIFE_NS: u64 = 1_000_000_000;
/// Attempts of a session before the start no longer waits for it.
pub const START_ATTEMPTS: u32 = 3;

/// What the session is connected by.
pub enum Connection {
    /// Nothing now.
    None,
    /// A protocol, over the slot's channel.
    Wire(Box<dyn Wire>),
    /// A formula, and the answer that it owes.
    Timed(Box<dyn Timed>, Option<Reply>),
}

/// When and why a connection was lost.
#[derive(Debug, Clone, PartialEq)]
pub struct Down {
    /// When it was noticed.
    pub since_ns: u64,
    /// Why.
    pub cause: String,
}

/// A session with its connection.
pub struct SessionSlot {
    /// Number of the group.
    pub group: usize,
    /// What the session does.
    pub session: Session,
    /// Its connection.
    pub connection: Connection,
    /// How far that is, and its way to the server.
    pub channel: Channel,
    /// Whether a deadline timer of this era exists.
    pub has_deadline_timer: bool,
    /// Whether the start waits for it no longer.
    pub is_settled: bool,
    /// Whether it needs no connection now: what it plays begins later, or nothing is left.
    pub is_spared: bool,
    /// Whether the load has begun for it.
    pub has_begun: bool,
    /// Failed attempts to connect since the last success.
    pub failures: u32,
    /// Connections in a row that were lost within [`SHORT_LIFE_NS`].
    pub short_lives: u32,
    /// When the connection came up.
    pub up_ns: u64,
    /// When the last attempt to connect began.
    pub opened_ns: u64,
    /// When the connection was closed by us.
    pub closed_ns: u64,
    /// The outage that it is in.
    pub down: Option<Down>,
}

impl SessionSlot {
    /// Session `number` of `group`, not connected.
    pub fn new(group: usize, number: u32) -> Self {
        Self {
            group,
            session: Session::new(number),
            connection: Connection::None,
            channel: Channel::default(),
            has_deadline_timer: false,
            is_settled: false,
            is_spared: false,
            has_begun: false,
            failures: 0,
            short_lives: 0,
            up_ns: 0,
            opened_ns: 0,
            closed_ns: 0,
            down: None,
        }
    }

    /// Lets go of the connection: whatever still refers to it is void.
    pub fn close(&mut self) {
        self.connection = Connection::None;
        self.channel.close();
        self.has_deadline_timer = false;
    }
}

/// How long to wait after `failures` failed attempts to connect, `random` being uniform: 0 at
/// first, then 10 ms doubling to 1 s, less up to half of it so that sessions do not come in step.
pub fn reconnect_wait_ns(failures: u32, random: u64) -> u64 {
    if failures == 0 {
        return 0;
    }
    let full_ns = (RECONNECT_FIRST_NS << (failures - 1).min(16)).min(RECONNECT_MAX_NS);
    full_ns - random % (full_ns / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_second() {
        assert_eq!(reconnect_wait_ns(0, 7), 0);
        assert_eq!(reconnect_wait_ns(1, 0), RECONNECT_FIRST_NS);
        assert_eq!(reconnect_wait_ns(40, 0), RECONNECT_MAX_NS);
        for failures in 1..30 {
            let wait_ns = reconnect_wait_ns(failures, u64::MAX / u64::from(failures));
            assert!((RECONNECT_FIRST_NS / 2..=RECONNECT_MAX_NS).contains(&wait_ns));
        }
    }
}
