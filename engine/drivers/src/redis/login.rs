//! A target's login fields, checked before any connection is opened.

use super::errors::Refusal;
use crate::policy::{self, Asked};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::{Address, LoginRules, Secret, Target, Tls};
use dyno_protocol::resp;

/// What a session needs to open.
pub(super) struct Login {
    /// The server's address for messages: `127.0.0.1:6379` or the socket's path.
    pub place: String,
    /// Prefix of the names of all keys.
    pub prefix: String,
    /// Whether TLS precedes the first command.
    pub tls: bool,
    user: String,
    password: Secret,
    rules: LoginRules,
    /// Whether the connection is private: TLS, a Unix socket or loopback.
    secure: bool,
    database: u32,
    resp3: bool,
    /// Host and port by which the other nodes of a cluster call this one; `None` for a server alone.
    pub announced: Option<(String, u16)>,
    /// How writes wait for replicas.
    pub wait: Option<Wait>,
}

/// `WAIT` after each write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wait {
    /// Number of replicas that must have received the write.
    pub replicas: u64,
    /// How long the server waits for them, milliseconds.
    pub timeout_ms: u64,
}

/// Longest wait for replicas, milliseconds.
const WAIT_MS_MAX: u64 = 3_600_000;

impl Login {
    /// Checks `target`.
    ///
    /// # Errors
    /// Names the invalid field.
    pub fn of(target: &Target) -> Result<Self> {
        let Options { prefix, resp3, announced, wait } = Options::of(target)?;
        if let Some(statement) = target.session_sql.first() {
            return Err(plan(format!("driver redis cannot run `{statement:.80}` in each session"))
                .hint("remove `session_sql`: Redis has no session settings"));
        }
        if target.read_only {
            return Err(plan("driver redis cannot keep its sessions from writing")
                .hint("give the user only read commands (ACL SETUSER ... +@read)"));
        }
        let is_unix = matches!(target.address, Address::Unix(_));
        if target.tls == Tls::Prefer && !is_unix {
            return Err(plan(
                "driver redis cannot try TLS: a port speaks it from the start, or not",
            )
            .hint("set tls to require, verify or off"));
        }
        let tls = target.tls != Tls::Off && !is_unix;
        Ok(Self {
            place: place(&target.address)?,
            prefix,
            tls,
            user: target.user.clone(),
            password: target.password.clone(),
            rules: target.login.clone(),
            secure: tls || target.address.is_loopback(),
            database: database(&target.database)?,
            resp3,
            announced,
            wait,
        })
    }

    /// Appends the commands of a login, at least one; returns their number. Each has one reply.
    ///
    /// # Errors
    /// The policy forbids sending the password over this connection.
    pub fn put(&self, out: &mut Vec<u8>) -> Result<u32> {
        let auth: &[&[u8]] = match (self.user.as_bytes(), self.password.0.as_bytes()) {
            (_, b"") => &[],
            (b"", password) => &[b"default", password],
            (user, password) => &[user, password],
        };
        if !auth.is_empty() {
            let Self { place, user, rules, secure, .. } = self;
            let user = if user.is_empty() { "default" } else { user };
            Asked { place, user, rules, secure: *secure }.check(
                policy::REDIS,
                "AUTH",
                "the password",
            )?;
        }
        let mut commands = 0;
        if self.resp3 {
            let words: &[&[u8]] = if auth.is_empty() { &[] } else { &[b"AUTH"] };
            resp::command(&[&[b"HELLO".as_slice(), b"3"], words, auth].concat(), out);
            commands += 1;
        } else if !auth.is_empty() {
            // Before version 6, AUTH had no user name.
            let auth = if self.user.is_empty() { &auth[1..] } else { auth };
            resp::command(&[&[b"AUTH".as_slice()], auth].concat(), out);
            commands += 1;
        }
        if self.database > 0 {
            resp::command(&[b"SELECT", self.database.to_string().as_bytes()], out);
            commands += 1;
        }
        if commands == 0 {
            resp::command(&[b"PING"], out);
            commands += 1;
        }
        Ok(commands)
    }

    /// The error of a login command that the server refused.
    pub fn refused(&self, refusal: &Refusal) -> Error {
        let Self { place, database, .. } = self;
        let text = &refusal.text;
        let (kind, hint) = match refusal.code.as_str() {
            "WRONGPASS" | "NOAUTH" | "NOPERM" => (
                Kind::Authentication,
                "check user and password; the user needs the commands that the workload sends",
            ),
            "DENIED" => (
                Kind::Authentication,
                "protected mode: set a password at the server, or bind it to an address of yours",
            ),
            "NOPROTO" => (Kind::Plan, "the server is older than version 6: use option resp: 2"),
            "LOADING" | "MASTERDOWN" => (Kind::Connection, "wait until it has read its data"),
            _ if text.contains("max number of clients") => {
                (Kind::Connection, "raise maxclients at the server, or use fewer sessions")
            }
            _ if text.contains("DB index") || text.contains("SELECT is not allowed") => {
                (Kind::Plan, "its `databases` says how many there are; a cluster has database 0")
            }
            _ if text.contains("AUTH") => (
                Kind::Authentication,
                "the server asks for no password, or has no users (before version 6)",
            ),
            _ => (Kind::Connection, "see the server's log"),
        };
        let what = format!("Redis at {place} refused the login (database {database}): {text}");
        Error::new(kind, what).hint(hint)
    }
}

/// The driver's own options.
#[derive(Debug, Default)]
struct Options {
    prefix: String,
    resp3: bool,
    announced: Option<(String, u16)>,
    wait: Option<Wait>,
}

impl Options {
    fn of(target: &Target) -> Result<Self> {
        let mut found = Self::default();
        let (mut replicas, mut timeout_ms) = (0, 1000);
        for (name, value) in &target.options {
            match (name.as_str(), value.as_str(), value.as_u64()) {
                ("prefix", Some(text), _) => found.prefix = text.to_owned(),
                ("resp", _, Some(version @ (2 | 3))) => found.resp3 = version == 3,
                ("announced", Some(text), _) if host_and_port(text).is_some() => {
                    found.announced = host_and_port(text);
                }
                ("announced", ..) if value.is_null() => {}
                ("wait_replicas", _, Some(count @ 0..=100)) => replicas = count,
                ("wait_ms", _, Some(length @ 1..=WAIT_MS_MAX)) => timeout_ms = length,
                ("prefix" | "resp" | "announced" | "wait_replicas" | "wait_ms", ..) => {
                    return Err(plan(format!("option `{name}` of driver redis cannot be {value}"))
                        .hint(
                            "prefix: text; resp: 2 or 3; announced: HOST:PORT; wait_replicas: a \
                             number; wait_ms: from 1",
                        ));
                }
                _ => {
                    return Err(plan(format!("driver redis has no option `{name}`"))
                        .hint("it has prefix, resp, announced, wait_replicas, wait_ms"));
                }
            }
        }
        found.wait = (replicas > 0).then_some(Wait { replicas, timeout_ms });
        Ok(found)
    }
}

fn host_and_port(text: &str) -> Option<(String, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    Some((host.to_owned(), port.parse().ok().filter(|&port| port > 0)?))
}

fn database(text: &str) -> Result<u32> {
    match text {
        "" => Ok(0),
        number => number.parse().map_err(|_| {
            plan(format!("database `{number:.80}` of driver redis is not a number"))
                .hint("databases are numbers from 0; to separate keys, use option `prefix`")
        }),
    }
}

fn place(address: &Address) -> Result<String> {
    match address {
        Address::Tcp { host, port } if !host.is_empty() && *port != 0 => {
            Ok(format!("{host}:{port}"))
        }
        Address::Unix(path) if path.is_absolute() => Ok(path.display().to_string()),
        _ => Err(plan(format!("driver redis cannot connect to {address:?}"))
            .hint("address {tcp: {host, port}}, or {unix: PATH} with an absolute path")),
    }
}

fn plan(what: impl Into<String>) -> Error {
    Error::new(Kind::Plan, what)
}
