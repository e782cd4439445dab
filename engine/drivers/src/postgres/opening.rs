//! Opens a connection for workloads and scripts: (SSLRequest, TLS) - startup - authentication -
//! session_sql.

use super::auth::Auth;
use super::errors::ErrorFields;
use super::frames::{self, PARSED_BYTES_MAX, rubbish};
use super::login::Login;
use super::messages;
use dyno_core::driver::Cancel;
use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::Tls;
use std::sync::Arc;

/// The progress of a connection to its first request, and the state that the server reported.
pub(super) struct Opening {
    pub login: Arc<Login>,
    stage: Stage,
    auth: Auth,
    /// Whether the connection is private: Unix socket or TLS.
    secure: bool,
    /// BackendKeyData: process id and secret, for a cancel request.
    key: Option<[u8; 8]>,
    /// The server runs with `standard_conforming_strings = off`.
    pub backslashes: bool,
    /// The server's reply to the guard's query.
    row: Vec<Option<String>>,
    /// The current request received a CopyInResponse, which was refused.
    pub has_refused_copy: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Not connected.
    New,
    /// The next byte tells whether the server supports TLS.
    TlsAsked,
    /// The transport performs the TLS handshake.
    TlsHandshake,
    /// Login, until the first ReadyForQuery.
    Login,
    /// session_sql: number of completed statements.
    Session { done: usize },
    /// The connection accepts requests.
    Over,
    /// An error was returned: the connection is unusable.
    Lost,
}

impl Opening {
    pub fn new(login: Arc<Login>) -> Self {
        Self {
            login,
            stage: Stage::New,
            auth: Auth::Open,
            secure: false,
            key: None,
            backslashes: false,
            row: Vec::new(),
            has_refused_copy: false,
        }
    }

    pub fn connected(&mut self, secure_transport: bool, out: &mut Vec<u8>) {
        self.secure = secure_transport;
        if secure_transport || self.login.tls == Tls::Off {
            self.start(out);
        } else {
            self.stage = Stage::TlsAsked;
            messages::ssl_request(out);
        }
    }

    pub fn tls_established(&mut self, out: &mut Vec<u8>) {
        self.secure = true;
        self.start(out);
    }

    fn start(&mut self, out: &mut Vec<u8>) {
        self.stage = Stage::Login;
        out.extend_from_slice(&self.login.startup);
    }

    /// Handles input before the first message: returns the bytes consumed, and whether TLS begins.
    /// `None`: messages follow.
    pub fn before_messages(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<(usize, bool)>> {
        match self.stage {
            Stage::Login | Stage::Session { .. } | Stage::Over => Ok(None),
            Stage::TlsAsked => self.tls_answer(input, out).map(Some),
            Stage::New | Stage::TlsHandshake | Stage::Lost => Err(Error::new(
                Kind::Protocol,
                format!("{} sent unsolicited bytes", self.login.place),
            )),
        }
    }

    /// Handles the one-byte reply to an SSLRequest.
    fn tls_answer(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, bool)> {
        let place = &self.login.place;
        match (input, &self.login.tls) {
            ([], _) => Ok((0, false)),
            // Further bytes would be plain text injected before the encryption, which the client
            // would take for the server's messages after it (CVE-2021-23222).
            ([b'S', _, ..], _) => Err(Error::new(
                Kind::Protocol,
                format!("{place} sent unencrypted bytes behind its agreement to TLS"),
            )
            .hint("somebody between here and the server may be tampering with the connection")),
            ([b'S'], _) => {
                self.stage = Stage::TlsHandshake;
                Ok((1, true))
            }
            ([b'N', ..], Tls::Prefer) => {
                self.start(out);
                Ok((1, false))
            }
            ([b'N', ..], _) => Err(Error::new(
                Kind::Authentication,
                format!("PostgreSQL at {place} does not offer TLS, which the plan demands"),
            )
            .hint("set ssl = on with a certificate at the server, or use tls: prefer or off")),
            // Its text is not shown, because its sender is not authenticated (CVE-2024-10977).
            ([b'E', ..], _) => Err(Error::new(
                Kind::Connection,
                format!("{place} answered the request for TLS with an error"),
            )
            .hint("the server may be overloaded or very old: see its log, or try tls: off")),
            ([byte, ..], _) => {
                Err(rubbish(format!("`{}` in answer to the request for TLS", byte.escape_ascii())))
            }
        }
    }

    /// The treatment of a message.
    pub fn handling(&self, tag: u8, size: usize) -> Result<Handling> {
        match (tag, self.stage) {
            (b'Z', _) | (b'R' | b'K', Stage::Login) => Handling::parse(tag, size),
            (b'D', Stage::Session { done }) if self.login.asks(done) => Handling::parse(tag, size),
            (b'C' | b'I' | b'G', Stage::Session { .. }) => Handling::parse(tag, size),
            // DataRow, RowDescription; CopyOutResponse, CopyData, CopyDone of a COPY TO STDOUT.
            (b'D' | b'T' | b'H' | b'd' | b'c', Stage::Session { .. }) => Ok(Handling::Skip),
            _ => Handling::unasked(tag, size),
        }
    }

    /// Handles one whole message. `behind`: messages pipelined after the session statements. True:
    /// the last session statement is done.
    pub fn message(
        &mut self,
        behind: &[u8],
        (tag, body): (u8, &[u8]),
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        match tag {
            b'Z' => return self.ready(behind, body, out),
            b'E' => return Err(self.refused(&ErrorFields::parse(body)?)),
            b'S' => self.reported(body)?,
            b'R' => self.auth.answer(body, &self.login, self.secure, out)?,
            // BackendKeyData.
            b'K' => {
                let mut body = frames::Body(body);
                self.key = Some(body.array()?);
                body.end()?;
            }
            // The reply to the guard's query has one row; of several the last one counts.
            b'D' => {
                self.row.clear();
                frames::row(body, &mut self.row)?;
            }
            b'G' => {
                self.refuse_copy("session statements send no rows by COPY FROM STDIN", false, out)?;
            }
            // CommandComplete, EmptyQueryResponse.
            _ => {}
        }
        Ok(false)
    }

    fn ready(&mut self, behind: &[u8], body: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        let status = ready_status(body)?;
        let done = match self.stage {
            Stage::Session { done } => {
                self.login.guarded(done, status, &self.row)?;
                done + 1
            }
            _ if !matches!(self.auth, Auth::Done) => {
                return Err(rubbish("ReadyForQuery before authentication"));
            }
            _ => {
                for sql in &self.login.session_sql {
                    messages::query(sql.as_bytes(), out);
                }
                out.extend_from_slice(behind);
                0
            }
        };
        self.stage = match done == self.login.session_sql.len() {
            true => Stage::Over,
            false => Stage::Session { done },
        };
        Ok(self.is_over())
    }

    /// The connection accepts requests.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// Marks the connection as unusable after an error.
    pub fn lose(&mut self) {
        self.stage = Stage::Lost;
    }

    fn refused(&self, fields: &ErrorFields<'_>) -> Error {
        match self.stage {
            Stage::Session { done } => {
                let sql = self.login.session_sql.get(done).map_or("", String::as_str);
                fields.setup_failed(&self.login, &format!("session statement `{sql}`"))
            }
            _ => fields.login_failed(&self.login),
        }
    }

    /// Handles a ParameterStatus, also of an open session.
    pub fn reported(&mut self, body: &[u8]) -> Result<()> {
        let (name, value) = frames::reported(body)?;
        self.backslashes = frames::backslashes(name, value).unwrap_or(self.backslashes);
        if self.is_over() { self.login.still_guarded(name, value) } else { Ok(()) }
    }

    /// Refuses a CopyInResponse where there are no rows to send, also in an open session.
    /// `extended`: it replies to an Execute.
    pub fn refuse_copy(&mut self, why: &str, extended: bool, out: &mut Vec<u8>) -> Result<()> {
        // One refusal ends the statement; a second CopyInResponse violates the protocol.
        if std::mem::replace(&mut self.has_refused_copy, true) {
            return Err(rubbish("a second request for rows in answer to one statement"));
        }
        messages::copy_fail(why, out);
        if extended {
            // The COPY consumed the Sync after the Execute.
            out.extend_from_slice(&messages::SYNC);
        }
        Ok(())
    }

    /// The way to cancel the current work of this connection.
    pub fn cancel(&self) -> Cancel {
        self.key.as_ref().map_or(Cancel::Close, |key| Cancel::Packet(messages::cancel_request(key)))
    }
}

/// The treatment of a message.
pub(super) enum Handling {
    /// Parse it whole.
    Parse,
    /// Store its body as a row.
    Keep,
    /// Skip it.
    Skip,
}

impl Handling {
    /// Accepts messages up to [`PARSED_BYTES_MAX`] for parsing, so that invalid input fails at its
    /// first bytes instead of being waited for.
    #[inline]
    pub fn parse(tag: u8, size: usize) -> Result<Self> {
        if size > PARSED_BYTES_MAX {
            return Err(rubbish(format!("message `{}` of {size} bytes", tag.escape_ascii())));
        }
        Ok(Self::Parse)
    }

    /// The treatment of messages that may arrive at any time.
    pub fn unasked(tag: u8, size: usize) -> Result<Self> {
        match tag {
            // NoticeResponse, NotificationResponse.
            b'N' | b'A' => Ok(Self::Skip),
            b'E' | b'S' => Self::parse(tag, size),
            _ => Err(rubbish(format!("message `{}` out of turn", tag.escape_ascii()))),
        }
    }
}

/// The transaction status from a ReadyForQuery: `I`, `T` or `E`.
#[inline]
pub(super) fn ready_status(body: &[u8]) -> Result<u8> {
    match body {
        &[status @ (b'I' | b'T' | b'E')] => Ok(status),
        _ => Err(rubbish("ReadyForQuery without a transaction status")),
    }
}

/// The tag from a CommandComplete.
#[inline]
pub(super) fn command_tag(body: &[u8]) -> Result<&[u8]> {
    body.strip_suffix(&[0]).ok_or_else(|| rubbish("a command tag without an end"))
}
