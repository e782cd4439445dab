//! The complete plan of one job, read as JSON from standard input.
//!
//! Unknown fields are errors, so a misspelt option is never ignored. The JSON Schema of these types is
//! committed as `schemas/engine-plan.schema.json`.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Version of the plan and of the event stream. It increases when either changes meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// Options of a workload or driver, which checks their names and types itself.
pub type Options = BTreeMap<String, serde_json::Value>;

/// One job: a measured trial or the load of a data set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Version of the plan; must equal that of the engine.
    pub schema_version: u32,
    /// Kind of job.
    pub job: Job,
    /// Name of the trial, part of every error message.
    pub trial: String,
    /// Existing directory for `latency.hlog`, and for `audit.log` or `history.log` if there is an audit. Events go to standard output.
    pub directory: PathBuf,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Systems under test, by name.
    pub targets: BTreeMap<String, Target>,
    /// Length of the warm-up, seconds; fractions are allowed. Job `load` ignores it.
    #[serde(default)]
    pub warmup_s: f64,
    /// Length of the measured phase after the warm-up, seconds. Job `load` ignores it.
    #[serde(default)]
    pub duration_s: f64,
    /// Longest time after the measured phase for working off the backlog of open loops, seconds.
    #[serde(default = "ten_s")]
    pub drain_s: f64,
    /// Length of a reported interval, seconds.
    #[serde(default = "one")]
    pub interval_s: f64,
    /// Load threads for network sessions, at most one per session; 0: derived from sessions and CPUs.
    #[serde(default)]
    pub workers: u32,
    /// CPU numbers that the load threads may use; empty: the CPU affinity stays unchanged.
    #[serde(default)]
    pub cpus: Vec<u32>,
    /// Workloads to run. For job `load`: workloads to load, with `sessions` as the number of threads.
    pub groups: Vec<Group>,
}

fn one() -> f64 {
    1.0
}

fn ten_s() -> f64 {
    10.0
}

/// Kind of job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Job {
    /// Generate load and measure it.
    Run,
    /// Create and fill the tables of each group's workload.
    Load,
}

/// Connection to a system under test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Name of a driver, such as `null`, `sqlite`, `mysql`, `postgres`.
    pub driver: String,
    /// Network address, socket or file.
    pub address: Address,
    /// Login name.
    #[serde(default)]
    pub user: String,
    /// Password, never written to disk: programs that store a plan remove it first.
    #[serde(default, skip_serializing_if = "Secret::is_empty")]
    pub password: Secret,
    /// Schema (MySQL) or database (PostgreSQL).
    #[serde(default)]
    pub database: String,
    /// Prepared statements, or statement text on every call.
    #[serde(default)]
    pub protocol: Protocol,
    /// Encryption of the connection.
    #[serde(default)]
    pub tls: Tls,
    /// Further settings of an encrypted connection.
    #[serde(default, skip_serializing_if = "TlsExtras::are_none")]
    pub tls_extras: TlsExtras,
    /// Permissions for authentication methods that reveal the password to the server.
    #[serde(default, skip_serializing_if = "LoginRules::is_strict")]
    pub login: LoginRules,
    /// Statements that each new connection runs first, in order.
    #[serde(default)]
    pub session_sql: Vec<String>,
    /// Whether sessions must be read-only. After `session_sql`, the driver makes the session read-only,
    /// checks this with the server, and closes the connection if the check fails. The null driver
    /// ignores it.
    #[serde(default)]
    pub read_only: bool,
    /// Options of the driver, such as `delay_us` (null), `busy_timeout_ms` (sqlite).
    #[serde(default)]
    pub options: Options,
}

/// A password, hidden in debug output.
#[derive(Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Secret(pub String);

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // The error of `String` contains the value, and errors are printed and stored.
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

/// Permissions for authentication methods that reveal the password to the server; see
/// docs/reference/security.md.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LoginRules {
    /// Whether the password may be sent in cleartext, over TLS or a Unix socket.
    pub cleartext_password: bool,
    /// RSA key of the server for sending the password encrypted without TLS (MySQL); null: never.
    pub server_public_key: Option<PublicKey>,
}

impl LoginRules {
    /// Whether nothing is allowed.
    pub fn is_strict(&self) -> bool {
        *self == Self::default()
    }
}

/// Trusted RSA key of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum PublicKey {
    /// The key that the server sends.
    Get,
    /// This key, as PEM text.
    Pem(String),
}

/// Address of a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Address {
    /// TCP address.
    Tcp {
        /// Host name or IP address.
        host: String,
        /// TCP port.
        port: u16,
    },
    /// Path of a Unix socket.
    Unix(PathBuf),
    /// Path of a database file, or of a directory.
    File(PathBuf),
    /// Target within the engine (null driver).
    None,
}

impl Address {
    /// Whether the address is certainly local: a Unix socket, a loopback IP address or `localhost`.
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

/// Protocol for statements.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Prepared once per connection, executed with binary parameters.
    #[default]
    Prepared,
    /// Full statement text on every call.
    Text,
}

/// Encryption of a connection, comparable to the modes of libpq and of MySQL's clients.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tls {
    /// Encrypted; the certificate is checked against the system's root certificates and the host name.
    Verify,
    /// As `verify`, with the root certificates in this PEM file.
    Ca(PathBuf),
    /// Encrypted; the certificate is checked against the root certificates in this PEM file, without its
    /// host name.
    Chain(PathBuf),
    /// Encrypted; the certificate is not checked.
    Require,
    /// Encrypted if the server supports it; the certificate is not checked.
    Prefer,
    /// Unencrypted.
    #[default]
    Off,
}

/// Settings of an encrypted connection in addition to `tls`; no effect without encryption.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TlsExtras {
    /// PEM file with the client certificate, followed by intermediate certificates; requires `key`.
    pub certificate: Option<PathBuf>,
    /// PEM file with the unencrypted private key of the certificate.
    pub key: Option<PathBuf>,
    /// Ciphers to offer, by OpenSSL names; empty: all.
    pub ciphers: Vec<String>,
}

impl TlsExtras {
    /// Whether all settings are the default.
    pub fn are_none(&self) -> bool {
        *self == Self::default()
    }
}

/// One workload with its own sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Name of the group, unique in the plan.
    pub name: String,
    /// Name of the target, a key of `targets`.
    pub target: String,
    /// Name of a workload, such as `oltp`.
    pub workload: String,
    /// Options of the workload.
    #[serde(default)]
    pub options: Options,
    /// Number of connections, each with at most one request in flight.
    pub sessions: u32,
    /// Further targets of the same driver (instances, replicas). Session n of the group uses target
    /// number n modulo their count, where `target` is number 0.
    #[serde(default)]
    pub also_targets: Vec<String>,
    /// Arrival schedule of an open loop; null: closed loop, without a schedule.
    #[serde(default)]
    pub arrivals: Option<Arrivals>,
    /// Think time of each session; between transactions in closed loops only.
    #[serde(default)]
    pub think: Option<Think>,
    /// Largest age of a transaction, seconds; an older one is cancelled and counts as an error.
    #[serde(default = "sixty")]
    pub deadline_s: f64,
    /// Largest number of retries of a transaction after retryable errors.
    #[serde(default = "ten")]
    pub retries: u32,
    /// Whether commits are audited: each transaction that writes also inserts its identity into table
    /// `dbdyno_audit`, which must exist (Redis: each write appends it to a list), and the outcome that
    /// the client saw goes to `audit.log`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub audit: bool,
    /// Whether its history is recorded: what each attempt read and wrote goes to `history.log`. For
    /// workloads that have one; not with `audit`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub history: bool,
}

/// Arrival schedule of an open loop, a pure function of seed and arrival number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arrivals {
    /// Arrival process.
    pub process: Process,
    /// Steps of the rate, at least one. The first begins with the measured phase; the warm-up runs at
    /// its initial rate. The final rate of the last step continues until the end.
    pub steps: Vec<RateStep>,
}

/// Arrival process at a given rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Process {
    /// Poisson process: independent arrivals, like those of many users.
    Poisson,
    /// Evenly spaced.
    Uniform,
}

/// Step of a schedule: the rate of the whole group, in transactions per second, changes linearly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateStep {
    /// Length of the step, seconds; null: until the end, in the last step only.
    pub for_s: Option<f64>,
    /// Rate at the beginning of the step, transactions per second, 0 to 10,000,000.
    pub from_per_s: f64,
    /// Rate at the end of the step, transactions per second, 0 to 10,000,000.
    pub to_per_s: f64,
}

/// Think time: pauses of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Think {
    /// Mean length, seconds.
    pub mean_s: f64,
    /// Distribution of the lengths.
    pub distribution: ThinkDistribution,
    /// Position of the pauses.
    #[serde(default)]
    pub per: ThinkPer,
}

/// Position of the pauses of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ThinkPer {
    /// After each transaction, like a user; latencies exclude the pause.
    #[default]
    Transaction,
    /// Before each operation, like a slow client program. The transaction begins with the first pause;
    /// its latency includes the pauses, those of its statements do not.
    Operation,
}

/// Distribution of think times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ThinkDistribution {
    /// Constant, equal to the mean.
    Constant,
    /// Exponential, like pauses of independent users.
    Exponential,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(value: &bool) -> bool {
    !*value
}

fn sixty() -> f64 {
    60.0
}

fn ten() -> u32 {
    10
}
