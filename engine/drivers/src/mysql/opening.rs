//! Opens a connection for workloads and scripts: login, then session statements.

use super::Config;
use super::errors;
use super::flags::{capability, command};
use super::login::LoginState;
use super::login::handshake::Agreed;
use super::reader::{Found, Reader};
use super::reply::{Counted, Expect};
use super::statements::put_command;
use dyno_core::driver::{Cancel, Progress, ServerError};
use dyno_core::error::{Error, Result};
use std::sync::Arc;

/// The progress of a connection to its first request, and the negotiated capabilities.
#[derive(Debug)]
pub struct Opening {
    pub config: Arc<Config>,
    stage: Stage,
    connection_id: u32,
    pub agreed: Agreed,
    /// Parses the replies to session statements.
    pub reader: Reader<Counted>,
    /// The server's error that refused or ended the connection.
    pub parting: Option<Box<ServerError>>,
}

#[derive(Debug)]
enum Stage {
    /// Not connected yet.
    New,
    Login(Box<LoginState>),
    /// Session statement number n is in flight.
    Session(usize),
    /// Requests may be sent.
    Over,
}

impl Opening {
    /// The state of an unconnected client.
    pub fn new(config: Arc<Config>) -> Self {
        Self {
            config,
            stage: Stage::New,
            connection_id: 0,
            agreed: Agreed::default(),
            reader: Reader::default(),
            parting: None,
        }
    }

    /// Waits for the greeting.
    pub fn connected(&mut self, secure_transport: bool) {
        self.stage = Stage::Login(Box::new(LoginState::new(secure_transport)));
    }

    pub fn tls_established(&mut self, out: &mut Vec<u8>) {
        debug_assert!(matches!(self.stage, Stage::Login(_)));
        if let Stage::Login(login) = &mut self.stage {
            login.tls_established(&self.config, out);
        }
    }

    /// Whether all later traffic must be compressed.
    pub fn is_compressed(&self) -> bool {
        self.agreed.has(capability::COMPRESS)
    }

    /// Parses the front of `input`; returns the bytes consumed and the progress. Ready: the
    /// connection accepts requests; from then on bytes that arrive while no request is in flight are
    /// the error with which the server ends the connection.
    pub fn receive(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Progress<()>)> {
        match &mut self.stage {
            Stage::New | Stage::Over => match errors::farewell(input)? {
                None => Ok((0, Progress::More)),
                Some(refused) => Err(self.part(refused)),
            },
            Stage::Login(_) => self.login(input, out),
            Stage::Session(index) => {
                let index = *index;
                let (consumed, found) = self.reader.feed(input)?;
                match found {
                    Found::Done => Ok((consumed, self.session_done(index, out)?)),
                    _ => Ok((consumed, Progress::More)),
                }
            }
        }
    }

    fn login(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Progress<()>)> {
        let Stage::Login(login) = &mut self.stage else { return Ok((0, Progress::More)) };
        let fed = login.feed(&self.config, input, out);
        if fed.is_err() {
            self.parting = errors::farewell(input).ok().flatten().map(Box::new);
        }
        let (consumed, found) = fed?;
        self.connection_id = login.connection_id();
        if found != Progress::Ready {
            return Ok((consumed, found));
        }
        self.agreed = login.agreed;
        self.reader = Reader::new(&self.agreed);
        self.reader.status = login.status;
        Ok((consumed, self.session(0, out)))
    }

    /// Sends session statement `index`, if there is one.
    fn session(&mut self, index: usize, out: &mut Vec<u8>) -> Progress<()> {
        let Some(sql) = self.config.session_sql.get(index) else {
            self.stage = Stage::Over;
            return Progress::Ready;
        };
        put_command(out, command::QUERY, sql.as_bytes());
        let asks = self.config.asks(index);
        self.reader.begin(if asks { Expect::FirstRow } else { Expect::Result });
        self.stage = Stage::Session(index);
        Progress::More
    }

    fn session_done(&mut self, index: usize, out: &mut Vec<u8>) -> Result<Progress<()>> {
        if let Some(refused) = self.reader.reply.refusal.take() {
            let what = format!("session statement {:?}", self.config.session_sql[index]);
            return Err(self.fatal(*refused, &what));
        }
        self.config.guarded(index, self.reader.status, &self.reader.reply.first_row)?;
        self.reader.lifts_guard = false;
        Ok(self.session(index + 1, out))
    }

    /// The server refused a statement that the session requires.
    pub fn fatal(&mut self, refused: ServerError, what: &str) -> Error {
        if errors::is_farewell(refused.number) {
            return self.part(refused);
        }
        errors::fatal(&refused, &format!("{}: {what}", self.config.place))
    }

    /// The server ends the connection.
    #[cold]
    pub fn part(&mut self, refused: ServerError) -> Error {
        let lost = errors::lost(&refused, &self.config.place);
        self.parting = Some(Box::new(refused));
        lost
    }

    /// The way to cancel the connection's work, once its connection id is known.
    pub fn cancel(&self) -> Cancel {
        match self.connection_id {
            0 => Cancel::Close,
            id => Cancel::Statement(format!("KILL {id}")),
        }
    }
}
