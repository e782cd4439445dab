//! One client of the null server.

use super::answers::{Answer, Answers};
use super::record::{Batch, Record};
use dyno_core::clock::{Clock, MonotonicClock};
use dyno_protocol::mysql::packet::{HEADER_BYTES, PAYLOAD_BYTES_MAX, header};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};

/// The change of a connection's polling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// No change.
    Same,
    /// The socket's send buffer is full: wait until it is writable, and do not read meanwhile.
    AwaitWritable,
    /// All answers are sent: wait for requests again.
    AwaitReadable,
    /// The client has disconnected or violated the protocol.
    Close,
}

/// State and buffers that all connections share.
#[derive(Debug)]
pub struct Desk {
    /// The prebuilt answers.
    pub answers: Answers,
    /// Input buffer.
    pub buffer: Box<[u8]>,
    /// Output buffer for answers that are not prebuilt.
    pub out: Vec<u8>,
    /// Times of requests, with `--record`.
    pub record: Option<Record>,
}

impl Desk {
    /// The current time if it is recorded, else 0.
    #[inline]
    fn received_ns(&self) -> u64 {
        if self.record.is_some() { MonotonicClock.now_ns() } else { 0 }
    }
}

/// The state of a client's connection.
#[derive(Debug)]
pub struct Connection {
    /// Unique number of the connection.
    pub serial: u64,
    /// A `File`, which reads and writes both TCP and Unix sockets.
    socket: File,
    /// Whether the client has CLIENT_DEPRECATE_EOF; `None` before its login.
    deprecated: Option<bool>,
    /// An incomplete request, at most one packet.
    partial: Vec<u8>,
    /// Unsent bytes of answers. Each read adds at most its own answers.
    pending: Vec<u8>,
    /// Batches whose answers end in `pending`, each with the offset of that end.
    unsent: VecDeque<(usize, Batch)>,
    /// Due time of the last delayed answer, before which no later answer may be sent.
    pub due_ns: u64,
}

impl Connection {
    /// Creates a connection of a non-blocking socket.
    pub fn new(socket: File, serial: u64) -> Self {
        Self {
            serial,
            socket,
            deprecated: None,
            partial: vec![],
            pending: vec![],
            unsent: VecDeque::new(),
            due_ns: 0,
        }
    }

    /// Reads once, and answers all complete requests by one write.
    #[inline]
    pub fn serve(&mut self, desk: &mut Desk) -> Next {
        let count = match read(&mut self.socket, &mut desk.buffer) {
            Read1::Bytes(count) => count,
            Read1::Nothing => return Next::Same,
            Read1::End => return Next::Close,
        };
        let received_ns = desk.received_ns();
        let Desk { answers, buffer, out, record } = desk;
        // The usual case: exactly one complete command, answered from a prebuilt buffer.
        if let (true, Some(deprecated)) = (self.partial.is_empty(), self.deprecated)
            && let Some((length, _)) = header(&buffer[..count])
            && count == HEADER_BYTES + length
            && length < PAYLOAD_BYTES_MAX
        {
            out.clear();
            let batch = Batch { received_ns, requests: 1 };
            return match answers.command(&buffer[HEADER_BYTES..count], deprecated, out) {
                Answer::Ready(bytes) => self.send(bytes, batch, record),
                Answer::Built => self.send(out, batch, record),
                Answer::Nothing => Next::Same,
                Answer::Close => Next::Close,
            };
        }
        let Some(requests) = self.take(answers, &buffer[..count], out) else {
            return Next::Close;
        };
        if out.is_empty() {
            return Next::Same;
        }
        self.send(out, Batch { received_ns, requests }, record)
    }

    /// Reads once; replaces `desk.out` by the answers to all complete requests.
    pub fn collect(&mut self, desk: &mut Desk) -> (Next, Batch) {
        desk.out.clear();
        match read(&mut self.socket, &mut desk.buffer) {
            Read1::Bytes(count) => {
                let received_ns = desk.received_ns();
                match self.take(&mut desk.answers, &desk.buffer[..count], &mut desk.out) {
                    Some(requests) => (Next::Same, Batch { received_ns, requests }),
                    None => (Next::Close, Batch::default()),
                }
            }
            Read1::Nothing => (Next::Same, Batch::default()),
            Read1::End => (Next::Close, Batch::default()),
        }
    }

    /// Answers all complete requests into `out`, and returns their number. `None` if the connection must be
    /// closed.
    fn take(&mut self, answers: &mut Answers, input: &[u8], out: &mut Vec<u8>) -> Option<u32> {
        out.clear();
        let requests;
        if self.partial.is_empty() {
            let consumed;
            (consumed, requests) = self.packets(answers, input, out)?;
            self.partial.extend_from_slice(&input[consumed..]);
        } else {
            let mut whole = std::mem::take(&mut self.partial);
            whole.extend_from_slice(input);
            let consumed;
            (consumed, requests) = self.packets(answers, &whole, out)?;
            whole.drain(..consumed);
            self.partial = whole;
        }
        Some(requests)
    }

    /// Answers all complete packets; returns the number of bytes consumed and of requests answered. `None`
    /// if the connection must be closed.
    fn packets(
        &mut self,
        answers: &mut Answers,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Option<(usize, u32)> {
        let (mut at, mut requests) = (0, 0);
        while let Some((length, _)) = header(&input[at..]) {
            if length >= PAYLOAD_BYTES_MAX {
                // Packets of 16 MiB are not supported.
                return None;
            }
            let from = at + HEADER_BYTES;
            let Some(payload) = input.get(from..from + length) else { break };
            at = from + length;
            match self.deprecated {
                None => {
                    let (deprecated, ok) = answers.login(payload)?;
                    self.deprecated = Some(deprecated);
                    out.extend_from_slice(ok);
                }
                Some(deprecated) => match answers.command(payload, deprecated, out) {
                    Answer::Ready(bytes) => {
                        out.extend_from_slice(bytes);
                        requests += 1;
                    }
                    Answer::Built => requests += 1,
                    Answer::Nothing => {}
                    Answer::Close => return None,
                },
            }
        }
        Some((at, requests))
    }

    /// Sends the answers to `batch` as far as the socket accepts them, and buffers the rest.
    #[inline]
    pub fn send(&mut self, bytes: &[u8], batch: Batch, record: &mut Option<Record>) -> Next {
        if !self.pending.is_empty() {
            self.keep(bytes, batch);
            return Next::Same;
        }
        match write(&mut self.socket, bytes) {
            Some(count) if count == bytes.len() => {
                if let Some(record) = record {
                    record.sent(batch);
                }
                Next::Same
            }
            Some(count) => {
                self.keep(&bytes[count..], batch);
                Next::AwaitWritable
            }
            None => Next::Close,
        }
    }

    fn keep(&mut self, bytes: &[u8], batch: Batch) {
        self.pending.extend_from_slice(bytes);
        self.unsent.push_back((self.pending.len(), batch));
    }

    /// Sends buffered answers.
    pub fn send_pending(&mut self, record: &mut Option<Record>) -> Next {
        let Some(count) = write(&mut self.socket, &self.pending) else { return Next::Close };
        self.pending.drain(..count);
        while let Some(&(end, batch)) = self.unsent.front()
            && end <= count
        {
            self.unsent.pop_front();
            if let Some(record) = record {
                record.sent(batch);
            }
        }
        self.unsent.iter_mut().for_each(|(end, _)| *end -= count);
        if self.pending.is_empty() { Next::AwaitReadable } else { Next::Same }
    }
}

enum Read1 {
    Bytes(usize),
    Nothing,
    End,
}

#[inline]
fn read(socket: &mut File, buffer: &mut [u8]) -> Read1 {
    match socket.read(buffer) {
        Ok(0) => Read1::End,
        Ok(count) => Read1::Bytes(count),
        Err(why) if again(&why) => Read1::Nothing,
        Err(_) => Read1::End,
    }
}

#[inline]
fn write(socket: &mut File, bytes: &[u8]) -> Option<usize> {
    match socket.write(bytes) {
        Ok(count) => Some(count),
        Err(why) if again(&why) => Some(0),
        Err(_) => None,
    }
}

fn again(why: &io::Error) -> bool {
    matches!(why.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
