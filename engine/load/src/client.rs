//! A blocking client: any [`Wire`] over a transport, one request after the other. For what is not
//! measured: loading, counting rows, cancelling a statement.

use crate::endpoint::Endpoint;
use crate::transport::Link;
use crate::tsv::Tsv;
use dyno_core::driver::{Progress, Reply, ServerError, Wire};
use dyno_core::error::{Error, Kind, Result};
use std::time::Duration;

/// Longest time to connect and log in.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// Input that was consumed is moved out of the way when this much of it has gathered.
const COMPACT_BYTES: usize = 64 * 1024;

/// A connection that is logged in.
pub struct Client<'a> {
    endpoint: &'a Endpoint,
    link: Link,
    wire: Box<dyn Wire>,
    /// Received; the first `consumed` bytes are dealt with.
    input: Vec<u8>,
    consumed: usize,
    /// To be sent.
    output: Vec<u8>,
    timeout: Duration,
}

impl<'a> Client<'a> {
    /// Connects and logs in; `timeout` bounds each wait afterwards.
    ///
    /// # Errors
    /// Those of the transport and of the login, within [`CONNECT_TIMEOUT`].
    pub fn connect(endpoint: &'a Endpoint, wire: Box<dyn Wire>, timeout: Duration) -> Result<Self> {
        let link = Link::open_blocking(endpoint, CONNECT_TIMEOUT)?;
        let (input, output) = (Vec::new(), Vec::new());
        let mut client =
            Self { endpoint, link, wire, input, consumed: 0, output, timeout: CONNECT_TIMEOUT };
        client.wire.connected(endpoint.is_unix(), &mut client.output);
        loop {
            match client.next()? {
                Progress::Ready => break,
                Progress::StartTls => client.encrypt()?,
                other => return Err(client.out_of_turn(&other)),
            }
        }
        client.timeout = timeout;
        Ok(client)
    }

    /// Runs a statement. The server's refusal is in the reply.
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn query(&mut self, sql: &str) -> Result<Reply> {
        self.wire.query(sql, &mut self.output);
        self.reply()
    }

    /// Runs a statement that must succeed; the first row of its answer as text.
    ///
    /// # Errors
    /// [`Kind::Server`] when the server refuses it; when the connection breaks.
    pub fn run(&mut self, sql: &str) -> Result<&[Option<String>]> {
        match self.query(sql)?.error {
            None => Ok(self.wire.first_row()),
            Some(error) => Err(refused(&format!("\"{sql:.200}\""), &error)),
        }
    }

    /// Loads rows into `table`. `more` gets an empty buffer, appends whole rows in the bulk format,
    /// and answers false when there were none left. Returns how many rows the server took.
    ///
    /// # Errors
    /// [`Kind::Server`] when the server refuses rows, early where it says so early; whatever
    /// `more` returns; when the connection breaks. Afterwards the connection is of no more use.
    pub fn bulk(
        &mut self,
        table: &str,
        columns: &[&str],
        more: &mut dyn FnMut(&mut Tsv) -> Result<bool>,
    ) -> Result<u64> {
        let what = format!("rows for table {table}");
        self.wire.bulk(table, columns, &mut self.output);
        match self.next()? {
            Progress::WantData => {}
            Progress::Reply(reply) => return affected(&what, reply),
            other => return Err(self.out_of_turn(&other)),
        }
        let mut rows = Tsv::default();
        while more(&mut rows)? {
            self.wire.bulk_data(&rows.bytes, &mut self.output);
            rows.bytes.clear();
            self.flush()?;
            if let Some(reply) = self.early_reply()? {
                return affected(&what, reply);
            }
        }
        self.wire.bulk_end(&mut self.output);
        let reply = self.reply()?;
        affected(&what, reply)
    }

    /// Says farewell, where the protocol has one, and closes.
    pub fn quit(mut self) {
        self.wire.quit(&mut self.output);
        // The connection ends either way.
        let _ = self.flush();
    }

    fn encrypt(&mut self) -> Result<()> {
        self.link.encrypt_blocking(self.endpoint, &mut self.input, self.timeout)?;
        self.wire.tls_established(&mut self.output);
        Ok(())
    }

    fn reply(&mut self) -> Result<Reply> {
        match self.next()? {
            Progress::Reply(reply) => Ok(reply),
            other => Err(self.out_of_turn(&other)),
        }
    }

    /// Sends what is to be sent and waits for the next event.
    fn next(&mut self) -> Result<Progress> {
        loop {
            // What was received may have called for an answer: sent before we wait again.
            let event = self.digest()?;
            self.flush()?;
            if event != Progress::More {
                return Ok(event);
            }
            self.link.receive_some(&mut self.input, self.timeout)?;
        }
    }

    /// What the bytes at hand say; `More` when they say nothing further.
    fn digest(&mut self) -> Result<Progress> {
        while self.consumed < self.input.len() {
            let unread = &self.input[self.consumed..];
            let (n, event) = self.wire.receive(unread, &mut self.output)?;
            self.consumed += n;
            if self.consumed == self.input.len() || self.consumed >= COMPACT_BYTES {
                self.input.drain(..self.consumed);
                self.consumed = 0;
            }
            if event != Progress::More {
                return Ok(event);
            }
            // Consumed without an event: more messages may lie behind.
            if n == 0 {
                break;
            }
        }
        Ok(Progress::More)
    }

    /// A refusal that came while we are still sending rows; never waits.
    fn early_reply(&mut self) -> Result<Option<Reply>> {
        let mut raw = [0; 4096];
        match self.link.receive_raw(&mut raw).map_err(|error| self.link.lost(&error))? {
            None => return Ok(None),
            Some(0) => return Err(self.link.closed()),
            Some(n) => self.link.decrypt(&raw[..n], &mut self.input)?,
        }
        match self.digest()? {
            Progress::Reply(reply) => Ok(Some(reply)),
            Progress::More => Ok(None),
            other => Err(self.out_of_turn(&other)),
        }
    }

    fn flush(&mut self) -> Result<()> {
        if self.output.is_empty() {
            return Ok(());
        }
        let sent = self.link.send_all(&self.output, self.timeout);
        self.output.clear();
        sent
    }

    fn out_of_turn(&self, event: &Progress) -> Error {
        let what = format!("{}: the server answered out of turn ({event:?})", self.link.label());
        Error::new(Kind::Protocol, what)
    }
}

fn affected(what: &str, reply: Reply) -> Result<u64> {
    reply.error.map_or(Ok(reply.affected), |error| Err(refused(what, &error)))
}

/// A server's refusal as the end of the job. `what`: the statement or the work.
pub fn refused(what: &str, error: &ServerError) -> Error {
    let ServerError { code, message, .. } = error;
    Error::new(Kind::Server, format!("the server refused {what}: {message} ({code})"))
}
