//! What clients know of a Redis Cluster: which node serves which slot.
//!
//! All sessions of a group share one [`SlotMap`]. Whoever reads `CLUSTER SLOTS` or a redirection
//! writes to it; an operation reads one byte of it. A connection asks for the slots
//! when it logs in, and when a node has not answered, or has said `MOVED`.
//!
//! Source: Redis documentation, "Redis cluster specification", MOVED and ASK redirection, clients'
//! first connection; `CLUSTER SLOTS`.

use super::Shared;
use super::commands::Command;
use super::login::Login;
use super::slots::SLOTS;
use super::wire::RedisWire;
use dyno_core::driver::{Driver, Redirect, Routed, Router, Session};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::Target;
use dyno_core::request::Request;
use dyno_core::workload::{Op, Transaction};
use dyno_protocol::resp::{Token, rubbish};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU8};

/// Maximum number of nodes: the index of one is a byte.
const NODES_MAX: usize = 255;
/// Maximum number of ranges of slots in a reply, for bounded memory.
const RANGES_MAX: u64 = SLOTS as u64;

/// The node of each slot.
#[derive(Debug)]
pub(super) struct SlotMap {
    node: Box<[AtomicU8]>,
    /// Host and port of each node, as the nodes call each other.
    nodes: Vec<(String, u16)>,
    /// Whether some of it is likely to be wrong.
    is_doubted: AtomicBool,
}

impl SlotMap {
    fn new(nodes: Vec<(String, u16)>) -> Self {
        let node = (0..SLOTS).map(|_| AtomicU8::new(0)).collect();
        Self { node, nodes, is_doubted: AtomicBool::new(false) }
    }

    /// The node that serves a slot.
    #[inline]
    pub fn of(&self, slot: u16) -> usize {
        self.node[usize::from(slot)].load(Relaxed).into()
    }

    /// Some of it is likely to be wrong.
    pub fn doubt(&self) {
        self.is_doubted.store(true, Relaxed);
    }

    /// Whether it is doubted: the caller asks a node.
    #[inline]
    pub fn take_doubt(&self) -> bool {
        self.is_doubted.load(Relaxed) && self.is_doubted.swap(false, Relaxed)
    }

    /// Reads `MOVED 3999 127.0.0.1:6381` or `ASK ...`. A slot that has moved is known from now on.
    /// `None` for other errors, and for a node that is none of the targets.
    pub fn redirect(&self, text: &str) -> Option<Redirect> {
        let mut words = text.split(' ');
        let (code, slot) = (words.next()?, words.next()?.parse::<u16>().ok()?);
        let (host, port) = words.next()?.rsplit_once(':')?;
        let node = self.number(host, port.parse().ok()?)?;
        match code {
            "MOVED" if slot < SLOTS => {
                self.node[usize::from(slot)].store(node as u8, Relaxed);
                self.doubt();
                Some(Redirect { node, asking: false })
            }
            "ASK" => Some(Redirect { node, asking: true }),
            _ => None,
        }
    }

    /// The node of this address. No host means that of the server that says it: ports differ.
    fn number(&self, host: &str, port: u16) -> Option<usize> {
        self.nodes.iter().position(|(own, at)| *at == port && (host.is_empty() || own == host))
    }

    /// Takes over what a node has said.
    pub fn update(&self, read: &Ranges) {
        for (slots, host, port) in &read.found {
            if let Some(node) = self.number(host, *port) {
                for slot in slots.clone() {
                    self.node[usize::from(slot)].store(node as u8, Relaxed);
                }
            }
        }
    }
}

/// Reads the reply to `CLUSTER SLOTS`: an array of ranges, each an array of first slot, last slot,
/// and nodes, the primary first. A node is an array of host, port, and more.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    /// Arrays around the next value: its index in each, and their lengths.
    around: Vec<(u64, u64)>,
    slots: (u16, u16),
    host: String,
    found: Vec<(std::ops::RangeInclusive<u16>, String, u16)>,
}

/// Index of the value after the primary in a range.
const AFTER_PRIMARY: u64 = 3;

impl Ranges {
    /// Handles the next value.
    ///
    /// # Errors
    /// It is not part of such a reply.
    pub fn token(&mut self, token: &Token<'_>) -> Result<()> {
        let (depth, index) = (self.around.len(), self.around.last().map_or(0, |around| around.0));
        let is_primary = self.around.get(1).is_some_and(|range| range.0 == AFTER_PRIMARY);
        match (depth, index, token) {
            (0, _, Token::Many(count)) if *count <= RANGES_MAX => {}
            (1, _, Token::Many(_)) => {}
            (2, 0, Token::Integer(slot)) => self.slots.0 = number(*slot)?,
            (2, 1, Token::Integer(slot)) => self.slots.1 = number(*slot)?,
            (2, 2.., Token::Many(_)) | (4.., ..) | (3, 2.., _) => {}
            (3, 0, Token::Text(host)) => self.host = String::from_utf8_lossy(host).into_owned(),
            (3, 0, Token::Null) => self.host.clear(),
            (3, 1, Token::Integer(port)) if is_primary => {
                let port = u16::try_from(*port).map_err(|_| wrong())?;
                let host = std::mem::take(&mut self.host);
                self.found.push((self.slots.0..=self.slots.1, host, port));
            }
            (3, 1, Token::Integer(_)) => {}
            _ => return Err(wrong()),
        }
        self.step(token);
        Ok(())
    }

    /// Moves behind a value, or into an array.
    fn step(&mut self, token: &Token<'_>) {
        if let Some(around) = self.around.last_mut() {
            around.0 += 1;
        }
        if let Token::Many(count @ 1..) = token {
            return self.around.push((0, *count));
        }
        while self.around.last().is_some_and(|around| around.0 == around.1) {
            self.around.pop();
        }
    }
}

fn number(slot: i64) -> Result<u16> {
    u16::try_from(slot).ok().filter(|&slot| slot < SLOTS).ok_or_else(wrong)
}

fn wrong() -> Error {
    rubbish("an answer to CLUSTER SLOTS that is none")
}

/// Builds drivers and router for targets of one cluster; `None` if they are servers alone.
///
/// # Errors
/// Names the invalid field.
pub(super) fn build(targets: &[Target], requests: Arc<[Request]>) -> Result<Option<Routed>> {
    let logins: Vec<Login> = targets.iter().map(Login::of).collect::<Result<_>>()?;
    if !logins.iter().any(|login| login.announced.is_some()) {
        return Ok(None);
    }
    let mut nodes = Vec::new();
    for login in &logins {
        let announced = login.announced.clone().ok_or_else(|| {
            let what = format!("the node at {} has no option `announced`", login.place);
            Error::new(Kind::Plan, what).hint("all targets of a group are nodes of one cluster")
        })?;
        nodes.push(announced);
    }
    if nodes.len() > NODES_MAX {
        let what = format!("driver redis knows {NODES_MAX} nodes of a cluster at most");
        return Err(Error::new(Kind::Plan, what).hint("use fewer nodes"));
    }
    let commands = Command::all(&requests, &logins[0], true)?;
    let map = Arc::new(SlotMap::new(nodes));
    let driver = |login| {
        let (commands, map) = (Arc::clone(&commands), Some(Arc::clone(&map)));
        Box::new(Node(Arc::new(Shared { login, commands, map }))) as Box<dyn Driver>
    };
    let drivers = logins.into_iter().map(driver).collect();
    let router = Box::new(Slots { commands: Arc::clone(&commands), map: Arc::clone(&map) });
    Ok(Some(Routed { drivers, router }))
}

struct Node(Arc<Shared>);

impl Driver for Node {
    fn session(&self, _session: u32) -> Result<Session> {
        Ok(Session::Wire(Box::new(RedisWire::new(Arc::clone(&self.0)))))
    }
}

struct Slots {
    commands: Arc<[Command]>,
    map: Arc<SlotMap>,
}

impl Router for Slots {
    #[inline]
    fn node_of(&self, op: &Op, tx: &Transaction) -> usize {
        self.map.of(self.commands[usize::from(op.request)].slot(op, tx))
    }

    fn is_used(&self, node: usize) -> bool {
        self.map.node.iter().any(|one| usize::from(one.load(Relaxed)) == node)
    }

    fn doubt(&self) {
        self.map.doubt();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_protocol::resp::Reader;

    fn map() -> SlotMap {
        SlotMap::new(vec![("127.0.0.1".into(), 7001), ("127.0.0.1".into(), 7002)])
    }

    fn read(mut bytes: &[u8]) -> Result<Ranges> {
        let (mut reader, mut ranges) = (Reader::new(true), Ranges::default());
        while !bytes.is_empty() {
            let (used, token) = reader.next(bytes)?;
            ranges.token(&token.expect("whole values"))?;
            bytes = &bytes[used..];
        }
        assert!(reader.is_between() && ranges.around.is_empty());
        Ok(ranges)
    }

    #[test]
    fn slots_are_those_of_the_primaries() {
        // Redis 7: each node has a name and more of its endpoints.
        let node = |port: u16| format!("*4\r\n$9\r\n127.0.0.1\r\n:{port}\r\n$2\r\nid\r\n*0\r\n");
        let more = "*4\r\n$-1\r\n:7002\r\n$2\r\nid\r\n*2\r\n$8\r\nhostname\r\n$1\r\nh\r\n";
        let reply = format!(
            "*2\r\n*4\r\n:0\r\n:9\r\n{}{}*3\r\n:10\r\n:16383\r\n{more}",
            node(7001),
            node(7002)
        );
        let map = map();
        map.update(&read(reply.as_bytes()).expect("a reply"));
        assert_eq!((map.of(0), map.of(9), map.of(10), map.of(16_383)), (0, 0, 1, 1));
        map.update(&read(b"*0\r\n").expect("no slots"));
        assert_eq!(map.of(10), 1);
    }

    #[test]
    fn replies_that_are_no_slots_are_refused() {
        for bytes in [
            &b":1\r\n"[..],
            b"*1\r\n:1\r\n",
            b"*1\r\n*3\r\n:0\r\n:16384\r\n*0\r\n",
            b"*1\r\n*3\r\n:-1\r\n:1\r\n*0\r\n",
            b"*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n$1\r\nh\r\n:70000\r\n",
            b"*16385\r\n",
        ] {
            assert!(read(bytes).is_err(), "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn a_redirection_is_followed_and_a_moved_slot_remembered() {
        let map = map();
        assert!(!map.take_doubt());
        let moved = map.redirect("MOVED 3999 127.0.0.1:7002");
        assert_eq!(moved, Some(Redirect { node: 1, asking: false }));
        assert_eq!((map.of(3999), map.of(3998)), (1, 0));
        assert!(map.take_doubt() && !map.take_doubt());
        let ask = map.redirect("ASK 7 :7002");
        assert_eq!((ask, map.of(7)), (Some(Redirect { node: 1, asking: true }), 0));
        for other in ["MOVED 1 127.0.0.1:7003", "MOVED x 127.0.0.1:7002", "MOVED 1", "ERR 1 a:7002"]
        {
            assert_eq!(map.redirect(other), None);
        }
        assert_eq!(map.redirect("MOVED 16384 127.0.0.1:7002"), None);
    }
}
