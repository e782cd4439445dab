//! Passing bytes on: steps of flows, turns on lines, ends of connections.

use super::Relay;
use super::timers::Due;
use crate::conditions::Direction;
use crate::queues::flow::{Around, End};
use crate::sockets::connection::Connection;
use crate::table::Key;
use dyno_core::clock::Clock;
use std::io::Write;

/// Reads of a flow before others have their turn.
const PIECES_MAX: usize = 8;

impl<W: Write> Relay<W> {
    /// Moves a flow on as far as it goes now.
    pub(super) fn advance(&mut self, key: Key, direction: Direction) {
        let Some(connection) = self.connections.get(key) else { return };
        let listener_key = connection.listener;
        let Some(listener) = self.listeners.get(listener_key) else { return };
        if !listener.lines[direction as usize].is_limited() {
            self.step(key, direction, PIECES_MAX);
            return;
        }
        self.step(key, direction, 0);
        self.enqueue(key, direction);
        self.take_turns(listener_key, direction);
    }

    /// Lets waiting flows read a piece each, until the line is busy.
    pub(super) fn take_turns(&mut self, listener_key: Key, direction: Direction) {
        let index = direction as usize;
        while let Some(listener) = self.listeners.get_mut(listener_key) {
            let now_ns = self.clock.now_ns();
            if !listener.lines[index].admits(now_ns) {
                let at_ns = listener.lines[index].admits_from_ns();
                if listener.line_timer_ns[index].is_none() && !listener.waiting[index].is_empty() {
                    listener.line_timer_ns[index] = Some(at_ns);
                    self.timers.add(at_ns, Due::Line(listener_key, direction));
                }
                return;
            }
            let Some(key) = listener.waiting[index].pop_front() else { return };
            if let Some(connection) = self.connections.get_mut(key) {
                connection.flows[index].is_waiting = false;
                self.step(key, direction, 1);
                self.enqueue(key, direction);
            }
        }
    }

    fn enqueue(&mut self, key: Key, direction: Direction) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        let Some(listener) = self.listeners.get_mut(connection.listener) else { return };
        let flow = &mut connection.flows[direction as usize];
        if flow.wants_bytes(self.clock.now_ns()) && !flow.is_waiting {
            flow.is_waiting = true;
            listener.waiting[direction as usize].push_back(key);
        }
    }

    fn step(&mut self, key: Key, direction: Direction, pieces: usize) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        let Some(listener) = self.listeners.get_mut(connection.listener) else { return };
        let mut around = Around {
            clock: &self.clock,
            way: &listener.conditions.ways[direction as usize],
            line: &mut listener.lines[direction as usize],
            scratch: &mut self.scratch,
        };
        match connection.step(direction, &mut around, pieces) {
            None => self.schedule(key, direction),
            Some(End::Finished) => {
                connection.finish(direction);
                if connection.is_over() {
                    self.close(key);
                }
            }
            Some(End::Reset) => self.reset(key),
            Some(End::Undeliverable) => {
                let back = direction.reverse();
                if connection.flows[back as usize].break_source() {
                    self.advance(key, back);
                } else {
                    self.reset(key);
                }
            }
        }
    }

    /// Sets the timer of a flow.
    fn schedule(&mut self, key: Key, direction: Direction) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        let Some(listener) = self.listeners.get(connection.listener) else { return };
        let now_ns = self.clock.now_ns();
        let flow = &mut connection.flows[direction as usize];
        let has_more = flow.wants_bytes(now_ns) && !listener.lines[direction as usize].is_limited();
        let next_ns = if has_more { Some(now_ns) } else { flow.next_ns() };
        let Some(at_ns) = next_ns else { return };
        if flow.timer_ns.is_none_or(|timer_ns| timer_ns > at_ns) {
            flow.timer_ns = Some(at_ns);
            self.timers.add(at_ns, Due::Flow(key, direction));
        }
    }

    /// Closes a connection in good order.
    fn close(&mut self, key: Key) {
        drop(self.leave(key));
    }

    /// Resets a connection.
    pub(super) fn reset(&mut self, key: Key) {
        if let Some(connection) = self.leave(key) {
            connection.reset();
        }
    }

    fn leave(&mut self, key: Key) -> Option<Connection> {
        let connection = self.connections.remove(key)?;
        if let Some(listener) = self.listeners.get_mut(connection.listener) {
            for (bytes, flow) in listener.ended_bytes.iter_mut().zip(&connection.flows) {
                *bytes += flow.read_bytes;
            }
        }
        Some(connection)
    }

    /// Open connections, of one listener or of all.
    pub(super) fn open_connections(&self, listener: Option<Key>) -> Vec<Key> {
        let connections = self.connections.iter();
        let of = connections.filter(|(_, one)| listener.is_none_or(|key| one.listener == key));
        of.map(|(key, _)| key).collect()
    }
}
