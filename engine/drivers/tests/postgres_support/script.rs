//! A blocking socket loop around the client for scripts.

use super::client::{Stream, encrypt, lost, open};
use dyno_core::Result;
use dyno_core::driver::client::{Answer, Bind, Client, Nature};
use dyno_core::driver::{Cancel, Progress};
use dyno_core::error::{Error, Kind};
use dyno_core::plan::{Address, Target};
use dyno_drivers::postgres;
use std::io::{Read, Write};

/// A logged-in connection.
pub struct Script {
    pub client: Box<dyn Client>,
    stream: Box<dyn Stream>,
    inbox: Vec<u8>,
    address: Address,
}

/// A row as text.
pub type Row = Vec<Option<String>>;

impl Script {
    /// Logs in.
    pub fn connect(target: &Target) -> Result<Self> {
        let Nature::Wire(mut client) = (postgres::KIND.clients.expect("it has them"))(target)?()?
        else {
            panic!("a wire")
        };
        let stream = open(&target.address)?;
        let mut out = Vec::new();
        client.connected(matches!(target.address, Address::Unix(_)), &mut out);
        let mut script =
            Self { client, stream, inbox: Vec::new(), address: target.address.clone() };
        script.send(&out)?;
        if script.said()? == Progress::StartTls {
            script.stream = encrypt(script.stream);
            out.clear();
            script.client.tls_established(&mut out);
            script.send(&out)?;
            assert_eq!(script.said()?, Progress::Ready);
        }
        Ok(script)
    }

    fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.write_all(bytes).and_then(|()| self.stream.flush()).map_err(lost)
    }

    /// Reads until the client reports progress.
    fn said(&mut self) -> Result<Progress<()>> {
        let mut out = Vec::new();
        let mut piece = [0; 16 << 10];
        loop {
            let (used, said) = self.client.receive(&self.inbox, &mut out)?;
            self.inbox.drain(..used);
            self.send(&out)?;
            out.clear();
            if said != Progress::More {
                return Ok(said);
            }
            let count = self.stream.read(&mut piece).map_err(lost)?;
            if count == 0 {
                return Err(Error::new(Kind::Connection, "end of file"));
            }
            self.inbox.extend_from_slice(&piece[..count]);
        }
    }

    /// Sends a request without waiting.
    pub fn start(&mut self, request: impl FnOnce(&mut dyn Client, &mut Vec<u8>)) {
        let mut out = Vec::new();
        request(&mut *self.client, &mut out);
        self.send(&out).expect("sends");
    }

    /// Waits for the results of the request in flight.
    pub fn answers(&mut self) -> Result<&[Answer]> {
        assert_eq!(self.said()?, Progress::Reply(()));
        assert_eq!(self.inbox, b"", "nothing comes behind an answer");
        Ok(self.client.answers())
    }

    /// Executes text.
    pub fn query(&mut self, sql: &str) -> &[Answer] {
        self.start(|client, out| client.query(sql.as_bytes(), out));
        self.answers().unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// Executes text that must succeed; returns the rows of its last result.
    pub fn rows(&mut self, sql: &str) -> Vec<Row> {
        let answers = self.query(sql);
        let last = answers.len() - 1;
        assert_eq!(answers[last].error, None, "{sql}");
        self.rows_of(last)
    }

    /// The rows of one result.
    pub fn rows_of(&self, answer: usize) -> Vec<Row> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
        let rows = self.client.answers()[answer].rows;
        let row = |row| {
            let mut values = Vec::new();
            let put = &mut |value: Option<&[u8]>| values.push(value.map(text));
            self.client.fetch(answer, row, put).expect("a row");
            values
        };
        (0..rows).map(row).collect()
    }

    /// Prepares a statement; returns the server's message if it is refused.
    pub fn prepare(&mut self, sql: &str) -> std::result::Result<(u32, u16), String> {
        self.start(|client, out| client.prepare(sql.as_bytes(), out));
        let answers = self.answers().expect("answers");
        assert_eq!(answers.len(), 1);
        match &answers[0].error {
            Some(error) => Err(error.message.clone()),
            None => Ok(self.client.prepared()),
        }
    }

    /// Executes a prepared statement.
    pub fn execute(&mut self, statement: u32, values: &[Bind<'_>]) -> Answer {
        self.start(|client, out| client.execute(statement, values, out));
        let answers = self.answers().expect("answers");
        assert_eq!(answers.len(), 1);
        answers[0].clone()
    }

    /// Closes a prepared statement.
    pub fn close(&mut self, statement: u32) {
        self.start(|client, out| assert!(client.close(statement, out)));
        assert_eq!(self.answers().expect("answers"), [Answer::default()]);
    }

    /// Cancels this connection's current request from another connection.
    pub fn cancel(&self) {
        let Cancel::Packet(packet) = self.client.cancel() else { panic!("no key") };
        let mut stream = open(&self.address).expect("connects");
        stream.write_all(&packet).expect("sends");
        assert_eq!(stream.read(&mut [0; 1]).expect("closed"), 0);
    }

    /// Terminates the session; the server must close the connection.
    pub fn quit(mut self) {
        self.start(|client, out| client.quit(out));
        assert_eq!(self.stream.read(&mut [0; 1]).expect("closes"), 0);
    }
}
