//! One connection of a script: any statement, results kept.
//!
//! | file | noun |
//! |---|---|
//! | `client.rs` | the state machine, and how a target is bound |
//! | `client/marks.rs` | `?` as a parameter's mark |
//! | `client/requests.rs` | messages for prepared statements |
//!
//! Text goes out as a simple query, so that several statements in one are several results, and one
//! transaction if the text says nothing else. Prepared statements take the extended protocol. COPY
//! has nobody to give or take rows: `FROM STDIN` is refused (57014), what `TO STDOUT` sends is
//! dropped. Notices, notifications and reports of settings are no answers. A refused statement
//! inside a transaction leaves the connection usable, and the transaction to the script; FATAL and
//! PANIC end the connection.
//!
//! A target for the options of `sysbench`'s driver `pgsql`:
//!
//! | option | field of the target |
//! |---|---|
//! | `pgsql-host`, `pgsql-port` | `Address::Tcp`; a host that begins with `/` is the directory of a socket: `Address::Unix("HOST/.s.PGSQL.PORT")` |
//! | `pgsql-user`, `pgsql-password`, `pgsql-db` | `user`, `password`, `database` |
//! | `pgsql-sslmode` (1.1) | `tls`: disable is `Off`; allow and prefer are `Prefer`; require is `Require`; verify-ca and verify-full are `Verify`, or `Ca` with a file of roots, and check the name too |
//!
//! `protocol` is not looked at: a script says itself what it prepares. `session_sql` runs first.

mod marks;
mod requests;
#[cfg(test)]
mod tests;

use super::errors::ErrorFields;
use super::frames::{self, HEADER_BYTES, PARSED_BYTES_MAX, rubbish};
use super::login::Login;
use super::messages;
use super::opening::{Opening, unasked};
use crate::results::Results;
use crate::slots::Slots;
use dyno_core::client::{Answer, Answers, Bind, Client, Clients, Nature};
use dyno_core::driver::{Cancel, Progress, WireProtocol};
use dyno_core::error::Result;
use dyno_core::plan::Target;
use std::sync::Arc;

/// Binds it to a target.
///
/// # Errors
/// Says which field of the target is wrong.
pub fn build(target: &Target) -> Result<Box<dyn Clients>> {
    Ok(Box::new(Postgres { login: Arc::new(Login::of(target)?) }))
}

struct Postgres {
    login: Arc<Login>,
}

impl Clients for Postgres {
    fn client(&self) -> Result<Nature> {
        Ok(Nature::Wire(Box::new(PostgresClient::new(Arc::clone(&self.login)))))
    }
}

/// One connection.
struct PostgresClient {
    login: Arc<Login>,
    phase: Phase,
    opening: Opening,
    /// The server runs with `standard_conforming_strings = off`.
    backslashes: bool,
    /// What the server has answered to the guard's question.
    guard: Vec<Option<String>>,
    /// Bytes of a skipped message that are still to come.
    skip: usize,
    results: Results,
    /// The columns of each prepared statement.
    statements: Slots<u32>,
    /// Number of the statement prepared last, and of its parameters.
    prepared: (u32, u16),
    /// The text that was prepared last, with numbered parameters.
    sql: Vec<u8>,
    /// The server has asked for rows that it does not get, in answer to this request.
    has_refused_copy: bool,
}

/// What the connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Until the first ReadyForQuery.
    Login,
    /// session_sql: how many statements are done.
    Setup { done: usize },
    /// Nothing is in flight.
    Idle,
    /// A request is in flight.
    Busy(Busy),
    /// An error was returned: the connection is useless.
    Lost,
}

/// What is in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Busy {
    /// Text.
    Query,
    /// The preparation of a statement.
    Prepare,
    /// A prepared statement.
    Execute,
    /// The end of a prepared statement.
    Close,
}

impl PostgresClient {
    fn new(login: Arc<Login>) -> Self {
        Self {
            login,
            phase: Phase::Login,
            opening: Opening::new(),
            backslashes: false,
            guard: Vec::new(),
            skip: 0,
            results: Results::default(),
            statements: Slots::default(),
            prepared: (0, 0),
            sql: Vec::new(),
            has_refused_copy: false,
        }
    }

    fn begin(&mut self, busy: Busy) {
        debug_assert_eq!(self.phase, Phase::Idle, "one request in flight");
        self.phase = Phase::Busy(busy);
        self.has_refused_copy = false;
        self.results.clear();
    }

    fn advance(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Progress<()>)> {
        match self.phase {
            Phase::Lost => return Err(unasked(&self.login)),
            Phase::Login => {
                if let Some((used, tls)) = self.opening.before_messages(&self.login, input, out)? {
                    return Ok((used, if tls { Progress::StartTls } else { Progress::More }));
                }
            }
            _ => {}
        }
        let mut at = self.skip.min(input.len());
        self.skip -= at;
        loop {
            at += self.results.take(&input[at..])?;
            let rest = &input[at..];
            let Some((tag, size)) = frames::header(rest)? else {
                return Ok((at, Progress::More));
            };
            match self.handling(tag, size)? {
                Handling::Keep => {
                    self.results.row(size - HEADER_BYTES)?;
                    at += HEADER_BYTES;
                }
                Handling::Skip => {
                    let here = size.min(rest.len());
                    at += here;
                    self.skip = size - here;
                }
                Handling::Parse if rest.len() < size => return Ok((at, Progress::More)),
                Handling::Parse => {
                    at += size;
                    if let Some(said) = self.message(tag, &rest[HEADER_BYTES..size], out)? {
                        return Ok((at, said));
                    }
                }
            }
        }
    }

    /// What to do with a message. Only those that are due are parsed, and only of reasonable size,
    /// so that rubbish is refused by its first bytes instead of being waited for.
    #[inline]
    fn handling(&self, tag: u8, size: usize) -> Result<Handling> {
        use Busy::{Close, Execute, Prepare, Query};
        match (tag, self.phase) {
            // DataRow.
            (b'D', Phase::Busy(Query | Execute)) => return Ok(Handling::Keep),
            (b'D', Phase::Setup { done }) if self.login.asks(done) => {}
            (b'D' | b'T', Phase::Setup { .. }) => return Ok(Handling::Skip),
            // CopyOutResponse, CopyData, CopyDone of a COPY TO STDOUT.
            (b'H' | b'd' | b'c', Phase::Setup { .. } | Phase::Busy(Query | Execute)) => {
                return Ok(Handling::Skip);
            }
            // NoticeResponse, NotificationResponse.
            (b'N' | b'A', _) => return Ok(Handling::Skip),
            (b'E' | b'S', _) | (b'R' | b'K', Phase::Login) => {}
            (b'Z', Phase::Login | Phase::Setup { .. } | Phase::Busy(_)) => {}
            (b'C' | b'I' | b'G', Phase::Setup { .. }) => {}
            (b'T' | b'C' | b'I' | b'G', Phase::Busy(Query)) => {}
            (b'1' | b't' | b'T' | b'n', Phase::Busy(Prepare)) => {}
            (b'2' | b'C' | b'I' | b'G', Phase::Busy(Execute)) => {}
            (b'3', Phase::Busy(Close)) => {}
            _ => return Err(rubbish(format!("message `{}` out of turn", tag.escape_ascii()))),
        }
        if size > PARSED_BYTES_MAX {
            return Err(rubbish(format!("message `{}` of {size} bytes", tag.escape_ascii())));
        }
        Ok(Handling::Parse)
    }

    /// Takes one whole message.
    #[inline]
    fn message(&mut self, tag: u8, body: &[u8], out: &mut Vec<u8>) -> Result<Option<Progress<()>>> {
        match tag {
            b'C' => self.command_complete(body)?,
            b'Z' => return self.ready_for_query(body, out),
            b'T' => self.row_description(body)?,
            // ParameterDescription.
            b't' => self.prepared.1 = frames::Body(body).u16()?,
            // EmptyQueryResponse.
            b'I' => self.end(0)?,
            b'E' => self.error(body)?,
            b'S' => self.reported(body)?,
            // Of the question whether the guard holds: others are kept or skipped unparsed. Its answer
            // has one row: of more the last one counts.
            b'D' => {
                self.guard.clear();
                frames::row(body, &mut self.guard)?;
            }
            b'R' => self.opening.authentication(body, &self.login, out)?,
            b'K' => self.opening.key(body)?,
            b'G' => self.copy_in(out)?,
            // ParseComplete, BindComplete, CloseComplete, NoData.
            _ => {}
        }
        Ok(None)
    }

    /// ParameterStatus.
    fn reported(&mut self, body: &[u8]) -> Result<()> {
        let (name, value) = frames::reported(body)?;
        self.backslashes = frames::backslashes(name, value).unwrap_or(self.backslashes);
        match self.phase {
            Phase::Login | Phase::Setup { .. } => Ok(()),
            _ => self.login.still_guarded(name, value),
        }
    }

    fn command_complete(&mut self, body: &[u8]) -> Result<()> {
        let Some(tag) = body.strip_suffix(&[0]) else {
            return Err(rubbish("a command tag without an end"));
        };
        self.end(frames::affected(tag, false))
    }

    /// The statement under way has ended.
    fn end(&mut self, affected: u64) -> Result<()> {
        match self.phase {
            Phase::Busy(_) => self.results.end(affected),
            _ => Ok(()),
        }
    }

    fn row_description(&mut self, body: &[u8]) -> Result<()> {
        let columns = u32::from(frames::Body(body).u16()?);
        if self.phase == Phase::Busy(Busy::Prepare) {
            if let Some(known) = self.statements.get_mut(self.prepared.0) {
                *known = columns;
            }
        } else {
            self.results.describe(columns);
        }
        Ok(())
    }

    fn ready_for_query(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<Option<Progress<()>>> {
        let &[status @ (b'I' | b'T' | b'E')] = body else {
            return Err(rubbish("ReadyForQuery without a transaction status"));
        };
        match self.phase {
            Phase::Busy(busy) => return self.answered(busy).map(Some),
            Phase::Setup { done } => {
                self.login.guarded(done, status, &self.guard)?;
                self.has_refused_copy = false;
                self.phase = Phase::Setup { done: done + 1 };
            }
            _ => {
                self.opening.end()?;
                self.phase = Phase::Setup { done: 0 };
                for sql in &self.login.session_sql {
                    messages::query(sql.as_bytes(), out);
                }
            }
        }
        if self.phase != (Phase::Setup { done: self.login.session_sql.len() }) {
            return Ok(None);
        }
        self.phase = Phase::Idle;
        Ok(Some(Progress::Ready))
    }

    /// The server is ready again: all results have come.
    fn answered(&mut self, busy: Busy) -> Result<Progress<()>> {
        let is_refused = self.results.answers().last().is_some_and(|last| last.error.is_some());
        match busy {
            Busy::Prepare if is_refused => self.statements.remove(self.prepared.0),
            Busy::Prepare | Busy::Close if !is_refused => self.results.end(0)?,
            Busy::Query | Busy::Execute if self.results.answers().is_empty() => {
                return Err(rubbish("ReadyForQuery without an answer before it"));
            }
            _ => {}
        }
        self.phase = Phase::Idle;
        Ok(Progress::Reply(()))
    }

    fn error(&mut self, body: &[u8]) -> Result<()> {
        let fields = ErrorFields::parse(body)?;
        match self.phase {
            Phase::Login => return Err(fields.login_failed(&self.login)),
            Phase::Setup { done } => {
                let sql = self.login.session_sql.get(done).map_or("", String::as_str);
                let what = format!("session statement `{sql}`");
                return Err(fields.setup_failed(&self.login, &what));
            }
            Phase::Busy(_) if fields.ends_connection() => {}
            Phase::Busy(Busy::Prepare) => {
                self.results.refuse(fields.refused_in_full(&self.sql));
                return Ok(());
            }
            Phase::Busy(_) => {
                self.results.refuse(fields.refused());
                return Ok(());
            }
            Phase::Idle | Phase::Lost => {}
        }
        Err(fields.connection_lost(&self.login))
    }

    /// CopyInResponse.
    fn copy_in(&mut self, out: &mut Vec<u8>) -> Result<()> {
        // Each is answered, and the refusal ends the statement: who goes on asking does not listen.
        if std::mem::replace(&mut self.has_refused_copy, true) {
            return Err(rubbish("a second request for rows in answer to one statement"));
        }
        messages::copy_fail("scripts send no rows by COPY FROM STDIN", out);
        if self.phase == Phase::Busy(Busy::Execute) {
            // The Sync behind Execute was swallowed by the COPY.
            out.extend_from_slice(&messages::SYNC);
        }
        Ok(())
    }
}

/// What to do with a message.
enum Handling {
    /// Take it whole.
    Parse,
    /// Keep its body as a row, also in pieces.
    Keep,
    /// Drop it, also in pieces.
    Skip,
}

/// A statement ends at a NUL, as it does for every client of this protocol.
fn until_nul(sql: &[u8]) -> &[u8] {
    memchr::memchr(0, sql).map_or(sql, |end| &sql[..end])
}

impl Answers for PostgresClient {
    fn answers(&self) -> &[Answer] {
        self.results.answers()
    }

    fn fetch(&self, answer: usize, row: u64, put: &mut dyn FnMut(Option<&[u8]>)) -> Result<()> {
        frames::values(self.results.bytes_of(answer, row)?, put)
    }

    fn prepared(&self) -> (u32, u16) {
        self.prepared
    }
}

impl WireProtocol for PostgresClient {
    type Reply = ();

    fn connected(&mut self, secure_transport: bool, out: &mut Vec<u8>) {
        self.opening.connected(&self.login, secure_transport, out);
    }

    fn tls_established(&mut self, out: &mut Vec<u8>) {
        self.opening.tls_established(&self.login, out);
    }

    fn receive(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Progress<()>)> {
        let result = self.advance(input, out);
        if result.is_err() {
            self.phase = Phase::Lost;
        }
        result
    }

    fn is_amid_message(&self) -> bool {
        self.skip > 0 || self.results.is_amid_row()
    }

    fn cancel(&self) -> Cancel {
        self.opening.cancel()
    }

    fn quit(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&messages::TERMINATE);
    }
}

impl Client for PostgresClient {
    #[inline]
    fn query(&mut self, sql: &[u8], out: &mut Vec<u8>) {
        self.begin(Busy::Query);
        messages::query(until_nul(sql), out);
    }

    fn prepare(&mut self, sql: &[u8], out: &mut Vec<u8>) {
        self.begin(Busy::Prepare);
        self.sql.clear();
        marks::number(until_nul(sql), self.backslashes, &mut self.sql);
        self.prepared = (self.statements.add(0), 0);
        requests::prepare(self.prepared.0, &self.sql, out);
    }

    #[inline]
    fn execute(&mut self, statement: u32, values: &[Bind<'_>], out: &mut Vec<u8>) {
        self.begin(Busy::Execute);
        // One that is not there is refused by the server.
        self.results.describe(self.statements.get_mut(statement).map_or(0, |columns| *columns));
        requests::execute(statement, values, out);
    }

    /// The server answers: a result without rows.
    fn close(&mut self, statement: u32, out: &mut Vec<u8>) -> bool {
        self.begin(Busy::Close);
        self.statements.remove(statement);
        requests::close(statement, out);
        true
    }
}
