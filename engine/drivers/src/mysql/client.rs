//! The side of a connection that scripts use: statements that nobody knows beforehand, results that
//! are kept.
//!
//! How a target says what sysbench's command line says:
//!
//! | sysbench | target |
//! |---|---|
//! | host, port, socket, user, password, db | `address`, `user`, `password`, `database` |
//! | ssl modes DISABLED, PREFERRED, REQUIRED | `tls: off`, `prefer`, `require` |
//! | VERIFY_IDENTITY with and without ssl-ca | `tls: {ca: FILE}`, `tls: verify` |
//! | db-ps-mode=disable | `protocol: text`: nothing is prepared at the server |
//!
//! Options: `metadata: cached | full` as the driver has it, `multi_statements: true | false` (more
//! than one statement a request; true), `dry_run: true | false` (no server: everything succeeds at
//! once and returns nothing; false).
//!
//! A statement that the server cannot prepare (error 1295) is kept here and travels as text.
//! LOAD DATA LOCAL is refused by the server, since this client offers no files.

mod binary;
mod dry;
mod reader;
mod statements;

use super::codes::Refusal;
use super::control;
use super::flags::{capability, command};
use super::handshake::Agreed;
use super::login::{Found, LoginState};
use super::statement::put_command;
use super::{Config, cached_metadata};
use dyno_core::client::{
    Answer, Answers, Bind, Client, ClientKind, Clients, Nature, Refused, Said,
};
use dyno_core::driver::Cancel;
use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::{Options, Protocol, Target};
use reader::{Expect, Reader};
use statements::Statements;
use std::sync::Arc;

/// The family member.
pub static CLIENT: ClientKind = ClientKind { name: "mysql", build };

/// "This command is not supported in the prepared statement protocol yet."
const UNPREPARABLE: u32 = 1295;

struct MysqlClients {
    config: Arc<Config>,
    dry_run: bool,
}

impl Clients for MysqlClients {
    fn client(&self) -> Result<Nature> {
        Ok(match self.dry_run {
            true => Nature::Blocking(Box::new(dry::Dry::default())),
            false => Nature::Wire(Box::new(MysqlClient::new(Arc::clone(&self.config)))),
        })
    }
}

fn build(target: &Target) -> Result<Box<dyn Clients>> {
    let wishes = read_options(&target.options)?;
    let mut config = Config::of(target)?;
    config.cache_metadata = wishes.cache_metadata;
    if wishes.multi_statements {
        config.capabilities |= capability::MULTI_STATEMENTS;
    }
    Ok(Box::new(MysqlClients { config: Arc::new(config), dry_run: wishes.dry_run }))
}

struct Wishes {
    cache_metadata: bool,
    multi_statements: bool,
    dry_run: bool,
}

fn read_options(options: &Options) -> Result<Wishes> {
    let mut wishes = Wishes { cache_metadata: true, multi_statements: true, dry_run: false };
    for (name, value) in options {
        let known = match name.as_str() {
            "metadata" => cached_metadata(value).map(|on| wishes.cache_metadata = on),
            "multi_statements" => value.as_bool().map(|on| wishes.multi_statements = on),
            "dry_run" => value.as_bool().map(|on| wishes.dry_run = on),
            _ => None,
        };
        if known.is_none() {
            let what = format!("client mysql: option {name} = {value} is not known");
            return Err(Error::new(Kind::Plan, what).hint(
                "allowed are metadata: cached or full, multi_statements and dry_run: true or false",
            ));
        }
    }
    Ok(wishes)
}

/// A connection's state.
struct MysqlClient {
    config: Arc<Config>,
    phase: Phase,
    connection_id: u32,
    reader: Reader,
    statements: Statements,
    prepared: (u32, u16),
    /// The statement executed last.
    executed: Option<u32>,
    farewell: Option<Refused>,
}

#[derive(Debug)]
enum Phase {
    /// Not connected.
    New,
    Login(Box<LoginState>),
    /// Session statement number n is in flight.
    Session(usize),
    Idle,
    /// A request is in flight.
    Busy,
    /// The preparation of this text is in flight.
    Preparing(Vec<u8>),
    /// This text is kept here; what is in flight only makes an answer come.
    Keeping(Vec<u8>),
}

impl MysqlClient {
    fn new(config: Arc<Config>) -> Self {
        Self {
            config,
            phase: Phase::New,
            connection_id: 0,
            reader: Reader::new(&Agreed::default(), 0),
            statements: Statements::default(),
            prepared: (0, 0),
            executed: None,
            farewell: None,
        }
    }

    fn login(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Said)> {
        let Phase::Login(login) = &mut self.phase else { return Ok((0, Said::More)) };
        let (consumed, found) = login.feed(&self.config, input, out)?;
        self.connection_id = login.connection_id();
        let said = match found {
            Found::More => Said::More,
            Found::StartTls => Said::StartTls,
            Found::Done => {
                self.reader = Reader::new(&login.agreed, login.status);
                self.session(0, out)
            }
        };
        Ok((consumed, said))
    }

    /// Sends session statement `index`; there are no more: requests may come.
    fn session(&mut self, index: usize, out: &mut Vec<u8>) -> Said {
        let Some(sql) = self.config.session_sql.get(index) else {
            self.phase = Phase::Idle;
            return Said::Ready;
        };
        put_command(out, command::QUERY, sql.as_bytes());
        self.reader.begin(Expect::Text);
        self.phase = Phase::Session(index);
        Said::More
    }

    /// The reply is whole.
    fn answered(&mut self, out: &mut Vec<u8>) -> Result<Said> {
        if let Some(refused) = self.reader.error()
            && Refusal::is_farewell(refused.number)
        {
            let refused = refused.clone();
            return Err(self.part(refused));
        }
        match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Session(index) => return self.session_done(index, out),
            Phase::Preparing(sql) => self.prepare_done(&sql),
            Phase::Keeping(sql) => self.prepared = self.statements.add_here(&sql),
            _ => self.remember_columns(),
        }
        Ok(Said::Answered)
    }

    fn session_done(&mut self, index: usize, out: &mut Vec<u8>) -> Result<Said> {
        if let Some(refused) = self.reader.error() {
            let Refused { number, message, .. } = refused;
            let what = format!(
                "{}: session statement {:?}: {number} {message}",
                self.config.place, self.config.session_sql[index]
            );
            return Err(
                Error::new(Kind::Server, what).hint("this server's version may not know it")
            );
        }
        Ok(self.session(index + 1, out))
    }

    fn prepare_done(&mut self, sql: &[u8]) {
        match self.reader.error().map(|error| error.number) {
            None => {
                let columns: &[_] = match self.reader.caches_metadata {
                    true => self.reader.last_columns(),
                    false => &[],
                };
                let prepared = self.reader.prepared;
                self.prepared = (self.statements.add(prepared, columns), prepared.params);
            }
            Some(UNPREPARABLE) => {
                self.reader.forgive();
                self.prepared = self.statements.add_here(sql);
            }
            Some(_) => {}
        }
    }

    /// Keeps the columns that the server may leave out of its next reply.
    #[inline]
    fn remember_columns(&mut self) {
        if let Some(number) = self.executed
            && self.reader.caches_metadata
            && let columns @ [_, ..] = self.reader.last_columns()
            && let Some(statement) = self.statements.get_mut(number)
        {
            statement.columns.clear();
            statement.columns.extend_from_slice(columns);
        }
    }

    /// The server ends the connection.
    #[cold]
    fn part(&mut self, refused: Refused) -> Error {
        let Refused { number, message, .. } = &refused;
        let what = format!("{} closed the connection: {number} {message}", self.config.place);
        self.farewell = Some(refused);
        Error::new(Kind::Connection, what)
    }

    fn begin(&mut self, expect: Expect, phase: Phase) {
        debug_assert!(matches!(self.phase, Phase::Idle), "one request at a time");
        self.reader.begin(expect);
        self.phase = phase;
    }
}

impl Answers for MysqlClient {
    fn answers(&self) -> &[Answer] {
        self.reader.answers()
    }

    fn fetch(&self, answer: usize, row: u64, put: &mut dyn FnMut(Option<&[u8]>)) -> Result<()> {
        let statement = self.executed.and_then(|number| self.statements.get(number));
        let known = statement.map_or(&[][..], |statement| &statement.columns);
        self.reader.fetch(answer, row, known, put)
    }

    fn prepared(&self) -> (u32, u16) {
        self.prepared
    }
}

impl Client for MysqlClient {
    fn connected(&mut self, secure_transport: bool, _out: &mut Vec<u8>) {
        // The server speaks first.
        self.phase = Phase::Login(Box::new(LoginState::new(secure_transport)));
        self.statements.clear();
        self.executed = None;
        self.farewell = None;
    }

    fn tls_established(&mut self, out: &mut Vec<u8>) {
        debug_assert!(matches!(self.phase, Phase::Login(_)));
        if let Phase::Login(login) = &mut self.phase {
            login.tls_established(&self.config, out);
        }
    }

    #[inline]
    fn query(&mut self, sql: &[u8], out: &mut Vec<u8>) {
        put_command(out, command::QUERY, sql);
        self.begin(Expect::Text, Phase::Busy);
        self.executed = None;
    }

    fn prepare(&mut self, sql: &[u8], out: &mut Vec<u8>) {
        self.executed = None;
        if self.config.protocol == Protocol::Text {
            put_command(out, command::PING, &[]);
            return self.begin(Expect::Text, Phase::Keeping(sql.to_vec()));
        }
        put_command(out, command::STMT_PREPARE, sql);
        self.begin(Expect::Prepared, Phase::Preparing(sql.to_vec()));
    }

    #[inline]
    fn execute(&mut self, statement: u32, values: &[Bind<'_>], out: &mut Vec<u8>) {
        let backslash = self.reader.backslash();
        let is_binary = self.statements.put_execute(statement, values, backslash, out);
        self.begin(if is_binary { Expect::Binary } else { Expect::Text }, Phase::Busy);
        self.executed = Some(statement);
    }

    fn close(&mut self, statement: u32, out: &mut Vec<u8>) -> bool {
        self.statements.close(statement, out);
        false
    }

    #[inline]
    fn receive(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Said)> {
        match self.phase {
            Phase::Busy | Phase::Session(_) | Phase::Preparing(_) | Phase::Keeping(_) => {
                let (consumed, is_whole) = self.reader.feed(input)?;
                let said = if is_whole { self.answered(out)? } else { Said::More };
                Ok((consumed, said))
            }
            Phase::Login(_) => self.login(input, out),
            Phase::New | Phase::Idle => match control::farewell(input)? {
                None => Ok((0, Said::More)),
                Some(refusal) => Err(self.part(refusal.into())),
            },
        }
    }

    fn cancel(&self) -> Cancel {
        super::kill(self.connection_id)
    }

    fn quit(&mut self, out: &mut Vec<u8>) {
        put_command(out, command::QUIT, &[]);
    }
}
