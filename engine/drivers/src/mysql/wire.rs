//! One connection: login, session statements, preparation, then requests.

use super::Config;
use super::bulk::{self, INFILE_NAME, Inserts, Mode};
use super::errors::{self, Refusal};
use super::flags::command;
use super::login::handshake::Agreed;
use super::login::{Found as LoginFound, LoginState};
use super::packet::{self, broken};
use super::reply::{Expect, Found, Kept, Reader};
use super::statements::{Template, put_command};
use crate::tasks;
use dyno_core::driver::{Cancel, Progress, Reply, Task, Wire, WireProtocol};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::Protocol;
use dyno_core::workload::{Op, Transaction};
use std::sync::Arc;

/// A connection's state.
#[derive(Debug)]
pub struct MysqlWire {
    config: Arc<Config>,
    phase: Phase,
    connection_id: u32,
    /// The operation in flight, or the last one: a statement of the group. None: a query.
    statement: Option<u16>,
    reader: Reader,
    /// By statement, while `protocol` is prepared.
    prepared: Vec<Prepared>,
    /// The server takes arrays of rows.
    binds_arrays: bool,
    /// The server has refused LOAD DATA LOCAL on this connection.
    infile_refused: bool,
}

/// A statement as this connection knows it.
#[derive(Debug, Clone, Copy, Default)]
struct Prepared {
    id: u32,
    /// The server has the types of its parameters.
    typed: bool,
}

#[derive(Debug)]
enum Phase {
    /// Not connected yet.
    New,
    Login(Box<LoginState>),
    /// Session statement number n is in flight.
    Session(usize),
    /// All preparations are in flight, statement number n is answered next.
    Prepare(usize),
    Idle,
    /// A request or query is in flight.
    Busy,
    Bulk(Bulk),
}

#[derive(Debug)]
enum Bulk {
    /// An INSERT of so many columns is being prepared.
    Preparing(usize),
    /// A transaction is being begun.
    Beginning(Box<Inserts>),
    /// LOAD DATA is in flight; where it may be refused, what to do then.
    Asked(Option<Box<Inserts>>),
    /// The server takes the file; our next packet's number.
    Sending(u8),
    /// The file is sent.
    Ending,
    /// The server is asked for its longest packet.
    LimitAsked(Box<Inserts>),
    Inserting(Box<Inserts>),
    /// The transaction is being ended; what it comes to.
    Committing(u64, Option<Box<Refusal>>),
}

impl MysqlWire {
    /// A connection yet to be made.
    pub fn new(config: Arc<Config>) -> Self {
        Self {
            config,
            phase: Phase::New,
            connection_id: 0,
            statement: None,
            reader: Reader::new(&Agreed::default()),
            prepared: vec![],
            binds_arrays: false,
            infile_refused: false,
        }
    }

    fn login(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Progress)> {
        let Phase::Login(login) = &mut self.phase else { return Ok((0, Progress::More)) };
        let (consumed, found) = login.feed(&self.config, input, out)?;
        self.connection_id = login.connection_id();
        let progress = match found {
            LoginFound::More => Progress::More,
            LoginFound::StartTls => Progress::StartTls,
            LoginFound::Done => {
                self.reader = Reader::new(&login.agreed);
                self.binds_arrays = login.agreed.binds_arrays();
                if self.config.bulk == Mode::Array && !self.binds_arrays {
                    return Err(self.no_arrays());
                }
                self.reader.status = login.status;
                self.prepared.clear();
                self.infile_refused = false;
                self.session(0, out)
            }
        };
        Ok((consumed, progress))
    }

    /// Sends session statement `index`, or goes on when there are no more.
    fn session(&mut self, index: usize, out: &mut Vec<u8>) -> Progress {
        if let Some(sql) = self.config.session_sql.get(index) {
            put_command(out, command::QUERY, sql.as_bytes());
            let asks = self.config.asks(index);
            self.reader.begin(if asks { Expect::FirstRow } else { Expect::Result });
            self.phase = Phase::Session(index);
            return Progress::More;
        }
        if self.config.protocol == Protocol::Prepared {
            // One behind the other without waiting: thousands of sessions times a hundred
            // statements would otherwise be that many round trips.
            for template in self.config.templates.iter().filter(|template| template.prepares) {
                template.put_prepare(out);
            }
            self.prepared.resize(self.config.templates.len(), Prepared::default());
        }
        self.await_preparation(0)
    }

    /// Waits for the first statement from `index` on that was sent to be prepared.
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

    fn session_done(&mut self, index: usize, out: &mut Vec<u8>) -> Result<Progress> {
        if let Some(refusal) = self.reader.refusal.take() {
            let what = format!("session statement {:?}", self.config.session_sql[index]);
            return Err(self.fatal(*refusal, &what));
        }
        self.config.guarded(index, self.reader.status, &self.reader.first_row)?;
        self.reader.lifts_guard = false;
        Ok(self.session(index + 1, out))
    }

    fn prepare_done(&mut self, index: usize) -> Result<Progress> {
        let template = &self.config.templates[index];
        if let Some(refusal) = self.reader.refusal.take() {
            let (class, sql) = (&template.statement.class, template.statement.sql());
            let what = format!("cannot prepare `{class}` ({:?})", sql.to_string());
            return Err(self.fatal(*refusal, &what));
        }
        if usize::from(self.reader.params) != template.params() {
            return Err(broken(format_args!(
                "statement {} has {} parameters here and {} there",
                template.statement.class,
                template.params(),
                self.reader.params
            )));
        }
        self.prepared[index] = Prepared { id: self.reader.statement_id, typed: false };
        Ok(self.await_preparation(index + 1))
    }

    fn no_arrays(&self) -> Error {
        let what =
            format!("{}: bulk: array is asked for, which only MariaDB has", self.config.place);
        Error::new(Kind::Plan, what).hint("set bulk: auto, infile or insert")
    }

    fn fatal(&self, refusal: Refusal, what: &str) -> Error {
        if refusal.ends_connection() {
            return refusal.into_lost(&self.config.place);
        }
        refusal.into_fatal(&format!("{}: {what}", self.config.place))
    }

    /// The reader has a whole reply.
    #[inline]
    fn reply(&mut self) -> Result<Progress> {
        self.phase = Phase::Idle;
        self.config.still_guarded(self.reader.lifts_guard)?;
        let mut reply = Reply {
            rows: self.reader.rows,
            affected: self.reader.affected,
            error: None,
            kept: std::mem::take(&mut self.reader.kept),
        };
        if let Some(refusal) = self.reader.refusal.take() {
            if refusal.ends_connection() {
                return Err(refusal.into_lost(&self.config.place));
            }
            let mut error = refusal.into_server_error();
            let templates = &self.config.templates;
            if let Some(template) = self.statement.and_then(|at| templates.get(usize::from(at))) {
                error.message =
                    format!("statement {}: {}", template.statement.class, error.message);
            }
            reply.error = Some(Box::new(error));
        }
        Ok(Progress::Reply(reply))
    }

    /// Bytes that nobody asked for: a farewell, or rubbish.
    fn unsolicited(&self, input: &[u8]) -> Result<(usize, Progress)> {
        match errors::farewell(input)? {
            None => Ok((0, Progress::More)),
            Some(refusal) => Err(refusal.into_lost(&self.config.place)),
        }
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
            (Bulk::Preparing(columns), Found::Done) if self.reader.refusal.is_none() => {
                let inserts = Box::new(Inserts::prepared(self.reader.statement_id, columns));
                self.begin_inserts(inserts, out);
                Ok(Progress::More)
            }
            (Bulk::Beginning(inserts), Found::Done) if self.reader.refusal.is_none() => {
                self.ask_limit(inserts, out);
                Ok(Progress::More)
            }
            (Bulk::Committing(affected, refusal), Found::Done) => {
                self.reader.affected = affected;
                // Why rows were refused says more than why they could not be undone.
                if refusal.is_some() {
                    self.reader.refusal = refusal;
                }
                self.reply()
            }
            (Bulk::Asked(_), Found::Infile) => {
                if self.reader.infile_name() != INFILE_NAME.as_bytes() {
                    return Err(broken("it asks for a file that we did not offer"));
                }
                self.phase = Phase::Bulk(Bulk::Sending(self.reader.next_seq()));
                Ok(Progress::WantData)
            }
            (Bulk::Asked(Some(inserts)), Found::Done)
                if self.reader.refusal.as_ref().is_some_and(|r| r.refuses_infile()) =>
            {
                self.reader.refusal = None;
                self.infile_refused = true;
                self.ask_limit(inserts, out);
                Ok(Progress::More)
            }
            (Bulk::LimitAsked(mut inserts), Found::Done) => {
                if self.reader.refusal.is_some() {
                    return self.reply();
                }
                let limit = self.reader.first_row.first().and_then(|value| value.as_deref());
                if let Some(limit) = limit.and_then(|text| text.parse().ok()) {
                    inserts.limit(limit);
                }
                self.reader.begin(Expect::Result);
                self.phase = Phase::Bulk(Bulk::Inserting(inserts));
                Ok(Progress::WantData)
            }
            (Bulk::Inserting(inserts), _) => self.insert_done(inserts, out),
            // The whole file is in, or the server broke off early.
            _ => self.reply(),
        }
    }

    /// Each array would commit for itself; a LOAD DATA is one transaction.
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
            self.reader.affected = inserts.affected;
            self.reader.refusal = refusal;
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
        inserts.affected += self.reader.affected;
        if let Some(refusal) = self.reader.refusal.take() {
            if refusal.ends_connection() {
                return Err(refusal.into_lost(&self.config.place));
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
            return self.unsolicited(input);
        }
        let (consumed, found) = self.reader.feed(input)?;
        let Phase::Bulk(bulk) = std::mem::replace(&mut self.phase, Phase::Idle) else {
            return Ok((consumed, Progress::More));
        };
        Ok((consumed, self.bulk_found(bulk, found, out)?))
    }
}

/// What the reader must know of a statement that keeps its rows.
#[inline]
fn kept(template: &Template, index: usize, is_binary: bool) -> Option<Kept> {
    template.statement.keeps.then_some(Kept { statement: index as u16, is_binary })
}

impl WireProtocol for MysqlWire {
    type Reply = Reply;

    fn connected(&mut self, secure_transport: bool, _out: &mut Vec<u8>) {
        // The server speaks first.
        self.phase = Phase::Login(Box::new(LoginState::new(secure_transport)));
    }

    fn tls_established(&mut self, out: &mut Vec<u8>) {
        debug_assert!(matches!(self.phase, Phase::Login(_)));
        if let Phase::Login(login) = &mut self.phase {
            login.tls_established(&self.config, out);
        }
    }

    #[inline]
    fn receive(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Progress)> {
        match self.phase {
            Phase::Busy => {
                let (consumed, found) = self.reader.feed(input)?;
                match found {
                    Found::Done => Ok((consumed, self.reply()?)),
                    // `Infile` is found only where it is expected, in a bulk load.
                    Found::More | Found::Infile => Ok((consumed, Progress::More)),
                }
            }
            Phase::Login(_) => self.login(input, out),
            Phase::Session(index) => match self.reader.feed(input)? {
                (consumed, Found::Done) => Ok((consumed, self.session_done(index, out)?)),
                (consumed, _) => Ok((consumed, Progress::More)),
            },
            Phase::Prepare(index) => match self.reader.feed(input)? {
                (consumed, Found::Done) => Ok((consumed, self.prepare_done(index)?)),
                (consumed, _) => Ok((consumed, Progress::More)),
            },
            Phase::Bulk(_) => self.bulk_receive(input, out),
            Phase::New | Phase::Idle => self.unsolicited(input),
        }
    }

    fn is_amid_message(&self) -> bool {
        self.reader.is_amid_packet()
    }

    fn cancel(&self) -> Cancel {
        super::kill(self.connection_id)
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
        let words = tasks::sql(task);
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
            Mode::Auto if self.binds_arrays => return self.prepare_insert(table, columns, out),
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
            // The server broke off early: what is left is not wanted.
            _ => {}
        }
    }

    fn bulk_end(&mut self, out: &mut Vec<u8>) {
        match &mut self.phase {
            Phase::Bulk(Bulk::Sending(seq)) => {
                let after = packet::write(out, *seq, &[]);
                self.reader.resume(after);
                self.phase = Phase::Bulk(Bulk::Ending);
            }
            Phase::Bulk(Bulk::Inserting(inserts)) => {
                inserts.end(out);
                if inserts.outstanding == 0 {
                    // Something must be answered, or the caller would wait for ever.
                    put_command(out, command::PING, &[]);
                    inserts.outstanding = 1;
                }
            }
            _ => {}
        }
    }

    fn first_row(&self) -> &[Option<String>] {
        &self.reader.first_row
    }
}
