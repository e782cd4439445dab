//! Carrying out commands.

use super::Relay;
use crate::conditions::{Change, Conditions, Direction, Way};
use crate::control::{Command, Done, Failed, Figures, parse};
use crate::sockets::listener::Listener;
use crate::table::Key;
use dyno_core::clock::Clock;
use dyno_generator::machine;
use std::io::Write;
use std::net::Ipv4Addr;

impl<W: Write> Relay<W> {
    /// Carries out a line.
    ///
    /// # Errors
    /// What is wrong with it, or what the system refused.
    pub(super) fn carry_out(&mut self, line: &[u8]) -> Result<Done, Failed> {
        parse(line).and_then(|command| self.command(command)).map_err(|error| Failed { error })
    }

    fn command(&mut self, command: Command) -> Result<Done, String> {
        match command {
            Command::Listen { name, link, port, ip } => self.listen(&name, &link, ip, port),
            Command::Change { name, link, reset } => {
                let key = self.key(&name)?;
                self.change(key, &link)?;
                if reset {
                    self.reset_all(key);
                }
                self.done(key)
            }
            Command::Reset { name } => {
                let key = self.key(&name)?;
                self.reset_all(key);
                self.done(key)
            }
            Command::Close { name } => {
                let key = self.key(&name)?;
                self.reset_all(key);
                let done = self.done(key);
                self.listeners.remove(key);
                done
            }
            Command::Status { name } => self.key(&name).and_then(|key| self.done(key)),
        }
    }

    fn listen(
        &mut self,
        name: &str,
        link: &Change,
        ip: Ipv4Addr,
        port: u16,
    ) -> Result<Done, String> {
        if self.key(name).is_ok() {
            return Err(format!("there is a listener {name} already: change or close it"));
        }
        if !ip.is_loopback() {
            return Err(format!("ip: {ip} is no address of loopback"));
        }
        let to = link.to.ok_or("listen needs link.to, the address that connections go to")?;
        let conditions = link.of(&Conditions::to(to))?;
        let listener = Listener::open(name, ip, port, conditions, self.clock.now_ns())
            .map_err(|error| format!("cannot listen for {name}: {error}"))?;
        let key = self.listeners.insert(listener);
        if let Err(error) = self.watch(key, false) {
            self.listeners.remove(key);
            return Err(format!("cannot listen for {name}: {error}"));
        }
        self.done(key)
    }

    fn change(&mut self, key: Key, link: &Change) -> Result<(), String> {
        let now_ns = self.clock.now_ns();
        let Some(listener) = self.listeners.get_mut(key) else { return Ok(()) };
        let conditions = link.of(&listener.conditions)?;
        let has_another_name = conditions.resolve != listener.conditions.resolve;
        let is_filtered_anew = conditions.ways.map(lossy) != listener.conditions.ways.map(lossy);
        listener
            .change(conditions, now_ns)
            .map_err(|error| format!("cannot change {}: {error}", listener.name))?;
        if has_another_name {
            self.forget_name(key);
        }
        let open = self.open_connections(Some(key));
        if is_filtered_anew {
            self.filter(key, &open)?;
        }
        self.wake(key, &open);
        Ok(())
    }

    /// Has open connections lose packets by the new conditions.
    fn filter(&self, listener: Key, open: &[Key]) -> Result<(), String> {
        let Some(listener) = self.listeners.get(listener) else { return Ok(()) };
        for connection in open.iter().filter_map(|&key| self.connections.get(key)) {
            connection.filter(&listener.conditions).map_err(|error| {
                format!("cannot change connections of {}: {error}", listener.name)
            })?;
        }
        Ok(())
    }

    /// Has open connections go on under new conditions.
    fn wake(&mut self, listener_key: Key, open: &[Key]) {
        for direction in Direction::BOTH {
            if let Some(listener) = self.listeners.get_mut(listener_key) {
                listener.waiting[direction as usize].clear();
                listener.line_timer_ns[direction as usize] = None;
            }
            for &key in open {
                if let Some(connection) = self.connections.get_mut(key) {
                    connection.flows[direction as usize].is_waiting = false;
                }
                self.advance(key, direction);
            }
        }
    }

    fn reset_all(&mut self, listener: Key) {
        for key in self.open_connections(Some(listener)) {
            self.reset(key);
        }
    }

    fn key(&self, name: &str) -> Result<Key, String> {
        let mut all = self.listeners.iter();
        let found = all.find(|(_, listener)| listener.name == name).map(|(key, _)| key);
        found.ok_or_else(|| format!("there is no listener {name}"))
    }

    fn done(&self, key: Key) -> Result<Done, String> {
        let listener = self.listeners.get(key).ok_or("there is no such listener")?;
        let mut bytes = listener.ended_bytes;
        let mut connections = 0;
        for (_, connection) in self.connections.iter().filter(|(_, one)| one.listener == key) {
            connections += 1;
            for (sum, flow) in bytes.iter_mut().zip(&connection.flows) {
                *sum += flow.read_bytes;
            }
        }
        let cpu_ns = machine::cpu_time_ns(libc::CLOCK_PROCESS_CPUTIME_ID).unwrap_or(0);
        Ok(Done {
            done: listener.name.clone(),
            at_unix_s: machine::unix_s(),
            cpu_s: cpu_ns as f64 / 1e9,
            figures: Figures {
                port: listener.port,
                connections,
                accepted: listener.accepted,
                bytes_to_server: bytes[Direction::ToServer as usize],
                bytes_to_client: bytes[Direction::ToClient as usize],
                swallowed: listener.swallowed.get(),
                lookups: listener.resolver.lookups,
            },
        })
    }
}

/// What filters follow from.
fn lossy(way: Way) -> (bool, f64) {
    (way.is_dropped, way.loss)
}
