//! What a target says about logging in, checked before anything is opened.

use super::messages;
use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::{Address, Secret, Target, Tls};

/// Everything a session needs until it may send requests.
pub(super) struct Login {
    /// Where, for messages: `127.0.0.1:5432` or the socket's path.
    pub place: String,
    /// Login name.
    pub user: String,
    /// Empty where none was given.
    pub password: Secret,
    /// How much the connection is to be protected.
    pub tls: Tls,
    /// The whole StartupMessage.
    pub startup: Vec<u8>,
    /// Statements each session runs first.
    pub session_sql: Vec<String>,
}

impl Login {
    /// Checks `target`; an error names the field.
    pub fn of(target: &Target) -> Result<Self> {
        let place = place(&target.address)?;
        if let Some(option) = target.options.keys().next() {
            return Err(plan(format!("driver postgres has no option `{option}`"))
                .hint("it takes no options at all: remove the key, or set it as server config"));
        }
        if target.user.is_empty() {
            return Err(plan("driver postgres needs a user").hint("set `user`, e.g. postgres"));
        }
        let database = if target.database.is_empty() { &target.user } else { &target.database };
        for (field, text) in [
            ("user", target.user.as_str()),
            ("password", target.password.0.as_str()),
            ("database", database.as_str()),
        ]
        .into_iter()
        .chain(target.session_sql.iter().map(|sql| ("session_sql", sql.as_str())))
        {
            // Strings end at a NUL on this protocol: one inside would cut the rest off silently.
            if text.contains('\0') {
                return Err(plan(format!("`{field}` of driver postgres holds a NUL character"))
                    .hint("PostgreSQL cannot carry it: remove it"));
            }
        }
        Ok(Self {
            place,
            user: target.user.clone(),
            password: target.password.clone(),
            tls: target.tls.clone(),
            startup: messages::startup(&[
                ("user", &target.user),
                ("database", database),
                ("application_name", "dbdyno"),
                ("client_encoding", "UTF8"),
            ]),
            session_sql: target.session_sql.clone(),
        })
    }
}

fn place(address: &Address) -> Result<String> {
    match address {
        Address::Tcp { host, port } if !host.is_empty() && *port != 0 => {
            Ok(format!("{host}:{port}"))
        }
        Address::Tcp { host, port } => Err(plan(format!("`{host}:{port}` is no address"))
            .hint("driver postgres needs a host name and a port from 1 to 65535")),
        Address::Unix(path) if path.is_absolute() => Ok(path.display().to_string()),
        Address::Unix(path) => {
            Err(plan(format!("socket path `{}` is not absolute", path.display()))
                .hint("give the socket file itself: /run/postgresql/.s.PGSQL.5432"))
        }
        Address::File(path) => {
            Err(plan(format!("driver postgres cannot open the file `{}`", path.display()))
                .hint("it connects to a server: address {tcp: {host, port}} or {unix: PATH}"))
        }
        Address::None => Err(plan("driver postgres needs an address")
            .hint("address {tcp: {host, port}} or {unix: PATH}")),
    }
}

fn plan(what: impl Into<String>) -> Error {
    Error::new(Kind::Plan, what)
}
