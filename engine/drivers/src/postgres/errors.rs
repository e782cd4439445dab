//! ErrorResponse: the refusal of one statement, which is data, or the end of the connection.
//!
//! Source: appendix "PostgreSQL Error Codes"; chapter "Error and Notice Message Fields".

use super::frames::Body;
use super::login::Login;
use dyno_core::driver::ServerError;
use dyno_core::error::{Error, Kind, Result};

/// Codes after which the same transaction may succeed on a retry: serialization failure, deadlock,
/// lock not available.
const RETRYABLE: [&[u8]; 3] = [b"40001", b"40P01", b"55P03"];

/// Maximum stored length of an error's text, bytes.
const TEXT_BYTES_MAX: usize = 2000;
/// Maximum length of a refused statement's line in a message, characters.
const LINE_CHARS_MAX: usize = 60;

/// The used fields of an ErrorResponse.
#[derive(Default)]
pub(super) struct ErrorFields<'a> {
    severity: &'a [u8],
    code: &'a [u8],
    message: &'a [u8],
    detail: &'a [u8],
    hint: &'a [u8],
    /// Position in the statement, characters from 1.
    position: &'a [u8],
    /// The server's context of the error.
    context: &'a [u8],
}

impl<'a> ErrorFields<'a> {
    pub fn parse(body: &'a [u8]) -> Result<Self> {
        let mut body = Body(body);
        let mut fields = Self::default();
        while let Some((field, text)) = body.field()? {
            match field {
                // `V` is never translated and follows `S`, which may be.
                b'S' if fields.severity.is_empty() => fields.severity = text,
                b'V' => fields.severity = text,
                b'C' => fields.code = text,
                b'M' => fields.message = text,
                b'D' => fields.detail = text,
                b'H' => fields.hint = text,
                b'P' => fields.position = text,
                b'W' => fields.context = text,
                _ => {}
            }
        }
        Ok(fields)
    }

    /// Whether the server closes the connection after this error.
    pub fn ends_connection(&self) -> bool {
        matches!(self.severity, b"FATAL" | b"PANIC")
    }

    /// Number (from 1) of the parameter that the server reports as wrong, if any.
    pub fn parameter(&self) -> Option<usize> {
        [self.message, self.context].into_iter().find_map(|text| {
            let at = text.windows(2).position(|w| w[0] == b'$' && w[1].is_ascii_digit())?;
            let digits = text[at + 1..].iter().take_while(|byte| byte.is_ascii_digit());
            std::str::from_utf8(&text[at + 1..at + 1 + digits.count()]).ok()?.parse().ok()
        })
    }

    /// Converts to the refusal of one statement. `rolled_back` is known only when the server is
    /// ready again.
    pub fn refusal(&self) -> ServerError {
        ServerError {
            code: text(self.code),
            number: 0,
            state: text(self.code),
            message: self.text(),
            retryable: RETRYABLE.contains(&self.code),
            rolled_back: false,
            redirect: None,
        }
    }

    /// Converts to the refusal of a script's statement, with the primary message only.
    pub fn refused(&self) -> ServerError {
        ServerError { message: text(self.message), ..self.refusal() }
    }

    /// Converts to the refusal to prepare a script's `sql`, with all fields and the line of the
    /// error, in the layout of PostgreSQL's own clients.
    pub fn refused_in_full(&self, sql: &[u8]) -> ServerError {
        let mut message = format!("{}:  {}\n", text(self.severity), text(self.message));
        let position = std::str::from_utf8(self.position).ok().and_then(|at| at.parse().ok());
        if let Some((number, line, column)) = position.and_then(|at| line_at(sql, at)) {
            let label = format!("LINE {number}: ");
            let blanks = " ".repeat(label.len() + column);
            message.push_str(&format!("{label}{line}\n{blanks}^\n"));
        }
        let more = [("DETAIL", self.detail), ("HINT", self.hint), ("CONTEXT", self.context)];
        for (label, field) in more.into_iter().filter(|(_, field)| !field.is_empty()) {
            message.push_str(&format!("{label}:  {}\n", text(field)));
        }
        ServerError { message, ..self.refusal() }
    }

    /// Converts to the error of a failed login.
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

    /// Converts to the error of a lost connection.
    pub fn connection_lost(&self, login: &Login) -> Error {
        let (kind, hint) = self.connection_hint();
        Error::new(
            kind,
            format!("PostgreSQL at {} ended the connection: {}", login.place, self.with_code()),
        )
        .hint(hint)
    }

    /// Converts to the refusal of a statement that a session requires; `what` names it.
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
                (Kind::Connection, "the server is out of memory, disk space or locks: see its log")
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

/// Number (from 1) of the line with character `position` (from 1) of `sql`, an excerpt of that line
/// that fits a terminal, and the character's column in the excerpt (from 0).
fn line_at(sql: &[u8], position: usize) -> Option<(usize, String, usize)> {
    let sql = String::from_utf8_lossy(sql);
    let at = position.checked_sub(1)?;
    let mut start = 0;
    for (index, line) in sql.split('\n').enumerate() {
        let length = line.chars().count();
        if at <= start + length {
            let column = at - start;
            let skipped = column.saturating_sub(LINE_CHARS_MAX / 2);
            let shown = |c: char| if c.is_control() { ' ' } else { c };
            let part: String = line.chars().skip(skipped).take(LINE_CHARS_MAX).map(shown).collect();
            let before = if skipped > 0 { "..." } else { "" };
            let behind = if skipped + LINE_CHARS_MAX < length { "..." } else { "" };
            let column = column - skipped + before.len();
            return Some((index + 1, format!("{before}{part}{behind}"), column));
        }
        start += length + 1;
    }
    None
}

/// Text of a field, truncated to [`TEXT_BYTES_MAX`].
fn text(field: &[u8]) -> String {
    String::from_utf8_lossy(&field[..field.len().min(TEXT_BYTES_MAX)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(position: &str) -> String {
        let body = format!("SERROR\0C42P01\0Mno such relation\0HMake it.\0P{position}\0\0");
        let fields = ErrorFields::parse(body.as_bytes()).unwrap();
        assert_eq!(fields.refused().message, "no such relation");
        fields.refused_in_full(b"SELECT 'na\xC3\xAFve'\n FROM\tnowhere").message
    }

    #[test]
    fn a_refusal_points_into_the_statement() {
        let (first, last) = ("ERROR:  no such relation\n", "HINT:  Make it.\n");
        let line = "LINE 2:  FROM nowhere\n              ^\n";
        assert_eq!(fields("22"), format!("{first}{line}{last}"));
        assert!(fields("1").contains("LINE 1: SELECT 'na\u{ef}ve'\n        ^\n"));
        for nowhere in ["0", "99", "x", "", "18446744073709551615"] {
            assert_eq!(fields(nowhere), format!("{first}{last}"));
        }
    }

    #[test]
    fn a_long_line_is_cut_around_its_place() {
        let sql = format!("{}here{}", "x".repeat(100), "y".repeat(100));
        let (number, line, column) = line_at(sql.as_bytes(), 101).unwrap();
        assert_eq!((number, line.len(), &line[column..column + 4]), (1, 66, "here"));
    }
}
