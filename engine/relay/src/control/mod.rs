//! Commands and answers, one JSON object a line; [`input`] reads the lines.

pub mod input;

use crate::conditions::Change;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// Longest command, in bytes.
pub const LINE_BYTES_MAX: usize = 64 << 10;

/// A command. Each one is answered, in order.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Listens on loopback.
    Listen {
        /// Name for further commands.
        name: String,
        /// The conditions; `to` is required.
        link: Change,
        /// Port; 0: any free one.
        #[serde(default)]
        port: u16,
        /// Address of loopback.
        #[serde(default = "localhost")]
        ip: Ipv4Addr,
    },
    /// Changes conditions, of open connections too.
    Change {
        /// Which listener.
        name: String,
        /// What changes.
        link: Change,
        /// Whether open connections are reset.
        #[serde(default)]
        reset: bool,
    },
    /// Resets all connections of a listener.
    Reset {
        /// Which listener.
        name: String,
    },
    /// Resets all connections of a listener and removes it.
    Close {
        /// Which listener.
        name: String,
    },
    /// Asks for the figures of a listener.
    Status {
        /// Which listener.
        name: String,
    },
}

/// What a listener has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Figures {
    /// Port on the listener's address.
    pub port: u16,
    /// Open connections, after the command.
    pub connections: u64,
    /// Connections accepted so far.
    pub accepted: u64,
    /// Bytes read from clients, of connections that have ended and of open ones.
    pub bytes_to_server: u64,
    /// Bytes read from servers.
    pub bytes_to_client: u64,
    /// Commits that were swallowed.
    pub swallowed: u64,
    /// Questions to the name server so far.
    pub lookups: u64,
}

/// The answer to a command that was carried out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Done {
    /// The listener's name.
    pub done: String,
    /// When it took effect, in seconds since 1970.
    pub at_unix_s: f64,
    /// CPU time of the relay so far, in seconds.
    pub cpu_s: f64,
    /// The listener.
    #[serde(flatten)]
    pub figures: Figures,
}

/// The answer to a command that was not carried out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Failed {
    /// What is wrong.
    pub error: String,
}

fn localhost() -> Ipv4Addr {
    Ipv4Addr::LOCALHOST
}

/// Parses a line.
///
/// # Errors
/// What is wrong with it.
pub fn parse(line: &[u8]) -> Result<Command, String> {
    serde_json::from_slice(line).map_err(|error| format!("not a command of the relay: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_strictly() {
        let listen = parse(br#"{"do":"listen","name":"db","link":{"to":"127.0.0.1:3306"}}"#);
        let Command::Listen { name, link, port, ip } = listen.unwrap() else { panic!() };
        assert_eq!((name.as_str(), port, ip), ("db", 0, Ipv4Addr::LOCALHOST));
        assert_eq!(link.to.unwrap().port(), 3306);
        for (line, named) in [
            (&b"{"[..], "EOF"),
            (b"[]", "command"),
            (br#"{"do":"stop","name":"db"}"#, "stop"),
            (br#"{"do":"reset"}"#, "name"),
            (br#"{"do":"reset","name":"db","when":1}"#, "when"),
            (br#"{"do":"change","name":"db","link":{"lag":1}}"#, "lag"),
        ] {
            let why = parse(line).unwrap_err();
            assert!(why.contains(named), "{why}");
        }
    }

    #[test]
    fn an_answer_is_one_flat_object() {
        let figures = Figures { port: 7, connections: 2, ..Figures::default() };
        let done = Done { done: "db".to_owned(), at_unix_s: 1.5, cpu_s: 0.0, figures };
        let json = serde_json::to_value(&done).unwrap();
        assert_eq!((json["done"].as_str(), json["port"].as_u64()), (Some("db"), Some(7)));
        assert_eq!(
            (json["connections"].as_u64(), json["at_unix_s"].as_f64()),
            (Some(2), Some(1.5))
        );
    }
}
