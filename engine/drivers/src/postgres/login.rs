//! A target's login fields, checked before any connection is opened.

use super::messages;
use crate::guard;
use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::{Address, LoginRules, Secret, Target, Tls};

/// What a session needs to open.
pub(super) struct Login {
    /// The server's address for messages: `127.0.0.1:5432` or the socket's path.
    pub place: String,
    /// Login name.
    pub user: String,
    /// Empty if none was given.
    pub password: Secret,
    /// The required protection of the connection.
    pub tls: Tls,
    /// What the user allows the server to learn of the password.
    pub rules: LoginRules,
    /// The whole StartupMessage.
    pub startup: Vec<u8>,
    /// Statements that open each session; in a read-only session the guard's two come last.
    pub session_sql: Vec<String>,
    /// Whether sessions are read-only.
    pub read_only: bool,
}

impl Login {
    /// Checks `target`.
    ///
    /// # Errors
    /// Names the invalid field.
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
            // Strings end at a NUL in this protocol, which would truncate the text silently.
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
            rules: target.login.clone(),
            startup: messages::startup(&[
                ("user", &target.user),
                ("database", database),
                ("application_name", "dbdyno"),
                ("client_encoding", "UTF8"),
            ]),
            session_sql: guard::POSTGRES.statements(target),
            read_only: target.read_only,
        })
    }

    /// Whether session statement `index` is the guard's query.
    pub fn asks(&self, index: usize) -> bool {
        self.read_only && index + 1 == self.session_sql.len()
    }

    /// Checks the reply to session statement `index`, after which the transaction status is
    /// `status`.
    pub fn guarded(&self, index: usize, status: u8, row: &[Option<String>]) -> Result<()> {
        match self.asks(index) {
            true if status != b'I' => Err(guard::left_open(&self.place)),
            true => guard::POSTGRES.check(&self.place, row),
            false => Ok(()),
        }
    }

    /// Checks a ParameterStatus of an open session: PostgreSQL 14 and newer report the end of the
    /// read-only mode at once; a user's function can cause it.
    pub fn still_guarded(&self, name: &[u8], value: &[u8]) -> Result<()> {
        if self.read_only && name == b"default_transaction_read_only" && value != b"on" {
            return Err(guard::by_a_statement(&self.place));
        }
        Ok(())
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
