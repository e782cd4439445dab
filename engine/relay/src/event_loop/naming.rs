//! Connections that wait for the address of their server's name.

use super::timers::Due;
use super::{Relay, Token};
use crate::names::resolver::Outcome;
use crate::table::Key;
use dyno_core::clock::Clock;
use dyno_generator::transport::poller::Poller;
use std::io::{self, Write};

impl<W: Write> Relay<W> {
    /// Has a connection wait for the address, which is asked for unless it is already.
    pub(super) fn look_up(&mut self, connection: Key) {
        let Some(key) = self.connections.get(connection).map(|one| one.listener) else { return };
        let Some(listener) = self.listeners.get_mut(key) else { return };
        listener.resolver.parked.push(connection);
        if !listener.resolver.is_asking() && self.ask(key).is_err() {
            self.forget_name(key);
        }
    }

    fn ask(&mut self, key: Key) -> io::Result<()> {
        let now_ns = self.clock.now_ns();
        let Some(listener) = self.listeners.get_mut(key) else { return Ok(()) };
        let Some(resolve) = &listener.conditions.resolve else { return Ok(()) };
        let fd = listener.resolver.ask(resolve, now_ns)?;
        self.epoll.watch(fd, Token::Answer(key).to_u64(), false, false)?;
        self.limit_patience(key);
        Ok(())
    }

    /// Sets the timer of a listener's question. There is one at most, however many questions are asked.
    fn limit_patience(&mut self, key: Key) {
        let Some(listener) = self.listeners.get_mut(key) else { return };
        let Some(at_ns) = listener.resolver.patient_until_ns() else { return };
        if !std::mem::replace(&mut listener.resolver.has_timer, true) {
            self.timers.add(at_ns, Due::Answer(key));
        }
    }

    /// Reads the answer of a listener's name server.
    pub(super) fn receive_answer(&mut self, key: Key) {
        let now_ns = self.clock.now_ns();
        let Some(listener) = self.listeners.get_mut(key) else { return };
        let Some(resolve) = &listener.conditions.resolve else { return };
        match listener.resolver.receive(resolve, now_ns) {
            Outcome::Waiting => {}
            Outcome::Unknown => self.give_up(key),
            Outcome::Known => self.go_on(key, now_ns),
        }
    }

    /// Asks once more, if no answer has come.
    pub(super) fn repeat_question(&mut self, key: Key) {
        let now_ns = self.clock.now_ns();
        let Some(listener) = self.listeners.get_mut(key) else { return };
        listener.resolver.has_timer = false;
        if listener.resolver.repeat(now_ns) == Outcome::Unknown {
            self.give_up(key);
        }
        self.limit_patience(key);
    }

    /// Resets a connection whose server has not answered by now. A machine that is gone refuses nothing: the
    /// client's own machine says that there is no route to it.
    pub(super) fn lose_patience(&mut self, key: Key) {
        if self.connections.get(key).is_some_and(|connection| !connection.is_connected()) {
            self.reset(key);
        }
    }

    /// Forgets the address of a listener, which is another one now or cannot be asked for.
    pub(super) fn forget_name(&mut self, key: Key) {
        let Some(listener) = self.listeners.get_mut(key) else { return };
        listener.resolver.forget();
        self.give_up(key);
    }

    /// Connects those who waited to the address that holds now.
    fn go_on(&mut self, key: Key, now_ns: u64) {
        let Some(listener) = self.listeners.get_mut(key) else { return };
        let Some(to) = listener.address(now_ns) else { return };
        for connection in std::mem::take(&mut listener.resolver.parked) {
            self.connect_to(connection, to);
        }
    }

    /// Resets those who wait.
    fn give_up(&mut self, key: Key) {
        let Some(listener) = self.listeners.get_mut(key) else { return };
        for connection in std::mem::take(&mut listener.resolver.parked) {
            self.reset(connection);
        }
    }
}
