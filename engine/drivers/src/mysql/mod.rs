//! MySQL 8 and 9, MariaDB 10 and 11, over TCP or a Unix socket.
//!
//! | file | what |
//! |---|---|
//! | `packet` | framing, integers, strings |
//! | `flags` | the protocol's numbers |
//! | `handshake`, `auth`, `login` | from the greeting to the server's OK |
//! | `statement` | requests on their way out |
//! | `reply`, `codes` | replies on their way in, and what their error numbers mean |
//! | `bulk` | arrays of rows, LOAD DATA LOCAL, INSERTs of many rows |
//! | `wire` | one connection: all of these in order |
//!
//! Options: `bulk: auto | array | infile | insert` (auto: arrays of rows where the server takes them,
//! as MariaDB does, else LOAD DATA LOCAL, INSERTs where the server refuses it) and `metadata: cached | full` (cached: MariaDB leaves out the column definitions of a
//! prepared statement that it has sent before, as its own connectors ask it to; MySQL has no
//! equal and always sends them).
//!
//! Sources: MySQL client/server protocol (dev.mysql.com), MariaDB knowledge base
//! "Client/Server Protocol"; both as documentation, no code taken.

mod auth;
mod bulk;
mod codes;
pub mod flags;
mod handshake;
mod login;
pub mod packet;
mod reply;
mod statement;
mod wire;

use bulk::Mode;
use dyno_core::driver::{Driver, DriverKind, DriverOption, Session};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::{Address, Options, Protocol, Secret, Target, Tls};
use dyno_core::workload::{Dialect, Statement};
use statement::Template;
use std::sync::Arc;
use wire::MysqlWire;

/// The family member.
pub static KIND: DriverKind = DriverKind {
    name: "mysql",
    about: "MySQL 8 and 9, MariaDB 10 and 11, over TCP or a Unix socket",
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
};

/// What all connections to a target share.
#[derive(Debug)]
struct Config {
    /// Where the server is, for messages.
    place: String,
    user: String,
    password: Secret,
    database: String,
    tls: Tls,
    protocol: Protocol,
    session_sql: Vec<String>,
    bulk: Mode,
    cache_metadata: bool,
    templates: Vec<Template>,
}

struct Mysql(Arc<Config>);

impl Driver for Mysql {
    fn session(&self, _session: u32) -> Result<Session> {
        Ok(Session::Wire(Box::new(MysqlWire::new(Arc::clone(&self.0)))))
    }
}

fn build(target: &Target, statements: Arc<[Statement]>) -> Result<Box<dyn Driver>> {
    Ok(Box::new(Mysql(Arc::new(configure(target, &statements)?))))
}

fn configure(target: &Target, statements: &[Statement]) -> Result<Config> {
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
            return Err(Error::new(Kind::Plan, format!("driver mysql: {field} has a zero byte")));
        }
    }
    if target.password.0.contains('\0') {
        return Err(Error::new(Kind::Plan, "driver mysql: the password has a zero byte"));
    }
    let (bulk, cache_metadata) = read_options(&target.options)?;
    Ok(Config {
        place,
        user: target.user.clone(),
        password: target.password.clone(),
        database: target.database.clone(),
        tls: target.tls.clone(),
        protocol: target.protocol,
        session_sql: target.session_sql.clone(),
        bulk,
        cache_metadata,
        templates: statements.iter().map(Template::new).collect::<Result<_>>()?,
    })
}

fn read_options(options: &Options) -> Result<(Mode, bool)> {
    let (mut bulk, mut cache_metadata) = (Mode::Auto, true);
    for (name, value) in options {
        match (name.as_str(), value.as_str()) {
            ("bulk", Some("auto")) => bulk = Mode::Auto,
            ("bulk", Some("array")) => bulk = Mode::Array,
            ("bulk", Some("infile")) => bulk = Mode::Infile,
            ("bulk", Some("insert")) => bulk = Mode::Insert,
            ("metadata", Some("cached")) => cache_metadata = true,
            ("metadata", Some("full")) => cache_metadata = false,
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

#[cfg(test)]
mod tests;
