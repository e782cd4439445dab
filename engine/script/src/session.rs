//! Where scripts and load threads meet: a session runs until it must wait, says for what, and is
//! resumed with what came of it. Scripts know nothing of sockets, load threads nothing of Lua.

use crate::tally::{Latencies, Tallies, Tally};
use dyno_core::client::{Client, Library};
use dyno_core::error::{Error, Result};
use dyno_load::transport::Link;

/// What a session does from its begin to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// `thread_init`, then events for as long as there are some, then `thread_done`.
    Run,
    /// One function of the script: `prepare`, `cleanup`, a command of its own.
    Command(String),
}

/// What a session waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// That all sessions have begun: nothing is timed before.
    Start,
    /// Connection number n: connecting, encrypting, logging in.
    Connect(usize),
    /// The answer of connection number n to the request in its `output`.
    Answer(usize),
    /// A time on the run's clock.
    Until(u64),
}

/// Why a session runs again.
#[derive(Debug)]
pub enum Outcome {
    /// It runs for the first time.
    Begin,
    /// What it waited for has come. Answers lie in the connection's client.
    Come,
    /// It will not come: the connection is lost, or could not be made.
    Lost(Error),
}

/// How far a session came.
#[derive(Debug)]
pub enum Step {
    /// It waits.
    Wait(Wait),
    /// Its program has ended.
    Ended,
    /// Its script has failed; the run ends with this message, as the report prints it.
    Failed(String),
}

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
    /// Which of the run's endpoints it goes to.
    pub endpoint: usize,
    /// None until it is opened, and after it was lost.
    pub link: Option<Link>,
    /// Received and not yet consumed.
    pub input: Vec<u8>,
    /// Encoded and not yet sent.
    pub output: Vec<u8>,
}

/// One session: what its script and its load thread both touch. Never two at a time.
pub struct Session<'a> {
    /// Its number among all of the run, from 0.
    pub number: u32,
    /// Its connections; a number stays free after a disconnect.
    pub connections: Vec<Option<Connection>>,
    /// What it counts.
    pub tally: &'a Tally,
    /// Where its thread counts latencies.
    pub latencies: &'a Latencies,
    /// When its event under way began and was due; 0: none is under way.
    pub began_ns: u64,
    /// As above.
    pub due_ns: u64,
}

impl<'a> Session<'a> {
    /// Session `number`, driven by thread `thread`.
    pub fn new(number: u32, thread: usize, tallies: &'a Tallies) -> Self {
        Self {
            number,
            connections: Vec::new(),
            tally: &tallies.sessions[number as usize],
            latencies: &tallies.threads[thread],
            began_ns: 0,
            due_ns: 0,
        }
    }
}

/// The scripts of one load thread: what carries its sessions on.
pub trait Scripts {
    /// Runs `session` from where it waits, or from its begin, to where it waits next.
    fn resume(&mut self, session: &mut Session<'_>, outcome: Outcome) -> Step;
}

/// Makes the scripts of a load thread; called on that thread.
pub type MakeScripts<'a> = dyn Fn(usize) -> Result<Box<dyn Scripts + 'a>> + Sync + 'a;
