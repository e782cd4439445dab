//! One client of the null server.

use super::answers::{Answer, Answers};
use super::record::{Batch, Record};
use dyno_core::clock::{Clock, MonotonicClock};
use dyno_protocol::mysql::packet::{HEADER_BYTES, PAYLOAD_BYTES_MAX, header};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};

/// What the poller must do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Nothing new.
    Same,
    /// The client does not read: wait for it, and read nothing from it meanwhile.
    AwaitWritable,
    /// It has caught up.
    AwaitReadable,
    /// It is gone, or talks rubbish.
    Close,
}

/// What all clients are served with.
#[derive(Debug)]
pub struct Desk {
    /// What there is to say.
    pub answers: Answers,
    /// What was read last.
    pub buffer: Box<[u8]>,
    /// Answers being put together.
    pub out: Vec<u8>,
    /// How long requests were here, if that is asked for.
    pub record: Option<Record>,
}

impl Desk {
    /// Something was received just now.
    #[inline]
    fn received_ns(&self) -> u64 {
        if self.record.is_some() { MonotonicClock.now_ns() } else { 0 }
    }
}

/// A client's state.
#[derive(Debug)]
pub struct Connection {
    /// Number of the connection, never used again.
    pub serial: u64,
    /// A file, since that reads and writes TCP and Unix sockets alike.
    socket: File,
    /// Whether the client knows that EOF packets are deprecated; none before its login.
    deprecated: Option<bool>,
    /// A request whose end has not come yet; at most one packet.
    partial: Vec<u8>,
    /// Answers that the client has not taken yet; grows by one read's answers at most.
    pending: Vec<u8>,
    /// Requests whose answers end in `pending`, each with how many bytes there are up to its end.
    unsent: VecDeque<(usize, Batch)>,
    /// Before this no answer may leave: the last one held back goes first.
    pub due_ns: u64,
}

impl Connection {
    /// Takes a non-blocking socket.
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

    /// Reads once, and answers everything that was complete by one write.
    #[inline]
    pub fn serve(&mut self, desk: &mut Desk) -> Next {
        let count = match read(&mut self.socket, &mut desk.buffer) {
            Read1::Bytes(count) => count,
            Read1::Nothing => return Next::Same,
            Read1::End => return Next::Close,
        };
        let received_ns = desk.received_ns();
        let Desk { answers, buffer, out, record } = desk;
        // Nearly always: one whole command and nothing else, answered from a prebuilt buffer.
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

    /// Reads once; `desk.out` becomes the answers to everything that was complete.
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

    /// How many requests were answered. None: the connection is over.
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

    /// Answers all complete packets; returns the bytes consumed and how many requests were answered.
    /// None: the connection is over.
    fn packets(
        &mut self,
        answers: &mut Answers,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Option<(usize, u32)> {
        let (mut at, mut requests) = (0, 0);
        while let Some((length, _)) = header(&input[at..]) {
            if length >= PAYLOAD_BYTES_MAX {
                // Nobody sends 16 MB to a server that throws everything away.
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

    /// Sends now what can be sent of the answers to `batch`, keeps the rest.
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

    /// Sends what was kept.
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
