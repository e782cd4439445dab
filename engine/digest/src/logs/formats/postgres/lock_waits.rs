//! Lock waits of statements, from messages that precede the one about the statement itself.

use super::message::Message;

/// Lock waits of one statement of a session, from messages before the one about the statement. That one
/// may never come, if the statement took less than the threshold of the log.
#[derive(Debug, Default)]
pub(super) struct Locks {
    /// The statement's text. Empty: the messages do not have it.
    pub(super) statement: Vec<u8>,
    /// Waits that ended with the lock, at most [`LOCKS_MAX`].
    pub(super) had: Vec<Wait>,
    /// The last wait that had not ended.
    pub(super) waiting: Option<Wait>,
}

/// Timestamp of a message about a wait, nanoseconds since 1970 (UTC), and the wait so far, nanoseconds.
pub(super) type Wait = (Option<i64>, u64);

/// Maximum number of waits stored for a statement; beyond it, the two oldest become one.
const LOCKS_MAX: usize = 32;
/// Assumed resolution of timestamps, as logs may have whole seconds only.
const TICK_NS: i64 = 1_000_000_000;

impl Locks {
    /// The waits of this statement; discards those of another one.
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

    /// Takes the total wait of the statement `text` since `begin_ns`, nanoseconds; 0 if the waits
    /// belong to another statement.
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
