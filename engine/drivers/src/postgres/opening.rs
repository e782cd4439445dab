//! The opening of a connection, the same whatever is sent afterwards: (SSLRequest, TLS) - startup -
//! authentication.

use super::auth::Auth;
use super::frames::{self, rubbish};
use super::login::Login;
use super::messages;
use dyno_core::driver::Cancel;
use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::Tls;

/// How far a connection is on its way to the first ReadyForQuery.
pub(super) struct Opening {
    stage: Stage,
    auth: Auth,
    /// Nobody on the way can read what we send: Unix socket or TLS.
    secure: bool,
    /// BackendKeyData: process id and secret, for a cancel request.
    key: Option<[u8; 8]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Not connected.
    New,
    /// One byte will say whether the server speaks TLS.
    TlsAsked,
    /// The transport shakes hands.
    TlsHandshake,
    /// Messages come.
    Messages,
}

impl Opening {
    pub fn new() -> Self {
        Self { stage: Stage::New, auth: Auth::Open, secure: false, key: None }
    }

    pub fn connected(&mut self, login: &Login, secure_transport: bool, out: &mut Vec<u8>) {
        self.secure = secure_transport;
        if secure_transport || login.tls == Tls::Off {
            self.start(login, out);
        } else {
            self.stage = Stage::TlsAsked;
            messages::ssl_request(out);
        }
    }

    pub fn tls_established(&mut self, login: &Login, out: &mut Vec<u8>) {
        self.secure = true;
        self.start(login, out);
    }

    fn start(&mut self, login: &Login, out: &mut Vec<u8>) {
        self.stage = Stage::Messages;
        out.extend_from_slice(&login.startup);
    }

    /// What comes before the first message: bytes consumed, and whether TLS is to begin. `None`:
    /// messages come.
    pub fn before_messages(
        &mut self,
        login: &Login,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<(usize, bool)>> {
        match self.stage {
            Stage::Messages => Ok(None),
            Stage::TlsAsked => self.tls_answer(login, input, out).map(Some),
            Stage::New | Stage::TlsHandshake => Err(unasked(login)),
        }
    }

    /// The one byte that answers an SSLRequest.
    fn tls_answer(
        &mut self,
        login: &Login,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(usize, bool)> {
        let place = &login.place;
        match (input, &login.tls) {
            ([], _) => Ok((0, false)),
            // More than the byte would be plain text injected before the encryption starts, to be
            // taken for the server's words after it (CVE-2021-23222).
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
                self.start(login, out);
                Ok((1, false))
            }
            ([b'N', ..], _) => Err(Error::new(
                Kind::Authentication,
                format!("PostgreSQL at {place} does not offer TLS, which the plan demands"),
            )
            .hint("set ssl = on with a certificate at the server, or use tls: prefer or off")),
            // Its text is not shown: nothing vouches for who wrote it (CVE-2024-10977).
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

    /// A request for authentication, or the server's consent.
    pub fn authentication(&mut self, body: &[u8], login: &Login, out: &mut Vec<u8>) -> Result<()> {
        self.auth.answer(body, login, self.secure, out)
    }

    /// BackendKeyData.
    pub fn key(&mut self, body: &[u8]) -> Result<()> {
        let mut body = frames::Body(body);
        self.key = Some(body.array()?);
        body.end()
    }

    /// The first ReadyForQuery has come.
    pub fn end(&self) -> Result<()> {
        match self.auth {
            Auth::Done => Ok(()),
            _ => Err(rubbish("ReadyForQuery before authentication")),
        }
    }

    /// How to make the server stop what this connection is doing.
    pub fn cancel(&self) -> Cancel {
        self.key.as_ref().map_or(Cancel::Close, |key| Cancel::Packet(messages::cancel_request(key)))
    }
}

/// Bytes when none can be due.
pub(super) fn unasked(login: &Login) -> Error {
    Error::new(Kind::Protocol, format!("{} sent unsolicited bytes", login.place))
}
