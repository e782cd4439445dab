//! A load thread that drives many sessions: one poll loop, no runtime.
//!
//! A turn of the loop: wait; receive from *all* ready sockets into one arena, with a time stamp
//! after each; only then look at the answers, record them, and send the next requests. So an answer
//! never waits for the handling of another of its batch before it is stamped. What it may have waited
//! all the same (*lag*: for the batch before, and for its stamp) is measured beside the latency.
//!
//! In the steady state a statement costs one `recv`, one `send` and its share of a poll, and no
//! allocation.

use crate::connecting::Queue;
use crate::control::{Control, Lane};
use crate::notice::{Notice, Notices};
use crate::poller::{Poller, Ready};
use crate::receiving::{ARENA, Received, SLOT};
use crate::recorder::Recorder;
use crate::seat::{Line, Seat, Stage};
use crate::session::{Books, Step};
use crate::timers::{Cause, Timer, Timers};
use crate::unread::Unread;
use dyno_core::clock::Clock;
use dyno_core::driver::Reply;
use dyno_core::error::{Error, Kind, Result};
use std::collections::VecDeque;
use std::io;

/// Longest wait: bounds how late a worker notices the end.
const WAIT_MAX_NS: u64 = 20_000_000;
/// Longest wait before the load begins: bounds how late it begins.
const START_WAIT_MAX_NS: u64 = 1_000_000;
/// How long before an arrival is due a worker stops sleeping and looks for sockets without a pause
/// until then: waking up takes a virtual machine's CPU 20 to 60 us. See [`Worker::spins`].
const SPIN_NS: u64 = 50_000;
/// Timers carried out before sockets are looked at again: a burst of arrivals must not keep answers
/// from being stamped.
const TIMERS_A_TURN: usize = 64;
/// At the end, statements older than this are cancelled at the server: closing alone might leave
/// them running.
const CANCEL_AGE_NS: u64 = 1_000_000_000;

/// One load thread and its sessions.
pub struct Worker<'a, C, P> {
    pub(crate) clock: &'a C,
    pub(crate) poller: P,
    pub(crate) control: &'a Control,
    pub(crate) lanes: &'a [Lane<'a>],
    pub(crate) recorder: &'a Recorder,
    pub(crate) notices: &'a Notices,
    pub(crate) seats: Vec<Seat>,
    pub(crate) timers: Timers,
    pub(crate) queue: Queue,
    /// Seats whose timed answer is due at once.
    instant: VecDeque<u32>,
    arena: Box<[u8]>,
    pub(crate) received: Vec<Received>,
    ready: Vec<Ready>,
    pub(crate) unread: Unread,
    /// Bytes to send, built here and sent at once.
    pub(crate) out: Vec<u8>,
    pub(crate) plain: Vec<u8>,
    /// Where the rest of an answer goes that fills its slot.
    pub(crate) spill: Vec<u8>,
    /// The last time seen: good enough for the length of a wait, and saves a read of the clock.
    pub(crate) now_ns: u64,
    pub(crate) origin_ns: Option<u64>,
    measure_ns: u64,
    open: Vec<OpenGroup>,
    spins: bool,
    /// Whether the last turn looked in vain: then nothing was done since `now_ns`.
    was_in_vain: bool,
}

/// A group of this worker with an intake.
struct OpenGroup {
    group: usize,
    /// How many arrivals had been given back when its sessions were last looked through.
    given_back: u64,
}

impl<'a, C: Clock, P: Poller> Worker<'a, C, P> {
    /// A worker for these seats (group, number), none connected yet. `connects_max`: how many it
    /// may be connecting at the same time.
    #[expect(
        clippy::too_many_arguments,
        reason = "one call; a struct would only repeat the fields"
    )]
    pub fn new(
        clock: &'a C,
        poller: P,
        control: &'a Control,
        lanes: &'a [Lane<'a>],
        recorder: &'a Recorder,
        notices: &'a Notices,
        seats: &[(usize, u32)],
        connects_max: usize,
    ) -> Self {
        let mut groups: Vec<usize> = seats.iter().map(|seat| seat.0).collect();
        groups.dedup();
        groups.sort_unstable();
        groups.dedup();
        let open = groups.into_iter().filter(|&group| lanes[group].shape.intake.is_some());
        Self {
            clock,
            poller,
            control,
            lanes,
            recorder,
            notices,
            seats: seats.iter().map(|&(group, number)| Seat::new(group, number)).collect(),
            timers: Timers::default(),
            queue: Queue::new(connects_max, seats.len() as u32),
            instant: VecDeque::new(),
            arena: vec![0; ARENA].into_boxed_slice(),
            received: Vec::with_capacity(seats.len()),
            ready: Vec::with_capacity(seats.len()),
            unread: Unread::default(),
            out: Vec::with_capacity(SLOT),
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
        let is_paced = |seat: &Seat| {
            self.lanes[seat.group].shape.playback.is_some_and(|play| play.recording.is_paced())
        };
        self.spins = has_own_cpu && (!self.open.is_empty() || self.seats.iter().any(is_paced));
        self
    }

    /// Works until told to stop.
    ///
    /// # Errors
    /// [`Kind::System`] when the system refuses to poll.
    pub fn run(&mut self) -> Result<()> {
        while !self.control.is_stopped() {
            self.connect_waiting();
            if self.origin_ns.is_none() {
                self.begin_if_told();
            }
            self.turn()?;
        }
        self.finish();
        Ok(())
    }

    /// Begins the load once all threads' sessions are connected.
    fn begin_if_told(&mut self) {
        let Some((origin_ns, measure_ns)) = self.control.origin() else { return };
        self.origin_ns = Some(origin_ns);
        self.measure_ns = measure_ns;
        for seat in 0..self.seats.len() as u32 {
            if self.seats[seat as usize].stage == Stage::Up {
                self.begin(seat);
            } else if self.seats[seat as usize].is_spared {
                self.await_opening(seat);
            } else {
                self.count_as_lost(seat, origin_ns);
            }
        }
    }

    /// The session, connected, starts or goes on.
    pub(crate) fn begin(&mut self, index: u32) {
        if self.origin_ns.is_none() {
            return;
        }
        let now_ns = self.clock.now_ns();
        let books = self.books(self.seats[index as usize].group);
        let seat = &mut self.seats[index as usize];
        seat.has_begun = true;
        let step = seat.session.begin(now_ns, books, &self.lanes[seat.group].shape);
        self.perform(index, step);
    }

    /// Arrivals that were given back go to sessions that wait for later ones, the last one's first.
    fn pass_on_given_back(&mut self) {
        for place in 0..self.open.len() {
            let OpenGroup { group, given_back } = self.open[place];
            let shape = &self.lanes[group].shape;
            let Some(intake) = shape.intake else { continue };
            if intake.given_back() == given_back {
                continue;
            }
            self.open[place].given_back = intake.given_back();
            let seats = self.seats.iter().enumerate();
            let awaits = |(index, seat): (usize, &Seat)| {
                (seat.group == group).then_some((seat.session.awaits()?, index as u32))
            };
            let mut waiting: Vec<(u64, u32)> = seats.filter_map(awaits).collect();
            waiting.sort_unstable();
            while let Some((held, index)) = waiting.pop()
                && intake.has_before(held)
            {
                let now_ns = self.clock.now_ns();
                let books = self.books(group);
                let step = self.seats[index as usize].session.reconsider(now_ns, books, shape);
                self.perform(index, step);
            }
        }
    }

    fn turn(&mut self) -> Result<()> {
        self.pass_on_given_back();
        // Timed sessions alone need no poll while answers are due at once.
        if self.instant.is_empty() || self.queue.has_sockets() {
            self.poll()?;
        }
        for _ in 0..self.instant.len() {
            if let Some(seat) = self.instant.pop_front() {
                self.timed_answer(seat);
            }
        }
        for _ in 0..TIMERS_A_TURN {
            let Some(timer) = self.timers.take_due(self.now_ns) else { break };
            if self.seats[timer.seat as usize].era == timer.era {
                self.on_timer(timer);
            }
        }
        Ok(())
    }

    fn poll(&mut self) -> Result<()> {
        let longest = if self.origin_ns.is_some() { WAIT_MAX_NS } else { START_WAIT_MAX_NS };
        let begun_ns = self.now_ns;
        let mut until_ns = if self.instant.is_empty() {
            self.timers.first_ns().unwrap_or(u64::MAX).min(begun_ns + longest)
        } else {
            begun_ns
        };
        let mut is_spin = false;
        if self.spins && until_ns > begun_ns {
            until_ns = until_ns.saturating_sub(SPIN_NS).max(begun_ns);
            is_spin = until_ns == begun_ns;
        }
        let waited = self.poller.wait(self.now_ns, until_ns, &mut self.ready);
        let slept = waited.map_err(|error| {
            Error::new(Kind::System, format!("the system refuses to wait for sockets: {error}"))
        })?;
        let polled_ns = self.clock.now_ns();
        self.now_ns = polled_ns;
        self.unread.polled(polled_ns, slept, self.poller.worked_ns(polled_ns));
        self.recorder.polls.add(1);
        let is_in_vain = is_spin && self.ready.is_empty();
        if is_in_vain && self.was_in_vain {
            self.recorder.spun_ns.add(polled_ns.saturating_sub(begun_ns));
        }
        self.was_in_vain = is_in_vain;
        // Taken out for the turn: what is received is read while the worker sends.
        let mut arena = std::mem::take(&mut self.arena);
        let ready = std::mem::take(&mut self.ready);
        let mut used = 0;
        for event in &ready {
            if arena.len() - used < SLOT {
                self.handle_received(&mut arena);
                used = 0;
            }
            used += self.receive(*event, &mut arena[used..used + SLOT], used);
        }
        self.handle_received(&mut arena);
        self.arena = arena;
        self.ready = ready;
        Ok(())
    }

    pub(crate) fn books(&self, group: usize) -> Books<'a> {
        Books { group, recorder: &self.recorder.groups[group], notices: self.notices }
    }

    #[inline]
    pub(crate) fn answered(&mut self, index: u32, reply: Reply, stamp_ns: u64) {
        let books = self.books(self.seats[index as usize].group);
        let seat = &mut self.seats[index as usize];
        if !seat.session.is_in_flight() {
            let error = Error::new(Kind::Protocol, "the server answered without being asked");
            return self.connection_lost(index, Some(error));
        }
        let step = seat.session.answered(stamp_ns, reply, books, &self.lanes[seat.group].shape);
        self.perform(index, step);
    }

    /// Carries out what the session wants.
    pub(crate) fn perform(&mut self, index: u32, step: Step) {
        match step {
            Step::Send => self.send_request(index),
            Step::Rollback => self.send_rollback(index),
            Step::Wait(at_ns) => self.add_timer(index, at_ns, Cause::Wake),
            Step::Say(words) => self.say(index, &words),
            Step::Rest => {}
            Step::Leave => self.leave_server(index),
            Step::Reconnect(cause) => {
                self.connection_lost(index, Some(Error::new(Kind::Server, cause)));
            }
        }
    }

    fn send_request(&mut self, index: u32) {
        let seat = &mut self.seats[index as usize];
        let open = &self.recorder.groups[seat.group].open;
        match &mut seat.line {
            Line::Wire(wire, link) => {
                self.out.clear();
                let (op, transaction) = seat.session.op();
                wire.request(op, transaction, &mut self.out);
                // The stamp is the last thing before the bytes leave.
                self.now_ns = self.clock.now_ns();
                seat.session.sent(self.now_ns, open);
                let sent = link.send(&self.out);
                self.after_send(index, sent);
            }
            Line::Timed(timed, owed) => {
                self.now_ns = self.clock.now_ns();
                let t_s = (self.now_ns as f64 - self.measure_ns as f64) / 1e9;
                let (op, transaction) = seat.session.op();
                let (delay, reply) = timed.execute(op, transaction, t_s);
                seat.session.sent(self.now_ns, open);
                *owed = Some(reply);
                match delay.as_nanos() as u64 {
                    0 => self.instant.push_back(index),
                    delay_ns => self.add_timer(index, self.now_ns + delay_ns, Cause::Answer),
                }
            }
            Line::None => return,
        }
        self.watch_deadline(index);
    }

    fn send_rollback(&mut self, index: u32) {
        self.say(index, "ROLLBACK");
    }

    /// Sends text that is no statement of the group.
    fn say(&mut self, index: u32, words: &str) {
        let seat = &mut self.seats[index as usize];
        self.now_ns = self.clock.now_ns();
        seat.session.sent(self.now_ns, &self.recorder.groups[seat.group].open);
        match &mut seat.line {
            Line::Wire(wire, _) => {
                self.out.clear();
                wire.query(words, &mut self.out);
                self.send_out(index);
            }
            Line::Timed(_, owed) => {
                *owed = Some(Reply::default());
                self.instant.push_back(index);
            }
            Line::None => return,
        }
        self.watch_deadline(index);
    }

    /// Sends what was built in `out`.
    pub(crate) fn send_out(&mut self, index: u32) {
        if let Line::Wire(_, link) = &mut self.seats[index as usize].line {
            let sent = link.send(&self.out);
            self.after_send(index, sent);
        }
    }

    /// Counts a send and, when the kernel took only a part, waits for room.
    #[inline]
    pub(crate) fn after_send(&mut self, index: u32, sent: io::Result<u32>) {
        match sent {
            Ok(calls) => self.recorder.syscalls.add(u64::from(calls)),
            Err(error) => {
                return self.stream_broke(index, &error);
            }
        }
        let seat = &mut self.seats[index as usize];
        let Line::Wire(_, link) = &seat.line else { return };
        if link.has_unsent() != seat.is_watched_for_writing {
            seat.is_watched_for_writing = link.has_unsent();
            let (fd, writing) = (link.fd(), seat.is_watched_for_writing);
            if let Err(error) = self.poller.watch(fd, seat.token(index), writing, true) {
                self.not_watched(index, &error);
            }
        }
    }

    pub(crate) fn not_watched(&mut self, index: u32, error: &io::Error) {
        let error = Error::new(Kind::System, format!("cannot watch a socket: {error}"));
        self.connection_lost(index, Some(error));
    }

    pub(crate) fn add_timer(&mut self, index: u32, at_ns: u64, cause: Cause) {
        let era = self.seats[index as usize].era;
        self.timers.add(Timer { at_ns, seat: index, era, cause });
    }

    /// A session has one deadline timer, moved when it comes up: none is touched a transaction.
    #[inline]
    fn watch_deadline(&mut self, index: u32) {
        let seat = &mut self.seats[index as usize];
        if seat.has_deadline_timer {
            return;
        }
        if let Some(since_ns) = seat.session.under_way_since_ns() {
            seat.has_deadline_timer = true;
            let at_ns = since_ns + self.lanes[seat.group].shape.deadline_ns;
            self.add_timer(index, at_ns, Cause::Deadline);
        }
    }

    fn on_timer(&mut self, timer: Timer) {
        let index = timer.seat;
        self.unread.turn_of(index);
        match timer.cause {
            Cause::Wake => self.on_wake(index),
            Cause::Answer => self.timed_answer(index),
            Cause::Deadline => self.on_deadline(index),
            Cause::Connect => self.queue.push(index),
            Cause::ConnectTimeout => self.connect_timed_out(index),
        }
    }

    fn on_wake(&mut self, index: u32) {
        let books = self.books(self.seats[index as usize].group);
        let seat = &mut self.seats[index as usize];
        if !seat.session.is_due(self.now_ns) {
            return;
        }
        let step = seat.session.woken(self.now_ns, books, &self.lanes[seat.group].shape);
        self.perform(index, step);
    }

    fn timed_answer(&mut self, index: u32) {
        self.unread.turn_of(index);
        if let Line::Timed(_, owed) = &mut self.seats[index as usize].line
            && let Some(reply) = owed.take()
        {
            self.now_ns = self.clock.now_ns();
            self.answered(index, reply, self.now_ns);
        }
    }

    fn on_deadline(&mut self, index: u32) {
        let now_ns = self.now_ns;
        let books = self.books(self.seats[index as usize].group);
        let seat = &mut self.seats[index as usize];
        let shape = &self.lanes[seat.group].shape;
        seat.has_deadline_timer = false;
        if seat.session.expire(now_ns, books, shape) {
            if let Line::Wire(wire, _) = &seat.line {
                self.control.cancel(seat.group, seat.session.server(), wire.cancel());
            }
            self.close_and_connect(index);
        } else if seat.session.is_in_flight() {
            self.watch_deadline(index);
        }
    }

    /// The end: says farewell, and what was still going on.
    fn finish(&mut self) {
        let now_ns = self.clock.now_ns();
        for seat in &mut self.seats {
            let recorder = &self.recorder.groups[seat.group];
            if let Some(down) = seat.down.take() {
                self.notices.tell(Notice::Outage {
                    group: seat.group,
                    session: seat.session.number(),
                    start_ns: down.since_ns,
                    end_ns: None,
                    cause: down.cause,
                });
            }
            let age_ns =
                seat.session.under_way_since_ns().map_or(0, |at| now_ns.saturating_sub(at));
            recorder.in_flight_oldest_ns.raise(age_ns);
            let server = seat.session.server();
            seat.session.leave(&self.lanes[seat.group].shape);
            if let Line::Wire(wire, link) = &mut seat.line {
                if age_ns > CANCEL_AGE_NS {
                    self.control.cancel(seat.group, server, wire.cancel());
                }
                self.out.clear();
                if seat.stage == Stage::Up {
                    wire.quit(&mut self.out);
                }
                // Nobody waits for an answer; a peer that is gone is no error any more.
                let _ = link.send(&self.out);
            }
            seat.close();
        }
    }
}
