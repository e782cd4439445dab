//! What a script's session is connected by.

use dyno_core::client::{Client, Library};
use dyno_core::error::{Error, Result};
use dyno_generator::reactor::session_slot::Stage;
use dyno_generator::transport::link::Link;
use dyno_generator::transport::patience::Patience;

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
    /// None until it is opened, and after it was lost.
    pub link: Option<Link>,
    /// Received and not yet consumed.
    pub input: Vec<u8>,
    /// Encoded and not yet sent: what is in it when the session waits for an answer is sent then.
    pub output: Vec<u8>,
    pub(crate) stage: Stage,
    /// Which life of this place among the session's connections it is.
    pub(crate) era: u32,
    pub(crate) is_watched_for_writing: bool,
    /// When the request under way was sent, in a trial of an experiment.
    pub(crate) sent_ns: u64,
    /// How much has come in answer to it.
    pub(crate) patience: Patience,
    /// Which of the host's addresses is being tried.
    pub(crate) address: usize,
    /// Why it was lost while nobody waited for it.
    pub(crate) lost: Option<Error>,
    /// Whether what it was lost over never left this machine.
    pub(crate) is_unsent: bool,
}

impl Wired {
    /// Not opened yet; see [`Wait::Connect`](crate::session::Wait::Connect).
    pub fn new(client: Box<dyn Client>, server: usize) -> Self {
        Self {
            client,
            server,
            link: None,
            input: Vec::new(),
            output: Vec::new(),
            stage: Stage::Down,
            era: 0,
            is_watched_for_writing: false,
            sent_ns: 0,
            patience: Patience::default(),
            address: 0,
            lost: None,
            is_unsent: false,
        }
    }

    /// Whether requests may be sent.
    pub fn is_up(&self) -> bool {
        self.stage == Stage::Up
    }

    /// So many bytes have come and were looked at.
    ///
    /// # Errors
    /// The answer does not come to an end.
    #[inline]
    pub(crate) fn heard(&mut self, now_ns: u64, bytes: usize) -> Result<()> {
        let is_amid = !self.input.is_empty() || self.client.is_amid_message();
        self.patience.heard(now_ns, bytes as u64, is_amid)
    }

    /// Of a lost one: whether the request that waits for it was not sent at all. What is sent over
    /// TCP to a peer that has closed counts as sent, as the system tells of it afterwards.
    pub fn is_unsent(&self) -> bool {
        self.is_unsent
    }

    /// Says farewell, where the protocol has one, and closes.
    pub fn quit(&mut self) {
        if let Some(link) = &mut self.link
            && self.stage == Stage::Up
        {
            self.client.quit(&mut self.output);
            // Nobody waits for an answer; a peer that is gone is no error any more.
            let _ = link.send(&self.output);
        }
        self.close();
    }

    /// Lets go of the link and of all that was received and not sent.
    pub(crate) fn close(&mut self) {
        self.link = None;
        self.stage = Stage::Down;
        self.is_watched_for_writing = false;
        self.input = Vec::new();
        self.output.clear();
    }
}
