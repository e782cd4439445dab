//! A load thread that runs sessions of scripts. For each ready socket, it receives, lets the protocol
//! parse the bytes, resumes the session whose answer arrived, and sends its next request at once. The
//! latency of an event includes the wait for its session's turn, as a thread per session would have
//! waited for a CPU: so latencies add up to the sessions' time.

use super::session_slot::{At, CONNECTIONS_MAX, SessionSlot, Waits};
use super::shared::Shared;
use crate::session::{Baggage, Outcome, Scripts, Step, Wait};
use dyno_core::clock::Clock;
use dyno_core::error::{Error, Kind, Result};
use dyno_generator::reactor::event_loop::Turns;
use dyno_generator::reactor::load_thread::Io;
use dyno_generator::reactor::timers::{Cause, Timer};
use dyno_generator::reactor::turn::receive_buffer::RECEIVE_BYTES;
use dyno_generator::reactor::turn::sending::Sending;
use dyno_generator::transport::poller::Poller;
use std::collections::VecDeque;

/// Starts a separate thread for the session of this number.
pub(crate) type MoveOut = dyn Fn(u32, Baggage) -> Result<()>;

/// One load thread and its sessions. Connections are named by [`At`].
pub(crate) struct Worker<'a, C, P> {
    pub io: Io<'a, C, P>,
    pub shared: &'a Shared,
    scripts: Box<dyn Scripts>,
    move_out: &'a MoveOut,
    pub slots: Vec<SessionSlot<'a>>,
    /// Sessions that are ready to continue, each after all others have had their turn.
    pub turns: VecDeque<(u32, Outcome)>,
    /// Sessions that have not ended.
    pub running: usize,
    pub saw_start: bool,
    pub saw_stop: bool,
}

impl<'a, C: Clock, P: Poller> Worker<'a, C, P> {
    /// Creates a thread with these sessions. `connects_max`: the maximum number of connections that
    /// it opens at the same time.
    pub fn new(
        (clock, poller): (&'a C, P),
        shared: &'a Shared,
        (scripts, move_out): (Box<dyn Scripts>, &'a MoveOut),
        (thread, slots): (usize, Vec<SessionSlot<'a>>),
        connects_max: usize,
    ) -> Self {
        // Room for one read: received bytes are processed at once.
        let metrics = shared.metrics(thread);
        Self {
            io: Io::new((clock, poller), metrics, slots.len(), connects_max, RECEIVE_BYTES),
            shared,
            scripts,
            move_out,
            turns: (0..slots.len() as u32).map(|slot| (slot, Outcome::Begin)).collect(),
            running: slots.len(),
            saw_start: false,
            saw_stop: false,
            slots,
        }
    }

    /// Runs until all sessions have ended or been cut.
    ///
    /// # Errors
    /// [`Kind::System`] when the system refuses to poll.
    pub fn run(&mut self) -> Result<()> {
        Turns::run(self)
    }

    pub fn start(&mut self) {
        self.saw_start = true;
        self.give_turns(|slot| slot.waits == Waits::Start);
    }

    /// The run ends early: sessions stop waiting for events that are due later.
    pub fn stop(&mut self) {
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

    /// Runs the session until its next wait.
    #[inline]
    pub fn go_on(&mut self, index: u32, outcome: Outcome) {
        self.io.unread.turn_of(index);
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
                if at_ns <= self.io.now_ns || is_in_vain {
                    self.turn_with(index, Outcome::Come);
                } else {
                    self.add_timer(index, at_ns, Cause::Wake);
                }
            }
            Wait::Connect(place) => self.want_connection(index, place),
            Wait::Answer(place) => self.send_request(index, place),
        }
    }

    /// The session waits until its connection `place` is opened or reopened.
    pub fn want_connection(&mut self, index: u32, place: usize) {
        let slot = &mut self.slots[index as usize];
        slot.wait_for(Waits::Connect(place));
        match slot.wired(place) {
            Some(wired) if place < CONNECTIONS_MAX => {
                wired.quit();
                wired.channel.address = 0;
                self.io.queue.push(At::new(index, place).0);
            }
            _ => {
                let error = Error::new(Kind::Plan, "a session has too many connections")
                    .hint("close those that are not needed any more");
                self.turn_with(index, Outcome::Lost(error));
            }
        }
    }

    /// The session continues after the others have had their turn.
    pub fn turn_with(&mut self, index: u32, outcome: Outcome) {
        self.slots[index as usize].wait_for(Waits::Turn);
        self.turns.push_back((index, outcome));
    }

    pub fn add_timer(&mut self, index: u32, at_ns: u64, cause: Cause) {
        let era = self.slots[index as usize].wait;
        self.io.timers.add(Timer { at_ns, slot: index, era, cause });
    }

    #[inline]
    fn send_request(&mut self, index: u32, place: usize) {
        let error = match self.slots[index as usize].wired(place) {
            Some(wired) if wired.channel.is_up() => {
                if self.io.metrics.is_some() {
                    wired.sent_ns = self.io.clock.now_ns();
                }
                return self.send_output(At::new(index, place).0);
            }
            Some(wired) => wired
                .lost
                .take()
                .unwrap_or_else(|| Error::new(Kind::Connection, "the connection is not open")),
            None => {
                let what = format!("there is no connection {place} to wait for");
                Error::new(Kind::Connection, what)
            }
        };
        self.turn_with(index, Outcome::Lost(error));
    }

    fn ended(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        slot.session.leave_event();
        close_all(slot);
        slot.wait_for(Waits::Ended);
        self.running -= 1;
        self.shared.session_ended(self.io.clock.now_ns(), slot.has_arrived);
    }

    /// Moves the session to a thread of its own. Its counts in this thread are flushed before that
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

    /// The grace period has ended: requests in progress are cancelled at their servers and abandoned.
    pub fn cut(&mut self) {
        for slot in &mut self.slots {
            slot.session.cut(self.io.now_ns);
            if let Waits::Answer(place) = slot.waits
                && let Some(wired) = slot.wired(place)
                && wired.channel.is_up()
            {
                self.shared.cancel(wired.server, wired.client.cancel());
            }
            close_all(slot);
        }
    }
}

fn close_all(slot: &mut SessionSlot<'_>) {
    for place in 0..slot.session.connections.len() {
        let in_flight = slot.waits == Waits::Answer(place);
        if let Some(wired) = slot.wired(place) {
            // A protocol sends no goodbye while an answer is outstanding.
            if in_flight { wired.channel.close() } else { wired.quit() }
        }
    }
    slot.session.connections.clear();
}
