//! The state of a session in its load thread: what it waits for, and the ids of its connections.

use crate::connection::{Connection, Wired};
use crate::session::Session;

/// Limits of an [`At`]: sessions per load thread and connections per session.
pub(crate) const SESSIONS_MAX: usize = 1 << SLOT_BITS;
pub(crate) const CONNECTIONS_MAX: usize = 1 << (32 - SLOT_BITS);
const SLOT_BITS: u32 = 20;

/// The event that a session waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    /// Its turn to run.
    Turn,
    /// The common start.
    Start,
    /// A connection being opened, or an answer on one.
    Connect(usize),
    Answer(usize),
    /// A point in time.
    Until,
    /// Nothing: the session has ended.
    Ended,
}

/// A session and its wait state.
pub(crate) struct SessionSlot<'a> {
    pub session: Session<'a>,
    pub waits: Waits,
    /// The number of the current wait; timers of earlier waits are void.
    pub wait: u32,
    /// The number of eras assigned to its connections.
    pub eras: u32,
    /// Whether the session no longer delays the common start.
    pub has_arrived: bool,
}

impl<'a> SessionSlot<'a> {
    /// Creates a slot that waits for its first turn.
    pub fn new(session: Session<'a>) -> Self {
        Self { session, waits: Waits::Turn, wait: 0, eras: 0, has_arrived: false }
    }

    /// Creates a slot for a session that has already passed the common start.
    #[must_use]
    pub fn arrived(mut self) -> Self {
        self.has_arrived = true;
        self
    }

    /// Changes what the session waits for.
    pub fn wait_for(&mut self, waits: Waits) {
        self.waits = waits;
        self.wait = self.wait.wrapping_add(1);
    }

    /// Returns connection number `place`, if it uses a transport.
    #[inline]
    pub fn wired(&mut self, place: usize) -> Option<&mut Wired> {
        match self.session.connections.get_mut(place) {
            Some(Some(Connection::Wire(wired))) => Some(wired),
            _ => None,
        }
    }

    /// Returns the index of the server of connection number `place`, if it uses a transport.
    pub fn server(&self, place: usize) -> Option<usize> {
        match self.session.connections.get(place)? {
            Some(Connection::Wire(wired)) => Some(wired.server),
            _ => None,
        }
    }
}

/// Identifies a connection of a load thread: the slot of its session and its place within that
/// session. The id of place 0 equals the slot's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct At(pub u32);

impl At {
    /// Connection `place` of a slot; both must be below their limits.
    pub fn new(slot: u32, place: usize) -> Self {
        Self((place as u32) << SLOT_BITS | slot)
    }

    /// The slot of the session.
    #[inline]
    pub fn slot(self) -> u32 {
        self.0 & (SESSIONS_MAX as u32 - 1)
    }

    /// The place of the connection within the session.
    #[inline]
    pub fn place(self) -> usize {
        self.0 as usize >> SLOT_BITS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_slot_and_place_have_a_name() {
        let (slot, place) = (SESSIONS_MAX as u32 - 1, CONNECTIONS_MAX - 1);
        let at = At::new(slot, place);
        assert_eq!((at.0, at.slot(), at.place()), (u32::MAX, slot, place));
        assert_eq!((At::new(3, 5).slot(), At::new(3, 5).place(), At::new(3, 0).0), (3, 5, 3));
    }
}
