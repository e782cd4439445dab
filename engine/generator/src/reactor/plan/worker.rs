//! State of a load thread with sessions of a plan.

use super::session_slot::SessionSlot;
use crate::audit::log::Log;
use crate::metrics::notice::Notices;
use crate::metrics::thread::ThreadMetrics;
use crate::reactor::control::{Control, GroupTargets};
use crate::reactor::event_loop::Turns;
use crate::reactor::load_thread::Io;
use crate::reactor::timers::{Cause, Timer};
use crate::reactor::turn::receive_buffer::{ARENA_BYTES, RECEIVE_BYTES};
use crate::session::Sinks;
use crate::transport::poller::Poller;
use dyno_core::clock::Clock;
use dyno_core::error::Result;
use std::collections::VecDeque;

/// One load thread and its sessions. The index of a slot identifies its connection.
pub struct Worker<'a, C, P> {
    pub(crate) io: Io<'a, C, P>,
    pub(crate) control: &'a Control,
    pub(crate) group_targets: &'a [GroupTargets<'a>],
    pub(crate) metrics: &'a ThreadMetrics,
    pub(crate) notices: &'a Notices,
    pub(crate) audit: Option<&'a Log>,
    pub(crate) slots: Vec<SessionSlot>,
    /// Slots whose timed answer is due at once.
    pub(crate) instant: VecDeque<u32>,
    /// Buffer in which requests are built before they are sent.
    pub(crate) out: Vec<u8>,
    pub(crate) origin_ns: Option<u64>,
    pub(crate) measure_ns: u64,
    pub(crate) open: Vec<OpenGroup>,
}

/// A group of this worker with an arrival source.
pub(crate) struct OpenGroup {
    pub(crate) group: usize,
    /// The arrival source's count of returned arrivals at the last check.
    pub(crate) given_back: u64,
}

impl<'a, C: Clock, P: Poller> Worker<'a, C, P> {
    /// Creates a worker for these slots (group, number), none connected yet. `connects_max`: connections
    /// that it may be making at the same time.
    #[expect(
        clippy::too_many_arguments,
        reason = "one call; a struct would only repeat the fields"
    )]
    pub fn new(
        clock: &'a C,
        poller: P,
        control: &'a Control,
        group_targets: &'a [GroupTargets<'a>],
        metrics: &'a ThreadMetrics,
        notices: &'a Notices,
        slots: &[(usize, u32)],
        connects_max: usize,
    ) -> Self {
        let mut groups: Vec<usize> = slots.iter().map(|slot| slot.0).collect();
        groups.dedup();
        groups.sort_unstable();
        groups.dedup();
        let open = groups
            .into_iter()
            .filter(|&group| group_targets[group].config.arrival_source.is_some());
        let mut io =
            Io::new((clock, poller), Some(metrics), slots.len(), connects_max, ARENA_BYTES);
        (0..slots.len() as u32).for_each(|index| io.queue.push(index));
        Self {
            io,
            control,
            group_targets,
            metrics,
            notices,
            audit: None,
            slots: slots.iter().map(|&(group, number)| SessionSlot::new(group, number)).collect(),
            instant: VecDeque::new(),
            out: Vec::with_capacity(RECEIVE_BYTES),
            origin_ns: None,
            measure_ns: 0,
            open: open.map(|group| OpenGroup { group, given_back: 0 }).collect(),
        }
    }

    /// Lets a thread with a CPU to itself spin before an arrival is due: up to 50 us each, which do not
    /// count as busy. Has no effect without open loops.
    #[must_use]
    pub fn spins(mut self, has_own_cpu: bool) -> Self {
        let is_paced = |slot: &SessionSlot| {
            self.group_targets[slot.group]
                .config
                .replay
                .is_some_and(|play| play.recording.is_paced())
        };
        self.io.spins = has_own_cpu && (!self.open.is_empty() || self.slots.iter().any(is_paced));
        self
    }

    /// Has outcomes of transactions go to `log`, in groups whose commits are audited.
    #[must_use]
    pub fn audits(mut self, log: Option<&'a Log>) -> Self {
        self.audit = log;
        self
    }

    pub(crate) fn sinks(&self, group: usize) -> Sinks<'a> {
        let (notices, audit) = (self.notices, self.audit);
        Sinks { group, metrics: &self.metrics.groups[group], notices, audit }
    }

    pub(crate) fn add_timer(&mut self, index: u32, at_ns: u64, cause: Cause) {
        let era = self.slots[index as usize].channel.era;
        self.io.timers.add(Timer { at_ns, slot: index, era, cause });
    }

    /// Runs until the load is stopped.
    ///
    /// # Errors
    /// [`Kind::System`](dyno_core::error::Kind::System) when the system refuses to poll.
    pub fn run(&mut self) -> Result<()> {
        Turns::run(self)
    }
}
