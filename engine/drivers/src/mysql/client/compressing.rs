//! Wraps the client in the compressed protocol after the login, if the server supports it.

use super::MysqlClient;
use crate::mysql::compressed::Codec;
use dyno_core::driver::client::{Answer, Answers, Bind, Client};
use dyno_core::driver::{Cancel, Progress, ServerError, WireProtocol};
use dyno_core::error::{Error, Result};

/// Buffer capacity that is retained between requests, bytes.
const KEEP_BYTES: usize = 1 << 18;

/// A connection's state.
pub struct Compressing {
    inner: MysqlClient,
    /// None: not negotiated, or not yet.
    codec: Option<Codec>,
    /// Output of the inner client; empty between calls.
    spoken: Vec<u8>,
    /// Decompressed input; bytes from `at` on are unread.
    heard: Vec<u8>,
    at: usize,
    /// The error of a request that could not be compressed.
    failure: Option<Error>,
}

impl Compressing {
    pub fn new(inner: MysqlClient) -> Self {
        Self { inner, codec: None, spoken: vec![], heard: vec![], at: 0, failure: None }
    }

    /// Calls the inner client and encodes its output.
    fn ask<T>(
        &mut self,
        out: &mut Vec<u8>,
        say: impl FnOnce(&mut MysqlClient, &mut Vec<u8>) -> T,
    ) -> T {
        let Some(codec) = &mut self.codec else { return say(&mut self.inner, out) };
        let said = say(&mut self.inner, &mut self.spoken);
        if let Err(error) = codec.put(&self.spoken, out) {
            self.failure = Some(error);
        }
        self.spoken.clear();
        self.spoken.shrink_to(KEEP_BYTES);
        said
    }

    fn login(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Progress<()>)> {
        let begin = out.len();
        let heard = self.inner.receive(input, out)?;
        if self.inner.opening.is_compressed() {
            // The login ends in this call: the output after `begin` follows it.
            let plain = out.split_off(begin);
            self.codec.insert(Codec::default()).put(&plain, out)?;
        }
        Ok(heard)
    }

    /// Parses the decompressed input; None: more bytes are needed.
    fn read(&mut self, out: &mut Vec<u8>) -> Result<Option<Progress<()>>> {
        let heard = std::mem::take(&mut self.heard);
        let mut said = Progress::More;
        while self.at < heard.len() && said == Progress::More {
            let rest = &heard[self.at..];
            let (taken, found) = self.ask(out, |inner, spoken| inner.receive(rest, spoken))?;
            self.at += taken;
            said = found;
            if taken == 0 {
                break;
            }
        }
        self.heard = heard;
        self.heard.drain(..std::mem::take(&mut self.at));
        if self.heard.is_empty() {
            self.heard.shrink_to(KEEP_BYTES);
        }
        Ok((said != Progress::More).then_some(said))
    }
}

impl Answers for Compressing {
    fn answers(&self) -> &[Answer] {
        self.inner.answers()
    }

    fn fetch(&self, answer: usize, row: u64, put: &mut dyn FnMut(Option<&[u8]>)) -> Result<()> {
        self.inner.fetch(answer, row, put)
    }

    fn prepared(&self) -> (u32, u16) {
        self.inner.prepared()
    }
}

impl WireProtocol for Compressing {
    type Reply = ();

    fn connected(&mut self, secure_transport: bool, out: &mut Vec<u8>) {
        self.codec = None;
        self.heard.clear();
        self.at = 0;
        self.failure = None;
        self.inner.connected(secure_transport, out);
    }

    fn tls_established(&mut self, out: &mut Vec<u8>) {
        self.inner.tls_established(out);
    }

    fn receive(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Progress<()>)> {
        if self.codec.is_none() {
            return self.login(input, out);
        }
        let mut consumed = 0;
        loop {
            if let Some(error) = self.failure.take() {
                return Err(error);
            }
            if let Some(said) = self.read(out)? {
                return Ok((consumed, said));
            }
            let Some(codec) = &mut self.codec else { return Ok((consumed, Progress::More)) };
            match codec.take(&input[consumed..], &mut self.heard)? {
                Some(taken) => consumed += taken,
                None => return Ok((consumed, Progress::More)),
            }
        }
    }

    fn is_amid_message(&self) -> bool {
        let is_amid = self.codec.as_ref().is_some_and(Codec::is_amid_packet);
        is_amid || !self.heard.is_empty() || self.inner.is_amid_message()
    }

    fn cancel(&self) -> Cancel {
        self.inner.cancel()
    }

    fn quit(&mut self, out: &mut Vec<u8>) {
        self.ask(out, |inner, spoken| inner.quit(spoken));
    }
}

impl Client for Compressing {
    fn query(&mut self, sql: &[u8], out: &mut Vec<u8>) {
        self.ask(out, |inner, spoken| inner.query(sql, spoken));
    }

    fn prepare(&mut self, sql: &[u8], out: &mut Vec<u8>) {
        self.ask(out, |inner, spoken| inner.prepare(sql, spoken));
    }

    fn execute(&mut self, statement: u32, values: &[Bind<'_>], out: &mut Vec<u8>) {
        self.ask(out, |inner, spoken| inner.execute(statement, values, spoken));
    }

    fn close(&mut self, statement: u32, out: &mut Vec<u8>) -> bool {
        self.ask(out, |inner, spoken| inner.close(statement, spoken))
    }

    fn parting(&self) -> Option<&ServerError> {
        self.inner.parting()
    }
}
