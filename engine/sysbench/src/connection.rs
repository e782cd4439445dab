//! Connections of a script's session.

use dyno_core::driver::client::{Client, Library};
use dyno_core::error::Error;
use dyno_generator::transport::channel::Channel;

/// A connection that a script has opened.
pub enum Connection {
    /// Driven by the load thread.
    Wire(Box<Wired>),
    /// Called directly by the script.
    Blocking(Box<dyn Library>),
}

/// A connection over a transport.
pub struct Wired {
    /// The client side of the protocol.
    pub client: Box<dyn Client>,
    /// The index of the server among those of the run.
    pub server: usize,
    /// The transport. When the session waits for an answer, the thread sends the bytes in its output.
    pub channel: Channel,
    /// The time at which the current request was sent, in a trial of an experiment.
    pub(crate) sent_ns: u64,
    /// The error, if the connection was lost while no request waited for it.
    pub(crate) lost: Option<Error>,
    /// Whether the request that met the loss never left this machine.
    pub(crate) is_unsent: bool,
}

impl Wired {
    /// Creates a connection that is not opened yet.
    /// See [`Wait::Connect`](crate::session::Wait::Connect).
    pub fn new(client: Box<dyn Client>, server: usize) -> Self {
        let channel = Channel::default();
        Self { client, server, channel, sent_ns: 0, lost: None, is_unsent: false }
    }

    /// For a lost connection: whether the pending request was not sent at all. Bytes sent over TCP to a
    /// peer that has closed count as sent, because the system reports the close only afterwards.
    pub fn is_unsent(&self) -> bool {
        self.is_unsent
    }

    /// Sends the protocol's goodbye, if it has one, and closes.
    pub fn quit(&mut self) {
        self.channel.quit(&mut *self.client);
    }
}
