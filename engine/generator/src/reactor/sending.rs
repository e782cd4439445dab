//! The sending half of a worker's turn: what a session wants next, as bytes on its socket.

use super::session_slot::Line;
use super::timers::Cause;
use super::worker::Worker;
use crate::session::Step;
use crate::transport::poller::Poller;
use dyno_core::clock::Clock;
use dyno_core::driver::Reply;
use dyno_core::error::{Error, Kind};
use std::io;

impl<C: Clock, P: Poller> Worker<'_, C, P> {
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

    /// A session has one deadline timer, moved when it comes up: none is touched a transaction.
    #[inline]
    pub(crate) fn watch_deadline(&mut self, index: u32) {
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
}
