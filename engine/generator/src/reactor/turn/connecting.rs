//! Making connections. These are cold paths, so errors are values with full messages.
//!
//! The number of attempts in progress and the duration of each are bounded, so that a server that is
//! down, hangs or violates the protocol fails its sessions and never the run.

use super::closing::Closing;
use super::sending::Sending;
use crate::reactor::load_thread::{LoadThread, token};
use crate::transport::channel::Stage;
use crate::transport::link::Link;
use crate::transport::poller::Poller;
use dyno_core::driver::WireProtocol;
use dyno_core::error::{Error, Kind, Result};

/// Timeout for connecting, logging in and preparing.
pub const CONNECT_TIMEOUT_NS: u64 = 20_000_000_000;

/// Makes connections.
pub trait Connecting<'a>: LoadThread<'a> {
    /// Starts requested connections up to the limit of those in progress.
    fn connect_waiting(&mut self) {
        while let Some(at) = self.io().queue.pop() {
            if let Err(error) = self.open(at) {
                self.connect_failed(at, error);
            }
        }
    }

    /// Opens the link of a connection whose protocol has not sent anything yet.
    ///
    /// # Errors
    /// There is no address, or the system refuses.
    fn open_link(&mut self, at: u32, now_ns: u64) -> Result<()> {
        let endpoint = self.endpoint(at).ok_or_else(|| {
            Error::new(Kind::Plan, "this driver needs a tcp or unix address to connect to")
        })?;
        let Some((io, channel)) = self.channel(at) else { return Ok(()) };
        io.queue.note_socket();
        let (link, connected) = Link::open(endpoint, channel.address)?;
        let fd = link.fd();
        channel.link = Some(link);
        channel.stage = Stage::Connecting;
        channel.is_watched_for_writing = !connected;
        io.poller.watch(fd, token(at, channel.era), !connected, false).map_err(|error| {
            Error::new(Kind::System, format!("cannot watch a socket: {error}"))
                .hint("raise fs.epoll.max_user_watches")
        })?;
        self.add_connect_timeout(at, now_ns + CONNECT_TIMEOUT_NS);
        if connected {
            self.greet(at);
        }
        Ok(())
    }

    /// Reads the outcome of connecting when the socket reports readiness.
    fn transport_connected(&mut self, at: u32) {
        let Some((_, channel)) = self.channel(at) else { return };
        match channel.link.as_ref().map(Link::connected) {
            Some(Ok(())) => self.greet(at),
            Some(Err(error)) => self.connection_lost(at, error),
            None => {}
        }
    }

    /// Starts the protocol on a connected transport: it sends its greeting, or waits for the server's.
    fn greet(&mut self, at: u32) {
        let Some(endpoint) = self.endpoint(at) else { return };
        let Some((_, channel, protocol)) = self.speaker(at) else { return };
        endpoint.succeeded(channel.address);
        channel.address = 0;
        channel.stage = Stage::LoggingIn;
        let begins_with_tls = protocol.begins_with_tls();
        if !begins_with_tls {
            protocol.connected(endpoint.is_unix(), &mut channel.output);
        }
        // Also when there is nothing to send: this call ends the watch for writability.
        self.send_output(at);
        if begins_with_tls {
            self.encrypt(at);
        }
    }

    /// Starts the TLS handshake, to which the server has agreed.
    fn encrypt(&mut self, at: u32) {
        let Some(endpoint) = self.endpoint(at) else { return };
        let Some((_, channel)) = self.channel(at) else { return };
        channel.stage = Stage::Encrypting;
        let started = channel.link.as_mut().map(|link| link.start_tls(endpoint));
        if let Some(Err(error)) = started {
            self.connection_lost(at, error);
        }
    }

    /// Continues after the end of the handshake.
    fn encrypted(&mut self, at: u32) {
        let Some((_, channel, protocol)) = self.speaker(at) else { return };
        channel.stage = Stage::LoggingIn;
        protocol.tls_established(&mut channel.output);
        self.send_output(at);
    }

    /// Marks the connection as ready after login and preparation.
    fn come_up(&mut self, at: u32) {
        let Some((io, channel)) = self.channel(at) else { return };
        io.queue.settle();
        channel.stage = Stage::Up;
        self.logged_in(at);
    }
}

impl<'a, T: LoadThread<'a>> Connecting<'a> for T {}

/// The error of a server that has not completed a login within [`CONNECT_TIMEOUT_NS`].
pub fn login_timed_out() -> Error {
    let seconds = CONNECT_TIMEOUT_NS / 1_000_000_000;
    Error::new(Kind::Connection, format!("no end of the login within {seconds} s"))
        .hint("the server hangs, is overloaded, or does not speak this protocol")
}
