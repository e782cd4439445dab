//! A blocking client: any [`Wire`] over a transport, one request after the other. For what is not
//! measured: loading, counting rows, cancelling a statement.

use crate::populate::tsv::Tsv;
use crate::transport::endpoint::Endpoint;
use crate::transport::link::Link;
use crate::transport::patience::Patience;
use dyno_core::clock::{Clock, MonotonicClock};
use dyno_core::driver::{Progress, Reply, ServerError, Task, Wire};
use dyno_core::error::{Error, Kind, Result};
use std::time::{Duration, Instant};

/// Longest time to connect and log in.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest time to say farewell to a server that does not listen.
const FAREWELL: Duration = Duration::from_secs(2);
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
    /// How long the answer to what is sent may take, and until when that is.
    timeout: Duration,
    deadline: Instant,
    patience: Patience,
}

impl<'a> Client<'a> {
    /// Connects and logs in; `timeout` bounds each answer afterwards.
    ///
    /// # Errors
    /// Those of the transport and of the login, within [`CONNECT_TIMEOUT`].
    pub fn connect(endpoint: &'a Endpoint, wire: Box<dyn Wire>, timeout: Duration) -> Result<Self> {
        let deadline = Instant::now() + CONNECT_TIMEOUT;
        let mut client = Self {
            endpoint,
            link: Link::open_blocking(endpoint, deadline)?,
            wire,
            input: Vec::new(),
            consumed: 0,
            output: Vec::new(),
            timeout,
            deadline,
            patience: Patience::default(),
        };
        if client.wire.begins_with_tls() {
            client.encrypt()?;
        } else {
            client.wire.connected(endpoint.is_unix(), &mut client.output);
        }
        loop {
            match client.next()? {
                Progress::Ready => break,
                Progress::StartTls => client.encrypt()?,
                other => return Err(client.out_of_turn(&other)),
            }
        }
        Ok(client)
    }

    /// Carries out a task that must succeed. False: this system has nothing to do for it.
    ///
    /// # Errors
    /// [`Kind::Server`] when the server refuses it; when the connection breaks.
    pub fn run(&mut self, task: Task<'_>) -> Result<bool> {
        self.begin();
        if !self.wire.task(task, &mut self.output) {
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
        self.begin();
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
            self.begin();
            self.flush()?;
            if let Some(reply) = self.early_reply()? {
                return affected(&what, reply);
            }
        }
        self.begin();
        self.wire.bulk_end(&mut self.output);
        let reply = self.reply()?;
        affected(&what, reply)
    }

    /// Says farewell, where the protocol has one, and closes.
    pub fn quit(mut self) {
        self.deadline = Instant::now() + FAREWELL;
        self.wire.quit(&mut self.output);
        // The connection ends either way.
        let _ = self.flush();
    }

    /// Something is to be sent: what comes next answers it.
    fn begin(&mut self) {
        self.deadline = Instant::now() + self.timeout;
        self.patience.sent();
    }

    fn encrypt(&mut self) -> Result<()> {
        self.link.encrypt_blocking(self.endpoint, &mut self.input, self.deadline)?;
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
        let mut received = 0;
        loop {
            // What was received may have called for an answer: sent before we wait again.
            let event = self.digest()?;
            self.flush()?;
            if event != Progress::More {
                return Ok(event);
            }
            let is_amid = !self.input.is_empty() || self.wire.is_amid_message();
            let heard = self.patience.heard(MonotonicClock.now_ns(), received as u64, is_amid);
            heard.map_err(|error| named(self.link.label(), error))?;
            received = self.link.receive_some(&mut self.input, self.deadline)?;
        }
    }

    /// What the bytes at hand say; `More` when they say nothing further.
    fn digest(&mut self) -> Result<Progress> {
        while self.consumed < self.input.len() {
            let unread = &self.input[self.consumed..];
            let (n, event) = self
                .wire
                .receive(unread, &mut self.output)
                .map_err(|error| named(self.link.label(), error))?;
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
        let sent = self.link.send_all(&self.output, self.deadline);
        self.output.clear();
        sent
    }

    fn out_of_turn(&self, event: &Progress) -> Error {
        let what = format!("the server answered out of turn ({event:?})");
        named(self.link.label(), Error::new(Kind::Protocol, what))
    }
}

/// Says of which server an error is: what a protocol finds wrong does not know from whom.
fn named(label: &str, error: Error) -> Error {
    match error.what.contains(label) {
        true => error,
        false => Error { what: format!("{label}: {}", error.what), ..error },
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
