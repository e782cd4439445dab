//! A load thread that carries many sessions on: one poll loop, no runtime.
//!
//! A turn of the loop: wait; then for each ready socket receive, let the protocol understand,
//! resume the session that was answered, and send what it asks next, at once. An event lasts as long
//! as its session says, its turn waited for included, as a thread of its own would have waited for a
//! CPU: so latencies add up to the sessions' time.
//!
//! In the steady state a statement costs one `recv`, one `send` and its share of a poll, and no
//! allocation. The receiving half is in `receiving.rs`, connections are made in `connecting.rs`.

use super::session_slot::{CONNECTIONS_MAX, SessionSlot, Token, Waits};
use super::shared::Shared;
use crate::session::{Baggage, Outcome, Scripts, Step, Wait};
use dyno_core::clock::Clock;
use dyno_core::error::{Error, Kind, Result};
use dyno_generator::metrics::thread::ThreadMetrics;
use dyno_generator::reactor::connect_queue::ConnectQueue;
use dyno_generator::reactor::receive_buffer::RECEIVE_BYTES;
use dyno_generator::reactor::timers::{Cause, Timer, Timers};
use dyno_generator::reactor::unread::Unread;
use dyno_generator::transport::channel::Stage;
use dyno_generator::transport::poller::{Poller, Ready};
use std::collections::VecDeque;
use std::io;

/// Longest wait: bounds how late a thread notices the end.
const WAIT_MAX_NS: u64 = 20_000_000;
/// Longest wait before the start: bounds how late it is noticed.
const START_WAIT_MAX_NS: u64 = 1_000_000;
/// Timers carried out before sockets are looked at again.
const TIMERS_A_TURN: usize = 64;

/// Gives the session of this number a thread of its own.
pub(crate) type MoveOut = dyn Fn(u32, Baggage) -> Result<()>;

/// One load thread and its sessions.
pub(crate) struct Worker<'a, C, P> {
    pub clock: &'a C,
    pub poller: P,
    pub shared: &'a Shared,
    metrics: Option<&'a ThreadMetrics>,
    scripts: Box<dyn Scripts>,
    move_out: &'a MoveOut,
    pub slots: Vec<SessionSlot<'a>>,
    /// SessionNumbers that go on without any wait, each when all the others have had their turn.
    turns: VecDeque<(u32, Outcome)>,
    timers: Timers,
    /// Of sessions, at places among their connections.
    pub queue: ConnectQueue<(u32, usize)>,
    /// What is received from one socket; none until there is one.
    buffer: Box<[u8]>,
    ready: Vec<Ready>,
    unread: Unread,
    /// The last time seen.
    pub now_ns: u64,
    /// SessionNumbers that have not ended.
    running: usize,
    saw_start: bool,
    saw_stop: bool,
}

impl<'a, C: Clock, P: Poller> Worker<'a, C, P> {
    /// A thread with these sessions. `connects_max`: how many connections it may be making at the
    /// same time.
    pub fn new(
        (clock, poller): (&'a C, P),
        shared: &'a Shared,
        (scripts, move_out): (Box<dyn Scripts>, &'a MoveOut),
        (thread, slots): (usize, Vec<SessionSlot<'a>>),
        connects_max: usize,
    ) -> Self {
        Self {
            clock,
            poller,
            shared,
            metrics: shared.metrics(thread),
            scripts,
            move_out,
            turns: (0..slots.len() as u32).map(|slot| (slot, Outcome::Begin)).collect(),
            timers: Timers::default(),
            queue: ConnectQueue::new(connects_max, []),
            buffer: Box::default(),
            ready: Vec::with_capacity(slots.len()),
            unread: Unread::default(),
            now_ns: clock.now_ns(),
            running: slots.len(),
            saw_start: false,
            saw_stop: false,
            slots,
        }
    }

    /// Works until all sessions have ended, or are cut.
    ///
    /// # Errors
    /// [`Kind::System`] when the system refuses to poll.
    pub fn run(&mut self) -> Result<()> {
        while self.running > 0 {
            if self.shared.is_cut() {
                self.cut();
                break;
            }
            if !self.saw_start && self.shared.is_started() {
                self.start();
            }
            if !self.saw_stop && self.shared.pace.is_stopped() {
                self.stop();
            }
            self.connect_waiting();
            if self.queue.has_sockets() || self.turns.is_empty() {
                self.poll()?;
            } else {
                self.now_ns = self.clock.now_ns();
            }
            self.take_turns();
        }
        Ok(())
    }

    fn start(&mut self) {
        self.saw_start = true;
        self.give_turns(|slot| slot.waits == Waits::Start);
    }

    /// The run ends early: whoever waits for an event that is due later waits in vain.
    fn stop(&mut self) {
        self.saw_stop = true;
        self.give_turns(|slot| slot.waits == Waits::Until && slot.session.awaits_event());
    }

    fn give_turns(&mut self, which: impl Fn(&SessionSlot<'_>) -> bool) {
        for (index, slot) in self.slots.iter_mut().enumerate() {
            if which(slot) {
                slot.wait_for(Waits::Turn);
                self.turns.push_back((index as u32, Outcome::Come));
            }
        }
    }

    fn take_turns(&mut self) {
        for _ in 0..self.turns.len() {
            let Some((index, outcome)) = self.turns.pop_front() else { break };
            self.go_on(index, outcome);
        }
        for _ in 0..TIMERS_A_TURN {
            let Some(timer) = self.timers.take_due(self.now_ns) else { break };
            if self.slots[timer.slot as usize].wait == timer.era {
                self.on_timer(timer);
            }
        }
    }

    fn on_timer(&mut self, timer: Timer) {
        match timer.cause {
            Cause::Wake => self.go_on(timer.slot, Outcome::Come),
            Cause::ConnectTimeout => self.connect_timed_out(timer.slot),
            Cause::Answer | Cause::Deadline | Cause::Connect => {}
        }
    }

    fn poll(&mut self) -> Result<()> {
        let longest = if self.saw_start { WAIT_MAX_NS } else { START_WAIT_MAX_NS };
        let mut until_ns = self.now_ns;
        if self.turns.is_empty() {
            until_ns += longest;
            if let Some(first_ns) = self.timers.first_ns() {
                // What was done since then must not make the timer late.
                self.now_ns = self.clock.now_ns();
                until_ns = first_ns.min(self.now_ns + longest);
            }
        }
        let waited = self.poller.wait(self.now_ns, until_ns, &mut self.ready);
        let slept = waited.map_err(|error| {
            Error::new(Kind::System, format!("the system refuses to wait for sockets: {error}"))
        })?;
        self.now_ns = self.clock.now_ns();
        if let Some(metrics) = self.metrics {
            self.unread.polled(self.now_ns, slept, self.poller.worked_ns(self.now_ns));
            metrics.polls.add(1);
        }
        if self.ready.is_empty() {
            return Ok(());
        }
        if self.buffer.is_empty() {
            self.buffer = vec![0; RECEIVE_BYTES].into_boxed_slice();
        }
        // Taken out for the turn: what is received is read while sessions go on.
        let mut buffer = std::mem::take(&mut self.buffer);
        let ready = std::mem::take(&mut self.ready);
        for event in &ready {
            self.serve(*event, &mut buffer);
        }
        self.buffer = buffer;
        self.ready = ready;
        Ok(())
    }

    /// Lets the session run to its next wait.
    #[inline]
    pub fn go_on(&mut self, index: u32, outcome: Outcome) {
        self.unread.turn_of(index);
        let slot = &mut self.slots[index as usize];
        match self.scripts.resume(&mut slot.session, outcome) {
            Step::Wait(Wait::Answer(place)) => {
                slot.wait_for(Waits::Answer(place));
                self.send_request(index, place);
            }
            Step::Wait(wait) => self.wait(index, wait),
            Step::Ended => self.ended(index),
            Step::Moves => self.moves(index),
            Step::Failed(message) => {
                self.shared.failed(slot.session.number, message);
                self.ended(index);
            }
        }
    }

    fn wait(&mut self, index: u32, wait: Wait) {
        let slot = &mut self.slots[index as usize];
        match wait {
            Wait::Start => {
                slot.wait_for(Waits::Start);
                if !slot.has_arrived {
                    slot.has_arrived = true;
                    self.shared.session_arrived();
                }
                if self.saw_start {
                    self.turn_with(index, Outcome::Come);
                }
            }
            Wait::Until(at_ns) => {
                slot.wait_for(Waits::Until);
                let is_in_vain = self.saw_stop && slot.session.awaits_event();
                if at_ns <= self.now_ns || is_in_vain {
                    self.turn_with(index, Outcome::Come);
                } else {
                    self.add_timer(index, at_ns, Cause::Wake);
                }
            }
            Wait::Connect(place) => self.want_connection(index, place),
            Wait::Answer(place) => self.send_request(index, place),
        }
    }

    /// The session goes on when the others have had their turn.
    pub fn turn_with(&mut self, index: u32, outcome: Outcome) {
        self.slots[index as usize].wait_for(Waits::Turn);
        self.turns.push_back((index, outcome));
    }

    pub fn add_timer(&mut self, index: u32, at_ns: u64, cause: Cause) {
        let era = self.slots[index as usize].wait;
        self.timers.add(Timer { at_ns, slot: index, era, cause });
    }

    #[inline]
    fn send_request(&mut self, index: u32, place: usize) {
        match self.slots[index as usize].wired(place) {
            Some(wired) if wired.channel.stage == Stage::Up => self.send(index, place),
            Some(wired) => {
                let error = wired.lost.take();
                let error = error
                    .unwrap_or_else(|| Error::new(Kind::Connection, "the connection is not open"));
                self.turn_with(index, Outcome::Lost(error));
            }
            None => {
                let what = format!("there is no connection {place} to wait for");
                self.turn_with(index, Outcome::Lost(Error::new(Kind::Connection, what)));
            }
        }
    }

    /// Sends what is in the connection's output and, when the kernel takes only a part, waits for
    /// room.
    #[inline]
    pub fn send(&mut self, index: u32, place: usize) {
        let Some(wired) = self.slots[index as usize].wired(place) else { return };
        let Some(link) = &mut wired.channel.link else { return };
        if self.metrics.is_some() {
            wired.sent_ns = self.clock.now_ns();
        }
        let sent = link.send(&wired.channel.output);
        wired.channel.output.clear();
        wired.channel.patience.sent();
        self.count_calls(sent.as_ref().copied().unwrap_or(1));
        self.after_send(index, place, sent);
    }

    /// So many calls read from or wrote to a socket.
    #[inline]
    pub fn count_calls(&self, calls: u32) {
        if let Some(metrics) = self.metrics {
            metrics.syscalls.add(calls.into());
        }
    }

    /// The answer to what the session sent at `sent_ns` is read now.
    #[inline]
    pub fn count_lag(&self, index: u32, sent_ns: u64) {
        if let Some(metrics) = self.metrics {
            metrics.lag.record(self.unread.at_most_ns(index, sent_ns, self.clock.now_ns()));
        }
    }

    /// Whether the load has begun, as this thread knows.
    #[inline]
    pub fn is_started(&self) -> bool {
        self.saw_start
    }

    #[inline]
    pub fn after_send(&mut self, index: u32, place: usize, sent: io::Result<u32>) {
        let Some(wired) = self.slots[index as usize].wired(place) else { return };
        let Some(link) = &mut wired.channel.link else { return };
        if let Err(error) = sent {
            let error = link.lost(&error);
            wired.is_unsent = true;
            return self.connection_lost(index, place, error);
        }
        if link.has_unsent() != wired.channel.is_watched_for_writing {
            wired.channel.is_watched_for_writing = link.has_unsent();
            self.watch(index, place);
        }
    }

    /// Has the socket reported, also if it was before: it may have changed what it is watched for, or
    /// hold what was reported and not read.
    pub fn watch(&mut self, index: u32, place: usize) {
        let Some(wired) = self.slots[index as usize].wired(place) else { return };
        let Some(link) = &wired.channel.link else { return };
        let token = Token::new(index, place, wired.channel.era);
        let watched =
            self.poller.watch(link.fd(), token.0, wired.channel.is_watched_for_writing, true);
        if let Err(error) = watched {
            let error = Error::new(Kind::System, format!("cannot watch a socket: {error}"));
            self.connection_lost(index, place, error);
        }
    }

    fn ended(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        slot.session.leave_event();
        close_all(slot);
        slot.wait_for(Waits::Ended);
        self.running -= 1;
        self.shared.session_ended(self.clock.now_ns(), slot.has_arrived);
    }

    /// The session goes to a thread of its own. What it has counted here is written before that
    /// thread begins.
    fn moves(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        let (number, baggage) = (slot.session.number, slot.session.leave());
        close_all(slot);
        match (self.move_out)(number, baggage) {
            Ok(()) => {
                slot.wait_for(Waits::Ended);
                self.running -= 1;
            }
            Err(error) => {
                self.shared.failed(number, error.to_string());
                self.ended(index);
            }
        }
    }

    /// The end of patience: whatever is going on is cancelled at its server and left.
    fn cut(&mut self) {
        for slot in &mut self.slots {
            slot.session.cut(self.now_ns);
            if let Waits::Answer(place) = slot.waits
                && let Some(wired) = slot.wired(place)
                && wired.channel.is_up()
            {
                self.shared.cancel(wired.server, wired.client.cancel());
            }
            close_all(slot);
        }
    }

    /// Whether a session can have a connection of this number.
    pub fn can_have(place: usize) -> bool {
        place < CONNECTIONS_MAX
    }
}

fn close_all(slot: &mut SessionSlot<'_>) {
    for place in 0..slot.session.connections.len() {
        let in_flight = slot.waits == Waits::Answer(place);
        if let Some(wired) = slot.wired(place) {
            // A protocol takes no farewell while it owes an answer.
            if in_flight { wired.channel.close() } else { wired.quit() }
        }
    }
    slot.session.connections.clear();
}
