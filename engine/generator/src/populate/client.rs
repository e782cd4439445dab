//! A blocking client: any [`Wire`] over a transport, one request at a time. It serves unmeasured work:
//! populating, counting rows, cancelling a statement.

use crate::populate::tsv::Tsv;
use crate::transport::channel::{CONNECT_TIMEOUT, Channel, out_of_turn};
use crate::transport::endpoint::Endpoint;
use dyno_core::driver::{Progress, Reply, ServerError, Task, Wire};
use dyno_core::error::{Error, Kind, Result};
use std::time::{Duration, Instant};

/// A logged-in connection.
pub struct Client<'a> {
    endpoint: &'a Endpoint,
    channel: Channel,
    wire: Box<dyn Wire>,
    /// Timeout of each answer.
    timeout: Duration,
}

impl<'a> Client<'a> {
    /// Connects and logs in; `timeout` bounds each answer afterwards.
    ///
    /// # Errors
    /// Those of the transport and of the login, within [`CONNECT_TIMEOUT`].
    pub fn connect(
        endpoint: &'a Endpoint,
        mut wire: Box<dyn Wire>,
        timeout: Duration,
    ) -> Result<Self> {
        let mut channel = Channel::default();
        channel.connect(&mut *wire, endpoint, Instant::now() + CONNECT_TIMEOUT)?;
        Ok(Self { endpoint, channel, wire, timeout })
    }

    /// Carries out a task that must succeed. Returns false if the system has nothing to do for it.
    ///
    /// # Errors
    /// [`Kind::Server`] when the server refuses it; when the connection breaks.
    pub fn run(&mut self, task: Task<'_>) -> Result<bool> {
        if !self.wire.task(task, &mut self.channel.output) {
            return Ok(false);
        }
        match self.reply()?.error {
            None => Ok(true),
            Some(error) => Err(refused(&task.to_string(), &error)),
        }
    }

    /// The first row of the last task's answer as text.
    pub fn first_row(&self) -> &[Option<String>] {
        self.wire.first_row()
    }

    /// Loads rows into `table`. `more` gets an empty buffer, appends whole rows in the bulk format,
    /// and returns false when none were left. Returns how many rows the server accepted.
    ///
    /// # Errors
    /// [`Kind::Server`] when the server refuses rows, at once if it reports that early; the errors of
    /// `more`; when the connection breaks. The connection is unusable after an error.
    pub fn bulk(
        &mut self,
        table: &str,
        columns: &[&str],
        more: &mut dyn FnMut(&mut Tsv) -> Result<bool>,
    ) -> Result<u64> {
        let what = format!("rows for table {table}");
        self.wire.bulk(table, columns, &mut self.channel.output);
        match self.next()? {
            Progress::WantData => {}
            Progress::Reply(reply) => return affected(&what, reply),
            _ => return Err(self.out_of_turn()),
        }
        let mut rows = Tsv::default();
        while more(&mut rows)? {
            self.wire.bulk_data(&rows.bytes, &mut self.channel.output);
            rows.bytes.clear();
            self.channel.flush(Instant::now() + self.timeout)?;
            if let Some(reply) = self.early_reply()? {
                return affected(&what, reply);
            }
        }
        self.wire.bulk_end(&mut self.channel.output);
        let reply = self.reply()?;
        affected(&what, reply)
    }

    /// Sends the protocol's closing message, if it has one, and closes.
    pub fn quit(mut self) {
        self.channel.farewell(&mut *self.wire);
    }

    /// Sends the output and waits for the next event.
    fn next(&mut self) -> Result<Progress> {
        let deadline = Instant::now() + self.timeout;
        self.channel.converse(&mut *self.wire, self.endpoint, deadline)
    }

    fn reply(&mut self) -> Result<Reply> {
        match self.next()? {
            Progress::Reply(reply) => Ok(reply),
            _ => Err(self.out_of_turn()),
        }
    }

    /// Reads a refusal that the server sent before the end of the rows; never waits.
    fn early_reply(&mut self) -> Result<Option<Reply>> {
        let come = self.channel.peek(&mut *self.wire);
        match come.map_err(|error| error.at_server(self.endpoint.label()))? {
            Progress::Reply(reply) => Ok(Some(reply)),
            Progress::More => Ok(None),
            _ => Err(self.out_of_turn()),
        }
    }

    fn out_of_turn(&self) -> Error {
        out_of_turn().at_server(self.endpoint.label())
    }
}

fn affected(what: &str, reply: Reply) -> Result<u64> {
    reply.error.map_or(Ok(reply.affected), |error| Err(refused(what, &error)))
}

/// Converts a server's refusal to the job's error. `what`: the statement or the work.
pub fn refused(what: &str, error: &ServerError) -> Error {
    let ServerError { code, message, .. } = error;
    Error::new(Kind::Server, format!("the server refused {what}: {message} ({code})"))
}
