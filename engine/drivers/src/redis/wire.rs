//! The state machine of one connection: (TLS) - AUTH, SELECT - requests.
//!
//! What takes several commands goes out in one piece, and its answers are counted together: a login,
//! the rows of a load.

use super::Shared;
use super::commands::{Counts, Digits};
use super::errors::Refusal;
use super::keyspace::Walk;
use super::rows::Rows;
use dyno_core::driver::{Cancel, Progress, Reply, ServerError, Task, Wire, WireProtocol};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::workload::{Op, Transaction};
use dyno_protocol::resp::{self, Reader, Token, rubbish};
use std::sync::Arc;

/// Most text of an answer to a [`Wire::query`] that is kept.
const ROW_BYTES_MAX: usize = 64 << 10;

/// One connection.
pub(super) struct RedisWire {
    shared: Arc<Shared>,
    phase: Phase,
    reader: Reader,
    /// The reply in the making.
    reply: Reply,
    /// The operation in flight, or the last one.
    request: u16,
    digits: Digits,
    first_row: Vec<Option<String>>,
    row_bytes: usize,
}

/// What the connection is doing.
#[derive(Debug)]
enum Phase {
    /// Not connected.
    New,
    /// The password may not be sent.
    Refused(Error),
    /// Commands of the login that are not yet answered.
    Login(u32),
    /// Nothing is in flight.
    Idle,
    /// One of the group's commands.
    Operation(Counts),
    /// A command given as text.
    Query,
    /// The store's keys are walked. `must_be_none`: it is to be made.
    Walk { walk: Walk, store: String, must_be_none: bool },
    /// A load, not yet under way.
    LoadBegins(Box<Rows>),
    /// Rows are being sent.
    Load(Box<Rows>),
    /// All rows are sent, and a command behind them.
    LoadEnds(Box<Rows>),
    /// An error was returned: the connection is useless.
    Lost,
}

impl RedisWire {
    pub fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            phase: Phase::New,
            reader: Reader::default(),
            reply: Reply::default(),
            request: 0,
            digits: Digits::default(),
            first_row: Vec::new(),
            row_bytes: 0,
        }
    }

    fn log_in(&mut self, out: &mut Vec<u8>) {
        self.phase = match self.shared.login.put(out) {
            Ok(commands) => Phase::Login(commands),
            Err(error) => Phase::Refused(error),
        };
    }

    /// A request begins whose answer is kept, or not.
    fn begin(&mut self, phase: Phase, keep: bool) {
        debug_assert!(matches!(self.phase, Phase::Idle), "one request at a time");
        self.reader.keep = keep;
        self.phase = phase;
    }

    /// Takes one value of a reply. `top`: it is the reply, not a part of it.
    #[inline]
    fn token(&mut self, token: &Token<'_>, top: bool) -> Result<()> {
        if let (Token::Error(line), true) = (token, top) {
            return self.refused(Refusal::parse(line));
        }
        match &mut self.phase {
            Phase::Operation(counts) if top => match (counts, token) {
                (_, Token::Null | Token::Many(0)) => {}
                (Counts::Row, _) => self.reply.rows = 1,
                (Counts::Write, _) => self.reply.affected = 1,
            },
            Phase::Login(_) if top && !matches!(token, Token::Status(_) | Token::Many(_)) => {
                return Err(rubbish("an answer to a login that is none"));
            }
            Phase::Operation(_) | Phase::Login(_) | Phase::LoadBegins(_) => {}
            Phase::Query => self.keep(token),
            Phase::Walk { walk, .. } => walk.token(token)?,
            Phase::Load(rows) | Phase::LoadEnds(rows) if rows.outstanding > 0 => match token {
                Token::Integer(new) => rows.answered(Some(*new)),
                Token::Status(b"OK") => rows.answered(Some(1)),
                Token::Null | Token::Status(b"PONG") => rows.answered(None),
                _ => return Err(rubbish("an answer to HSET or SET that is none")),
            },
            _ => return Err(rubbish("an answer to nothing")),
        }
        Ok(())
    }

    fn keep(&mut self, token: &Token<'_>) {
        let text = match token {
            Token::Many(_) => return,
            Token::Null | Token::Skipped => None,
            Token::Integer(number) => Some(number.to_string()),
            Token::Status(text) | Token::Text(text) | Token::Error(text) => {
                Some(String::from_utf8_lossy(text).into_owned())
            }
        };
        self.reply.rows = 1;
        self.row_bytes += size_of::<Option<String>>() + text.as_ref().map_or(0, String::len);
        if self.row_bytes <= ROW_BYTES_MAX {
            self.first_row.push(text);
        }
    }

    fn refused(&mut self, refusal: Refusal) -> Result<()> {
        if matches!(self.phase, Phase::Login(_)) {
            return Err(self.shared.login.refused(&refusal));
        }
        let class = match self.phase {
            Phase::Operation(_) => self.shared.commands[usize::from(self.request)].class.as_str(),
            Phase::New | Phase::Refused(_) | Phase::Idle | Phase::Lost => {
                // Said before it closes: no more clients, or this one is too slow.
                let place = &self.shared.login.place;
                let what = format!("Redis at {place} ended the connection: {}", refusal.text);
                return Err(Error::new(Kind::Connection, what).hint("see the server's log"));
            }
            _ => "",
        };
        self.reply.error.get_or_insert_with(|| Box::new(refusal.of_command(class)));
        Ok(())
    }

    /// A reply is complete: what that means.
    #[inline]
    fn complete(&mut self, out: &mut Vec<u8>) -> Result<Option<Progress>> {
        match &mut self.phase {
            Phase::Operation(_) | Phase::Query => return Ok(Some(self.finish())),
            Phase::Login(left) => {
                *left -= 1;
                if *left > 0 {
                    return Ok(None);
                }
                self.phase = Phase::Idle;
                return Ok(Some(Progress::Ready));
            }
            Phase::Walk { walk, store, must_be_none } if self.reply.error.is_none() => {
                let found = walk.found;
                let is_there = *must_be_none && found > 0;
                if !is_there && !walk.is_over(out) {
                    return Ok(None);
                }
                if is_there {
                    self.reply.error = Some(Box::new(already_there(store)));
                }
                self.first_row.clear();
                self.first_row.push(Some(found.to_string()));
                return Ok(Some(self.finish()));
            }
            Phase::LoadBegins(_) if self.reply.error.is_none() => {
                if let Phase::LoadBegins(rows) = std::mem::replace(&mut self.phase, Phase::Lost) {
                    self.phase = Phase::Load(rows);
                }
                return Ok(Some(Progress::WantData));
            }
            // A refusal ends the load early.
            Phase::Load(_) if self.reply.error.is_none() => return Ok(None),
            Phase::LoadEnds(rows) if self.reply.error.is_none() => {
                if rows.outstanding > 0 {
                    return Ok(None);
                }
                self.reply.affected = rows.taken;
            }
            _ => {}
        }
        Ok(Some(self.finish()))
    }

    fn finish(&mut self) -> Progress {
        self.phase = Phase::Idle;
        Progress::Reply(std::mem::take(&mut self.reply))
    }

    fn advance(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Progress)> {
        if let Phase::Refused(error) = &self.phase {
            return Err(error.clone());
        }
        let mut at = 0;
        loop {
            let top = self.reader.is_between();
            let (used, token) = self.reader.next(&input[at..])?;
            at += used;
            let Some(token) = token else { return Ok((at, Progress::More)) };
            self.token(&token, top)?;
            if self.reader.is_between()
                && let Some(progress) = self.complete(out)?
            {
                return Ok((at, progress));
            }
        }
    }
}

impl WireProtocol for RedisWire {
    type Reply = Reply;

    fn begins_with_tls(&self) -> bool {
        self.shared.login.tls
    }

    fn connected(&mut self, _secure_transport: bool, out: &mut Vec<u8>) {
        self.log_in(out);
    }

    fn tls_established(&mut self, out: &mut Vec<u8>) {
        self.log_in(out);
    }

    #[inline]
    fn receive(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Progress)> {
        let result = self.advance(input, out);
        if result.is_err() {
            self.phase = Phase::Lost;
        }
        result
    }

    fn is_amid_message(&self) -> bool {
        self.reader.is_skipping()
    }

    /// Commands are short, and none but scripts can be stopped.
    fn cancel(&self) -> Cancel {
        Cancel::Close
    }

    fn quit(&mut self, _out: &mut Vec<u8>) {}
}

impl Wire for RedisWire {
    #[inline]
    fn request(&mut self, op: &Op, tx: &Transaction, out: &mut Vec<u8>) {
        self.request = op.request;
        let command = &self.shared.commands[usize::from(op.request)];
        let counts = command.counts;
        command.request(op, tx, &mut self.digits, out);
        self.begin(Phase::Operation(counts), false);
    }

    fn task(&mut self, task: Task<'_>, out: &mut Vec<u8>) -> bool {
        let (table, must_be_none) = match task {
            Task::Create(table) => (table, true),
            Task::Count(table) => (table, false),
            // No transactions, and nothing that would have to be built after a load.
            Task::Rollback | Task::BeginLoad(_) | Task::EndLoad(_) | Task::Finish(..) => {
                return false;
            }
        };
        let walk = Walk::begin(&self.shared.login.prefix, &table.name, out);
        self.begin(Phase::Walk { walk, store: table.name.clone(), must_be_none }, true);
        true
    }

    /// A command, its words between blanks.
    fn query(&mut self, text: &str, out: &mut Vec<u8>) {
        self.first_row.clear();
        self.row_bytes = 0;
        let words: Vec<&[u8]> = text.split_whitespace().map(str::as_bytes).collect();
        resp::command(if words.is_empty() { &[b"PING"] } else { &words }, out);
        self.begin(Phase::Query, true);
    }

    fn bulk(&mut self, table: &str, columns: &[&str], out: &mut Vec<u8>) {
        // Something must be answered before rows are asked for.
        resp::command(&[b"PING"], out);
        let rows = Rows::new(&self.shared.login.prefix, table, columns);
        self.begin(Phase::LoadBegins(Box::new(rows)), false);
    }

    /// Does nothing once the server has refused a row.
    fn bulk_data(&mut self, rows: &[u8], out: &mut Vec<u8>) {
        if let Phase::Load(load) = &mut self.phase {
            load.put(rows, out);
        }
    }

    fn bulk_end(&mut self, out: &mut Vec<u8>) {
        self.phase = match std::mem::replace(&mut self.phase, Phase::Lost) {
            Phase::Load(mut rows) => {
                rows.end(out);
                Phase::LoadEnds(rows)
            }
            other => other,
        };
    }

    fn first_row(&self) -> &[Option<String>] {
        &self.first_row
    }
}

/// The store that is to be made.
fn already_there(store: &str) -> ServerError {
    ServerError {
        code: "EXISTS".to_owned(),
        message: format!("store {store} already exists: there are keys of it"),
        rolled_back: true,
        ..ServerError::default()
    }
}
