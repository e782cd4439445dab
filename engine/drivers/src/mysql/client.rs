//! The client for scripts: statements unknown in advance, buffered results.
//!
//! sysbench's options and the corresponding fields of a target:
//!
//! | sysbench | target |
//! |---|---|
//! | host, port, socket, user, password, db | `address`, `user`, `password`, `database` |
//! | ssl modes DISABLED, PREFERRED, REQUIRED | `tls: off`, `prefer`, `require` |
//! | VERIFY_IDENTITY with and without ssl-ca | `tls: {ca: FILE}`, `tls: verify` |
//! | VERIFY_CA with ssl-ca | `tls: {chain: FILE}` |
//! | ssl-cert, ssl-key, ssl-cipher | `tls_extras` |
//! | compression | `options: {compression: zlib}` |
//!
//! Options: `metadata: cached | full` as in the driver, `multi_statements: true | false` (several
//! statements per request; true), `compression: zlib | off` (where the server supports it; off).
//!
//! `protocol` is ignored: a script decides what it prepares. The server refuses LOAD DATA LOCAL,
//! since this client offers no files.

mod compressing;
mod reply;
mod statement;

use super::column::Column;
use super::errors;
use super::flags::{capability, command};
use super::opening::Opening;
use super::reader::{Found, Reader};
use super::statements::put_command;
use super::{Config, cached_metadata};
use crate::slots::Slots;
use compressing::Compressing;
use dyno_core::driver::client::{Answer, Answers, Bind, Client, Clients, Nature};
use dyno_core::driver::{Cancel, Progress, ServerError, WireProtocol};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::Target;
use reply::{Expect, Whole};
use statement::Statement;
use std::sync::Arc;

/// Creates the clients of a target.
///
/// # Errors
/// Names the invalid field of the target.
pub fn build(target: &Target) -> Result<Clients> {
    let mut config = Config::of(target)?;
    config.capabilities |= capability::MULTI_STATEMENTS;
    for (name, value) in &target.options {
        let known = match name.as_str() {
            "metadata" => cached_metadata(value).map(|on| config.cache_metadata = on),
            "multi_statements" => {
                value.as_bool().map(|on| config.switch(capability::MULTI_STATEMENTS, on))
            }
            "compression" => match value.as_str() {
                Some("zlib") => Some(true),
                Some("off") => Some(false),
                _ => None,
            }
            .map(|on| config.switch(capability::COMPRESS, on)),
            _ => None,
        };
        if known.is_none() {
            let what = format!("client mysql: option {name} = {value} is not known");
            return Err(Error::new(Kind::Plan, what).hint(
                "allowed are metadata: cached or full, multi_statements: true or false, \
                 compression: zlib or off",
            ));
        }
    }
    let config = Arc::new(config);
    Ok(Box::new(move || {
        let client = MysqlClient::new(Arc::clone(&config));
        Ok(Nature::Wire(match config.capabilities & capability::COMPRESS {
            0 => Box::new(client),
            _ => Box::new(Compressing::new(client)),
        }))
    }))
}

/// A connection's state.
struct MysqlClient {
    opening: Opening,
    phase: Phase,
    reader: Reader<Whole>,
    statements: Slots<Statement>,
    prepared: (u32, u16),
    /// The statement executed last, while it is open.
    executed: Option<u32>,
    /// Columns of the statement executed last, after it was closed.
    closed_columns: Vec<Column>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing is in flight, or the connection is still opening.
    Idle,
    /// A request is in flight.
    Busy,
    /// A preparation is in flight.
    Preparing,
}

impl MysqlClient {
    fn new(config: Arc<Config>) -> Self {
        Self {
            opening: Opening::new(config),
            phase: Phase::Idle,
            reader: Reader::default(),
            statements: Slots::default(),
            prepared: (0, 0),
            executed: None,
            closed_columns: vec![],
        }
    }

    /// The reply is complete.
    fn answered(&mut self) -> Result<Progress<()>> {
        if let Some(refused) = self.reader.reply.error()
            && errors::is_farewell(refused.number)
        {
            return Err(self.opening.part(refused.clone()));
        }
        match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Preparing => self.prepare_done(),
            _ => self.remember_columns(),
        }
        self.opening.config.still_guarded(self.reader.lifts_guard)?;
        Ok(Progress::Reply(()))
    }

    fn prepare_done(&mut self) {
        if self.reader.reply.error().is_some() {
            return;
        }
        let columns: &[_] = match self.reader.caches_metadata {
            true => self.reader.reply.last_columns(),
            false => &[],
        };
        let prepared = self.reader.prepared;
        let number = self.statements.add(Statement::new(prepared, columns));
        self.prepared = (number, prepared.params);
    }

    /// Stores the columns that the server may omit from its next reply.
    #[inline]
    fn remember_columns(&mut self) {
        if let Some(number) = self.executed
            && self.reader.caches_metadata
            && let columns @ [_, ..] = self.reader.reply.last_columns()
            && let Some(statement) = self.statements.get_mut(number)
        {
            statement.columns.clear();
            statement.columns.extend_from_slice(columns);
        }
    }

    fn begin(&mut self, expect: Expect, phase: Phase) {
        debug_assert!(self.phase == Phase::Idle, "one request at a time");
        self.reader.begin(expect);
        self.phase = phase;
    }
}

impl Answers for MysqlClient {
    fn answers(&self) -> &[Answer] {
        self.reader.reply.answers()
    }

    fn fetch(&self, answer: usize, row: u64, put: &mut dyn FnMut(Option<&[u8]>)) -> Result<()> {
        let statement = self.executed.and_then(|number| self.statements.get(number));
        let known = statement.map_or(&self.closed_columns, |statement| &statement.columns);
        self.reader.reply.fetch(answer, row, known, put)
    }

    fn prepared(&self) -> (u32, u16) {
        self.prepared
    }
}

impl WireProtocol for MysqlClient {
    type Reply = ();

    fn connected(&mut self, secure_transport: bool, _out: &mut Vec<u8>) {
        // The server sends the first message.
        self.opening.connected(secure_transport);
    }

    fn tls_established(&mut self, out: &mut Vec<u8>) {
        self.opening.tls_established(out);
    }

    #[inline]
    fn receive(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Progress<()>)> {
        match self.phase {
            Phase::Busy | Phase::Preparing => {
                let (consumed, found) = self.reader.feed(input)?;
                let is_whole = found == Found::Done;
                let said = if is_whole { self.answered()? } else { Progress::More };
                Ok((consumed, said))
            }
            Phase::Idle => {
                let (consumed, said) = self.opening.receive(input, out)?;
                if said == Progress::Ready {
                    self.reader = Reader::new(&self.opening.agreed);
                }
                Ok((consumed, said))
            }
        }
    }

    fn is_amid_message(&self) -> bool {
        self.opening.reader.is_amid_packet() || self.reader.is_amid_packet()
    }

    fn cancel(&self) -> Cancel {
        self.opening.cancel()
    }

    fn quit(&mut self, out: &mut Vec<u8>) {
        put_command(out, command::QUIT, &[]);
    }
}

impl Client for MysqlClient {
    #[inline]
    fn query(&mut self, sql: &[u8], out: &mut Vec<u8>) {
        put_command(out, command::QUERY, sql);
        self.begin(Expect::Text, Phase::Busy);
        self.executed = None;
    }

    fn prepare(&mut self, sql: &[u8], out: &mut Vec<u8>) {
        put_command(out, command::STMT_PREPARE, sql);
        self.begin(Expect::Prepared, Phase::Preparing);
        self.executed = None;
    }

    #[inline]
    fn execute(&mut self, statement: u32, values: &[Bind<'_>], out: &mut Vec<u8>) {
        match self.statements.get_mut(statement) {
            Some(known) => known.put_execute(values, out),
            None => statement::put_unknown(out),
        }
        self.begin(Expect::Binary, Phase::Busy);
        self.executed = Some(statement);
    }

    fn close(&mut self, statement: u32, out: &mut Vec<u8>) -> bool {
        if let Some(known) = self.statements.take(statement) {
            put_command(out, command::STMT_CLOSE, &known.id.to_le_bytes());
            if self.executed == Some(statement) {
                // Its rows remain available to `fetch`.
                self.executed = None;
                self.closed_columns = known.columns;
            }
        }
        false
    }

    fn parting(&self) -> Option<&ServerError> {
        self.opening.parting.as_deref()
    }
}
