//! Requests of a workload, after the `Parse` of its statements. Rows are counted by their headers
//! and skipped, except those of a statement that stores them and the first of a [`Wire::query`].

use super::connection::{Connection, Requests};
use super::errors::ErrorFields;
use super::frames::{self, PARSED_BYTES_MAX, rubbish};
use super::opening::{Handling, Opening, command_tag, ready_status};
use super::statements::{Sent, Statements};
use super::{bulk, messages};
use crate::tasks;
use dyno_core::driver::{Progress, Reply, ServerError, Task, Wire};
use dyno_core::error::Result;
use dyno_core::workload::{Op, Transaction};
use std::sync::Arc;

/// A workload session's requests on its connection.
pub(super) struct Operations {
    statements: Arc<Statements>,
    phase: Phase,
    /// The current or last operation: a statement of the group.
    statement: u16,
    /// The reply under construction.
    reply: Reply,
    /// The server completed or refused the statement in flight.
    answered: bool,
    /// The table that the open transaction truncated, which it may load with frozen rows.
    truncated: Option<String>,
    first_row: Vec<Option<String>>,
}

/// The state of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// `Parse`: number of completed statements.
    Prepare { done: usize },
    /// Nothing is in flight.
    Idle,
    /// A request is in flight.
    Busy(Busy),
}

/// The request in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Busy {
    /// A statement of the group.
    Operation,
    /// A statement of the group that stores its rows.
    Kept,
    /// The group's `COMMIT`.
    Commit,
    /// Text whose first row is stored; `row`: it has arrived.
    Query { row: bool },
    /// `COPY FROM STDIN`, before the server's reply.
    CopyStart,
    /// Rows are being sent.
    CopyIn,
    /// CopyDone is sent.
    CopyEnd,
}

impl Operations {
    pub fn new(statements: Arc<Statements>) -> Self {
        Self {
            statements,
            phase: Phase::Prepare { done: 0 },
            statement: 0,
            reply: Reply::default(),
            answered: false,
            truncated: None,
            first_row: Vec::new(),
        }
    }

    fn command_complete(&mut self, body: &[u8]) -> Result<()> {
        let tag = command_tag(body)?;
        self.answered = true;
        let bulk = self.phase == Phase::Busy(Busy::CopyEnd);
        self.reply.affected += frames::affected(tag, bulk);
        if self.phase == Phase::Busy(Busy::Commit) && tag == b"ROLLBACK" {
            // A COMMIT in a failed transaction "succeeds" with a rollback: it is not a commit.
            self.reply.error = Some(Box::new(ServerError {
                code: "25P02".to_owned(),
                message: "COMMIT was answered by ROLLBACK: the transaction had failed".to_owned(),
                rolled_back: true,
                ..ServerError::default()
            }));
        }
        Ok(())
    }

    fn prepared(&mut self) -> Progress {
        self.phase = Phase::Idle;
        Progress::Ready
    }

    fn ready_for_query(&mut self, body: &[u8]) -> Result<Option<Progress>> {
        let status = ready_status(body)?;
        match self.phase {
            Phase::Prepare { done } => {
                Ok((done == self.statements.prepared()).then(|| self.prepared()))
            }
            _ => self.finish(status).map(Some),
        }
    }

    /// The server is ready again: completes the reply.
    fn finish(&mut self, status: u8) -> Result<Progress> {
        if !self.answered {
            return Err(rubbish("ReadyForQuery without an answer before it"));
        }
        let mut reply = std::mem::take(&mut self.reply);
        if let Some(error) = &mut reply.error {
            // Outside a transaction nothing remains to roll back; in a failed one (`E`) the server
            // waits for a ROLLBACK.
            error.rolled_back = status == b'I';
        }
        if status != b'T' {
            self.truncated = None;
        }
        self.phase = Phase::Idle;
        Ok(Progress::Reply(reply))
    }

    fn error(&mut self, opening: &Opening, body: &[u8]) -> Result<()> {
        let fields = ErrorFields::parse(body)?;
        match self.phase {
            Phase::Prepare { done } => {
                let what = self.statements.describe_prepared(done, fields.parameter());
                Err(fields.setup_failed(&opening.login, &what))
            }
            Phase::Busy(_) if !fields.ends_connection() => {
                self.answered = true;
                if self.reply.error.is_none() {
                    let mut refusal = fields.refusal();
                    if self.is_operation() {
                        let named = self.statements.name(self.statement, fields.parameter());
                        refusal.message = format!("{named}: {}", refusal.message);
                    }
                    self.reply.error = Some(Box::new(refusal));
                }
                Ok(())
            }
            _ => Err(fields.connection_lost(&opening.login)),
        }
    }

    /// Whether a statement of the group is in flight.
    fn is_operation(&self) -> bool {
        matches!(self.phase, Phase::Busy(Busy::Operation | Busy::Kept))
    }

    fn begin(&mut self, busy: Busy) {
        debug_assert_eq!(self.phase, Phase::Idle, "one request in flight");
        self.phase = Phase::Busy(busy);
        self.answered = false;
        self.reply = Reply::default();
    }
}

impl Requests for Operations {
    type Reply = Reply;

    fn prepare(&self) -> &[u8] {
        self.statements.prepare()
    }

    /// The preparations are already sent and end with their own ReadyForQuery.
    fn opened(&mut self) -> Option<Progress> {
        (self.statements.prepared() == 0).then(|| self.prepared())
    }

    /// Counts skipped rows.
    #[inline]
    fn handling(&mut self, tag: u8, size: usize) -> Result<Handling> {
        match (tag, self.phase) {
            (b'D', Phase::Busy(Busy::Operation | Busy::Query { row: true })) => {
                self.reply.rows += 1;
                Ok(Handling::Skip)
            }
            // An oversized first row is counted, not stored.
            (b'D', Phase::Busy(Busy::Query { row: false })) if size > PARSED_BYTES_MAX => {
                self.reply.rows += 1;
                self.phase = Phase::Busy(Busy::Query { row: true });
                Ok(Handling::Skip)
            }
            (b'D', Phase::Busy(Busy::Kept | Busy::Query { .. })) => Handling::parse(tag, size),
            // RowDescription, CopyOutResponse, CopyData, CopyDone of a COPY TO STDOUT.
            (b'T' | b'H' | b'd' | b'c', Phase::Busy(_)) => Ok(Handling::Skip),
            (b'1' | b'Z', Phase::Prepare { .. } | Phase::Busy(_)) => Handling::parse(tag, size),
            (b'2' | b'3' | b'C' | b'I' | b'n' | b's' | b'G', Phase::Busy(_)) => {
                Handling::parse(tag, size)
            }
            _ => Handling::unasked(tag, size),
        }
    }

    #[inline]
    fn message(
        &mut self,
        opening: &mut Opening,
        (tag, body): (u8, &[u8]),
        out: &mut Vec<u8>,
    ) -> Result<Option<Progress>> {
        match tag {
            b'C' => self.command_complete(body)?,
            b'Z' => return self.ready_for_query(body),
            b'D' if self.phase == Phase::Busy(Busy::Kept) => {
                self.reply.rows += 1;
                frames::kept_row(body, &mut self.reply.kept)?;
            }
            b'D' => {
                self.reply.rows += 1;
                self.phase = Phase::Busy(Busy::Query { row: true });
                frames::row(body, &mut self.first_row)?;
            }
            // EmptyQueryResponse, PortalSuspended.
            b'I' | b's' => self.answered = true,
            b'1' => {
                if let Phase::Prepare { done } = &mut self.phase {
                    *done += 1;
                }
            }
            b'E' => self.error(opening, body)?,
            b'S' => opening.reported(body)?,
            b'G' if self.phase == Phase::Busy(Busy::CopyStart) => {
                self.phase = Phase::Busy(Busy::CopyIn);
                return Ok(Some(Progress::WantData));
            }
            b'G' => {
                let why = "dbdyno sends rows only in a bulk load";
                opening.refuse_copy(why, self.is_operation(), out)?;
            }
            // BindComplete, CloseComplete, NoData.
            _ => {}
        }
        Ok(None)
    }
}

impl Wire for Connection<Operations> {
    #[inline]
    fn request(&mut self, op: &Op, tx: &Transaction, out: &mut Vec<u8>) {
        let Self { opening, requests, .. } = self;
        requests.statement = op.request;
        let busy = match requests.statements.request(op, tx, opening.backslashes, out) {
            Sent::Commit => Busy::Commit,
            Sent::Kept => Busy::Kept,
            Sent::Operation => Busy::Operation,
        };
        requests.begin(busy);
    }

    fn task(&mut self, task: Task<'_>, out: &mut Vec<u8>) -> bool {
        match task {
            Task::BeginLoad(table) => {
                self.query(&format!("BEGIN; TRUNCATE {}", bulk::quoted(&table.name)), out);
                self.requests.truncated = Some(table.name.clone());
            }
            Task::EndLoad(_) => self.query("COMMIT", out),
            _ => match tasks::sql(task, bulk::quoted) {
                Some(sql) => self.query(&sql, out),
                None => return false,
            },
        }
        true
    }

    fn query(&mut self, sql: &str, out: &mut Vec<u8>) {
        self.requests.first_row.clear();
        messages::query(sql.as_bytes(), out);
        self.requests.begin(Busy::Query { row: false });
    }

    fn bulk(&mut self, table: &str, columns: &[&str], out: &mut Vec<u8>) {
        bulk::copy(table, columns, self.requests.truncated.as_deref() == Some(table), out);
        self.requests.begin(Busy::CopyStart);
    }

    /// Does nothing after the server refused the load, because it would only drop the rows.
    fn bulk_data(&mut self, rows: &[u8], out: &mut Vec<u8>) {
        if self.requests.phase == Phase::Busy(Busy::CopyIn) {
            bulk::data(rows, out);
        }
    }

    fn bulk_end(&mut self, out: &mut Vec<u8>) {
        if self.requests.phase == Phase::Busy(Busy::CopyIn) {
            self.requests.phase = Phase::Busy(Busy::CopyEnd);
            out.extend_from_slice(&messages::COPY_DONE);
        }
    }

    fn first_row(&self) -> &[Option<String>] {
        &self.requests.first_row
    }
}
