//! A session as its load thread sees it: what it waits for, and how its connections are named.

use crate::connection::{Connection, Wired};
use crate::session::Session;

/// Sessions of one load thread, connections of one session: what a [`Token`] can name.
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
}

/// One life of one connection of one slot, as the poller knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token(pub u64);

impl Token {
    /// Of connection `place` of a slot, both below their limits.
    pub fn new(slot: u32, place: usize, era: u32) -> Self {
        Self(u64::from(era) << 32 | (place as u64) << SLOT_BITS | u64::from(slot))
    }

    /// Whose.
    #[inline]
    pub fn slot(self) -> u32 {
        self.0 as u32 & (SESSIONS_MAX as u32 - 1)
    }

    /// Which of its connections.
    #[inline]
    pub fn place(self) -> usize {
        self.0 as u32 as usize >> SLOT_BITS
    }

    /// In which life.
    #[inline]
    pub fn era(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_the_largest_seat_and_connection() {
        let (slot, place) = (SESSIONS_MAX as u32 - 1, CONNECTIONS_MAX - 1);
        let token = Token::new(slot, place, u32::MAX);
        assert_eq!((token.slot(), token.place(), token.era()), (slot, place, u32::MAX));
        let token = Token::new(3, 5, 7);
        assert_eq!((token.slot(), token.place(), token.era()), (3, 5, 7));
    }
}
