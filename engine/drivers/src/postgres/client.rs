//! One connection of a script: any statement, buffered results.
//!
//! | file | contents |
//! |---|---|
//! | `client.rs` | requests, and the clients of a target |
//! | `client/marks.rs` | `?` as a parameter mark |
//! | `client/requests.rs` | messages for prepared statements |
//!
//! Text is sent as a simple query, so that several statements return several results, and form one
//! transaction unless the text contains transaction statements. Prepared statements use the
//! extended protocol. COPY has no source or sink of rows: `FROM STDIN` is refused (57014), and the
//! rows of `TO STDOUT` are dropped. Notices, notifications and parameter reports are not results. A
//! statement refused inside a transaction leaves the connection usable, and the script must end the
//! transaction; FATAL and PANIC end the connection.
//!
//! sysbench's options of its driver `pgsql` and the corresponding fields of a target:
//!
//! | option | field of the target |
//! |---|---|
//! | `pgsql-host`, `pgsql-port` | `Address::Tcp`; a host that begins with `/` is the directory of a socket: `Address::Unix("HOST/.s.PGSQL.PORT")` |
//! | `pgsql-user`, `pgsql-password`, `pgsql-db` | `user`, `password`, `database` |
//! | `pgsql-sslmode` (1.1) | `tls`: disable is `Off`; allow and prefer are `Prefer`; require is `Require`; verify-ca and verify-full are `Verify`, or `Ca` with a file of roots, and check the name too |
//!
//! `protocol` is ignored: a script decides what it prepares. `session_sql` runs first.

mod marks;
mod requests;
#[cfg(test)]
mod tests;

use super::connection::{Connection, Requests};
use super::errors::ErrorFields;
use super::frames::{self, HEADER_BYTES, rubbish};
use super::login::Login;
use super::messages;
use super::opening::{Handling, Opening, command_tag, ready_status};
use crate::results::Results;
use crate::slots::Slots;
use dyno_core::driver::Progress;
use dyno_core::driver::client::{Answer, Answers, Bind, Client, Clients, Nature};
use dyno_core::error::Result;
use dyno_core::plan::Target;
use std::sync::Arc;

/// Creates the clients of a target.
///
/// # Errors
/// Names the invalid field of the target.
pub fn build(target: &Target) -> Result<Clients> {
    let login = Arc::new(Login::of(target)?);
    Ok(Box::new(move || Ok(Nature::Wire(Box::new(Connection::new(&login, Calls::default()))))))
}

/// A script's requests on its connection.
#[derive(Default)]
struct Calls {
    /// The request in flight.
    busy: Option<Busy>,
    results: Results,
    /// The number of columns of each prepared statement.
    statements: Slots<u32>,
    /// Number and parameter count of the statement prepared last.
    prepared: (u32, u16),
    /// The text prepared last, with numbered parameters.
    sql: Vec<u8>,
}

/// The request in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Busy {
    /// A text query.
    Query,
    /// The preparation of a statement.
    Prepare,
    /// The execution of a prepared statement.
    Execute,
    /// The close of a prepared statement.
    Close,
}

impl Calls {
    fn begin(&mut self, busy: Busy) {
        debug_assert_eq!(self.busy, None, "one request in flight");
        self.busy = Some(busy);
        self.results.clear();
    }

    fn row_description(&mut self, body: &[u8]) -> Result<()> {
        let columns = u32::from(frames::Body(body).u16()?);
        if self.busy == Some(Busy::Prepare) {
            if let Some(known) = self.statements.get_mut(self.prepared.0) {
                *known = columns;
            }
        } else {
            self.results.describe(columns);
        }
        Ok(())
    }

    /// The server is ready again: all results have arrived.
    fn ready_for_query(&mut self, body: &[u8]) -> Result<Progress<()>> {
        ready_status(body)?;
        let is_refused = self.results.answers().last().is_some_and(|last| last.error.is_some());
        match self.busy.take() {
            Some(Busy::Prepare) if is_refused => self.statements.remove(self.prepared.0),
            Some(Busy::Prepare | Busy::Close) if !is_refused => self.results.end(0)?,
            Some(Busy::Query | Busy::Execute) if self.results.answers().is_empty() => {
                return Err(rubbish("ReadyForQuery without an answer before it"));
            }
            _ => {}
        }
        Ok(Progress::Reply(()))
    }

    fn error(&mut self, login: &Login, body: &[u8]) -> Result<()> {
        let fields = ErrorFields::parse(body)?;
        match self.busy {
            Some(Busy::Prepare) if !fields.ends_connection() => {
                self.results.refuse(fields.refused_in_full(&self.sql));
            }
            Some(_) if !fields.ends_connection() => self.results.refuse(fields.refused()),
            _ => return Err(fields.connection_lost(login)),
        }
        Ok(())
    }
}

impl Requests for Calls {
    type Reply = ();

    #[inline]
    fn handling(&mut self, tag: u8, size: usize) -> Result<Handling> {
        use Busy::{Close, Execute, Prepare, Query};
        match (tag, self.busy) {
            // DataRow.
            (b'D', Some(Query | Execute)) => {
                self.results.row(size - HEADER_BYTES)?;
                Ok(Handling::Keep)
            }
            // CopyOutResponse, CopyData, CopyDone of a COPY TO STDOUT.
            (b'H' | b'd' | b'c', Some(Query | Execute)) => Ok(Handling::Skip),
            (b'Z', Some(_))
            | (b'T' | b'C' | b'I' | b'G', Some(Query))
            | (b'1' | b't' | b'T' | b'n', Some(Prepare))
            | (b'2' | b'C' | b'I' | b'G', Some(Execute))
            | (b'3', Some(Close)) => Handling::parse(tag, size),
            _ => Handling::unasked(tag, size),
        }
    }

    #[inline]
    fn message(
        &mut self,
        opening: &mut Opening,
        (tag, body): (u8, &[u8]),
        out: &mut Vec<u8>,
    ) -> Result<Option<Progress<()>>> {
        match tag {
            b'C' => self.results.end(frames::affected(command_tag(body)?, false))?,
            b'Z' => return self.ready_for_query(body).map(Some),
            b'T' => self.row_description(body)?,
            // ParameterDescription.
            b't' => self.prepared.1 = frames::Body(body).u16()?,
            // EmptyQueryResponse.
            b'I' => self.results.end(0)?,
            b'E' => self.error(&opening.login, body)?,
            b'S' => opening.reported(body)?,
            b'G' => {
                let why = "scripts send no rows by COPY FROM STDIN";
                opening.refuse_copy(why, self.busy == Some(Busy::Execute), out)?;
            }
            // ParseComplete, BindComplete, CloseComplete, NoData.
            _ => {}
        }
        Ok(None)
    }

    #[inline]
    fn take(&mut self, input: &[u8]) -> Result<usize> {
        self.results.take(input)
    }

    fn is_amid_row(&self) -> bool {
        self.results.is_amid_row()
    }
}

/// A statement ends at a NUL, as for all clients of this protocol.
fn until_nul(sql: &[u8]) -> &[u8] {
    memchr::memchr(0, sql).map_or(sql, |end| &sql[..end])
}

impl Answers for Connection<Calls> {
    fn answers(&self) -> &[Answer] {
        self.requests.results.answers()
    }

    fn fetch(&self, answer: usize, row: u64, put: &mut dyn FnMut(Option<&[u8]>)) -> Result<()> {
        frames::values(self.requests.results.bytes_of(answer, row)?, put)
    }

    fn prepared(&self) -> (u32, u16) {
        self.requests.prepared
    }
}

impl Client for Connection<Calls> {
    #[inline]
    fn query(&mut self, sql: &[u8], out: &mut Vec<u8>) {
        self.requests.begin(Busy::Query);
        messages::query(until_nul(sql), out);
    }

    fn prepare(&mut self, sql: &[u8], out: &mut Vec<u8>) {
        self.requests.begin(Busy::Prepare);
        self.requests.sql.clear();
        marks::number(until_nul(sql), self.opening.backslashes, &mut self.requests.sql);
        self.requests.prepared = (self.requests.statements.add(0), 0);
        requests::prepare(self.requests.prepared.0, &self.requests.sql, out);
    }

    #[inline]
    fn execute(&mut self, statement: u32, values: &[Bind<'_>], out: &mut Vec<u8>) {
        self.requests.begin(Busy::Execute);
        // The server refuses an unknown statement.
        self.requests
            .results
            .describe(self.requests.statements.get_mut(statement).map_or(0, |columns| *columns));
        requests::execute(statement, values, out);
    }

    /// The server's reply is a result without rows.
    fn close(&mut self, statement: u32, out: &mut Vec<u8>) -> bool {
        self.requests.begin(Busy::Close);
        self.requests.statements.remove(statement);
        requests::close(statement, out);
        true
    }
}
