//! What the event loop asks of the sessions of scripts.

use super::session_slot::{At, Waits};
use super::worker::Worker;
use crate::session::Outcome;
use dyno_core::clock::Clock;
use dyno_core::driver::client::Client;
use dyno_core::error::{Error, Kind, Result};
use dyno_generator::reactor::load_thread::{Io, LoadThread, Speaker};
use dyno_generator::reactor::timers::{Cause, Timer};
use dyno_generator::reactor::turn::closing::Closing;
use dyno_generator::reactor::turn::connecting::{Connecting, login_timed_out};
use dyno_generator::transport::channel::Channel;
use dyno_generator::transport::endpoint::Endpoint;
use dyno_generator::transport::poller::Poller;

impl<'a, C: Clock, P: Poller> LoadThread<'a> for Worker<'a, C, P> {
    type Clock = C;
    type Poller = P;
    type Protocol = dyn Client;

    #[inline]
    fn io(&mut self) -> &mut Io<'a, C, P> {
        &mut self.io
    }

    #[inline]
    fn channel(&mut self, at: u32) -> Option<(&mut Io<'a, C, P>, &mut Channel)> {
        let at = At(at);
        let wired = self.slots[at.slot() as usize].wired(at.place())?;
        Some((&mut self.io, &mut wired.channel))
    }

    #[inline]
    fn speaker(&mut self, at: u32) -> Option<Speaker<'_, 'a, Self>> {
        let at = At(at);
        let wired = self.slots[at.slot() as usize].wired(at.place())?;
        Some((&mut self.io, &mut wired.channel, &mut *wired.client))
    }

    fn endpoint(&self, at: u32) -> Option<&'a Endpoint> {
        let at = At(at);
        let server = self.slots[at.slot() as usize].server(at.place())?;
        self.shared.servers.get(server)?.endpoint.as_ref()
    }

    fn begin_turn(&mut self) -> bool {
        if self.running == 0 || self.shared.is_cut() {
            return false;
        }
        if !self.saw_start && self.shared.is_started() {
            self.start();
        }
        if !self.saw_stop && self.shared.pace.is_stopped() {
            self.stop();
        }
        self.connect_waiting();
        if !self.turns.is_empty() || self.io.timers.first_ns().is_some() {
            // What was done since the last turn must not make a timer late.
            self.io.now_ns = self.io.clock.now_ns();
        }
        true
    }

    fn has_begun(&self) -> bool {
        self.saw_start
    }

    fn has_turns(&self) -> bool {
        !self.turns.is_empty()
    }

    fn take_turns(&mut self) {
        for _ in 0..self.turns.len() {
            let Some((index, outcome)) = self.turns.pop_front() else { break };
            self.go_on(index, outcome);
        }
    }

    fn on_timer(&mut self, timer: Timer) {
        if self.slots[timer.slot as usize].wait == timer.era {
            match timer.cause {
                Cause::Wake => self.go_on(timer.slot, Outcome::Come),
                Cause::ConnectTimeout => {
                    if let Waits::Connect(place) = self.slots[timer.slot as usize].waits {
                        self.connection_lost(At::new(timer.slot, place).0, login_timed_out());
                    }
                }
                Cause::Answer | Cause::Deadline | Cause::Connect => {}
            }
        }
    }

    fn finish(&mut self) {
        if self.running > 0 {
            self.cut();
        }
    }

    fn open(&mut self, at: u32) -> Result<()> {
        let at = At(at);
        self.io.now_ns = self.io.clock.now_ns();
        let slot = &mut self.slots[at.slot() as usize];
        slot.eras = slot.eras.wrapping_add(1);
        let era = slot.eras;
        if let Some(wired) = slot.wired(at.place()) {
            wired.channel.era = era;
            wired.lost = None;
            wired.is_unsent = false;
        }
        self.open_link(at.0, self.io.now_ns)
    }

    fn add_connect_timeout(&mut self, at: u32, at_ns: u64) {
        self.add_timer(At(at).slot(), at_ns, Cause::ConnectTimeout);
    }

    fn not_connected(&mut self, at: u32, error: Error) {
        self.turn_with(At(at).slot(), Outcome::Lost(error));
    }

    fn logged_in(&mut self, at: u32) {
        let at = At(at);
        let wired = self.slots[at.slot() as usize].wired(at.place());
        if let Some(server) = wired.map(|wired| wired.server) {
            self.shared.reach(server);
        }
        self.go_on(at.slot(), Outcome::Come);
    }

    #[inline]
    fn come(&mut self, at: u32, stamp_ns: u64) {
        let at = At(at);
        if self.saw_start
            && let Some(wired) = self.slots[at.slot() as usize].wired(at.place())
        {
            self.io.count_lag(at.slot(), wired.sent_ns, stamp_ns);
        }
    }

    #[inline]
    fn heard(&mut self, at: u32, bytes: usize) -> Result<()> {
        match self.speaker(at) {
            Some((io, channel, client)) => channel.heard(client, io.now_ns, bytes),
            None => Ok(()),
        }
    }

    #[inline]
    fn answered(&mut self, at: u32, (): (), _stamp_ns: u64) {
        let place = At(at).place();
        if self.slots[At(at).slot() as usize].waits == Waits::Answer(place) {
            return self.go_on(At(at).slot(), Outcome::Come);
        }
        let error = self.out_of_turn(at);
        self.connection_lost(at, error);
    }

    fn out_of_turn(&mut self, at: u32) -> Error {
        let at = At(at);
        let wired = self.slots[at.slot() as usize].wired(at.place());
        let answers = wired.map(|wired| wired.client.answers());
        let refused = answers.and_then(|answers| answers.last()?.error.as_ref());
        match refused {
            Some(refused) => Error::new(Kind::Connection, refused.message.clone()),
            None => Error::new(Kind::Protocol, "the server answered without being asked")
                .hint("is this really the kind of server that the driver is for?"),
        }
    }

    fn not_sent(&mut self, at: u32) {
        if let Some(wired) = self.slots[At(at).slot() as usize].wired(At(at).place()) {
            wired.is_unsent = true;
        }
    }

    fn lost(&mut self, at: u32, error: Error) {
        let at = At(at);
        let is_unix = self.endpoint(at.0).is_some_and(|endpoint| endpoint.is_unix());
        let slot = &mut self.slots[at.slot() as usize];
        let is_awaited = slot.waits == Waits::Answer(at.place());
        let Some(wired) = slot.wired(at.place()) else { return };
        wired.channel.close();
        if is_awaited {
            self.turn_with(at.slot(), Outcome::Lost(error));
        } else {
            wired.lost = Some(error);
            wired.is_unsent = is_unix;
        }
    }
}
