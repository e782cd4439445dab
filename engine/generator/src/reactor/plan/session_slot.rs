//! A session together with its connection: the worker's state of each session.

use super::lanes::Lanes;
use crate::session::Session;
use crate::transport::channel::Channel;
use dyno_core::driver::{Reply, Timed, Wire};
use std::collections::VecDeque;

/// First wait before reconnecting after a failure; doubles up to [`RECONNECT_MAX_NS`].
pub const RECONNECT_FIRST_NS: u64 = 10_000_000;
/// Longest wait between two attempts to connect.
pub const RECONNECT_MAX_NS: u64 = 1_000_000_000;
/// A connection lost sooner counts like a failed attempt, so that a server that admits and then drops
/// its clients is not flooded with attempts.
pub const SHORT_LIFE_NS: u64 = 1_000_000_000;
/// Failed attempts of a session after which the start no longer waits for it.
pub const START_ATTEMPTS: u32 = 3;

/// Kind of a session's connection.
pub enum Connection {
    /// No connection.
    None,
    /// A protocol, over the slot's channel.
    Wire(Box<dyn Wire>),
    /// A driver that computes its answers, and the answers in progress.
    Timed(Box<dyn Timed>, Owed),
}

/// Computed answers that are not due yet, in order.
#[derive(Default)]
pub struct Owed {
    first: Option<Reply>,
    /// Of requests that were sent together.
    rest: VecDeque<Reply>,
}

impl Owed {
    /// Adds an answer after the others.
    #[inline]
    pub fn add(&mut self, reply: Reply) {
        if self.first.is_some() {
            return self.rest.push_back(reply);
        }
        self.first = Some(reply);
    }

    /// Takes the first answer.
    #[inline]
    pub fn take(&mut self) -> Option<Reply> {
        let reply = self.first.take();
        if !self.rest.is_empty() {
            self.first = self.rest.pop_front();
        }
        reply
    }
}

/// When and why a connection was lost.
#[derive(Debug, Clone, PartialEq)]
pub struct Down {
    /// When it was noticed, on the load threads' clock.
    pub since_ns: u64,
    /// Cause of the loss.
    pub cause: String,
}

/// A session with its connection.
pub struct SessionSlot {
    /// Number of the group.
    pub group: usize,
    /// State machine of the session.
    pub session: Session,
    /// Its connection.
    pub connection: Connection,
    /// Stage, socket and buffers of the connection.
    pub channel: Channel,
    /// Instead, if the session's operations go to the nodes of a cluster: its connections to these.
    /// `channel` then has no socket, and is up once they suffice.
    pub lanes: Option<Box<Lanes>>,
    /// Whether the connection has a deadline timer.
    pub has_deadline_timer: bool,
    /// Whether the start no longer waits for the session.
    pub is_settled: bool,
    /// Whether it needs no connection now: its recorded session begins later, or none is left.
    pub is_spared: bool,
    /// Whether the load has begun for the session.
    pub has_begun: bool,
    /// Failed attempts to connect since the last success.
    pub failures: u32,
    /// Connections in a row that were lost within [`SHORT_LIFE_NS`].
    pub short_lives: u32,
    /// When the connection came up.
    pub up_ns: u64,
    /// When the last attempt to connect began.
    pub opened_ns: u64,
    /// When this program closed the connection.
    pub closed_ns: u64,
    /// The current outage.
    pub down: Option<Down>,
}

impl SessionSlot {
    /// Creates session `number` of `group`, not connected.
    pub fn new(group: usize, number: u32) -> Self {
        Self {
            group,
            session: Session::new(number),
            connection: Connection::None,
            channel: Channel::default(),
            lanes: None,
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

    /// Closes the connection; events and timers that refer to it become void.
    pub fn close(&mut self) {
        self.connection = Connection::None;
        self.channel.close();
        self.has_deadline_timer = false;
    }
}

/// Wait in nanoseconds after `failures` failed attempts to connect: 0 at first, then 10 ms doubling to
/// 1 s, less up to half by the uniform `random`, so that sessions do not reconnect in step.
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
