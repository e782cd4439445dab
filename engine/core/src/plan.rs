//! The plan of one job, read as JSON from standard input: nothing is left to decide.
//!
//! Unknown fields are refused, so that a misspelt option can never be ignored. The JSON Schema of
//! these types is committed as `schemas/engine-plan.schema.json`.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Version of the plan and of the event stream; raised whenever either changes meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// Options of a workload or of a driver: the member of the family checks and types them.
pub type Options = BTreeMap<String, serde_json::Value>;

/// One job: a measured trial, or the loading of a data set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Must equal [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// What to do.
    pub job: Job,
    /// Name of the trial, repeated in every error.
    pub trial: String,
    /// Where `latency.hlog` goes. Must exist. Events go to standard output.
    pub directory: PathBuf,
    /// Everything random follows from this.
    pub seed: u64,
    /// Systems under test by name.
    pub targets: BTreeMap<String, Target>,
    /// Whole-second lengths are usual, fractions are allowed. Ignored by [`Job::Load`].
    #[serde(default)]
    pub warmup_s: f64,
    /// Measured time, after the warm-up. Ignored by [`Job::Load`].
    #[serde(default)]
    pub duration_s: f64,
    /// How long, after the measured time, an open loop's backlog is worked off at most.
    #[serde(default = "ten_s")]
    pub drain_s: f64,
    /// Length of a reported interval.
    #[serde(default = "one")]
    pub interval_s: f64,
    /// OS threads for network sessions; 0 chooses, by sessions and CPUs; at most one a session.
    #[serde(default)]
    pub workers: u32,
    /// CPUs the load threads may use; empty: leave the affinity alone.
    #[serde(default)]
    pub cpus: Vec<u32>,
    /// What is sent. For [`Job::Load`]: what is loaded, `sessions` being the loading threads.
    pub groups: Vec<Group>,
}

fn one() -> f64 {
    1.0
}

fn ten_s() -> f64 {
    10.0
}

/// What the engine is to do with a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Job {
    /// Drive load and measure it.
    Run,
    /// Create and fill the tables of each group's workload.
    Load,
}

/// A system under test as the engine sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Name in the list of drivers: `null`, `sqlite`, `mysql`, `postgres`.
    pub driver: String,
    /// Where it listens, or its file.
    pub address: Address,
    /// Login name.
    #[serde(default)]
    pub user: String,
    /// Never written to disk: whoever stores a plan empties it first.
    #[serde(default, skip_serializing_if = "Secret::is_empty")]
    pub password: Secret,
    /// Schema (MySQL) or database (PostgreSQL).
    #[serde(default)]
    pub database: String,
    /// Prepared statements, or text on every call.
    #[serde(default)]
    pub protocol: Protocol,
    /// How the connection is encrypted.
    #[serde(default)]
    pub tls: Tls,
    /// What an encrypted connection has beside that.
    #[serde(default, skip_serializing_if = "TlsExtras::are_none")]
    pub tls_extras: TlsExtras,
    /// What the server may have of the password that asks for more than a proof.
    #[serde(default, skip_serializing_if = "LoginRules::is_strict")]
    pub login: LoginRules,
    /// Statements that each new connection runs before anything else, in order.
    #[serde(default)]
    pub session_sql: Vec<String>,
    /// No session may write: after `session_sql` the driver tells the server so, asks it whether
    /// that holds, and refuses the connection if it does not. The null driver has nothing to guard.
    #[serde(default)]
    pub read_only: bool,
    /// Options of the driver (null: `delay_us`; sqlite: `busy_timeout_ms`).
    #[serde(default)]
    pub options: Options,
}

/// A password. Its `Debug` form does not show it.
#[derive(Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Secret(pub String);

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // The error of `String` repeats what it found, and errors are printed and kept.
        let quoted = |_| D::Error::custom("must be text in quotes");
        String::deserialize(from).map(Self).map_err(quoted)
    }
}

impl Secret {
    /// Whether no password was given.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.is_empty() { "\"\"" } else { "\"***\"" })
    }
}

/// What a server may have of the password that asks for more than a proof: docs/reference/security.md.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LoginRules {
    /// The password itself may be sent, over TLS or a Unix socket.
    pub cleartext_password: bool,
    /// Without TLS, the password may be sent under this RSA key (MySQL).
    pub server_public_key: Option<PublicKey>,
}

impl LoginRules {
    /// Whether nothing is allowed.
    pub fn is_strict(&self) -> bool {
        *self == Self::default()
    }
}

/// Which RSA key of a server is trusted with the password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum PublicKey {
    /// The one that the server shows.
    Get,
    /// This one, as PEM text.
    Pem(String),
}

/// Where a target is found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Address {
    /// Host name or address, and port.
    Tcp {
        /// Name or IP address.
        host: String,
        /// TCP port.
        port: u16,
    },
    /// Path of a Unix socket.
    Unix(PathBuf),
    /// Path of a database file, or of a directory.
    File(PathBuf),
    /// In this process (null driver).
    None,
}

impl Address {
    /// Whether it leads to this machine for sure: a Unix socket, or a loopback address or name.
    pub fn is_loopback(&self) -> bool {
        match self {
            Self::Tcp { host, .. } => {
                let ip = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
                ip.map_or_else(|_| host.eq_ignore_ascii_case("localhost"), |ip| ip.is_loopback())
            }
            Self::Unix(_) => true,
            Self::File(_) | Self::None => false,
        }
    }
}

/// How statements are sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Prepared once a connection, executed with binary parameters.
    #[default]
    Prepared,
    /// The full statement text on every call.
    Text,
}

/// Encryption of a connection, in the words of libpq and of MySQL's clients.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tls {
    /// Encrypted, certificate checked against the system's roots and the host name.
    Verify,
    /// As `Verify`, with the roots in this PEM file.
    Ca(PathBuf),
    /// Encrypted, certificate checked against the roots in this PEM file, whatever name it is for.
    Chain(PathBuf),
    /// Encrypted, certificate not checked.
    Require,
    /// Encrypted if the server offers it, certificate not checked.
    Prefer,
    /// Plain.
    #[default]
    Off,
}

/// How an encrypted connection is set up beside [`Tls`]; without encryption it has no effect.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TlsExtras {
    /// PEM file of the client's certificate, then those of the authorities between; with `key`.
    pub certificate: Option<PathBuf>,
    /// PEM file of the certificate's private key, which is not itself encrypted.
    pub key: Option<PathBuf>,
    /// OpenSSL's names of the only ciphers to offer; empty: all.
    pub ciphers: Vec<String>,
}

impl TlsExtras {
    /// Whether nothing is asked for.
    pub fn are_none(&self) -> bool {
        *self == Self::default()
    }
}

/// One workload with its own sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Name, unique in the plan.
    pub name: String,
    /// Key in [`Plan::targets`].
    pub target: String,
    /// Name in the list of workloads: `oltp`.
    pub workload: String,
    /// Options of the workload.
    #[serde(default)]
    pub options: Options,
    /// Connections, each with at most one request in flight.
    pub sessions: u32,
    /// More targets of the same driver: session n of the group belongs to number n, modulo their
    /// count, of `target` and these (instances, replicas).
    #[serde(default)]
    pub also_targets: Vec<String>,
    /// Open loop: when transactions are due. None: closed, as fast as answers come.
    #[serde(default)]
    pub arrivals: Option<Arrivals>,
    /// Pauses of each session. Those between transactions are for closed loops only.
    #[serde(default)]
    pub think: Option<Think>,
    /// A transaction older than this is cancelled and counts as an error.
    #[serde(default = "sixty")]
    pub deadline_s: f64,
    /// How often a transaction is tried again after a retryable error.
    #[serde(default = "ten")]
    pub retries: u32,
}

/// The schedule of an open loop: a pure function of (seed, arrival number).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arrivals {
    /// How arrivals lie around the rate.
    pub process: Process,
    /// At least one. The first begins with the measured phase; the warm-up runs at the rate that it
    /// begins with. The last one holds its final rate until the end.
    pub steps: Vec<RateStep>,
}

/// How arrivals lie around a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Process {
    /// Independent of each other, as many users are.
    Poisson,
    /// Evenly spaced.
    Uniform,
}

/// A stretch of a schedule: transactions a second of the whole group, changing evenly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateStep {
    /// Its length; none: to the end, allowed in the last step only.
    pub for_s: Option<f64>,
    /// Rate at its beginning, 0 to 10,000,000.
    pub from_per_s: f64,
    /// Rate at its end, 0 to 10,000,000.
    pub to_per_s: f64,
}

/// A pause of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Think {
    /// Mean length.
    pub mean_s: f64,
    /// How lengths are distributed.
    pub distribution: ThinkDistribution,
    /// What they come with.
    #[serde(default)]
    pub per: ThinkPer,
}

/// Where a session pauses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ThinkPer {
    /// After each transaction, as a user does: between transactions, and part of none.
    #[default]
    Transaction,
    /// Before each operation, as a slow client program does: the transaction, which begins with the
    /// first pause, lasts so much longer, and the statements do not.
    Operation,
}

/// How think times are distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ThinkDistribution {
    /// Always the mean.
    Constant,
    /// Exponential, as pauses of independent users are.
    Exponential,
}

fn sixty() -> f64 {
    60.0
}

fn ten() -> u32 {
    10
}
