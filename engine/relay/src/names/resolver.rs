//! The name of a server, as a client's machine resolves it: one question over UDP, and a cache that all its
//! connections share.
//!
//! Sources: RFC 1035, sections 3.2.1 (TTL) and 4.2.1 (UDP).

use super::dns::{Answer, answer, question};
use crate::table::Key;
use serde::Deserialize;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};

/// Patience with an answer before the question is repeated, in nanoseconds.
pub(super) const ANSWER_NS: u64 = 1_000_000_000;
/// How often a question is asked before the name counts as unknown.
const TRIES: u32 = 3;
/// Longest answer over UDP without extensions, in bytes.
const ANSWER_BYTES_MAX: usize = 512;
/// Longest time that an answer can be kept, in seconds.
const KEEP_MAX_S: f64 = 86_400.0;
/// Shortest patience with an address, in seconds: a machine that is busy answers late.
const PATIENCE_MIN_S: f64 = 0.1;

/// How a listener finds its server: by a name.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resolve {
    /// The name.
    pub name: String,
    /// The name server, on loopback.
    pub server: SocketAddr,
    /// Port at the address that the name has.
    pub port: u16,
    /// How long an answer is kept, in seconds; `None`: for its TTL.
    #[serde(default)]
    pub keep_s: Option<f64>,
    /// After how many seconds a client learns that nobody is at the address; `None`: when TCP gives up.
    #[serde(default)]
    pub patience_s: Option<f64>,
}

impl Resolve {
    /// Whether it makes sense.
    ///
    /// # Errors
    /// What is impossible.
    pub fn check(&self) -> Result<(), String> {
        if !self.server.ip().is_loopback() || self.server.port() == 0 || self.port == 0 {
            return Err("resolve: server and port must be of loopback".to_owned());
        }
        if self.keep_s.is_some_and(|seconds| !(0.0..=KEEP_MAX_S).contains(&seconds)) {
            return Err(format!("resolve: keep_s is not between 0 and {KEEP_MAX_S} seconds"));
        }
        if self.patience_s.is_some_and(|seconds| !(PATIENCE_MIN_S..=KEEP_MAX_S).contains(&seconds))
        {
            return Err(format!(
                "resolve: patience_s is not between {PATIENCE_MIN_S} and {KEEP_MAX_S} seconds"
            ));
        }
        match question(0, &self.name) {
            Some(_) => Ok(()),
            None => Err(format!("resolve: {} is no name of a host", self.name)),
        }
    }

    /// The patience with an address where nobody answers, in nanoseconds.
    pub fn patience_ns(&self) -> Option<u64> {
        self.patience_s.map(|seconds| (seconds * 1e9) as u64)
    }

    /// How long an answer with that TTL is kept, in nanoseconds.
    fn kept_ns(&self, ttl_s: u32) -> u64 {
        (self.keep_s.unwrap_or(f64::from(ttl_s)) * 1e9) as u64
    }
}

/// A question that waits for its answer.
#[derive(Debug)]
struct Query {
    socket: UdpSocket,
    question: Vec<u8>,
    tries: u32,
    asked_ns: u64,
}

/// What came of waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing yet.
    Waiting,
    /// The address is known.
    Known,
    /// There is none, or nobody answers.
    Unknown,
}

/// The resolver of a listener.
#[derive(Debug, Default)]
pub struct Resolver {
    /// The address, and until when it holds.
    kept: Option<(Ipv4Addr, u64)>,
    query: Option<Query>,
    /// Connections that wait for the address.
    pub parked: Vec<Key>,
    /// Whether the loop has a timer for the question, or for an earlier one.
    pub has_timer: bool,
    /// Questions asked so far, without repetitions.
    pub lookups: u64,
}

impl Resolver {
    /// The address that is kept.
    pub fn address(&self, now_ns: u64) -> Option<Ipv4Addr> {
        self.kept.filter(|&(_, until_ns)| now_ns < until_ns).map(|(address, _)| address)
    }

    /// Forgets the address, and what was asked.
    pub fn forget(&mut self) {
        self.kept = None;
        self.query = None;
    }

    /// Whether a question waits for its answer.
    pub fn is_asking(&self) -> bool {
        self.query.is_some()
    }

    /// When the patience with the answer ends, if a question waits for one.
    pub fn patient_until_ns(&self) -> Option<u64> {
        self.query.as_ref().map(|query| query.asked_ns + ANSWER_NS)
    }

    /// Asks for the address; the socket that the answer comes from.
    ///
    /// # Errors
    /// The system's.
    pub fn ask(&mut self, resolve: &Resolve, now_ns: u64) -> io::Result<RawFd> {
        self.lookups += 1;
        let question =
            question(self.lookups as u16, &resolve.name).ok_or(ErrorKind::InvalidInput)?;
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.set_nonblocking(true)?;
        socket.connect(resolve.server)?;
        socket.send(&question)?;
        let query = Query { socket, question, tries: 1, asked_ns: now_ns };
        Ok(self.query.insert(query).socket.as_raw_fd())
    }

    /// Reads what has arrived.
    pub fn receive(&mut self, resolve: &Resolve, now_ns: u64) -> Outcome {
        let Some(query) = &self.query else { return Outcome::Waiting };
        let mut message = [0; ANSWER_BYTES_MAX];
        let found = loop {
            match query.socket.recv(&mut message) {
                Ok(length) => {
                    // What answers another question is left.
                    if let Some(found) = answer(&message[..length], &query.question) {
                        break found;
                    }
                }
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) if why.kind() == ErrorKind::WouldBlock => return Outcome::Waiting,
                // Nobody is there.
                Err(_) => break Answer::Nothing,
            }
        };
        self.query = None;
        match found {
            // The relay goes nowhere else.
            Answer::Address(address, ttl_s) if address.is_loopback() => {
                // It holds at least for those who wait for it, even where it may not be kept.
                let until_ns = now_ns + resolve.kept_ns(ttl_s).max(1);
                self.kept = Some((address, until_ns));
                Outcome::Known
            }
            _ => Outcome::Unknown,
        }
    }

    /// Repeats a question that has waited for too long; `Unknown` after the last time.
    pub fn repeat(&mut self, now_ns: u64) -> Outcome {
        let is_due = self.patient_until_ns().is_some_and(|until_ns| until_ns <= now_ns);
        let Some(query) = self.query.as_mut().filter(|_| is_due) else { return Outcome::Waiting };
        if query.tries == TRIES || query.socket.send(&query.question).is_err() {
            self.query = None;
            return Outcome::Unknown;
        }
        query.tries += 1;
        query.asked_ns = now_ns;
        Outcome::Waiting
    }
}
