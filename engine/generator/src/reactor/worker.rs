//! A load thread that drives many sessions: its state. What a thread does with it stands in
//! [`event_loop`](super::event_loop) (the turns), [`sending`](super::sending),
//! [`receiving`](super::receiving) and [`connecting`](super::connecting).

use super::connect_queue::ConnectQueue;
use super::control::{Control, GroupTargets};
use super::receive_buffer::{ARENA, RECEIVE_BYTES, Received};
use super::session_slot::SessionSlot;
use super::timers::{Cause, Timer, Timers};
use super::unread::Unread;
use crate::metrics::notice::Notices;
use crate::metrics::thread::ThreadMetrics;
use crate::session::Sinks;
use crate::transport::poller::{Poller, Ready};
use dyno_core::clock::Clock;
use std::collections::VecDeque;

/// One load thread and its sessions.
pub struct Worker<'a, C, P> {
    pub(crate) clock: &'a C,
    pub(crate) poller: P,
    pub(crate) control: &'a Control,
    pub(crate) group_targets: &'a [GroupTargets<'a>],
    pub(crate) metrics: &'a ThreadMetrics,
    pub(crate) notices: &'a Notices,
    pub(crate) slots: Vec<SessionSlot>,
    pub(crate) timers: Timers,
    pub(crate) queue: ConnectQueue<u32>,
    /// SessionNumbers whose timed answer is due at once.
    pub(crate) instant: VecDeque<u32>,
    pub(crate) arena: Box<[u8]>,
    pub(crate) received: Vec<Received>,
    pub(crate) ready: Vec<Ready>,
    pub(crate) unread: Unread,
    /// Bytes to send, built here and sent at once.
    pub(crate) out: Vec<u8>,
    pub(crate) plain: Vec<u8>,
    /// Where the rest of an answer goes that fills its space.
    pub(crate) spill: Vec<u8>,
    /// The last time seen: good enough for the length of a wait, and saves a read of the clock.
    pub(crate) now_ns: u64,
    pub(crate) origin_ns: Option<u64>,
    pub(crate) measure_ns: u64,
    pub(crate) open: Vec<OpenGroup>,
    pub(crate) spins: bool,
    /// Whether the last turn looked in vain: then nothing was done since `now_ns`.
    pub(crate) was_in_vain: bool,
}

/// A group of this worker with an arrival source.
pub(crate) struct OpenGroup {
    pub(crate) group: usize,
    /// How many arrivals had been given back when its sessions were last looked through.
    pub(crate) given_back: u64,
}

impl<'a, C: Clock, P: Poller> Worker<'a, C, P> {
    /// A worker for these slots (group, number), none connected yet. `connects_max`: how many it
    /// may be connecting at the same time.
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
        Self {
            clock,
            poller,
            control,
            group_targets,
            metrics,
            notices,
            slots: slots.iter().map(|&(group, number)| SessionSlot::new(group, number)).collect(),
            timers: Timers::default(),
            queue: ConnectQueue::new(connects_max, 0..slots.len() as u32),
            instant: VecDeque::new(),
            arena: vec![0; ARENA].into_boxed_slice(),
            received: Vec::with_capacity(slots.len()),
            ready: Vec::with_capacity(slots.len()),
            unread: Unread::default(),
            out: Vec::with_capacity(RECEIVE_BYTES),
            plain: Vec::new(),
            spill: Vec::new(),
            now_ns: clock.now_ns(),
            origin_ns: None,
            measure_ns: 0,
            open: open.map(|group| OpenGroup { group, given_back: 0 }).collect(),
            spins: false,
            was_in_vain: false,
        }
    }

    /// It has a CPU to itself, and may use the moments before an arrival is due up: up to 50 us
    /// each, which do not count as busy. Without open loops nothing changes.
    #[must_use]
    pub fn spins(mut self, has_own_cpu: bool) -> Self {
        let is_paced = |slot: &SessionSlot| {
            self.group_targets[slot.group]
                .config
                .replay
                .is_some_and(|play| play.recording.is_paced())
        };
        self.spins = has_own_cpu && (!self.open.is_empty() || self.slots.iter().any(is_paced));
        self
    }

    pub(crate) fn sinks(&self, group: usize) -> Sinks<'a> {
        Sinks { group, metrics: &self.metrics.groups[group], notices: self.notices }
    }

    pub(crate) fn add_timer(&mut self, index: u32, at_ns: u64, cause: Cause) {
        let era = self.slots[index as usize].era;
        self.timers.add(Timer { at_ns, slot: index, era, cause });
    }
}
