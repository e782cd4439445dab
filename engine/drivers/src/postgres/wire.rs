//! The state machine of one connection.
//!
//! A session's life: (SSLRequest, TLS) - startup - authentication - session_sql and `Parse`, all in
//! one flight - requests. Rows are counted by their headers and skipped, also in pieces, so that
//! no row is ever buffered whole, save the first of a [`Wire::query`].

use super::errors::ErrorFields;
use super::frames::{self, HEADER_BYTES, PARSED_BYTES_MAX, rubbish};
use super::opening::{Opening, unasked};
use super::statements::Sent;
use super::{Shared, bulk, messages};
use crate::tasks;
use dyno_core::driver::{Cancel, Progress, Reply, ServerError, Task, Wire, WireProtocol};
use dyno_core::error::Result;
use dyno_core::workload::{Op, Transaction};
use std::sync::Arc;

/// One connection.
pub(super) struct PostgresWire {
    shared: Arc<Shared>,
    phase: Phase,
    opening: Opening,
    /// The server runs with `standard_conforming_strings = off`.
    backslashes: bool,
    /// Bytes of a skipped message that are still to come.
    skip: usize,
    /// The operation in flight, or the last one: a statement of the group.
    statement: u16,
    /// The reply in the making.
    reply: Reply,
    /// The server has said how the statement in flight ended.
    answered: bool,
    /// A table that the open transaction has emptied, hence may fill with frozen rows.
    truncated: Option<String>,
    first_row: Vec<Option<String>>,
    /// The server has asked for rows that it does not get, in answer to this request.
    has_refused_copy: bool,
}

/// What the connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Until the first ReadyForQuery.
    Login,
    /// session_sql and `Parse`: how many statements are done.
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
    /// One of the group's statements.
    Operation,
    /// One of them that keeps its rows.
    Kept,
    /// The group's `COMMIT`.
    Commit,
    /// Text whose first row is kept; `row`: it has come.
    Query { row: bool },
    /// `COPY FROM STDIN`, not yet answered.
    CopyStart,
    /// Rows are being sent.
    CopyIn,
    /// The rows' end is sent.
    CopyEnd,
}

impl PostgresWire {
    pub fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            phase: Phase::Login,
            opening: Opening::new(),
            backslashes: false,
            skip: 0,
            statement: 0,
            reply: Reply::default(),
            answered: false,
            truncated: None,
            first_row: Vec::new(),
            has_refused_copy: false,
        }
    }

    /// Whether a message may be dropped unread. Counts rows.
    #[inline]
    fn skips(&mut self, tag: u8, size: usize) -> Result<bool> {
        match (tag, self.phase) {
            (b'D', Phase::Busy(Busy::Operation | Busy::Query { row: true })) => {
                self.reply.rows += 1;
                Ok(true)
            }
            (b'D', Phase::Busy(Busy::Kept)) => self.parses(tag, size),
            (b'D', Phase::Busy(Busy::Query { row: false })) => {
                // A first row of unreasonable size is counted, not kept.
                let skipped = size > PARSED_BYTES_MAX;
                if skipped {
                    self.reply.rows += 1;
                    self.phase = Phase::Busy(Busy::Query { row: true });
                }
                Ok(skipped)
            }
            (b'D', Phase::Setup { done }) if self.shared.login.asks(done) => self.parses(tag, size),
            (b'D', Phase::Setup { .. }) => Ok(true),
            // RowDescription, CopyOutResponse, CopyData, CopyDone of a COPY TO STDOUT.
            (b'T' | b'H' | b'd' | b'c', Phase::Setup { .. } | Phase::Busy(_)) => Ok(true),
            // NoticeResponse, NotificationResponse.
            (b'N' | b'A', _) => Ok(true),
            // What is parsed: known tags of reasonable size only, so that rubbish is refused by
            // its first bytes instead of being waited for.
            (b'R' | b'K', Phase::Login) | (b'E' | b'S', _) => self.parses(tag, size),
            (b'Z', Phase::Login | Phase::Setup { .. } | Phase::Busy(_)) => self.parses(tag, size),
            (b'1' | b'C' | b'I', Phase::Setup { .. }) => self.parses(tag, size),
            (b'1' | b'2' | b'3' | b'C' | b'I' | b'n' | b's' | b'G', Phase::Busy(_)) => {
                self.parses(tag, size)
            }
            _ => Err(rubbish(format!("message `{}` out of turn", tag.escape_ascii()))),
        }
    }

    fn parses(&self, tag: u8, size: usize) -> Result<bool> {
        if size > PARSED_BYTES_MAX {
            return Err(rubbish(format!("message `{}` of {size} bytes", tag.escape_ascii())));
        }
        Ok(false)
    }

    /// Takes one whole message.
    #[inline]
    fn message(&mut self, tag: u8, body: &[u8], out: &mut Vec<u8>) -> Result<Option<Progress>> {
        match tag {
            b'C' => self.command_complete(body),
            b'Z' => return self.ready_for_query(body, out),
            b'D' if self.phase == Phase::Busy(Busy::Kept) => {
                self.reply.rows += 1;
                frames::kept_row(body, &mut self.reply.kept)
            }
            b'D' if matches!(self.phase, Phase::Setup { .. }) => {
                // The answer to a question has one row: of more the last one counts.
                self.first_row.clear();
                frames::row(body, &mut self.first_row)
            }
            b'D' => {
                self.reply.rows += 1;
                self.phase = Phase::Busy(Busy::Query { row: true });
                frames::row(body, &mut self.first_row)
            }
            // EmptyQueryResponse, PortalSuspended.
            b'I' | b's' => {
                self.answered = true;
                Ok(())
            }
            b'1' => {
                self.step();
                Ok(())
            }
            b'E' => self.error(body),
            b'S' => self.reported(body),
            b'R' => {
                let Self { opening, shared, .. } = self;
                opening.authentication(body, &shared.login, out)
            }
            b'K' => self.opening.key(body),
            b'G' => return self.copy_in(out),
            // BindComplete, CloseComplete, NoData.
            _ => Ok(()),
        }
        .map(|()| None)
    }

    /// ParameterStatus.
    fn reported(&mut self, body: &[u8]) -> Result<()> {
        let (name, value) = frames::reported(body)?;
        self.backslashes = frames::backslashes(name, value).unwrap_or(self.backslashes);
        match self.phase {
            Phase::Login | Phase::Setup { .. } => Ok(()),
            _ => self.shared.login.still_guarded(name, value),
        }
    }

    fn command_complete(&mut self, body: &[u8]) -> Result<()> {
        let Some(tag) = body.strip_suffix(&[0]) else {
            return Err(rubbish("a command tag without an end"));
        };
        self.answered = true;
        let bulk = self.phase == Phase::Busy(Busy::CopyEnd);
        self.reply.affected += frames::affected(tag, bulk);
        if self.phase == Phase::Busy(Busy::Commit) && tag == b"ROLLBACK" {
            // A COMMIT in a failed transaction "succeeds" by rolling back: not a commit.
            self.reply.error = Some(Box::new(ServerError {
                code: "25P02".to_owned(),
                message: "COMMIT was answered by ROLLBACK: the transaction had failed".to_owned(),
                rolled_back: true,
                ..ServerError::default()
            }));
        }
        Ok(())
    }

    /// One statement of the set-up is done.
    fn step(&mut self) {
        if let Phase::Setup { done } = &mut self.phase {
            *done += 1;
        }
    }

    fn ready_for_query(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<Option<Progress>> {
        let &[status @ (b'I' | b'T' | b'E')] = body else {
            return Err(rubbish("ReadyForQuery without a transaction status"));
        };
        match self.phase {
            Phase::Login => {
                self.opening.end()?;
                self.phase = Phase::Setup { done: 0 };
                let Shared { login, statements } = &*self.shared;
                for sql in &login.session_sql {
                    messages::query(sql.as_bytes(), out);
                }
                out.extend_from_slice(statements.prepare());
                Ok(self.set_up())
            }
            Phase::Setup { done } => {
                // After session_sql each ReadyForQuery ends one of them; the last one ends the
                // `Parse` series, whose members counted themselves.
                if done < self.shared.login.session_sql.len() {
                    self.shared.login.guarded(done, status, &self.first_row)?;
                    self.step();
                }
                Ok(self.set_up())
            }
            _ => self.finish(status).map(Some),
        }
    }

    fn set_up(&mut self) -> Option<Progress> {
        let wanted = self.shared.login.session_sql.len() + self.shared.statements.prepared();
        if self.phase != (Phase::Setup { done: wanted }) {
            return None;
        }
        self.phase = Phase::Idle;
        Some(Progress::Ready)
    }

    /// The server is ready again: the reply is complete.
    fn finish(&mut self, status: u8) -> Result<Progress> {
        if !self.answered {
            return Err(rubbish("ReadyForQuery without an answer before it"));
        }
        let mut reply = std::mem::take(&mut self.reply);
        if let Some(error) = &mut reply.error {
            // Outside a transaction nothing is left to roll back; within a failed one (`E`) the
            // server waits for our ROLLBACK.
            error.rolled_back = status == b'I';
        }
        if status != b'T' {
            self.truncated = None;
        }
        self.phase = Phase::Idle;
        Ok(Progress::Reply(reply))
    }

    fn error(&mut self, body: &[u8]) -> Result<()> {
        let fields = ErrorFields::parse(body)?;
        let Shared { login, statements } = &*self.shared;
        match self.phase {
            Phase::Login => Err(fields.login_failed(login)),
            Phase::Setup { done } => {
                let what = match login.session_sql.get(done) {
                    Some(sql) => format!("session statement `{sql}`"),
                    None => statements
                        .describe_prepared(done - login.session_sql.len(), fields.parameter()),
                };
                Err(fields.setup_failed(login, &what))
            }
            Phase::Busy(_) if !fields.ends_connection() => {
                self.answered = true;
                if self.reply.error.is_none() {
                    let mut refusal = fields.refusal();
                    if self.is_operation() {
                        let named = statements.name(self.statement, fields.parameter());
                        refusal.message = format!("{named}: {}", refusal.message);
                    }
                    self.reply.error = Some(Box::new(refusal));
                }
                Ok(())
            }
            _ => Err(fields.connection_lost(login)),
        }
    }

    /// Whether one of the group's statements is in flight.
    fn is_operation(&self) -> bool {
        matches!(self.phase, Phase::Busy(Busy::Operation | Busy::Kept))
    }

    /// CopyInResponse.
    fn copy_in(&mut self, out: &mut Vec<u8>) -> Result<Option<Progress>> {
        if self.phase == Phase::Busy(Busy::CopyStart) {
            self.phase = Phase::Busy(Busy::CopyIn);
            return Ok(Some(Progress::WantData));
        }
        // Each is answered, and the refusal ends the statement: who goes on asking does not listen.
        if std::mem::replace(&mut self.has_refused_copy, true) {
            return Err(rubbish("a second request for rows in answer to one statement"));
        }
        messages::copy_fail("dbdyno sends rows only in a bulk load", out);
        if self.is_operation() {
            // The Sync behind Execute was swallowed by the COPY.
            out.extend_from_slice(&messages::SYNC);
        }
        Ok(None)
    }

    fn begin(&mut self, busy: Busy) {
        debug_assert_eq!(self.phase, Phase::Idle, "one request in flight");
        self.phase = Phase::Busy(busy);
        self.answered = false;
        self.has_refused_copy = false;
        self.reply = Reply::default();
    }

    fn advance(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Progress)> {
        let login = &self.shared.login;
        match self.phase {
            Phase::Lost => return Err(unasked(login)),
            Phase::Login => {
                if let Some((used, tls)) = self.opening.before_messages(login, input, out)? {
                    return Ok((used, if tls { Progress::StartTls } else { Progress::More }));
                }
            }
            _ => {}
        }
        let mut at = self.skip.min(input.len());
        self.skip -= at;
        loop {
            let rest = &input[at..];
            let Some((tag, size)) = frames::header(rest)? else {
                return Ok((at, Progress::More));
            };
            if self.skips(tag, size)? {
                let here = size.min(rest.len());
                at += here;
                self.skip = size - here;
                continue;
            }
            if rest.len() < size {
                return Ok((at, Progress::More));
            }
            at += size;
            if let Some(progress) = self.message(tag, &rest[HEADER_BYTES..size], out)? {
                return Ok((at, progress));
            }
        }
    }
}

impl WireProtocol for PostgresWire {
    type Reply = Reply;

    fn connected(&mut self, secure_transport: bool, out: &mut Vec<u8>) {
        self.opening.connected(&self.shared.login, secure_transport, out);
    }

    fn tls_established(&mut self, out: &mut Vec<u8>) {
        self.opening.tls_established(&self.shared.login, out);
    }

    fn receive(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Progress)> {
        let result = self.advance(input, out);
        if result.is_err() {
            self.phase = Phase::Lost;
        }
        result
    }

    fn is_amid_message(&self) -> bool {
        self.skip > 0
    }

    fn cancel(&self) -> Cancel {
        self.opening.cancel()
    }

    fn quit(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&messages::TERMINATE);
    }
}

impl Wire for PostgresWire {
    #[inline]
    fn request(&mut self, op: &Op, tx: &Transaction, out: &mut Vec<u8>) {
        self.statement = op.request;
        let busy = match self.shared.statements.request(op, tx, self.backslashes, out) {
            Sent::Commit => Busy::Commit,
            Sent::Kept => Busy::Kept,
            Sent::Operation => Busy::Operation,
        };
        self.begin(busy);
    }

    fn task(&mut self, task: Task<'_>, out: &mut Vec<u8>) -> bool {
        match task {
            Task::BeginLoad(table) => {
                self.query(&format!("BEGIN; TRUNCATE {}", table.name), out);
                self.truncated = Some(table.name.clone());
            }
            Task::EndLoad(_) => self.query("COMMIT", out),
            _ => match tasks::sql(task) {
                Some(sql) => self.query(&sql, out),
                None => return false,
            },
        }
        true
    }

    fn query(&mut self, sql: &str, out: &mut Vec<u8>) {
        self.first_row.clear();
        messages::query(sql.as_bytes(), out);
        self.begin(Busy::Query { row: false });
    }

    fn bulk(&mut self, table: &str, columns: &[&str], out: &mut Vec<u8>) {
        bulk::copy(table, columns, self.truncated.as_deref() == Some(table), out);
        self.begin(Busy::CopyStart);
    }

    /// Does nothing once the server has refused the load: it would only drop the rows.
    fn bulk_data(&mut self, rows: &[u8], out: &mut Vec<u8>) {
        if self.phase == Phase::Busy(Busy::CopyIn) {
            bulk::data(rows, out);
        }
    }

    fn bulk_end(&mut self, out: &mut Vec<u8>) {
        if self.phase == Phase::Busy(Busy::CopyIn) {
            self.phase = Phase::Busy(Busy::CopyEnd);
            out.extend_from_slice(&messages::COPY_DONE);
        }
    }

    fn first_row(&self) -> &[Option<String>] {
        &self.first_row
    }
}
