//! What a listener's network is like.

use crate::names::resolver::Resolve;
use crate::swallow::Swallow;
use serde::Deserialize;
use std::net::SocketAddr;

/// Longest delay and jitter of one way, in seconds.
const DELAY_MAX_S: f64 = 3600.0;

/// A direction of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// From the client, who connected to the relay, to the server.
    ToServer,
    /// From the server to the client.
    ToClient,
}

impl Direction {
    /// Both, in the order of their indices.
    pub const BOTH: [Self; 2] = [Self::ToServer, Self::ToClient];

    /// The other one.
    pub fn reverse(self) -> Self {
        match self {
            Self::ToServer => Self::ToClient,
            Self::ToClient => Self::ToServer,
        }
    }
}

/// The conditions of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Way {
    /// Delay of all bytes.
    pub delay_ns: u64,
    /// Maximum additional delay, evenly distributed.
    pub jitter_ns: u64,
    /// Bandwidth of all connections together; 0: no limit.
    pub bytes_per_s: u64,
    /// Share of packets that are lost.
    pub loss: f64,
    /// Whether all packets are lost.
    pub is_dropped: bool,
}

/// The conditions of a listener.
#[derive(Debug, Clone, PartialEq)]
pub struct Conditions {
    /// Address that new connections go to, unless they resolve a name.
    pub to: SocketAddr,
    /// The name that new connections resolve.
    pub resolve: Option<Resolve>,
    /// By [`Direction`].
    pub ways: [Way; 2],
    /// Whether new connections are refused.
    pub is_refusing: bool,
    /// Which commits of new connections are swallowed.
    pub swallow: Option<Swallow>,
}

impl Conditions {
    /// Those of loopback itself.
    pub fn to(to: SocketAddr) -> Self {
        Self { to, resolve: None, ways: [Way::default(); 2], is_refusing: false, swallow: None }
    }

    /// The conditions of one direction.
    pub fn way(&self, direction: Direction) -> &Way {
        &self.ways[direction as usize]
    }

    /// How long TCP's handshake lasts until the server can accept the connection: three ways.
    pub fn handshake_ns(&self) -> u64 {
        2 * self.ways[0].delay_ns + self.ways[1].delay_ns
    }
}

/// A value of both directions, or one of each.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "neither a number nor {\"to_server\":N,\"to_client\":N}"
)]
pub enum Each<T> {
    /// The same in both.
    Both(T),
    /// Of each direction.
    Apart {
        /// From clients.
        to_server: T,
        /// From the server.
        to_client: T,
    },
}

impl<T: Copy> Each<T> {
    fn values(self) -> [T; 2] {
        match self {
            Self::Both(value) => [value; 2],
            Self::Apart { to_server, to_client } => [to_server, to_client],
        }
    }
}

/// The directions in which all packets are lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dropped {
    /// No packets are lost.
    None,
    /// Those of clients.
    ToServer,
    /// Those of the server.
    ToClient,
    /// All.
    Both,
}

/// A change of conditions: what is absent stays.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Change {
    /// See [`Conditions::to`]; ends `resolve`.
    pub to: Option<SocketAddr>,
    /// See [`Conditions::resolve`].
    pub resolve: Option<Resolve>,
    /// See [`Way::delay_ns`].
    pub delay_s: Option<Each<f64>>,
    /// See [`Way::jitter_ns`].
    pub jitter_s: Option<Each<f64>>,
    /// See [`Way::bytes_per_s`].
    pub bytes_per_s: Option<Each<u64>>,
    /// See [`Way::loss`].
    pub loss: Option<Each<f64>>,
    /// See [`Way::is_dropped`].
    pub drop: Option<Dropped>,
    /// See [`Conditions::is_refusing`].
    pub refuse: Option<bool>,
    /// See [`Conditions::swallow`].
    pub swallow: Option<Swallow>,
}

impl Change {
    /// The conditions after the change of `before`.
    ///
    /// # Errors
    /// Which value is impossible, and why.
    pub fn of(&self, before: &Conditions) -> Result<Conditions, String> {
        let mut after = before.clone();
        if let Some(to) = self.to {
            after.to = loopback(to)?;
            after.resolve = None;
        }
        if let Some(resolve) = &self.resolve {
            resolve.check()?;
            after.resolve = Some(resolve.clone());
        }
        for (index, way) in after.ways.iter_mut().enumerate() {
            let seconds = |name: &str, each: Option<Each<f64>>, old: u64| match each {
                Some(each) => duration_ns(name, each.values()[index]),
                None => Ok(old),
            };
            way.delay_ns = seconds("delay_s", self.delay_s, way.delay_ns)?;
            way.jitter_ns = seconds("jitter_s", self.jitter_s, way.jitter_ns)?;
            if let Some(each) = self.bytes_per_s {
                way.bytes_per_s = each.values()[index];
            }
            if let Some(each) = self.loss {
                way.loss = share(each.values()[index])?;
            }
            if let Some(dropped) = self.drop {
                let one = [Dropped::ToServer, Dropped::ToClient][index];
                way.is_dropped = dropped == one || dropped == Dropped::Both;
            }
        }
        after.swallow = self.swallow.or(after.swallow);
        after.is_refusing = self.refuse.unwrap_or(after.is_refusing);
        Ok(after)
    }
}

/// The address, if it is one of loopback.
///
/// # Errors
/// For any other address.
pub fn loopback(to: SocketAddr) -> Result<SocketAddr, String> {
    if to.ip().is_loopback() && to.port() != 0 {
        return Ok(to);
    }
    Err(format!("to: {to} is not a port on loopback, and the relay goes nowhere else"))
}

fn duration_ns(name: &str, seconds: f64) -> Result<u64, String> {
    if (0.0..=DELAY_MAX_S).contains(&seconds) {
        return Ok((seconds * 1e9).round() as u64);
    }
    Err(format!("{name}: {seconds} is not between 0 and {DELAY_MAX_S} seconds"))
}

fn share(loss: f64) -> Result<f64, String> {
    if (0.0..1.0).contains(&loss) {
        return Ok(loss);
    }
    Err(format!("loss: {loss} is not a share from 0 to below 1; to lose all packets use drop"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base() -> Conditions {
        Conditions::to("127.0.0.1:3306".parse().unwrap())
    }

    fn changed(json: &str) -> Result<Conditions, String> {
        let change: Change = serde_json::from_str(json).map_err(|error| error.to_string())?;
        change.of(&base())
    }

    #[test]
    fn a_change_names_what_differs_and_leaves_the_rest() {
        let slow = changed(r#"{"delay_s":0.005,"bytes_per_s":{"to_server":1000,"to_client":0}}"#);
        let slow = slow.unwrap();
        assert_eq!(slow.ways.map(|way| way.delay_ns), [5_000_000; 2]);
        assert_eq!(slow.ways.map(|way| way.bytes_per_s), [1000, 0]);
        assert_eq!(slow.handshake_ns(), 15_000_000);
        let cut: Change = serde_json::from_str(r#"{"drop":"to_client","refuse":true}"#).unwrap();
        let cut = cut.of(&slow).unwrap();
        assert_eq!(cut.ways.map(|way| way.is_dropped), [false, true]);
        assert!(cut.is_refusing && cut.ways[0].delay_ns == 5_000_000);
        let healed: Change = serde_json::from_str(r#"{"drop":"none"}"#).unwrap();
        assert!(!healed.of(&cut).unwrap().ways[1].is_dropped);
        assert_eq!(changed("{}").unwrap(), base());
        let named: Change = serde_json::from_str(
            r#"{"resolve":{"name":"db.test","server":"127.0.0.1:53","port":3306}}"#,
        )
        .unwrap();
        let named = named.of(&slow).unwrap();
        assert_eq!(named.resolve.as_ref().unwrap().name, "db.test");
        let led: Change = serde_json::from_str(r#"{"to":"127.0.0.1:1"}"#).unwrap();
        assert_eq!(led.of(&named).unwrap().resolve, None);
    }

    #[test]
    fn what_is_impossible_is_named() {
        for (json, named) in [
            (r#"{"delay_s":-1}"#, "delay_s"),
            (r#"{"delay_s":3601}"#, "delay_s"),
            (r#"{"delay_s":"2ms"}"#, "to_client"),
            (r#"{"delay_s":{"to_server":1}}"#, "to_client"),
            (r#"{"jitter_s":{"to_server":0,"to_client":-0.1}}"#, "jitter_s"),
            (r#"{"bytes_per_s":-1}"#, "to_client"),
            (r#"{"loss":1}"#, "loss"),
            (r#"{"drop":"all"}"#, "to_server"),
            (r#"{"to":"8.8.8.8:53"}"#, "loopback"),
            (r#"{"to":"127.0.0.1:0"}"#, "loopback"),
            (r#"{"latency":1}"#, "latency"),
            (r#"{"resolve":{"name":"","server":"127.0.0.1:53","port":1}}"#, "name"),
        ] {
            let why = changed(json).unwrap_err();
            assert!(why.contains(named), "{json}: {why}");
        }
    }
}
