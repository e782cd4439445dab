//! MySQL 8 and 9, MariaDB 10 and 11, over TCP or a Unix socket.
//!
//! | file | contents |
//! |---|---|
//! | `login` (`auth`) | from the greeting to the server's OK |
//! | `opening` | login and session statements, the same for `wire` and `client` |
//! | `statements` | encoding of requests |
//! | `reader` | parsing of replies, packet by packet |
//! | `reply`, `errors` | what workloads read of replies, and the meaning of error numbers |
//! | `bulk` | arrays of rows, LOAD DATA LOCAL, multi-row INSERTs |
//! | `wire` | one connection of a workload, with all of the above |
//! | `client` | one connection of a script: statements unknown in advance, buffered results |
//!
//! `dyno_protocol` encodes and parses packets.
//!
//! Options: `bulk: auto | array | infile | insert` (auto: arrays of rows where the server supports
//! them, as MariaDB does; else LOAD DATA LOCAL; else INSERTs) and `metadata: cached | full`
//! (cached: MariaDB omits column definitions of a prepared statement that it has sent before, as
//! for its own connectors; MySQL has no equivalent and always sends them).
//!
//! Sources: MySQL client/server protocol (dev.mysql.com), MariaDB knowledge base
//! "Client/Server Protocol"; both as documentation, no code taken.

mod bulk;
mod client;
mod errors;
mod login;
mod opening;
mod reader;
mod reply;
mod statements;
mod wire;

use crate::guard;
use bulk::Mode;
use dyno_core::driver::{Driver, DriverKind, DriverOption, Session};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::{Address, LoginRules, Options, Protocol, Secret, Target, Tls};
use dyno_core::request::capability::Capability;
use dyno_core::request::{Request, in_sql};
use dyno_core::workload::Dialect;
use dyno_protocol::mysql::flags::capability;
use dyno_protocol::mysql::{column, compressed, control, flags, packet};
use statements::Template;
use std::sync::Arc;
use wire::MysqlWire;

/// The driver's description.
pub static KIND: DriverKind = DriverKind {
    name: "mysql",
    about: "MySQL 8 and 9, MariaDB 10 and 11, over TCP or a Unix socket",
    capabilities: Capability::OF_SQL,
    dialect: Dialect::Mysql,
    options: &[
        DriverOption {
            name: "bulk",
            about: "how rows are loaded: array (a prepared INSERT for many rows, MariaDB only), \
                    infile (LOAD DATA LOCAL), insert (many rows a statement), auto (array where \
                    the server has it, else infile where it allows it, else insert)",
            default: "\"auto\"",
        },
        DriverOption {
            name: "metadata",
            about: "column definitions of prepared statements: cached (MariaDB sends them again \
                    only when they change) or full (with each result)",
            default: "\"cached\"",
        },
    ],
    library: || None,
    build,
    clients: Some(client::build),
    routed: None,
};

/// What all connections to a target share.
#[derive(Debug)]
struct Config {
    /// The server's address, for messages.
    place: String,
    user: String,
    password: Secret,
    database: String,
    tls: Tls,
    protocol: Protocol,
    /// Statements that open a session; in a read-only session the guard's two come last.
    session_sql: Vec<String>,
    read_only: bool,
    /// What the user allows the server to learn of the password.
    login: LoginRules,
    /// Capability flags that this target requests in addition to the common ones.
    capabilities: u32,
    cache_metadata: bool,
    bulk: Mode,
    templates: Vec<Template>,
}

struct Mysql(Arc<Config>);

impl Driver for Mysql {
    fn session(&self, _session: u32) -> Result<Session> {
        Ok(Session::Wire(Box::new(MysqlWire::new(Arc::clone(&self.0)))))
    }
}

fn build(target: &Target, requests: Arc<[Request]>) -> Result<Box<dyn Driver>> {
    Ok(Box::new(Mysql(Arc::new(configure(target, &in_sql(requests))?))))
}

fn configure(target: &Target, statements: &[Request]) -> Result<Config> {
    let (bulk, cache_metadata) = read_options(&target.options)?;
    let config = Config::of(target)?;
    Ok(Config {
        capabilities: config.capabilities | capability::LOCAL_FILES,
        cache_metadata,
        bulk,
        templates: statements.iter().map(Template::new).collect::<Result<_>>()?,
        ..config
    })
}

impl Config {
    /// Whether session statement `index` is the guard's query.
    fn asks(&self, index: usize) -> bool {
        self.read_only && index + 1 == self.session_sql.len()
    }

    /// Checks the reply to session statement `index`.
    fn guarded(&self, index: usize, status: u16, row: &[Option<String>]) -> Result<()> {
        let is_set = self.read_only && index + 2 == self.session_sql.len();
        if is_set && status & flags::status::IN_TRANSACTION != 0 {
            return Err(guard::left_open(&self.place));
        }
        if self.asks(index) { guard::MYSQL.check(&self.place, row) } else { Ok(()) }
    }

    /// Checks the session state that the server reported: fails if a statement ended the read-only
    /// mode.
    fn still_guarded(&self, lifts_guard: bool) -> Result<()> {
        match self.read_only && lifts_guard {
            true => Err(guard::by_a_statement(&self.place)),
            false => Ok(()),
        }
    }

    /// Requests or clears capability flags.
    fn switch(&mut self, capabilities: u32, on: bool) {
        self.capabilities &= !capabilities;
        self.capabilities |= capabilities * u32::from(on);
    }

    /// The configuration that workloads and scripts share.
    fn of(target: &Target) -> Result<Self> {
        let place = match &target.address {
            Address::Tcp { host, port } => format!("{host}:{port}"),
            Address::Unix(path) => path.display().to_string(),
            Address::File(_) | Address::None => {
                return Err(Error::new(
                    Kind::Plan,
                    "driver mysql: the address is neither tcp nor unix",
                )
                .hint("give {tcp: {host: ..., port: ...}} or {unix: PATH}"));
            }
        };
        for (field, value) in [("user", &target.user), ("database", &target.database)] {
            if value.contains('\0') {
                let what = format!("driver mysql: {field} has a zero byte");
                return Err(Error::new(Kind::Plan, what));
            }
        }
        if target.password.0.contains('\0') {
            return Err(Error::new(Kind::Plan, "driver mysql: the password has a zero byte"));
        }
        Ok(Self {
            place,
            user: target.user.clone(),
            password: target.password.clone(),
            database: target.database.clone(),
            tls: target.tls.clone(),
            protocol: target.protocol,
            session_sql: guard::MYSQL.statements(target),
            login: target.login.clone(),
            read_only: target.read_only,
            capabilities: capability::SESSION_TRACK * u32::from(target.read_only),
            cache_metadata: true,
            bulk: Mode::Auto,
            templates: vec![],
        })
    }
}

fn read_options(options: &Options) -> Result<(Mode, bool)> {
    let (mut bulk, mut cache_metadata) = (Mode::Auto, true);
    for (name, value) in options {
        if let ("metadata", Some(on)) = (name.as_str(), cached_metadata(value)) {
            cache_metadata = on;
            continue;
        }
        match (name.as_str(), value.as_str()) {
            ("bulk", Some("auto")) => bulk = Mode::Auto,
            ("bulk", Some("array")) => bulk = Mode::Array,
            ("bulk", Some("infile")) => bulk = Mode::Infile,
            ("bulk", Some("insert")) => bulk = Mode::Insert,
            _ => {
                return Err(Error::new(
                    Kind::Plan,
                    format!("driver mysql: option {name} = {value} is not known"),
                )
                .hint(
                    "allowed are bulk: auto, array, infile or insert, and metadata: cached or full",
                ));
            }
        }
    }
    Ok((bulk, cache_metadata))
}

/// The option `metadata`: whether the server may omit column definitions.
fn cached_metadata(value: &serde_json::Value) -> Option<bool> {
    match value.as_str() {
        Some("cached") => Some(true),
        Some("full") => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
