//! The data of the run that scripts receive: its options, and the databases that they may use.

use crate::drive::Server;
use crate::options::Options;
use crate::rand::{Settings, Uniques};
use dyno_core::driver::ServerError;
use dyno_core::error::{Error, Kind};
use dyno_core::plan::Address;
use std::sync::Arc;

/// Data that all sessions of a run share.
pub struct Setup {
    /// All options with their values.
    pub options: Options,
    /// The drivers that `connect` may name; an empty name means the first.
    pub drivers: Vec<Driver>,
    /// All servers of the run.
    pub servers: Arc<[Server]>,
    /// Random numbers of scripts.
    pub rand: Settings,
    /// The state of unique random numbers.
    pub uniques: Arc<Uniques>,
    /// `sysbench.version` and `sysbench.version_string`.
    pub version: [String; 2],
    /// The script as given in the call; none: read from standard input, or no script.
    pub script_path: Option<String>,
    /// The command: `prepare`, `run`, ...; none: not given.
    pub command: Option<String>,
    /// The call's arguments, the program's name first.
    pub arguments: Vec<String>,
    /// The version whose scripts are supported: `1.0` or `1.1`.
    pub compat: &'static str,
}

impl Setup {
    /// Returns the driver of this name; the first if it is empty.
    pub fn driver(&self, name: &[u8]) -> Option<&Driver> {
        self.drivers.iter().find(|driver| name.is_empty() || driver.name.as_bytes() == name)
    }
}

/// A database that scripts may connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Driver {
    /// The name for `--db-driver`.
    pub name: &'static str,
    /// Indices of the driver's servers in [`Setup::servers`]; connections use them in turn.
    pub servers: Vec<usize>,
    /// The address of each of `servers`, as given by the user.
    pub addresses: Vec<Address>,
    /// The refusals that scripts may ignore.
    pub ignore: Ignore,
    /// Whether the debug log shows its requests and answers.
    pub is_traced: bool,
}

/// Refusals after which the event restarts: the options `mysql-ignore-errors` and similar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ignore {
    /// All refusals.
    All,
    /// Refusals with one of these numbers or SQLSTATEs.
    Codes(Vec<String>),
}

impl Ignore {
    /// Parses the option's list; `all` anywhere in it means all.
    pub fn new(list: &[String]) -> Self {
        match list.iter().any(|code| code == "all") {
            true => Self::All,
            false => Self::Codes(list.to_vec()),
        }
    }

    /// Whether this refusal is ignored.
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

/// The operation in progress when a connection was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum During {
    /// Connecting or logging in.
    Connect,
    /// None: a request could not be sent any more.
    Idle,
    /// A request.
    Request,
}

impl Driver {
    /// The address of a server of [`Setup::servers`], if it belongs to this driver.
    pub fn address(&self, server: usize) -> Option<&Address> {
        let place = self.servers.iter().position(|known| *known == server)?;
        self.addresses.get(place)
    }

    /// A lost connection, with the number that the system's own client library would report.
    /// Sources: MySQL reference manual, "Client Error Message Reference"; PostgreSQL manual,
    /// "Error Codes", class 08.
    pub fn lost(&self, during: During, error: &Error) -> ServerError {
        let (number, state) = match (self.name, during, error.kind) {
            ("mysql", During::Connect, Kind::Authentication) => (1045, "28000"),
            ("mysql", During::Connect, _) if error.what.contains("is unknown") => (2005, "HY000"),
            ("mysql", During::Connect, _) => (2003, "HY000"),
            ("mysql", During::Idle, _) => (2006, "HY000"),
            ("mysql", During::Request, Kind::Protocol) => (2027, "HY000"),
            // A limit of the engine: both libraries report it when memory is exhausted.
            ("mysql", During::Request, Kind::System) => (2008, "HY000"),
            ("mysql", During::Request, _) => (2013, "HY000"),
            (_, During::Connect, Kind::Authentication) => (0, "28000"),
            (_, During::Connect, _) => (0, "08001"),
            (_, During::Request, Kind::Protocol) => (0, "08P01"),
            (_, During::Request, Kind::System) => (0, "53200"),
            (_, During::Idle | During::Request, _) => (0, "08006"),
        };
        // First in the wording of the client library, which users search logs for, then in dbdyno's.
        let message = match number {
            2006 => format!("MySQL server has gone away: {error}"),
            2013 => format!("Lost connection to MySQL server during query: {error}"),
            _ => error.to_string(),
        };
        ServerError { number, state: state.into(), message, ..ServerError::default() }
    }

    /// The error of a request on a connection that was lost before.
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
