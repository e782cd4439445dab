//! A session as its load thread sees it: what it waits for, and how its connections are named.

use crate::connection::{Connection, Wired};
use crate::session::Session;

/// Sessions of one load thread, connections of one session: what an [`At`] can name.
pub(crate) const SESSIONS_MAX: usize = 1 << SLOT_BITS;
pub(crate) const CONNECTIONS_MAX: usize = 1 << (32 - SLOT_BITS);
const SLOT_BITS: u32 = 20;

/// What a session waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    /// Its turn.
    Turn,
    /// The common start.
    Start,
    /// A connection to be made, or an answer of one.
    Connect(usize),
    Answer(usize),
    /// A moment.
    Until,
    /// Nothing any more.
    Ended,
}

/// A session and what it waits for.
pub(crate) struct SessionSlot<'a> {
    pub session: Session<'a>,
    pub waits: Waits,
    /// Which of its waits this is: timers of earlier ones are void.
    pub wait: u32,
    /// Eras of its connections given out.
    pub eras: u32,
    /// Whether the start waits for it no longer.
    pub has_arrived: bool,
}

impl<'a> SessionSlot<'a> {
    /// Waits for its first turn.
    pub fn new(session: Session<'a>) -> Self {
        Self { session, waits: Waits::Turn, wait: 0, eras: 0, has_arrived: false }
    }

    /// The same of a session that was at the start before.
    #[must_use]
    pub fn arrived(mut self) -> Self {
        self.has_arrived = true;
        self
    }

    /// From now on it waits for something else.
    pub fn wait_for(&mut self, waits: Waits) {
        self.waits = waits;
        self.wait = self.wait.wrapping_add(1);
    }

    /// Connection number `place`, if it goes over a transport.
    #[inline]
    pub fn wired(&mut self, place: usize) -> Option<&mut Wired> {
        match self.session.connections.get_mut(place) {
            Some(Some(Connection::Wire(wired))) => Some(wired),
            _ => None,
        }
    }

    /// Which of the run's servers connection number `place` goes to, if over a transport.
    pub fn server(&self, place: usize) -> Option<usize> {
        match self.session.connections.get(place)? {
            Some(Connection::Wire(wired)) => Some(wired.server),
            _ => None,
        }
    }
}

/// Which of a load thread's connections: its session's slot, and its place among that one's. That of
/// place 0 is the slot's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct At(pub u32);

impl At {
    /// Connection `place` of a slot, both below their limits.
    pub fn new(slot: u32, place: usize) -> Self {
        Self((place as u32) << SLOT_BITS | slot)
    }

    /// Whose.
    #[inline]
    pub fn slot(self) -> u32 {
        self.0 & (SESSIONS_MAX as u32 - 1)
    }

    /// Which of its connections.
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
