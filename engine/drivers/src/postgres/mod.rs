//! PostgreSQL 12 to 18 (and servers with its protocol 3.0), as a sans-I/O state machine.
//!
//! | file | contents |
//! |---|---|
//! | `login.rs` | a target's checked fields: address, user, database, TLS |
//! | `auth.rs` | trust, cleartext, MD5, SCRAM-SHA-256 |
//! | `statements.rs` | statements encoded once: Bind prefixes, text templates, literals |
//! | `errors.rs` | ErrorResponse -> refusal of a statement, or end of the connection |
//! | `bulk.rs` | `COPY ... FROM STDIN` |
//! | `opening.rs` | opens every connection |
//! | `connection.rs` | splits a connection into messages, for any kind of requests |
//! | `wire.rs` | requests of a workload |
//! | `client.rs` | requests of a script |
//!
//! `dyno_protocol` writes and parses the messages.
//!
//! Source: PostgreSQL documentation, chapter "Frontend/Backend Protocol" (message flow, message
//! formats, error fields) and appendix "PostgreSQL Error Codes".

use dyno_core::Result;
use dyno_core::driver::{Driver, DriverKind, Session};
use dyno_core::plan::Target;
use dyno_core::request::capability::Capability;
use dyno_core::request::{Request, in_sql};
use dyno_core::workload::Dialect;
use dyno_protocol::postgres::{frames, messages};
use std::sync::Arc;

mod auth;
mod bulk;
mod client;
mod connection;
mod errors;
mod login;
mod opening;
mod statements;
#[cfg(test)]
mod tests;
mod wire;

use connection::Connection;
use login::Login;
use statements::Statements;

/// The driver's description.
pub static KIND: DriverKind = DriverKind {
    name: "postgres",
    about: "PostgreSQL 12 to 18 over TCP or a Unix socket: trust, md5, SCRAM-SHA-256, TLS",
    capabilities: Capability::OF_SQL,
    dialect: Dialect::Postgres,
    options: &[],
    library: || None,
    build,
    clients: Some(client::build),
    routed: None,
};

fn build(target: &Target, requests: Arc<[Request]>) -> Result<Box<dyn Driver>> {
    let login = Arc::new(Login::of(target)?);
    let statements = Arc::new(Statements::new(&in_sql(requests), target.protocol)?);
    Ok(Box::new(Postgres { login, statements }))
}

struct Postgres {
    login: Arc<Login>,
    statements: Arc<Statements>,
}

impl Driver for Postgres {
    fn session(&self, _session: u32) -> Result<Session> {
        let requests = wire::Operations::new(Arc::clone(&self.statements));
        Ok(Session::Wire(Box::new(Connection::new(&self.login, requests))))
    }
}
