//! Meaning of a server's error numbers for a run.
//!
//! Sources: MySQL 8.4 and 9 "Server Error Message Reference"; MariaDB "Error Codes".

use super::packet::{CONTROL_BYTES_MAX, HEADER_BYTES, broken, header};
use dyno_core::driver::ServerError;
use dyno_core::error::{Error, Kind, Result};
use dyno_protocol::bytes::Bytes;

/// Maximum stored length of a server's message, bytes.
const MESSAGE_BYTES_MAX: usize = 500;

/// Parses an ERR packet's payload, including the 0xff.
pub fn parse(payload: &[u8]) -> Result<ServerError> {
    let mut fields = Bytes(payload);
    let (Some(0xff), Some(number)) = (fields.byte(), fields.u16()) else {
        return Err(broken("an error packet without a number"));
    };
    // Before the login the packet has no SQLSTATE.
    let mut state = &b""[..];
    if fields.0.first() == Some(&b'#') {
        state = &fields.take(6).ok_or_else(|| broken("an error packet cut short"))?[1..];
    }
    let text = &fields.0[..fields.0.len().min(MESSAGE_BYTES_MAX)];
    Ok(ServerError {
        // 1020: record has changed since last read (MariaDB's snapshot isolation). 1205: lock wait
        // timeout. 1213: deadlock, or Galera certification. 3101: group replication certification.
        // All other codes of class 40 also ask for a retry.
        retryable: matches!(number, 1020 | 1205 | 1213 | 3101)
            || state == b"40001"
            || is_deadlock_at_commit(number, text),
        // After a lock wait timeout the server rolls back only the statement (unless
        // innodb_rollback_on_timeout); a superfluous ROLLBACK does no harm.
        rolled_back: matches!(number, 1213 | 3101) || is_deadlock_at_commit(number, text),
        code: number.to_string(),
        number: number.into(),
        state: String::from_utf8_lossy(state).into_owned(),
        message: String::from_utf8_lossy(text).into_owned(),
        redirect: None,
    })
}

/// Whether a COMMIT found its transaction rolled back by an applier that took its rows: 1180 (error
/// during COMMIT) with the storage engines' number for a deadlock, 149. A member of a group says so.
fn is_deadlock_at_commit(number: u16, message: &[u8]) -> bool {
    number == 1180 && message.starts_with(b"Got error 149 ")
}

/// Whether the connection is or will be closed: shutdown (1053), forced close (1080), network
/// errors (1158 to 1161), killed (1927 MariaDB, 3169 MySQL), offline mode (3032), idle timeout
/// (4031).
pub fn is_farewell(number: u32) -> bool {
    matches!(number, 1053 | 1080 | 1158..=1161 | 1927 | 3032 | 3169 | 4031)
}

/// Whether the server refuses to read a client's file: 1148 (command not allowed), 3948 and 4166
/// (local_infile is off, MySQL and MariaDB), 2068 (some proxies).
pub fn refuses_infile(refused: &ServerError) -> bool {
    matches!(refused.number, 1148 | 2068 | 3948 | 4166)
}

/// Converts a refused login. `plain`: the connection was not encrypted, though the server offers
/// TLS.
pub fn login_error(refused: &ServerError, place: &str, plain: bool) -> Error {
    let (kind, hint) = match refused.number {
        1040 | 1203 | 1226 => (
            Kind::Connection,
            "the server takes no more connections: raise max_connections (or the user's limit), or use fewer sessions",
        ),
        1044 => (Kind::Authentication, "this user has no privilege on that schema: see its grants"),
        1049 => {
            (Kind::Authentication, "the schema does not exist: create it or load the data first")
        }
        1129 | 1130 => (Kind::Authentication, "the server does not accept this client's host"),
        3159 => {
            (Kind::Authentication, "the server accepts encrypted logins only: set tls: require")
        }
        _ if is_farewell(refused.number) => (Kind::Connection, "the server is going away"),
        1045 if plain => (
            Kind::Authentication,
            "check user, password and the account's host; an account made with REQUIRE SSL needs tls: require",
        ),
        _ => (Kind::Authentication, "check user, password and the account's host and plugin"),
    };
    Error::new(kind, format!("{place} refused the login: {} {}", refused.number, refused.message))
        .hint(hint)
}

/// Converts the error that ended a connection in use.
pub fn lost(refused: &ServerError, place: &str) -> Error {
    Error::new(
        Kind::Connection,
        format!("{place} closed the connection: {} {}", refused.number, refused.message),
    )
}

/// Converts the refusal of something that a session requires.
pub fn fatal(refused: &ServerError, what: &str) -> Error {
    let hint = match refused.number {
        1146 | 1049 => "load the data first",
        1142 | 1143 => "grant this user the privilege that the statement needs",
        1461 => "raise max_prepared_stmt_count, use fewer sessions, or protocol: text",
        1295 => "this statement cannot be prepared: use protocol: text",
        1193 | 1064 | 1231 => "this server's version may not know it",
        1054 => {
            "correct the column's name; or the table was made for something else: use another schema"
        }
        _ => "see the server's error log and its manual on this code",
    };
    Error::new(Kind::Server, format!("{what}: {} {}", refused.number, refused.message)).hint(hint)
}

/// Parses unsolicited bytes: the server's last error, once complete.
pub fn farewell(input: &[u8]) -> Result<Option<ServerError>> {
    let Some((length, _)) = header(input) else { return Ok(None) };
    if length == 0 || length > CONTROL_BYTES_MAX {
        return Err(unasked());
    }
    match input.get(HEADER_BYTES..HEADER_BYTES + length) {
        None => Ok(None),
        Some(payload) if payload[0] == 0xff => parse(payload).map(Some),
        Some(_) => Err(unasked()),
    }
}

fn unasked() -> Error {
    broken("an unsolicited packet")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlocks_and_timeouts_differ_in_what_is_left() {
        let of = |code: u16, state: &str| {
            let mut payload = vec![0xff];
            payload.extend_from_slice(&code.to_le_bytes());
            payload.push(b'#');
            payload.extend_from_slice(state.as_bytes());
            payload.extend_from_slice(b"text");
            parse(&payload).unwrap()
        };
        let deadlock = of(1213, "40001");
        assert_eq!((deadlock.code.as_str(), deadlock.message.as_str()), ("1213", "text"));
        assert!(deadlock.retryable && deadlock.rolled_back);
        let timeout = of(1205, "HY000");
        assert!(timeout.retryable && !timeout.rolled_back);
        let duplicate = of(1062, "23000");
        assert!(!duplicate.retryable && !duplicate.rolled_back);
    }

    #[test]
    fn a_deadlock_that_a_commit_finds_is_one() {
        let of = |text: &str| {
            let payload = [b"\xff\x9c\x04#HY000", text.as_bytes()].concat();
            let error = parse(&payload).unwrap();
            assert_eq!(error.code, "1180");
            (error.retryable, error.rolled_back)
        };
        let deadlock = "Got error 149 - 'Lock deadlock; Retry transaction' during COMMIT";
        assert_eq!(of(deadlock), (true, true));
        assert_eq!(of("Got error 28 - 'No space left on device' during COMMIT"), (false, false));
        assert_eq!(of("Got error 1491 - 'x' during COMMIT"), (false, false));
    }

    #[test]
    fn errors_before_the_login_have_no_sqlstate() {
        let refused = parse(b"\xff\x10\x04Too many connections").unwrap();
        assert_eq!((refused.number, refused.state.as_str()), (1040, ""));
        assert_eq!(refused.message, "Too many connections");
        assert_eq!(login_error(&refused, "db", false).kind, Kind::Connection);
    }

    #[test]
    fn short_error_packets_are_rubbish() {
        for payload in [&b"\xff"[..], b"\xff\x10", b"\xff\x10\x04#420"] {
            assert_eq!(parse(payload).unwrap_err().kind, Kind::Protocol);
        }
    }
}
