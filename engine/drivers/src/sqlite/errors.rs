//! Names of SQLite's result codes, and their meaning for a transaction.
//!
//! Source: SQLite, "Result and Error Codes".

use dyno_core::driver::ServerError;
use dyno_core::error::{Error, Kind};
use rusqlite::ffi;

/// Maximum stored length of an error's text, characters.
const MESSAGE_CHARS_MAX: usize = 500;

/// Names of the primary result codes.
const NAMES: &[(i32, &str)] = &[
    (ffi::SQLITE_ERROR, "SQLITE_ERROR"),
    (ffi::SQLITE_INTERNAL, "SQLITE_INTERNAL"),
    (ffi::SQLITE_PERM, "SQLITE_PERM"),
    (ffi::SQLITE_ABORT, "SQLITE_ABORT"),
    (ffi::SQLITE_BUSY, "SQLITE_BUSY"),
    (ffi::SQLITE_LOCKED, "SQLITE_LOCKED"),
    (ffi::SQLITE_NOMEM, "SQLITE_NOMEM"),
    (ffi::SQLITE_READONLY, "SQLITE_READONLY"),
    (ffi::SQLITE_INTERRUPT, "SQLITE_INTERRUPT"),
    (ffi::SQLITE_IOERR, "SQLITE_IOERR"),
    (ffi::SQLITE_CORRUPT, "SQLITE_CORRUPT"),
    (ffi::SQLITE_NOTFOUND, "SQLITE_NOTFOUND"),
    (ffi::SQLITE_FULL, "SQLITE_FULL"),
    (ffi::SQLITE_CANTOPEN, "SQLITE_CANTOPEN"),
    (ffi::SQLITE_PROTOCOL, "SQLITE_PROTOCOL"),
    (ffi::SQLITE_SCHEMA, "SQLITE_SCHEMA"),
    (ffi::SQLITE_TOOBIG, "SQLITE_TOOBIG"),
    (ffi::SQLITE_CONSTRAINT, "SQLITE_CONSTRAINT"),
    (ffi::SQLITE_MISMATCH, "SQLITE_MISMATCH"),
    (ffi::SQLITE_MISUSE, "SQLITE_MISUSE"),
    (ffi::SQLITE_NOLFS, "SQLITE_NOLFS"),
    (ffi::SQLITE_AUTH, "SQLITE_AUTH"),
    (ffi::SQLITE_RANGE, "SQLITE_RANGE"),
    (ffi::SQLITE_NOTADB, "SQLITE_NOTADB"),
];

/// The extended result code, or the generic one for errors of the Rust library.
pub fn code(error: &rusqlite::Error) -> i32 {
    match error {
        rusqlite::Error::SqliteFailure(failure, _) => failure.extended_code,
        rusqlite::Error::SqlInputError { error, .. } => error.extended_code,
        _ => ffi::SQLITE_ERROR,
    }
}

/// Name of the primary code: the low byte of the extended one.
pub fn name(code: i32) -> &'static str {
    NAMES.iter().find(|(known, _)| *known == code & 0xFF).map_or("SQLITE_UNKNOWN", |(_, n)| n)
}

/// Whether waiting may help: another connection holds the lock. An outdated snapshot stays
/// outdated.
pub fn worth_waiting(error: &rusqlite::Error) -> bool {
    let code = code(error);
    code & 0xFF == ffi::SQLITE_BUSY && code != ffi::SQLITE_BUSY_SNAPSHOT
}

/// The error's text, truncated.
pub fn message(error: &rusqlite::Error) -> String {
    error.to_string().chars().take(MESSAGE_CHARS_MAX).collect()
}

/// The error as data of a run. `rolled_back`: whether SQLite ended the transaction itself.
pub fn server_error(error: &rusqlite::Error, rolled_back: bool) -> Box<ServerError> {
    let primary = code(error) & 0xFF;
    Box::new(ServerError {
        code: name(primary).to_owned(),
        number: primary as u32,
        state: String::new(),
        message: message(error),
        retryable: matches!(primary, ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED),
        rolled_back,
        redirect: None,
    })
}

/// The transaction's deadline passed during work or during a wait for a lock.
pub fn deadline(rolled_back: bool) -> Box<ServerError> {
    Box::new(ServerError {
        code: "deadline".to_owned(),
        message: "the transaction's deadline passed inside SQLite".to_owned(),
        rolled_back,
        ..ServerError::default()
    })
}

/// The error that ended the action `doing` (in the form "open FILE").
pub fn fatal(doing: &str, error: &rusqlite::Error) -> Error {
    let code = code(error);
    let (kind, hint) = match code & 0xFF {
        ffi::SQLITE_FULL => (Kind::System, "the disk is full: free some space"),
        ffi::SQLITE_IOERR | ffi::SQLITE_NOMEM | ffi::SQLITE_CANTOPEN => {
            (Kind::System, "check the directory, its permissions and the kernel's log")
        }
        ffi::SQLITE_NOTADB | ffi::SQLITE_CORRUPT => {
            (Kind::Plan, "the file is not an intact SQLite database: remove it and load again")
        }
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => {
            (Kind::Server, "another process uses the file: stop it or raise busy_timeout_ms")
        }
        ffi::SQLITE_PERM | ffi::SQLITE_READONLY => (Kind::System, "check who may write the file"),
        _ => (Kind::Server, ""),
    };
    Error::new(kind, format!("cannot {doing}: {} ({})", message(error), name(code))).hint(hint)
}
