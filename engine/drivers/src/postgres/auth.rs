//! Authentication: trust, cleartext password, MD5 and SCRAM-SHA-256 (RFC 5802, RFC 7677).
//!
//! SCRAM has no channel binding, because the transport belongs to the load engine. The client still
//! verifies the server's proof that it knows the password.

use super::frames::{Body, rubbish};
use super::login::Login;
use super::messages;
use crate::policy::{self, Asked, SCRAM_ITERATIONS};
use dyno_core::error::{Error, Kind, Result};
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, ScramSha256};

const SCRAM_SHA_256: &[u8] = b"SCRAM-SHA-256";
/// Maximum length of the server's list of methods in a message, characters.
const OFFERED_CHARS_MAX: usize = 200;
const CLEARTEXT: &str = "authentication 3, the password in clear text";

/// State of the authentication.
pub(super) enum Auth {
    /// The server has requested nothing yet.
    Open,
    /// The client sent a password.
    Answered,
    /// SCRAM: the client sent its first or second message.
    Scram(Box<ScramSha256>),
    /// SCRAM: the server proved that it knows the password.
    Proved,
    /// The server accepted the login.
    Done,
}

impl Auth {
    /// Answers one authentication request. `secure`: the connection is private (TLS or a Unix
    /// socket).
    pub fn answer(
        &mut self,
        body: &[u8],
        login: &Login,
        secure: bool,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let mut body = Body(body);
        match (body.i32()?, &mut *self) {
            // A server that omits its proof may not know the password at all.
            (0, Self::Scram(_)) => Err(refused(
                login,
                "the server ended SCRAM without proving that it knows the password",
            )
            .hint("the server at this address does not know the password, or is not PostgreSQL")),
            (0, Self::Open | Self::Answered | Self::Proved) => {
                *self = Self::Done;
                body.end()
            }
            (3, Self::Open) => {
                body.end()?;
                asked(login, secure).check(policy::POSTGRES, "3", CLEARTEXT)?;
                send_string(password(login)?.as_bytes(), out);
                *self = Self::Answered;
                Ok(())
            }
            (5, Self::Open) => {
                let salt = body.array::<4>()?;
                body.end()?;
                let hash = md5_hash(login.user.as_bytes(), password(login)?.as_bytes(), salt);
                *self = Self::Answered;
                send_string(hash.as_bytes(), out);
                Ok(())
            }
            (10, Self::Open) => self.scram_start(body, login, out),
            (11, Self::Scram(scram)) => {
                check_iterations(body.0, login)?;
                scram.update(body.0).map_err(|error| scram_failed(login, &error))?;
                messages::password(scram.message(), out);
                Ok(())
            }
            (12, Self::Scram(scram)) => {
                scram.finish(body.0).map_err(|error| scram_failed(login, &error))?;
                *self = Self::Proved;
                Ok(())
            }
            (code @ (2 | 6 | 7 | 8 | 9), Self::Open) => {
                let method = match code {
                    2 => "2, Kerberos V5",
                    6 => "6, SCM credentials",
                    9 => "9, SSPI",
                    _ => "7, GSSAPI",
                };
                let shown = format!("authentication {method}, which dbdyno does not speak");
                asked(login, secure).check(policy::POSTGRES, method, &shown)
            }
            (3, _) => Err(asked(login, secure)
                .ended(format_args!("the server asks for {CLEARTEXT} out of turn"))
                .hint("it is not PostgreSQL, or somebody on the way wants the password")),
            (code, _) => Err(rubbish(format!("authentication request {code} out of turn"))),
        }
    }

    fn scram_start(&mut self, mut body: Body<'_>, login: &Login, out: &mut Vec<u8>) -> Result<()> {
        let mut offered = Vec::new();
        loop {
            match body.string()? {
                [] => break,
                SCRAM_SHA_256 => {
                    let binding = ChannelBinding::unsupported();
                    let scram = Box::new(ScramSha256::new(password(login)?.as_bytes(), binding));
                    messages::message(b'p', out, |out| {
                        messages::string(SCRAM_SHA_256, out);
                        let first = scram.message();
                        out.extend_from_slice(&(first.len() as u32).to_be_bytes());
                        out.extend_from_slice(first);
                    });
                    *self = Self::Scram(scram);
                    return Ok(());
                }
                other => offered.push(other.escape_ascii().to_string()),
            }
        }
        let offered: String = offered.join(", ").chars().take(OFFERED_CHARS_MAX).collect();
        Err(refused(login, &format!("the server offers only {offered}"))
            .hint("dbdyno speaks SCRAM-SHA-256: let pg_hba.conf offer scram-sha-256 to this user"))
    }
}

/// The context of this login for the policy.
fn asked(login: &Login, secure: bool) -> Asked<'_> {
    Asked { place: &login.place, user: &login.user, rules: &login.rules, secure }
}

/// Checks the iteration count in the server's first SCRAM message before the client computes the
/// hash.
fn check_iterations(message: &[u8], login: &Login) -> Result<()> {
    let text = String::from_utf8_lossy(message);
    let rounds = text.split(',').find_map(|field| field.strip_prefix("i="));
    // An invalid number fails when the whole message is parsed.
    let Some(rounds) = rounds.and_then(|digits| digits.parse::<u32>().ok()) else { return Ok(()) };
    if SCRAM_ITERATIONS.contains(&rounds) {
        return Ok(());
    }
    let (least, most) = (SCRAM_ITERATIONS.start(), SCRAM_ITERATIONS.end());
    Err(asked(login, true)
        .ended(format_args!(
            "the server asks for SCRAM with {rounds} iterations, and {least} to {most} are accepted"
        ))
        .hint(
            "set scram_iterations to 4096 or more and set the password again; a server that is not \
             yours may want to guess the password from what we answer",
        ))
}

/// Sends a password message whose body is a C string.
fn send_string(text: &[u8], out: &mut Vec<u8>) {
    messages::message(b'p', out, |out| messages::string(text, out));
}

fn password(login: &Login) -> Result<&str> {
    if login.password.is_empty() {
        return Err(refused(login, "the server wants a password and none was given")
            .hint("give this target a password, or let pg_hba.conf trust this user"));
    }
    Ok(&login.password.0)
}

fn scram_failed(login: &Login, error: &std::io::Error) -> Error {
    refused(login, &format!("SCRAM-SHA-256 failed: {error}"))
        .hint("the server at this address does not know the password, or is not PostgreSQL")
}

fn refused(login: &Login, why: &str) -> Error {
    Error::new(
        Kind::Authentication,
        format!("cannot log in to PostgreSQL at {} as `{}`: {why}", login.place, login.user),
    )
}
