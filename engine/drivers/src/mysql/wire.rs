//! One connection of a workload: login, session statements, preparation, then requests.

use super::Config;
use super::bulk::{self, INFILE_NAME, Inserts, Mode};
use super::errors;
use super::flags::command;
use super::opening::Opening;
use super::packet::{self, broken};
use super::reader::{Found, Reader};
use super::reply::{Counted, Expect, Kept};
use super::statements::{self, Template, put_command};
use crate::tasks;
use dyno_core::driver::{Cancel, Progress, Reply, ServerError, Task, Wire, WireProtocol};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::Protocol;
use dyno_core::workload::{Op, Transaction};
use std::sync::Arc;

/// A connection's state.
#[derive(Debug)]
pub struct MysqlWire {
    config: Arc<Config>,
    opening: Opening,
    phase: Phase,
    /// The current or last operation: a statement of the group. None: a query.
    statement: Option<u16>,
    reader: Reader<Counted>,
    /// By statement, if `protocol` is prepared.
    prepared: Vec<Prepared>,
    /// The server refused LOAD DATA LOCAL on this connection.
    infile_refused: bool,
}

/// A statement's state on this connection.
#[derive(Debug, Clone, Copy, Default)]
struct Prepared {
    id: u32,
    /// The server knows the types of its parameters.
    typed: bool,
}

#[derive(Debug)]
enum Phase {
    /// All preparations are in flight; the reply to statement number n comes next.
    Prepare(usize),
    /// Nothing is in flight, or the connection is still opening.
    Idle,
    /// A request or query is in flight.
    Busy,
    Bulk(Bulk),
}

#[derive(Debug)]
enum Bulk {
    /// The preparation of an INSERT with this many columns is in flight.
    Preparing(usize),
    /// `BEGIN` is in flight.
    Beginning(Box<Inserts>),
    /// LOAD DATA is in flight, with the fallback where it may be refused.
    Asked(Option<Box<Inserts>>),
    /// The server accepts the file; number of the client's next packet.
    Sending(u8),
    /// The whole file is sent.
    Ending,
    /// The query for the server's maximum packet length is in flight.
    LimitAsked(Box<Inserts>),
    Inserting(Box<Inserts>),
    /// `COMMIT` or `ROLLBACK` is in flight, with the result of the load.
    Committing(u64, Option<Box<ServerError>>),
}

impl MysqlWire {
    /// An unconnected client.
    pub fn new(config: Arc<Config>) -> Self {
        Self {
            opening: Opening::new(Arc::clone(&config)),
            config,
            phase: Phase::Idle,
            statement: None,
            reader: Reader::default(),
            prepared: vec![],
            infile_refused: false,
        }
    }

    /// Login and session statements are done: sends the preparations.
    fn opened(&mut self, out: &mut Vec<u8>) -> Result<Progress> {
        self.reader = std::mem::take(&mut self.opening.reader);
        if self.config.bulk == Mode::Array && !self.opening.agreed.binds_arrays() {
            return Err(self.no_arrays());
        }
        if self.config.protocol == Protocol::Prepared {
            // Pipelined: thousands of sessions with a hundred statements each would otherwise need
            // as many round trips.
            for template in self.config.templates.iter().filter(|template| template.prepares) {
                template.put_prepare(out);
            }
            self.prepared.resize(self.config.templates.len(), Prepared::default());
        }
        Ok(self.await_preparation(0))
    }

    /// Waits for the first prepared statement from `index` on.
    fn await_preparation(&mut self, index: usize) -> Progress {
        let mut rest = self.config.templates.iter().enumerate().skip(index);
        match rest.find(|(_, template)| template.prepares) {
            Some((index, template)) if self.config.protocol == Protocol::Prepared => {
                self.reader.begin(match kept(template, index, true) {
                    Some(kept) => Expect::PreparedColumns(kept),
                    None => Expect::Prepared,
                });
                self.phase = Phase::Prepare(index);
                Progress::More
            }
            _ => {
                self.phase = Phase::Idle;
                Progress::Ready
            }
        }
    }

    fn prepare_done(&mut self, index: usize) -> Result<Progress> {
        let template = &self.config.templates[index];
        if let Some(refusal) = self.reader.reply.refusal.take() {
            let (class, sql) = (&template.statement.class, template.statement.sql());
            let what = format!("cannot prepare `{class}` ({:?})", sql.to_string());
            return Err(self.opening.fatal(*refusal, &what));
        }
        if usize::from(self.reader.prepared.params) != template.params() {
            return Err(broken(format_args!(
                "statement {} has {} parameters here and {} there",
                template.statement.class,
                template.params(),
                self.reader.prepared.params
            )));
        }
        self.prepared[index] = Prepared { id: self.reader.prepared.id, typed: false };
        Ok(self.await_preparation(index + 1))
    }

    fn no_arrays(&self) -> Error {
        let what =
            format!("{}: bulk: array is asked for, which only MariaDB has", self.config.place);
        Error::new(Kind::Plan, what).hint("set bulk: auto, infile or insert")
    }

    /// The reader has a complete reply.
    #[inline]
    fn reply(&mut self) -> Result<Progress> {
        self.phase = Phase::Idle;
        self.config.still_guarded(self.reader.lifts_guard)?;
        let mut reply = Reply {
            rows: self.reader.reply.rows,
            affected: self.reader.reply.affected,
            error: None,
            kept: std::mem::take(&mut self.reader.reply.kept),
        };
        if let Some(mut error) = self.reader.reply.refusal.take() {
            if errors::is_farewell(error.number) {
                return Err(self.opening.part(*error));
            }
            let templates = &self.config.templates;
            if let Some(template) = self.statement.and_then(|at| templates.get(usize::from(at))) {
                error.message =
                    format!("statement {}: {}", template.statement.class, error.message);
            }
            reply.error = Some(error);
        }
        Ok(Progress::Reply(reply))
    }

    fn prepare_insert(&mut self, table: &str, columns: &[&str], out: &mut Vec<u8>) {
        bulk::put_prepare_insert(out, table, columns);
        self.reader.begin(Expect::Prepared);
        self.phase = Phase::Bulk(Bulk::Preparing(columns.len()));
    }

    fn ask_limit(&mut self, inserts: Box<Inserts>, out: &mut Vec<u8>) {
        put_command(out, command::QUERY, b"SELECT @@max_allowed_packet");
        self.reader.begin(Expect::FirstRow);
        self.phase = Phase::Bulk(Bulk::LimitAsked(inserts));
    }

    fn bulk_found(&mut self, bulk: Bulk, found: Found, out: &mut Vec<u8>) -> Result<Progress> {
        match (bulk, found) {
            (bulk, Found::More) => {
                self.phase = Phase::Bulk(bulk);
                Ok(Progress::More)
            }
            (Bulk::Preparing(columns), Found::Done) if self.reader.reply.refusal.is_none() => {
                let inserts = Box::new(Inserts::prepared(self.reader.prepared.id, columns));
                self.begin_inserts(inserts, out);
                Ok(Progress::More)
            }
            (Bulk::Beginning(inserts), Found::Done) if self.reader.reply.refusal.is_none() => {
                self.ask_limit(inserts, out);
                Ok(Progress::More)
            }
            (Bulk::Committing(affected, refusal), Found::Done) => {
                self.reader.reply.affected = affected;
                // The reason for the refusal of rows matters more than a failed rollback.
                if refusal.is_some() {
                    self.reader.reply.refusal = refusal;
                }
                self.reply()
            }
            (Bulk::Asked(_), Found::Infile) => {
                if self.reader.reply.infile_name() != INFILE_NAME.as_bytes() {
                    return Err(broken("it asks for a file that we did not offer"));
                }
                self.phase = Phase::Bulk(Bulk::Sending(self.reader.next_seq()));
                Ok(Progress::WantData)
            }
            (Bulk::Asked(Some(inserts)), Found::Done)
                if self.reader.reply.refusal.as_deref().is_some_and(errors::refuses_infile) =>
            {
                self.reader.reply.refusal = None;
                self.infile_refused = true;
                self.ask_limit(inserts, out);
                Ok(Progress::More)
            }
            (Bulk::LimitAsked(mut inserts), Found::Done) => {
                if self.reader.reply.refusal.is_some() {
                    return self.reply();
                }
                let limit = self.reader.reply.first_row.first().and_then(|value| value.as_deref());
                if let Some(limit) = limit.and_then(|text| text.parse().ok()) {
                    inserts.limit(limit);
                }
                self.reader.begin(Expect::Result);
                self.phase = Phase::Bulk(Bulk::Inserting(inserts));
                Ok(Progress::WantData)
            }
            (Bulk::Inserting(inserts), _) => self.insert_done(inserts, out),
            // The server has the whole file, or ended early.
            _ => self.reply(),
        }
    }

    /// Each array would commit on its own; a LOAD DATA is one transaction.
    fn begin_inserts(&mut self, mut inserts: Box<Inserts>, out: &mut Vec<u8>) {
        inserts.transaction = self.reader.autocommits();
        if !inserts.transaction {
            return self.ask_limit(inserts, out);
        }
        put_command(out, command::QUERY, b"BEGIN");
        self.reader.begin(Expect::Result);
        self.phase = Phase::Bulk(Bulk::Beginning(inserts));
    }

    /// All requests are answered.
    fn inserts_end(&mut self, mut inserts: Inserts, out: &mut Vec<u8>) -> Result<Progress> {
        if let Some(id) = inserts.statement_id {
            put_command(out, command::STMT_CLOSE, &id.to_le_bytes());
        }
        let refusal = inserts.refusal.take();
        if !inserts.transaction {
            self.reader.reply.affected = inserts.affected;
            self.reader.reply.refusal = refusal;
            return self.reply();
        }
        let (end, affected): (&[u8], _) = match refusal {
            None => (b"COMMIT", inserts.affected),
            Some(_) => (b"ROLLBACK", 0),
        };
        put_command(out, command::QUERY, end);
        self.reader.begin(Expect::Result);
        self.phase = Phase::Bulk(Bulk::Committing(affected, refusal));
        Ok(Progress::More)
    }

    /// One INSERT is answered.
    fn insert_done(&mut self, mut inserts: Box<Inserts>, out: &mut Vec<u8>) -> Result<Progress> {
        inserts.outstanding -= 1;
        inserts.affected += self.reader.reply.affected;
        if let Some(refusal) = self.reader.reply.refusal.take() {
            if errors::is_farewell(refusal.number) {
                return Err(self.opening.part(*refusal));
            }
            inserts.refusal.get_or_insert(refusal);
        }
        if inserts.ended && inserts.outstanding == 0 {
            return self.inserts_end(*inserts, out);
        }
        self.reader.begin(Expect::Result);
        self.phase = Phase::Bulk(Bulk::Inserting(inserts));
        Ok(Progress::More)
    }

    fn bulk_receive(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Progress)> {
        if let Phase::Bulk(Bulk::Inserting(inserts)) = &self.phase
            && inserts.outstanding == 0
        {
            let (consumed, _) = self.opening.receive(input, out)?;
            return Ok((consumed, Progress::More));
        }
        let (consumed, found) = self.reader.feed(input)?;
        let Phase::Bulk(bulk) = std::mem::replace(&mut self.phase, Phase::Idle) else {
            return Ok((consumed, Progress::More));
        };
        Ok((consumed, self.bulk_found(bulk, found, out)?))
    }
}

/// The reader's view of a statement that stores its rows.
#[inline]
fn kept(template: &Template, index: usize, is_binary: bool) -> Option<Kept> {
    template.statement.keeps.then_some(Kept { statement: index as u16, is_binary })
}

impl WireProtocol for MysqlWire {
    type Reply = Reply;

    fn connected(&mut self, secure_transport: bool, _out: &mut Vec<u8>) {
        // The server sends the first message.
        self.opening.connected(secure_transport);
    }

    fn tls_established(&mut self, out: &mut Vec<u8>) {
        self.opening.tls_established(out);
    }

    #[inline]
    fn receive(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Progress)> {
        match self.phase {
            Phase::Busy => {
                let (consumed, found) = self.reader.feed(input)?;
                match found {
                    Found::Done => Ok((consumed, self.reply()?)),
                    // The reader reports `Infile` only where it is expected: in a bulk load.
                    Found::More | Found::Infile => Ok((consumed, Progress::More)),
                }
            }
            Phase::Prepare(index) => match self.reader.feed(input)? {
                (consumed, Found::Done) => Ok((consumed, self.prepare_done(index)?)),
                (consumed, _) => Ok((consumed, Progress::More)),
            },
            Phase::Bulk(_) => self.bulk_receive(input, out),
            Phase::Idle => {
                let (consumed, found) = self.opening.receive(input, out)?;
                let said = match found {
                    Progress::Ready => self.opened(out)?,
                    Progress::StartTls => Progress::StartTls,
                    _ => Progress::More,
                };
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

impl Wire for MysqlWire {
    #[inline]
    fn request(&mut self, op: &Op, tx: &Transaction, out: &mut Vec<u8>) {
        debug_assert!(matches!(self.phase, Phase::Idle), "one request at a time");
        self.statement = Some(op.request);
        let index = usize::from(op.request);
        let template = &self.config.templates[index];
        let is_binary = template.prepares && self.config.protocol == Protocol::Prepared;
        if is_binary {
            let prepared = &mut self.prepared[index];
            template.put_execute(prepared.id, !prepared.typed, op, tx, out);
            prepared.typed = true;
        } else {
            template.put_text(self.reader.backslash(), op, tx, out);
        }
        self.reader.begin(match kept(template, index, is_binary) {
            Some(kept) => Expect::Rows(kept),
            None => Expect::Result,
        });
        self.phase = Phase::Busy;
    }

    fn task(&mut self, task: Task<'_>, out: &mut Vec<u8>) -> bool {
        let words = tasks::sql(task, statements::quoted);
        words.inspect(|sql| self.query(sql, out)).is_some()
    }

    fn query(&mut self, sql: &str, out: &mut Vec<u8>) {
        debug_assert!(matches!(self.phase, Phase::Idle), "one request at a time");
        self.statement = None;
        put_command(out, command::QUERY, sql.as_bytes());
        self.reader.begin(Expect::FirstRow);
        self.phase = Phase::Busy;
    }

    fn bulk(&mut self, table: &str, columns: &[&str], out: &mut Vec<u8>) {
        debug_assert!(matches!(self.phase, Phase::Idle), "one request at a time");
        self.statement = None;
        let backslash = self.reader.backslash();
        let inserts = || Box::new(Inserts::new(table, columns, backslash));
        let refused = self.infile_refused;
        let fallback = match self.config.bulk {
            Mode::Insert => return self.ask_limit(inserts(), out),
            Mode::Auto if self.opening.agreed.binds_arrays() => {
                return self.prepare_insert(table, columns, out);
            }
            Mode::Array => return self.prepare_insert(table, columns, out),
            Mode::Auto if refused => return self.ask_limit(inserts(), out),
            Mode::Auto => Some(inserts()),
            Mode::Infile => None,
        };
        bulk::put_load_data(out, table, columns, backslash);
        self.reader.begin(Expect::Infile);
        self.phase = Phase::Bulk(Bulk::Asked(fallback));
    }

    fn bulk_data(&mut self, rows: &[u8], out: &mut Vec<u8>) {
        match &mut self.phase {
            Phase::Bulk(Bulk::Sending(seq)) => *seq = bulk::put_infile_data(out, *seq, rows),
            Phase::Bulk(Bulk::Inserting(inserts)) => inserts.rows(rows, out),
            // The server ended early: the remaining rows are discarded.
            _ => {}
        }
    }

    fn bulk_end(&mut self, out: &mut Vec<u8>) {
        match &mut self.phase {
            Phase::Bulk(Bulk::Sending(seq)) => {
                let after = packet::write(out, *seq, &[]);
                self.reader.resume(Expect::Result, after);
                self.phase = Phase::Bulk(Bulk::Ending);
            }
            Phase::Bulk(Bulk::Inserting(inserts)) => {
                inserts.end(out);
                if inserts.outstanding == 0 {
                    // Some request must be in flight, or the caller would wait forever.
                    put_command(out, command::PING, &[]);
                    inserts.outstanding = 1;
                }
            }
            _ => {}
        }
    }

    fn first_row(&self) -> &[Option<String>] {
        &self.reader.reply.first_row
    }
}
