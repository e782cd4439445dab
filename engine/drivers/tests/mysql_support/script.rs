//! A blocking loop around a client, as a script drives one.

use dyno_core::driver::client::{Answer, Bind, Client, Nature};
use dyno_core::driver::{Progress, ServerError};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::{Address, Target};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// A row as text.
pub type Row = Vec<Option<String>>;

/// One connection, driven to the end of each request.
pub struct Script {
    pub client: Box<dyn Client>,
    stream: Box<dyn Stream>,
    input: Vec<u8>,
    out: Vec<u8>,
    pub received_bytes: u64,
}

impl Script {
    /// Connects and logs in.
    pub fn open(target: &Target) -> Result<Self> {
        let mut this = Self::connect(target);
        assert_eq!(this.wait()?, Progress::Ready);
        Ok(this)
    }

    /// A login that must be refused: the error, and the server's own.
    pub fn refused(target: &Target) -> (Error, ServerError) {
        let mut this = Self::connect(target);
        let error = this.wait().unwrap_err();
        (error, this.client.parting().unwrap().clone())
    }

    fn connect(target: &Target) -> Self {
        let clients = (dyno_drivers::mysql::KIND.clients.unwrap())(target).unwrap();
        let Ok(Nature::Wire(client)) = clients() else { panic!("mysql is a wire") };
        let patience = Some(Duration::from_secs(30));
        let (stream, secure): (Box<dyn Stream>, bool) = match &target.address {
            Address::Tcp { host, port } => {
                let stream = TcpStream::connect((host.as_str(), *port)).unwrap();
                stream.set_nodelay(true).unwrap();
                stream.set_read_timeout(patience).unwrap();
                (Box::new(stream), false)
            }
            Address::Unix(path) => {
                let stream = UnixStream::connect(path).unwrap();
                stream.set_read_timeout(patience).unwrap();
                (Box::new(stream), true)
            }
            other => panic!("not a network address: {other:?}"),
        };
        let mut this = Self { client, stream, input: vec![], out: vec![], received_bytes: 0 };
        this.client.connected(secure, &mut this.out);
        this
    }

    /// Sends the pending bytes and waits for the next event.
    fn wait(&mut self) -> Result<Progress<()>> {
        let lost = |why: std::io::Error| Error::new(Kind::Connection, why.to_string());
        let mut buffer = vec![0; 100_000];
        loop {
            self.flush()?;
            let (consumed, said) = self.client.receive(&self.input, &mut self.out)?;
            self.input.drain(..consumed);
            if said != Progress::More {
                assert!(self.input.is_empty(), "{said:?} before the end");
                self.flush()?;
                return Ok(said);
            }
            if consumed > 0 && !self.input.is_empty() {
                continue;
            }
            self.flush()?;
            let count = self.stream.read(&mut buffer).map_err(lost)?;
            if count == 0 {
                return Err(Error::new(Kind::Connection, "end of file"));
            }
            self.received_bytes += count as u64;
            self.input.extend_from_slice(&buffer[..count]);
        }
    }

    fn flush(&mut self) -> Result<()> {
        let sent = self.stream.write_all(&self.out);
        self.out.clear();
        sent.map_err(|why| Error::new(Kind::Connection, why.to_string()))
    }

    fn answers(&mut self) -> Result<Vec<Answer>> {
        assert_eq!(self.wait()?, Progress::Reply(()));
        Ok(self.client.answers().to_vec())
    }

    /// All results of one request.
    pub fn query(&mut self, sql: &str) -> Result<Vec<Answer>> {
        self.client.query(sql.as_bytes(), &mut self.out);
        self.answers()
    }

    /// Prepares a statement; returns its number and its number of parameters.
    pub fn prepare(&mut self, sql: &str) -> std::result::Result<(u32, u16), ServerError> {
        self.client.prepare(sql.as_bytes(), &mut self.out);
        let answers = self.answers().unwrap();
        assert_eq!(answers.len(), 1);
        match answers.into_iter().next().unwrap().error {
            None => Ok(self.client.prepared()),
            Some(refused) => Err(*refused),
        }
    }

    /// All results of one execution.
    pub fn execute(&mut self, statement: u32, values: &[Bind<'_>]) -> Result<Vec<Answer>> {
        self.client.execute(statement, values, &mut self.out);
        self.answers()
    }

    /// Closes a statement; the server sends no reply.
    pub fn close(&mut self, statement: u32) {
        assert!(!self.client.close(statement, &mut self.out));
    }

    /// All rows of one result of the last request.
    pub fn rows(&self, answer: usize) -> Vec<Row> {
        let rows = self.client.answers()[answer].rows;
        (0..rows).map(|row| self.row(answer, row)).collect()
    }

    /// One row of the last request.
    pub fn row(&self, answer: usize, row: u64) -> Row {
        let mut fields = vec![];
        let mut put = |field: Option<&[u8]>| {
            fields.push(field.map(|text| String::from_utf8_lossy(text).into_owned()));
        };
        self.client.fetch(answer, row, &mut put).unwrap();
        fields
    }

    /// The rows of a statement that must succeed.
    pub fn must(&mut self, sql: &str) -> Vec<Row> {
        let answers = self.query(sql).unwrap_or_else(|why| panic!("{sql}: {why}"));
        assert_eq!(answers.last().unwrap().error, None, "{sql}");
        self.rows(0)
    }
}
