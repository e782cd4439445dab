//! Redis 5 and newer (and servers with its protocol: Valkey, KeyDB), as a sans-I/O state machine.
//!
//! A record is a hash `PREFIX` `STORE:KEY`, read by `HGETALL` and written by `HSET`; a record of one
//! field is a string (`GET`, `SET`). There are no ranges of keys: docs/decisions/redis-records.md.
//!
//! | file | contents |
//! |---|---|
//! | `login.rs` | a target's checked fields: address, user, database number, TLS |
//! | `commands.rs` | requests encoded once |
//! | `errors.rs` | an error reply -> refusal of a command, or end of the connection |
//! | `rows.rs` | a store's rows as pipelined writes |
//! | `slots.rs` | the slot of a key in a cluster |
//! | `cluster.rs` | which node serves which slot; redirections |
//! | `keyspace.rs` | finds a store's keys by `SCAN` |
//! | `wire.rs` | the state machine of a session |
//!
//! The codec of commands and replies is `dyno_protocol::resp`.
//!
//! Source: Redis documentation, "Redis serialization protocol specification" (RESP2 and RESP3),
//! "Redis pipelining", and the pages of the commands.

use dyno_core::driver::{Driver, DriverKind, DriverOption, Session};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::Target;
use dyno_core::request::Request;
use dyno_core::request::capability::Capability;
use dyno_core::workload::Dialect;
use std::sync::Arc;

mod cluster;
#[cfg(test)]
mod cluster_tests;
mod commands;
mod errors;
mod keyspace;
mod login;
mod rows;
mod slots;
#[cfg(test)]
mod tests;
mod wire;

use cluster::SlotMap;
use commands::Command;
use login::Login;

/// The driver's description.
pub static KIND: DriverKind = DriverKind {
    name: "redis",
    about: "Redis 5 and newer over TCP or a Unix socket: AUTH, TLS, RESP2 and RESP3; records are \
            hashes (HGETALL, HSET), those of one field strings (GET, SET)",
    capabilities: &[
        Capability::KeyValue,
        Capability::Populate,
        Capability::Pipelining,
        Capability::IdentifiedWrites,
    ],
    dialect: Dialect::Null,
    options: &[
        DriverOption {
            name: "prefix",
            about: "what the name of each key begins with; no other key is touched",
            default: "\"\"",
        },
        DriverOption {
            name: "resp",
            about: "version of the protocol: 2, or 3 (Redis 6 and newer)",
            default: "2",
        },
        DriverOption {
            name: "announced",
            about: "HOST:PORT by which the nodes of a cluster call this one: sessions then send each \
                    operation to the node of its key's slot, and follow MOVED and ASK; all targets of \
                    the group are nodes of the cluster",
            default: "null",
        },
        DriverOption {
            name: "wait_replicas",
            about: "number of replicas that must have received a write (WAIT) before it counts; with \
                    fewer it fails with code WAIT",
            default: "0",
        },
        DriverOption {
            name: "wait_ms",
            about: "how long the server waits for them, milliseconds",
            default: "1000",
        },
    ],
    library: || None,
    build,
    clients: None,
    routed: Some(cluster::build),
};

fn build(target: &Target, requests: Arc<[Request]>) -> Result<Box<dyn Driver>> {
    let login = Login::of(target)?;
    if login.announced.is_some() {
        let what = format!("the node of a cluster at {} cannot be a target alone", login.place);
        return Err(Error::new(Kind::Plan, what).hint("load into a server without `announced`"));
    }
    let commands = Command::all(&requests, &login, false)?;
    Ok(Box::new(Redis { shared: Arc::new(Shared { login, commands, map: None }) }))
}

/// Immutable data that all sessions of a group share.
struct Shared {
    login: Login,
    commands: Arc<[Command]>,
    /// Which node serves which slot; `None` for a server alone.
    map: Option<Arc<SlotMap>>,
}

struct Redis {
    shared: Arc<Shared>,
}

impl Driver for Redis {
    fn session(&self, _session: u32) -> Result<Session> {
        Ok(Session::Wire(Box::new(wire::RedisWire::new(Arc::clone(&self.shared)))))
    }
}
