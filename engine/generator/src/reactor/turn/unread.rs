//! Upper bound of how long an answer waited unread: the system does not report when its bytes came.
//!
//! An answer that a poll reports, and the poll before did not, came after that one returned; not before
//! its request was sent; and while the thread slept, if it slept in the poll. The answer may have waited
//! for all work of the thread since then, unless all of that was its own session's turn. The bound
//! excludes the time for which a thread waits for a CPU: a server on the same CPUs has it then.

/// A load thread's work since its last poll.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unread {
    /// When the last poll returned.
    polled_ns: u64,
    /// No reported socket was ready before this time, apart from time for which the thread had no CPU.
    ready_ns: u64,
    /// The thread's CPU time when the last poll returned.
    worked_ns: u64,
    /// Slot of the last turn; and of the last turn before the last poll.
    turn: Option<u32>,
    turn_before: Option<u32>,
}

impl Unread {
    /// Records that a poll returns. `slept`: nothing was ready at first; `worked_ns`: the thread's CPU
    /// time.
    #[inline]
    pub fn polled(&mut self, now_ns: u64, slept: bool, worked_ns: u64) {
        let since_ns = now_ns.saturating_sub(self.polled_ns);
        let work_ns = worked_ns.saturating_sub(self.worked_ns).min(since_ns);
        self.ready_ns = if slept { now_ns } else { now_ns - work_ns };
        self.polled_ns = now_ns;
        self.worked_ns = worked_ns;
        self.turn_before = self.turn;
    }

    /// Records that the thread begins to handle an answer or a timer of `slot`.
    #[inline]
    pub fn turn_of(&mut self, slot: u32) {
        self.turn = Some(slot);
    }

    /// Upper bound of how long the answer to a request of `slot`, sent at `sent_ns` and read at `stamp_ns`,
    /// waited unread.
    #[inline]
    pub fn at_most_ns(&self, slot: u32, sent_ns: u64, stamp_ns: u64) -> u64 {
        // The slot sent last, and then the thread polled, without work while the answer was on its way.
        if self.turn_before == Some(slot) {
            return stamp_ns.saturating_sub(self.polled_ns);
        }
        self.rest_at_most_ns(sent_ns, stamp_ns)
    }

    /// The same for further answers to requests that were sent together: they may also have come while the
    /// session handled the first ones.
    #[inline]
    pub fn rest_at_most_ns(&self, sent_ns: u64, stamp_ns: u64) -> u64 {
        stamp_ns.saturating_sub(self.ready_ns.max(sent_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_while_others_were_handled_has_waited_for_them() {
        let mut unread = Unread::default();
        unread.polled(1_000, true, 50);
        // The thread slept: both answers came after that.
        assert_eq!(unread.at_most_ns(0, 400, 1_010), 10);
        assert_eq!(unread.at_most_ns(1, 500, 1_020), 20);
        // Session 0 sends at 1,100, session 1 at 1,500; the next poll finds both, and a third.
        unread.turn_of(0);
        unread.turn_of(1);
        unread.polled(1_900, false, 950);
        assert_eq!(unread.at_most_ns(2, 300, 1_905), 905, "since the poll before");
        assert_eq!(unread.at_most_ns(0, 1_100, 1_910), 810, "since it was asked for");
        assert_eq!(unread.at_most_ns(1, 1_500, 1_920), 20, "nothing was handled meanwhile");
    }

    #[test]
    fn the_rest_of_several_answers_has_waited_for_its_own_session_too() {
        let mut unread = Unread::default();
        unread.polled(1_000, true, 50);
        // Session 0 handles the first of its answers for 600 ns, and sends nothing.
        unread.turn_of(0);
        unread.polled(1_600, false, 650);
        assert_eq!(unread.rest_at_most_ns(400, 1_605), 605);
        assert_eq!(unread.at_most_ns(0, 400, 1_605), 5, "if it had sent after that");
    }

    #[test]
    fn what_is_read_late_in_a_batch_has_waited_since_the_poll_before_it() {
        let mut unread = Unread::default();
        unread.polled(1_000, true, 50);
        unread.turn_of(0);
        // Handled during the reading: the rest of the batch was ready all that time.
        assert_eq!(unread.at_most_ns(1, 100, 9_000), 8_000);
    }

    #[test]
    fn what_the_thread_waited_for_a_cpu_is_not_its_own_doing() {
        let mut unread = Unread::default();
        unread.polled(1_000, true, 50);
        unread.turn_of(0);
        unread.turn_of(1);
        // The thread had a CPU for 700 of the 9,000 ns since the poll.
        unread.polled(10_000, false, 750);
        assert_eq!(unread.at_most_ns(0, 1_100, 10_005), 705);
        assert_eq!(unread.at_most_ns(0, 9_900, 10_005), 105, "asked for late");
    }
}
