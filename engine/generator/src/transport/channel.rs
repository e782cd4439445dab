//! A protocol's channel to its server: the socket, the connection's stage, and the buffers of bytes
//! received and to send. Load threads drive channels from their poll loop (`reactor/`); a thread that
//! waits for one answer calls [`connect`](Channel::connect) and [`converse`](Channel::converse).

use crate::transport::endpoint::Endpoint;
use crate::transport::link::Link;
use crate::transport::patience::Patience;
use dyno_core::clock::{Clock, MonotonicClock};
use dyno_core::driver::{Progress, WireProtocol};
use dyno_core::error::{Error, Kind, Result};
use std::time::{Duration, Instant};

/// Timeout for connecting and logging in where one thread waits for one connection.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout for sending the closing message to a server that does not read.
const FAREWELL: Duration = Duration::from_secs(2);

/// Stage of a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stage {
    /// Not connected: waiting for its turn or for the next attempt.
    #[default]
    Down,
    /// The transport is connecting.
    Connecting,
    /// The TLS handshake is in progress.
    Encrypting,
    /// Login and preparation are in progress.
    LoggingIn,
    /// Requests may be sent.
    Up,
}

/// State of a connection, which may be made and lost any number of times.
#[derive(Debug, Default)]
pub struct Channel {
    /// The transport; `None` before it is opened and after it was lost.
    pub link: Option<Link>,
    /// Stage of the connection.
    pub stage: Stage,
    /// Number of the current connection: readiness events and timers of earlier ones are void.
    pub era: u32,
    /// Whether the poller watches the socket for writability.
    pub is_watched_for_writing: bool,
    /// Index of the host's address in use.
    pub address: usize,
    /// Bytes received and not yet consumed.
    pub input: Vec<u8>,
    /// Bytes encoded and not yet sent.
    pub output: Vec<u8>,
    /// Limits on the answer to the current request.
    pub patience: Patience,
    /// Whether the protocol, not the transport, ended the last [conversation](Channel::converse), such as
    /// by the server's refusal.
    pub was_refused: bool,
}

impl Channel {
    /// Whether requests may be sent.
    #[inline]
    pub fn is_up(&self) -> bool {
        self.stage == Stage::Up
    }

    /// Counts `bytes` that were received and parsed.
    ///
    /// # Errors
    /// The answer exceeds the limits of [`Patience`].
    #[inline]
    pub fn heard<P>(&mut self, protocol: &P, now_ns: u64, bytes: usize) -> Result<()>
    where
        P: WireProtocol + ?Sized,
    {
        let is_amid = !self.input.is_empty() || protocol.is_amid_message();
        self.patience.heard(now_ns, bytes as u64, is_amid)
    }

    /// Sends the protocol's closing message, if it has one, and closes without waiting for an answer.
    pub fn quit<P: WireProtocol + ?Sized>(&mut self, protocol: &mut P) {
        if let Some(link) = &mut self.link
            && self.stage == Stage::Up
        {
            protocol.quit(&mut self.output);
            // A closed peer is no longer an error here.
            let _ = link.send(&self.output);
        }
        self.close();
    }

    /// Closes the link and discards all buffers.
    pub fn close(&mut self) {
        self.link = None;
        self.stage = Stage::Down;
        self.era = self.era.wrapping_add(1);
        self.is_watched_for_writing = false;
        self.input = Vec::new();
        self.output.clear();
    }
}

/// Blocking use of one connection, outside the load threads.
impl Channel {
    /// Connects and logs in.
    ///
    /// # Errors
    /// Those of the transport and of the login, before `deadline`.
    pub fn connect<P>(
        &mut self,
        protocol: &mut P,
        endpoint: &Endpoint,
        deadline: Instant,
    ) -> Result<()>
    where
        P: WireProtocol + ?Sized,
    {
        self.close();
        self.link = Some(Link::open_blocking(endpoint, deadline)?);
        if protocol.begins_with_tls() {
            self.encrypt(protocol, endpoint, deadline)?;
        } else {
            protocol.connected(endpoint.is_unix(), &mut self.output);
        }
        match self.converse(protocol, endpoint, deadline)? {
            Progress::Ready => {
                self.stage = Stage::Up;
                Ok(())
            }
            _ => Err(out_of_turn().at_server(endpoint.label())),
        }
    }

    /// Sends `output` and receives until the protocol is ready, has an answer, or wants data.
    ///
    /// # Errors
    /// The connection is lost, or no answer comes before `deadline`.
    pub fn converse<P>(
        &mut self,
        protocol: &mut P,
        endpoint: &Endpoint,
        deadline: Instant,
    ) -> Result<Progress<P::Reply>>
    where
        P: WireProtocol + ?Sized,
    {
        let at_server = |error: Error| error.at_server(endpoint.label());
        let mut received = 0;
        loop {
            self.flush(deadline)?;
            let event = self.understand(protocol).map_err(at_server)?;
            match event {
                (_, Progress::StartTls) => self.encrypt(protocol, endpoint, deadline)?,
                // The input may have required an answer, or may hold another message: continue.
                (consumed, Progress::More) if consumed > 0 || !self.output.is_empty() => {}
                (_, Progress::More) => {
                    let now_ns = MonotonicClock.now_ns();
                    self.heard(protocol, now_ns, received).map_err(at_server)?;
                    let (link, input) = self.open_link()?;
                    received = link.receive_some(input, deadline)?;
                }
                (_, event) => {
                    self.flush(deadline)?;
                    return Ok(event);
                }
            }
        }
    }

    fn encrypt<P>(&mut self, protocol: &mut P, endpoint: &Endpoint, deadline: Instant) -> Result<()>
    where
        P: WireProtocol + ?Sized,
    {
        // Such as MySQL's TLS request, which answers the greeting.
        self.flush(deadline)?;
        let (link, input) = self.open_link()?;
        link.encrypt_blocking(endpoint, input, deadline)?;
        protocol.tls_established(&mut self.output);
        Ok(())
    }

    /// Sends `output` and expects an answer to it.
    ///
    /// # Errors
    /// The connection breaks, or `deadline` passes.
    pub fn flush(&mut self, deadline: Instant) -> Result<()> {
        if self.output.is_empty() {
            return Ok(());
        }
        let link = self.link.as_mut().ok_or_else(not_open)?;
        let sent = link.send_all(&self.output, deadline);
        self.output.clear();
        self.patience.sent();
        sent
    }

    /// Parses the received bytes from the front; returns how many bytes it consumed, and the progress.
    fn understand<P>(&mut self, protocol: &mut P) -> Result<(usize, Progress<P::Reply>)>
    where
        P: WireProtocol + ?Sized,
    {
        let received = protocol.receive(&self.input, &mut self.output);
        self.was_refused = received.is_err();
        let (consumed, event) = received?;
        self.input.drain(..consumed);
        Ok((consumed, event))
    }

    /// Parses what has been received by now, without waiting.
    ///
    /// # Errors
    /// The connection is lost.
    pub fn peek<P>(&mut self, protocol: &mut P) -> Result<Progress<P::Reply>>
    where
        P: WireProtocol + ?Sized,
    {
        let mut raw = [0; 4096];
        let (link, input) = self.open_link()?;
        match link.receive_raw(&mut raw).map_err(|error| link.lost(&error))? {
            None => return Ok(Progress::More),
            Some(0) => return Err(link.closed()),
            Some(bytes) => link.decrypt(&raw[..bytes], input)?,
        }
        loop {
            match self.understand(protocol)? {
                (1.., Progress::More) => {}
                (_, event) => return Ok(event),
            }
        }
    }

    /// Sends the protocol's closing message, if it has one, waits until it is sent, and closes.
    pub fn farewell<P: WireProtocol + ?Sized>(&mut self, protocol: &mut P) {
        protocol.quit(&mut self.output);
        // The connection ends either way.
        let _ = self.flush(Instant::now() + FAREWELL);
        self.close();
    }

    fn open_link(&mut self) -> Result<(&mut Link, &mut Vec<u8>)> {
        Ok((self.link.as_mut().ok_or_else(not_open)?, &mut self.input))
    }
}

#[cold]
fn not_open() -> Error {
    Error::new(Kind::Connection, "the connection is not open")
}

/// The error of a server that sends a message without a request.
#[cold]
pub fn out_of_turn() -> Error {
    Error::new(Kind::Protocol, "the server answered out of turn")
        .hint("is this really the kind of server that the target names?")
}
