//! Error replies: `CODE text`.
//!
//! Source: Redis documentation, "Redis serialization protocol specification", simple errors; "Redis
//! cluster specification", MOVED and ASK.

use dyno_core::driver::ServerError;

/// Maximum stored length of the server's text, characters.
const TEXT_CHARS_MAX: usize = 500;

/// Errors of a server that has done nothing, and may do it later: a slot is being moved, the cluster
/// has no primary for it, too few replicas are connected, data are being read.
const RETRYABLE: [&str; 5] = ["TRYAGAIN", "CLUSTERDOWN", "NOREPLICAS", "LOADING", "MASTERDOWN"];

/// A server's error reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The first word if it is in capitals: `WRONGTYPE`; else `ERR`.
    pub code: String,
    /// The whole text.
    pub text: String,
}

impl Refusal {
    /// Parses the text of an error reply.
    pub fn parse(line: &[u8]) -> Self {
        let text: String = String::from_utf8_lossy(line).chars().take(TEXT_CHARS_MAX).collect();
        let word = text.split(' ').next().unwrap_or_default();
        let is_code =
            (1..=32).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_uppercase());
        Self { code: if is_code { word } else { "ERR" }.to_owned(), text }
    }

    /// Converts to the refusal of a command. There is no transaction to roll back. `routed`: it was
    /// sent to a node of a cluster that this driver knows.
    pub fn of_command(self, class: &str, routed: bool) -> ServerError {
        let Self { code, text } = self;
        let why = match code.as_str() {
            "MOVED" | "ASK" if routed => ": that node is none of the targets",
            "MOVED" | "ASK" | "CROSSSLOT" | "CLUSTERDOWN" if !routed => {
                ": the server is a node of a cluster, and this driver sends all keys to one node"
            }
            _ => "",
        };
        let named = if class.is_empty() { "" } else { ": " };
        ServerError {
            message: format!("{class}{named}{text}{why}"),
            retryable: RETRYABLE.contains(&code.as_str()),
            rolled_back: true,
            code,
            ..ServerError::default()
        }
    }
}
