//! What scripts are told of the run: its options, and the databases that they may reach.

use crate::drive::Server;
use crate::options::Options;
use crate::rand::{Settings, Uniques};
use dyno_core::driver::ServerError;
use dyno_core::error::{Error, Kind};
use dyno_core::plan::Address;
use std::sync::Arc;

/// Everything that all sessions of a run share.
pub struct Setup {
    /// All options with their values.
    pub options: Options,
    /// What `connect` may name; the first is meant where an empty name is given.
    pub drivers: Vec<Driver>,
    /// All servers of the run.
    pub servers: Arc<[Server]>,
    /// Random numbers of scripts.
    pub rand: Settings,
    /// The unique ones among them.
    pub uniques: Arc<Uniques>,
    /// `sysbench.version` and `sysbench.version_string`.
    pub version: [String; 2],
    /// The script as the call names it; none: read from standard input, or none at all.
    pub script_path: Option<String>,
    /// `prepare`, `run`, ...; none was given.
    pub command: Option<String>,
    /// The call's arguments, the program's name first.
    pub arguments: Vec<String>,
    /// What scripts of other versions may expect: `1.0` or `1.1`.
    pub compat: &'static str,
}

impl Setup {
    /// The driver of this name; of an empty one the first.
    pub fn driver(&self, name: &[u8]) -> Option<&Driver> {
        self.drivers.iter().find(|driver| name.is_empty() || driver.name.as_bytes() == name)
    }
}

/// A database that scripts may connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Driver {
    /// As `--db-driver` names it.
    pub name: &'static str,
    /// Which of [`Setup::servers`] are its; connections go round.
    pub servers: Vec<usize>,
    /// Of each of `servers`, as it was asked for.
    pub addresses: Vec<Address>,
    /// Which refusals a script may go on after.
    pub ignore: Ignore,
    /// Whether all it is asked, and what it answers, is to be told.
    pub is_traced: bool,
}

/// Refusals after which the event begins again: the options `mysql-ignore-errors` and the like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ignore {
    /// Each.
    All,
    /// Those with one of these numbers or SQLSTATEs.
    Codes(Vec<String>),
}

impl Ignore {
    /// From the option's list; `all` anywhere in it means all.
    pub fn new(list: &[String]) -> Self {
        match list.iter().any(|code| code == "all") {
            true => Self::All,
            false => Self::Codes(list.to_vec()),
        }
    }

    /// Whether this refusal is one of them.
    pub fn has(&self, refused: &ServerError) -> bool {
        match self {
            Self::All => true,
            Self::Codes(codes) => codes.iter().any(|code| {
                *code == refused.state
                    || code.parse::<u32>().is_ok_and(|n| n == refused.number && n > 0)
            }),
        }
    }
}

/// What was under way when a connection was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum During {
    /// Connecting or logging in.
    Connect,
    /// Nothing: a request could not be sent any more.
    Idle,
    /// A request.
    Request,
}

impl Driver {
    /// Where a server of [`Setup::servers`] is, if it is one of this driver's.
    pub fn address(&self, server: usize) -> Option<&Address> {
        let place = self.servers.iter().position(|known| *known == server)?;
        self.addresses.get(place)
    }

    /// A lost connection, with the number by which the system's own client library would call it.
    /// Sources: MySQL reference manual, "Client Error Message Reference"; PostgreSQL manual,
    /// "Error Codes", class 08.
    pub fn lost(&self, during: During, error: &Error) -> ServerError {
        let (number, state) = match (self.name, during, error.kind) {
            ("mysql", During::Connect, Kind::Authentication) => (1045, "28000"),
            ("mysql", During::Connect, _) if error.what.contains("is unknown") => (2005, "HY000"),
            ("mysql", During::Connect, _) => (2003, "HY000"),
            ("mysql", During::Idle, _) => (2006, "HY000"),
            ("mysql", During::Request, Kind::Protocol) => (2027, "HY000"),
            // A bound of ours: both libraries have it when memory is out.
            ("mysql", During::Request, Kind::System) => (2008, "HY000"),
            ("mysql", During::Request, _) => (2013, "HY000"),
            (_, During::Connect, Kind::Authentication) => (0, "28000"),
            (_, During::Connect, _) => (0, "08001"),
            (_, During::Request, Kind::Protocol) => (0, "08P01"),
            (_, During::Request, Kind::System) => (0, "53200"),
            (_, During::Idle | During::Request, _) => (0, "08006"),
        };
        // In the client library's words, which logs are searched for, and then in ours.
        let message = match number {
            2006 => format!("MySQL server has gone away: {error}"),
            2013 => format!("Lost connection to MySQL server during query: {error}"),
            _ => error.to_string(),
        };
        ServerError { number, state: state.into(), message, ..ServerError::default() }
    }

    /// A request on a connection that was lost before.
    pub fn gone(&self) -> ServerError {
        let (number, state) = if self.name == "mysql" { (2006, "HY000") } else { (0, "08003") };
        let what = if number == 2006 { "MySQL server has gone away: " } else { "" };
        let message = format!("{what}the connection was lost before");
        ServerError { number, state: state.into(), message, ..ServerError::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_ignored_by_number_or_state() {
        let refused = |number, state: &str| ServerError {
            number,
            state: state.into(),
            ..ServerError::default()
        };
        let some = Ignore::new(&["1213".into(), "40P01".into(), "0".into()]);
        assert!(some.has(&refused(1213, "40001")));
        assert!(some.has(&refused(0, "40P01")));
        assert!(!some.has(&refused(1205, "HY000")));
        assert!(!some.has(&refused(0, "")), "0 stands for no number");
        assert!(Ignore::new(&["all".into()]).has(&refused(1, "")));
    }

    #[test]
    fn lost_connections_are_called_as_the_systems_own_clients_call_them() {
        let driver = |name| Driver {
            name,
            servers: Vec::new(),
            addresses: Vec::new(),
            ignore: Ignore::All,
            is_traced: false,
        };
        let error = Error::new(Kind::Connection, "it closed");
        let call = |name, during| {
            let refused = driver(name).lost(during, &error);
            (refused.number, refused.state, refused.message)
        };
        let words = |number, text: &str| (number, "HY000".to_owned(), format!("{text}: it closed"));
        let lost = words(2013, "Lost connection to MySQL server during query");
        assert_eq!(call("mysql", During::Request), lost);
        assert_eq!(call("mysql", During::Idle), words(2006, "MySQL server has gone away"));
        for during in [During::Idle, During::Request] {
            assert_eq!(call("pgsql", during), (0, "08006".into(), "it closed".into()));
        }
    }
}
