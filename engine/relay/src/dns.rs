//! The name of a server, as a client's machine resolves it: one question for an IPv4 address over UDP, and
//! a cache that all its connections share.
//!
//! Sources: RFC 1035, sections 3.2.1 (TTL), 4.1 (messages) and 4.2.1 (UDP).

use crate::table::Key;
use serde::Deserialize;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};

/// Patience with an answer before the question is repeated, in nanoseconds.
pub const ANSWER_NS: u64 = 1_000_000_000;
/// How often a question is asked before the name counts as unknown.
const TRIES: u32 = 3;
/// Longest answer over UDP without extensions, in bytes.
const ANSWER_BYTES_MAX: usize = 512;
/// Longest name, in bytes.
const NAME_BYTES_MAX: usize = 253;
/// Length of a message's header, in bytes.
const HEADER_BYTES: usize = 12;
/// Type A, and class IN.
const ADDRESS: u16 = 1;
const INTERNET: u16 = 1;
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

/// What a name server says of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Its address, and for how many seconds that holds.
    Address(Ipv4Addr, u32),
    /// It has none.
    Nothing,
}

/// A question for the address of `name`; `None` if that is no name of a host.
pub fn question(id: u16, name: &str) -> Option<Vec<u8>> {
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.is_ascii() {
        return None;
    }
    let mut message = vec![];
    message.extend(id.to_be_bytes());
    // A query that asks for recursion; one question.
    message.extend([1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    for label in name.split('.') {
        message.push(u8::try_from(label.len()).ok().filter(|length| (1..64).contains(length))?);
        message.extend(label.as_bytes());
    }
    message.push(0);
    message.extend(ADDRESS.to_be_bytes());
    message.extend(INTERNET.to_be_bytes());
    Some(message)
}

/// What `message` answers to `question`; `None` if it is no answer to it.
pub fn answer(message: &[u8], question: &[u8]) -> Option<Answer> {
    let is_response = message.get(2)? & 0b1111_1000 == 0b1000_0000;
    let repeats = message.get(HEADER_BYTES..question.len())? == &question[HEADER_BYTES..];
    if !is_response || !repeats || message[..2] != question[..2] {
        return None;
    }
    if message[3] & 0b1111 != 0 {
        return Some(Answer::Nothing);
    }
    let mut at = question.len();
    for _ in 0..number(message, 6)? {
        at = behind_name(message, at)?;
        let (kind, class, length) =
            (number(message, at)?, number(message, at + 2)?, number(message, at + 8)?);
        let data = message.get(at + 10..at + 10 + usize::from(length))?;
        if let (ADDRESS, INTERNET, &[a, b, c, d]) = (kind, class, data) {
            let ttl_s =
                u32::from(number(message, at + 4)?) << 16 | u32::from(number(message, at + 6)?);
            return Some(Answer::Address(Ipv4Addr::new(a, b, c, d), ttl_s));
        }
        at += 10 + data.len();
    }
    Some(Answer::Nothing)
}

fn number(message: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(message.get(at..at + 2)?.try_into().ok()?))
}

/// Where a name ends that begins at `at`: with a zero, or with a pointer to the rest of it.
fn behind_name(message: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *message.get(at)? {
            0 => return Some(at + 1),
            length @ ..64 => at += 1 + usize::from(length),
            192.. => return Some(at + 2),
            _ => return None,
        }
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
        let Some(query) = &mut self.query else { return Outcome::Waiting };
        if now_ns < query.asked_ns + ANSWER_NS {
            return Outcome::Waiting;
        }
        if query.tries == TRIES || query.socket.send(&query.question).is_err() {
            self.query = None;
            return Outcome::Unknown;
        }
        query.tries += 1;
        query.asked_ns = now_ns;
        Outcome::Waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An answer to `question`: records of a type and data each, whose names are pointers.
    fn reply(question: &[u8], code: u8, records: &[(u16, &[u8])]) -> Vec<u8> {
        let mut message = question.to_vec();
        message[2] |= 0x80;
        message[3] = code;
        message[6..8].copy_from_slice(&(records.len() as u16).to_be_bytes());
        for (kind, data) in records {
            message.extend([0xc0, 12]);
            message.extend(kind.to_be_bytes());
            message.extend([0, 1, 0, 0, 0, 60]);
            message.extend((data.len() as u16).to_be_bytes());
            message.extend(*data);
        }
        message
    }

    #[test]
    fn a_question_is_the_name_in_labels() {
        let asked = question(0x0102, "db-2.dyno.test.").unwrap();
        assert_eq!(asked[..12], [1, 2, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(&asked[12..], b"\x04db-2\x04dyno\x04test\x00\x00\x01\x00\x01");
        let long = "a".repeat(64);
        for wrong in ["", ".", "a..b", long.as_str(), "ä.test"] {
            assert_eq!(question(1, wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_answer_has_the_first_address() {
        let asked = question(7, "db.test").unwrap();
        let alias: &[u8] = &[2, b'x', b'y', 0];
        let both = reply(&asked, 0, &[(5, alias), (1, &[127, 0, 1, 2])]);
        let found = Answer::Address(Ipv4Addr::new(127, 0, 1, 2), 60);
        assert_eq!(answer(&both, &asked), Some(found));
        assert_eq!(answer(&reply(&asked, 3, &[]), &asked), Some(Answer::Nothing));
        assert_eq!(answer(&reply(&asked, 0, &[]), &asked), Some(Answer::Nothing));
        let other = question(8, "db.test").unwrap();
        assert_eq!(answer(&reply(&other, 0, &[]), &asked), None, "another question");
        assert_eq!(answer(&asked, &asked), None, "a question");
    }

    #[test]
    fn an_address_is_kept_for_its_ttl_or_for_as_long_as_was_asked() {
        let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut resolve = Resolve {
            name: "db.test".to_owned(),
            server: server.local_addr().unwrap(),
            port: 3306,
            keep_s: None,
            patience_s: None,
        };
        for (keep_s, kept_s) in [(None, 60), (Some(300.0), 300), (Some(0.0), 0)] {
            resolve.keep_s = keep_s;
            let mut resolver = Resolver::default();
            resolver.ask(&resolve, 0).unwrap();
            let mut asked = [0; 512];
            let (length, from) = server.recv_from(&mut asked).unwrap();
            let sent = reply(&asked[..length], 0, &[(1, &[127, 0, 1, 2])]);
            server.send_to(&sent, from).unwrap();
            while resolver.receive(&resolve, 10) == Outcome::Waiting {
                std::thread::yield_now();
            }
            assert_eq!(resolver.address(10), Some(Ipv4Addr::new(127, 0, 1, 2)));
            let end_ns = 10 + (kept_s * 1_000_000_000).max(1);
            assert_eq!(resolver.address(end_ns - 1), Some(Ipv4Addr::new(127, 0, 1, 2)));
            assert_eq!(resolver.address(end_ns), None);
        }
    }

    #[test]
    fn a_question_is_repeated_and_then_given_up() {
        let silent = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let resolve = Resolve {
            name: "db.test".to_owned(),
            server: silent.local_addr().unwrap(),
            port: 1,
            keep_s: None,
            patience_s: None,
        };
        let mut resolver = Resolver::default();
        resolver.ask(&resolve, 0).unwrap();
        assert_eq!(resolver.repeat(ANSWER_NS - 1), Outcome::Waiting);
        assert_eq!(resolver.repeat(ANSWER_NS), Outcome::Waiting);
        assert_eq!(resolver.repeat(2 * ANSWER_NS), Outcome::Waiting);
        assert_eq!(resolver.repeat(3 * ANSWER_NS), Outcome::Unknown);
        assert!(!resolver.is_asking());
        assert_eq!(resolver.lookups, 1);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let resolve = |json: &str| {
            let read: Result<Resolve, _> = serde_json::from_str(json);
            read.map_err(|why| why.to_string()).and_then(|one| one.check())
        };
        let good = r#"{"name":"db.test","server":"127.0.0.1:53","port":1}"#;
        assert_eq!(resolve(good), Ok(()));
        for (wrong, named) in [
            (good.replace("127.0.0.1", "8.8.8.8"), "loopback"),
            (good.replace("\"port\":1", "\"port\":0"), "loopback"),
            (good.replace("db.test", "a..b"), "a..b"),
            (good.replace("\"port\":1", "\"port\":1,\"keep_s\":-1"), "keep_s"),
            (good.replace("\"port\":1", "\"port\":1,\"patience_s\":0"), "patience_s"),
            (good.replace("\"port\":1", "\"port\":1,\"ttl\":1"), "ttl"),
        ] {
            let why = resolve(&wrong).unwrap_err();
            assert!(why.contains(named), "{why}");
        }
    }

    proptest! {
        #[test]
        fn no_message_breaks_the_parser(
            message in prop::collection::vec(any::<u8>(), 0..200),
            cut in 0_usize..80,
        ) {
            let asked = question(1, "db.test").unwrap();
            let _ = answer(&message, &asked);
            let mut sent = reply(&asked, 0, &[(1, &[127, 0, 0, 1]), (5, &message)]);
            sent.truncate(cut);
            let _ = answer(&sent, &asked);
            let mut spoilt = reply(&asked, 0, &[(5, &message)]);
            spoilt[7] = 200;
            let _ = answer(&spoilt, &asked);
        }
    }
}
