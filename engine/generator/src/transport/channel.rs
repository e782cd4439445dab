//! A protocol's way to its server: the socket, how far the connection is, and what has come and is not
//! yet understood. Load threads drive channels from their poll loop (`reactor/`); where one
//! thread waits for one answer, [`connect`](Channel::connect) and [`converse`](Channel::converse) do.

use crate::transport::endpoint::Endpoint;
use crate::transport::link::Link;
use crate::transport::patience::Patience;
use dyno_core::clock::{Clock, MonotonicClock};
use dyno_core::driver::{Progress, WireProtocol};
use dyno_core::error::{Error, Kind, Result};
use std::time::{Duration, Instant};

/// Longest time to connect and log in, where one thread waits for it.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest time to say farewell to a server that does not listen.
const FAREWELL: Duration = Duration::from_secs(2);

/// How far a connection is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stage {
    /// None: waiting for its turn or for the next attempt.
    #[default]
    Down,
    /// The transport is being connected.
    Connecting,
    /// The TLS handshake is going on.
    Encrypting,
    /// Login and preparation are going on.
    LoggingIn,
    /// Requests may be sent.
    Up,
}

/// One place for a connection, made and lost any number of times.
#[derive(Debug, Default)]
pub struct Channel {
    /// None until it is opened, and after it was lost.
    pub link: Option<Link>,
    /// How far it is.
    pub stage: Stage,
    /// Which connection of this place it is: readiness and timers of earlier ones are void.
    pub era: u32,
    /// Whether the socket is watched for writability.
    pub is_watched_for_writing: bool,
    /// Which of the host's addresses is being tried.
    pub address: usize,
    /// Received and not yet consumed.
    pub input: Vec<u8>,
    /// Encoded and not yet sent.
    pub output: Vec<u8>,
    /// How much has come in answer to the request under way.
    pub patience: Patience,
    /// The last [conversation](Channel::converse) was ended by its protocol, such as for the server's
    /// refusal, and not by the transport.
    pub was_refused: bool,
}

impl Channel {
    /// Whether requests may be sent.
    #[inline]
    pub fn is_up(&self) -> bool {
        self.stage == Stage::Up
    }

    /// So many bytes have come and were looked at.
    ///
    /// # Errors
    /// The answer does not come to an end.
    #[inline]
    pub fn heard<P>(&mut self, protocol: &P, now_ns: u64, bytes: usize) -> Result<()>
    where
        P: WireProtocol + ?Sized,
    {
        let is_amid = !self.input.is_empty() || protocol.is_amid_message();
        self.patience.heard(now_ns, bytes as u64, is_amid)
    }

    /// Says farewell, where the protocol has one, and closes. Nobody waits for an answer.
    pub fn quit<P: WireProtocol + ?Sized>(&mut self, protocol: &mut P) {
        if let Some(link) = &mut self.link
            && self.stage == Stage::Up
        {
            protocol.quit(&mut self.output);
            // A peer that is gone is no error any more.
            let _ = link.send(&self.output);
        }
        self.close();
    }

    /// Lets go of the link, and of all that was received and not sent.
    pub fn close(&mut self) {
        self.link = None;
        self.stage = Stage::Down;
        self.era = self.era.wrapping_add(1);
        self.is_watched_for_writing = false;
        self.input = Vec::new();
        self.output.clear();
    }
}

/// Waiting for one connection, outside the load threads.
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

    /// Sends what is in `output` and receives until the protocol is ready, answered, or wants data.
    ///
    /// # Errors
    /// The connection is lost, or there is no answer before `deadline`.
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
                // What was received may have called for an answer, or hold more: then go on.
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
        // Such as MySQL's request for TLS, which answers the greeting.
        self.flush(deadline)?;
        let (link, input) = self.open_link()?;
        link.encrypt_blocking(endpoint, input, deadline)?;
        protocol.tls_established(&mut self.output);
        Ok(())
    }

    /// Sends what is in `output`: what comes next answers it.
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

    /// What the bytes at hand say, from their front; and how many of them that took.
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

    /// What has come by now, without waiting for it.
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

    /// Says farewell, where the protocol has one, and closes; waits until it is sent.
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

/// The server says what nobody has asked for.
#[cold]
pub fn out_of_turn() -> Error {
    Error::new(Kind::Protocol, "the server answered out of turn")
        .hint("is this really the kind of server that the target names?")
}
