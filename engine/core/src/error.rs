//! Errors, in terms that a user can act on.

use std::fmt;

/// An error that ends a run or a connection: what happened, and what to do about it.
///
/// [`ServerError`](crate::driver::ServerError) is for errors that a server returns for one
/// statement: these are data, counted and kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    /// Whose fault it probably is, which decides the exit code.
    pub kind: Kind,
    /// One sentence: what failed, where.
    pub what: String,
    /// Likely cause and next step; may be empty.
    pub hint: String,
}

/// Classes of failure; `dyno` maps them to exit codes and to "void" or "outage".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The plan cannot be carried out as written: the user must change something.
    Plan,
    /// The server cannot be reached, or the connection was lost.
    Connection,
    /// The server refused the login or the certificate.
    Authentication,
    /// The server sent something that its protocol does not allow.
    Protocol,
    /// The server refused a statement that the run cannot continue without (DDL, load).
    Server,
    /// The operating system refused (descriptors, memory, disk).
    System,
}

/// Shorthand used across the engine.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error without a hint.
    pub fn new(kind: Kind, what: impl Into<String>) -> Self {
        Self { kind, what: what.into(), hint: String::new() }
    }

    /// The same error with a likely cause and a next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// The same error with the server's name, which a protocol does not know.
    #[must_use]
    pub fn at_server(mut self, label: &str) -> Self {
        if !self.what.contains(label) {
            self.what = format!("{label}: {}", self.what);
        }
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if !self.hint.is_empty() {
            write!(f, ": {}", self.hint)?;
        }
        Ok(())
    }
}
