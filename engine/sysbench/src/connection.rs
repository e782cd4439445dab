//! What a script's session is connected by.

use dyno_core::client::{Client, Library};
use dyno_core::error::Error;
use dyno_generator::transport::channel::Channel;

/// A connection that a script has asked for.
pub enum Connection {
    /// Driven by the load thread.
    Wire(Box<Wired>),
    /// Called by the script itself.
    Blocking(Box<dyn Library>),
}

/// A connection over a transport.
pub struct Wired {
    /// Its side of the protocol.
    pub client: Box<dyn Client>,
    /// Which of the run's servers it goes to.
    pub server: usize,
    /// Its way there. What is in its output when the session waits for an answer is sent then.
    pub channel: Channel,
    /// When the request under way was sent, in a trial of an experiment.
    pub(crate) sent_ns: u64,
    /// Why it was lost while nobody waited for it.
    pub(crate) lost: Option<Error>,
    /// Whether what it was lost over never left this machine.
    pub(crate) is_unsent: bool,
}

impl Wired {
    /// Not opened yet; see [`Wait::Connect`](crate::session::Wait::Connect).
    pub fn new(client: Box<dyn Client>, server: usize) -> Self {
        let channel = Channel::default();
        Self { client, server, channel, sent_ns: 0, lost: None, is_unsent: false }
    }

    /// Of a lost one: whether the request that waits for it was not sent at all. What is sent over
    /// TCP to a peer that has closed counts as sent, as the system tells of it afterwards.
    pub fn is_unsent(&self) -> bool {
        self.is_unsent
    }

    /// Says farewell, where the protocol has one, and closes.
    pub fn quit(&mut self) {
        self.channel.quit(&mut *self.client);
    }
}
