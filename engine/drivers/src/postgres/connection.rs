//! Splits one connection into messages: first those of its opening, then the replies to requests.
//! Messages can be skipped and rows stored in pieces, so that neither is ever buffered whole.

use super::frames::{self, HEADER_BYTES};
use super::login::Login;
use super::messages;
use super::opening::{Handling, Opening};
use dyno_core::driver::{Cancel, Progress, WireProtocol};
use dyno_core::error::Result;
use std::sync::Arc;

/// One connection, with requests of type `R`.
pub(super) struct Connection<R> {
    pub opening: Opening,
    /// Bytes of a skipped message that have not arrived.
    skip: usize,
    pub requests: R,
}

/// The requests of an open connection.
pub(super) trait Requests: Send {
    /// The result of a request.
    type Reply;

    /// Messages pipelined after the session statements.
    fn prepare(&self) -> &[u8] {
        &[]
    }

    /// The session statements are done.
    fn opened(&mut self) -> Option<Progress<Self::Reply>> {
        Some(Progress::Ready)
    }

    /// The treatment of a message with this tag and size.
    fn handling(&mut self, tag: u8, size: usize) -> Result<Handling>;

    /// Handles one whole message.
    fn message(
        &mut self,
        opening: &mut Opening,
        message: (u8, &[u8]),
        out: &mut Vec<u8>,
    ) -> Result<Option<Progress<Self::Reply>>>;

    /// Consumes the available bytes of a stored message; returns their number.
    fn take(&mut self, _input: &[u8]) -> Result<usize> {
        Ok(0)
    }

    /// Whether a stored message is incomplete.
    fn is_amid_row(&self) -> bool {
        false
    }
}

impl<R: Requests> Connection<R> {
    pub fn new(login: &Arc<Login>, requests: R) -> Self {
        Self { opening: Opening::new(Arc::clone(login)), skip: 0, requests }
    }

    fn advance(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Progress<R::Reply>)> {
        if !self.opening.is_over()
            && let Some((used, tls)) = self.opening.before_messages(input, out)?
        {
            return Ok((used, if tls { Progress::StartTls } else { Progress::More }));
        }
        let mut at = self.skip.min(input.len());
        self.skip -= at;
        loop {
            at += self.requests.take(&input[at..])?;
            let rest = &input[at..];
            let Some((tag, size)) = frames::header(rest)? else {
                return Ok((at, Progress::More));
            };
            let handling = match self.opening.is_over() {
                true => self.requests.handling(tag, size)?,
                false => self.opening.handling(tag, size)?,
            };
            match handling {
                Handling::Keep => at += HEADER_BYTES,
                Handling::Skip => {
                    let here = size.min(rest.len());
                    at += here;
                    self.skip = size - here;
                }
                Handling::Parse if rest.len() < size => return Ok((at, Progress::More)),
                Handling::Parse => {
                    at += size;
                    if let Some(said) = self.message(tag, &rest[HEADER_BYTES..size], out)? {
                        return Ok((at, said));
                    }
                }
            }
        }
    }

    #[inline]
    fn message(
        &mut self,
        tag: u8,
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Progress<R::Reply>>> {
        let Self { opening, requests, .. } = self;
        if tag == b'Z' {
            opening.has_refused_copy = false;
        }
        if opening.is_over() {
            return requests.message(opening, (tag, body), out);
        }
        let is_over = opening.message(requests.prepare(), (tag, body), out)?;
        Ok(if is_over { requests.opened() } else { None })
    }
}

impl<R: Requests> WireProtocol for Connection<R> {
    type Reply = R::Reply;

    fn connected(&mut self, secure_transport: bool, out: &mut Vec<u8>) {
        self.opening.connected(secure_transport, out);
    }

    fn tls_established(&mut self, out: &mut Vec<u8>) {
        self.opening.tls_established(out);
    }

    fn receive(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Progress<R::Reply>)> {
        let result = self.advance(input, out);
        if result.is_err() {
            self.opening.lose();
        }
        result
    }

    fn is_amid_message(&self) -> bool {
        self.skip > 0 || self.requests.is_amid_row()
    }

    fn cancel(&self) -> Cancel {
        self.opening.cancel()
    }

    fn quit(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&messages::TERMINATE);
    }
}
