//! One client of the null server.

use super::answers::{Answer, Answers};
use dyno_drivers::mysql::packet::{HEADER_BYTES, PAYLOAD_BYTES_MAX, header};
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
}

impl Connection {
    /// Takes a non-blocking socket.
    pub fn new(socket: File, serial: u64) -> Self {
        Self { serial, socket, deprecated: None, partial: vec![], pending: vec![] }
    }

    /// Reads once, and answers everything that was complete by one write.
    #[inline]
    pub fn serve(&mut self, answers: &mut Answers, buffer: &mut [u8], out: &mut Vec<u8>) -> Next {
        let count = match read(&mut self.socket, buffer) {
            Read1::Bytes(count) => count,
            Read1::Nothing => return Next::Same,
            Read1::End => return Next::Close,
        };
        // Nearly always: one whole command and nothing else, answered from a prebuilt buffer.
        if let (true, Some(deprecated)) = (self.partial.is_empty(), self.deprecated)
            && let Some((length, _)) = header(&buffer[..count])
            && count == HEADER_BYTES + length
            && length < PAYLOAD_BYTES_MAX
        {
            out.clear();
            return match answers.command(&buffer[HEADER_BYTES..count], deprecated, out) {
                Answer::Ready(bytes) => self.send(bytes),
                Answer::Built => self.send(out),
                Answer::Nothing => Next::Same,
                Answer::Close => Next::Close,
            };
        }
        let next = self.take(answers, &buffer[..count], out);
        if next == Next::Close || out.is_empty() { next } else { self.send(out) }
    }

    /// Reads once; `out` becomes the answers to everything that was complete.
    pub fn collect(&mut self, answers: &mut Answers, buffer: &mut [u8], out: &mut Vec<u8>) -> Next {
        out.clear();
        match read(&mut self.socket, buffer) {
            Read1::Bytes(count) => self.take(answers, &buffer[..count], out),
            Read1::Nothing => Next::Same,
            Read1::End => Next::Close,
        }
    }

    fn take(&mut self, answers: &mut Answers, input: &[u8], out: &mut Vec<u8>) -> Next {
        out.clear();
        if self.partial.is_empty() {
            let Some(consumed) = self.packets(answers, input, out) else { return Next::Close };
            self.partial.extend_from_slice(&input[consumed..]);
        } else {
            let mut whole = std::mem::take(&mut self.partial);
            whole.extend_from_slice(input);
            let Some(consumed) = self.packets(answers, &whole, out) else { return Next::Close };
            whole.drain(..consumed);
            self.partial = whole;
        }
        Next::Same
    }

    /// Answers all complete packets; returns the bytes consumed. None: the connection is over.
    fn packets(&mut self, answers: &mut Answers, input: &[u8], out: &mut Vec<u8>) -> Option<usize> {
        let mut at = 0;
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
                    Answer::Ready(bytes) => out.extend_from_slice(bytes),
                    Answer::Built | Answer::Nothing => {}
                    Answer::Close => return None,
                },
            }
        }
        Some(at)
    }

    /// Sends now what can be sent, keeps the rest.
    #[inline]
    pub fn send(&mut self, bytes: &[u8]) -> Next {
        if !self.pending.is_empty() {
            self.pending.extend_from_slice(bytes);
            return Next::Same;
        }
        match write(&mut self.socket, bytes) {
            Some(count) if count == bytes.len() => Next::Same,
            Some(count) => {
                self.pending.extend_from_slice(&bytes[count..]);
                Next::AwaitWritable
            }
            None => Next::Close,
        }
    }

    /// Sends what was kept.
    pub fn send_pending(&mut self) -> Next {
        match write(&mut self.socket, &self.pending) {
            Some(count) => {
                self.pending.drain(..count);
                if self.pending.is_empty() { Next::AwaitReadable } else { Next::Same }
            }
            None => Next::Close,
        }
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
