//! How long statements waited for locks, as messages before their own tell.

use super::message::Message;

/// What one statement of a session waited for locks, as messages have told that may be of the next
/// event: or of one that took less than what is logged, and never comes.
#[derive(Debug, Default)]
pub(super) struct Locks {
    /// Empty: the messages do not say.
    pub(super) statement: Vec<u8>,
    /// When each was had, and after how long; at most [`LOCKS_MAX`].
    pub(super) had: Vec<Wait>,
    /// The last one that was still waited for.
    pub(super) waiting: Option<Wait>,
}

/// When a message of waiting came, and after how many nanoseconds of it.
pub(super) type Wait = (Option<i64>, u64);

/// Waits of a statement that are kept apart; of more, the oldest are one.
const LOCKS_MAX: usize = 32;
/// Logs may have whole seconds only.
const TICK_NS: i64 = 1_000_000_000;

impl Locks {
    /// Those of this statement: what another one waited for is forgotten.
    pub(super) fn of(&mut self, statement: &[u8]) -> &mut Self {
        if self.statement != statement {
            *self = Self { statement: statement.into(), ..Self::default() };
        }
        self
    }

    pub(super) fn had(&mut self, message: &Message<'_>, ns: u64) {
        let locks = self.of(message.statement);
        locks.waiting = None;
        if locks.had.len() == LOCKS_MAX {
            let (_, oldest_ns) = locks.had.remove(0);
            locks.had[0].1 = locks.had[0].1.saturating_add(oldest_ns);
        }
        locks.had.push((message.end_ns, ns));
    }

    /// What the statement `text` waited, nanoseconds, if it is the one, and what of it came since it
    /// began.
    #[inline]
    pub(super) fn take(&mut self, text: &[u8], begin_ns: Option<i64>) -> u64 {
        if self.had.is_empty() && self.waiting.is_none() {
            return 0;
        }
        let locks = std::mem::take(self);
        if !locks.statement.is_empty() && locks.statement != text {
            return 0;
        }
        let is_within = |at: Option<i64>| match (at, begin_ns) {
            (Some(at), Some(begin)) => at.saturating_add(TICK_NS) > begin,
            _ => true,
        };
        let waits = locks.had.iter().chain(&locks.waiting).filter(|(at, _)| is_within(*at));
        waits.fold(0, |sum, (_, ns)| sum.saturating_add(*ns))
    }
}
