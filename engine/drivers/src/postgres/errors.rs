//! ErrorResponse: a refusal of one statement, which is data, or the end of the connection.
//!
//! Source: appendix "PostgreSQL Error Codes"; chapter "Error and Notice Message Fields".

use super::frames::Body;
use super::login::Login;
use dyno_core::driver::ServerError;
use dyno_core::error::{Error, Kind, Result};

/// Codes after which the same transaction may succeed when it is run again: serialization
/// failure, deadlock, lock not available.
const RETRYABLE: [&[u8]; 3] = [b"40001", b"40P01", b"55P03"];

/// Longest text that is kept of an error, in bytes.
const TEXT_BYTES_MAX: usize = 2000;

/// The fields of an ErrorResponse that we use.
#[derive(Default)]
pub(super) struct ErrorFields<'a> {
    severity: &'a [u8],
    code: &'a [u8],
    message: &'a [u8],
    detail: &'a [u8],
    hint: &'a [u8],
    /// Where the server was when it happened.
    context: &'a [u8],
}

impl<'a> ErrorFields<'a> {
    pub fn parse(body: &'a [u8]) -> Result<Self> {
        let mut body = Body(body);
        let mut fields = Self::default();
        loop {
            let field = body.byte()?;
            if field == 0 {
                body.end()?;
                return Ok(fields);
            }
            let text = body.string()?;
            match field {
                // `V` is never translated and comes after `S`, which may be.
                b'S' if fields.severity.is_empty() => fields.severity = text,
                b'V' => fields.severity = text,
                b'C' => fields.code = text,
                b'M' => fields.message = text,
                b'D' => fields.detail = text,
                b'H' => fields.hint = text,
                b'W' => fields.context = text,
                _ => {}
            }
        }
    }

    /// Whether the server closes the connection after it.
    pub fn ends_connection(&self) -> bool {
        matches!(self.severity, b"FATAL" | b"PANIC")
    }

    /// Number (from 1) of the parameter that the server complains of, where it says so.
    pub fn parameter(&self) -> Option<usize> {
        [self.message, self.context].into_iter().find_map(|text| {
            let at = text.windows(2).position(|w| w[0] == b'$' && w[1].is_ascii_digit())?;
            let digits = text[at + 1..].iter().take_while(|byte| byte.is_ascii_digit());
            std::str::from_utf8(&text[at + 1..at + 1 + digits.count()]).ok()?.parse().ok()
        })
    }

    /// As a refusal of one statement. `rolled_back` is known only when the server is ready again.
    pub fn refusal(&self) -> ServerError {
        ServerError {
            code: text(self.code),
            message: self.text(),
            retryable: RETRYABLE.contains(&self.code),
            rolled_back: false,
        }
    }

    /// As the end of a login that has not succeeded yet.
    pub fn login_failed(&self, login: &Login) -> Error {
        let (kind, hint) = match self.code {
            b"28000" | b"28P01" => (
                Kind::Authentication,
                "check user and password, and that pg_hba.conf lets this user in from here",
            ),
            b"3D000" => (Kind::Plan, "create the database, or name one that exists in `database`"),
            b"42501" => (Kind::Authentication, "grant CONNECT on the database to this user"),
            _ => self.connection_hint(),
        };
        Error::new(
            kind,
            format!(
                "PostgreSQL at {} refused the login of `{}`: {}",
                login.place,
                login.user,
                self.with_code()
            ),
        )
        .hint(hint)
    }

    /// As the end of a connection that worked until now.
    pub fn connection_lost(&self, login: &Login) -> Error {
        let (kind, hint) = self.connection_hint();
        Error::new(
            kind,
            format!("PostgreSQL at {} ended the connection: {}", login.place, self.with_code()),
        )
        .hint(hint)
    }

    /// As the refusal of a statement that a session cannot start without; `what` names it.
    pub fn setup_failed(&self, login: &Login, what: &str) -> Error {
        if self.ends_connection() {
            return self.connection_lost(login);
        }
        let hint = match (self.hint, self.code) {
            ([], b"42P01" | b"3F000") => "load the data first, into this database".to_owned(),
            ([], b"42501") => "grant this user the right to do it".to_owned(),
            ([], b"42703") => {
                "correct the column's name; or the table was made for something else: use another database"
                    .to_owned()
            }
            ([], _) => "see the server's log".to_owned(),
            (hint, _) => text(hint),
        };
        Error::new(
            Kind::Server,
            format!("PostgreSQL at {} refused {what}: {}", login.place, self.with_code()),
        )
        .hint(hint)
    }

    fn connection_hint(&self) -> (Kind, &'static str) {
        match self.code {
            b"53300" => (
                Kind::Connection,
                "raise max_connections above the number of sessions (plus \
                 superuser_reserved_connections), or use fewer sessions",
            ),
            b"57P01" => {
                (Kind::Connection, "the server was shut down, or an administrator ended it")
            }
            b"57P02" => (Kind::Connection, "another server process crashed: see the server's log"),
            b"57P03" => (Kind::Connection, "the server is starting up or shutting down: try later"),
            b"57P05" => {
                (Kind::Connection, "idle_session_timeout is shorter than a pause of this run")
            }
            b"25P03" => (
                Kind::Connection,
                "idle_in_transaction_session_timeout is shorter than a pause of this run",
            ),
            [b'0', b'8', ..] => (
                Kind::Protocol,
                "the server did not understand us: is a proxy or another version in between?",
            ),
            [b'5', b'3', ..] => {
                (Kind::Connection, "the server lacks memory, disk or locks: see its log")
            }
            _ => (Kind::Connection, "see the server's log"),
        }
    }

    fn with_code(&self) -> String {
        format!("{} {}: {}", text(self.severity), text(self.code), self.text())
    }

    fn text(&self) -> String {
        let mut message = text(self.message);
        if !self.detail.is_empty() {
            message.push_str(" (");
            message.push_str(&text(self.detail));
            message.push(')');
        }
        message
    }
}

/// Text of a field, cut to [`TEXT_BYTES_MAX`].
fn text(field: &[u8]) -> String {
    String::from_utf8_lossy(&field[..field.len().min(TEXT_BYTES_MAX)]).into_owned()
}
