//! The receiving half of a turn: bytes from sockets, stamped, decrypted, put together and
//! understood.

use super::seat::{Token, Waits};
use super::worker::Worker;
use crate::session::{Stage, Wired};
use dyno_core::client::Said;
use dyno_core::clock::Clock;
use dyno_core::error::{Error, Kind};
use dyno_load::poller::{Poller, Ready};
use dyno_load::receiving::{KEEP_BYTES, SLOT};
use std::io;

/// Bytes received from one socket.
pub(crate) struct Received {
    token: Token,
    start: u32,
    outcome: io::Result<u32>,
    /// The peer has closed its side: the end of the stream stands behind the bytes.
    is_closing: bool,
    stamp_ns: u64,
}

impl<C: Clock, P: Poller> Worker<'_, C, P> {
    /// The connection in this life; none when it is over.
    #[inline]
    fn wired_of(&mut self, token: Token) -> Option<&mut Wired> {
        let wired = self.seats[token.seat() as usize].wired(token.place())?;
        (wired.era == token.era()).then_some(wired)
    }

    /// Reads from one ready socket, and stamps. Returns the bytes used.
    pub fn receive(&mut self, event: Ready, slot: &mut [u8], start: usize) -> usize {
        let token = Token(event.token);
        let Some(wired) = self.wired_of(token) else { return 0 };
        if wired.stage == Stage::Connecting {
            self.transport_connected(token.seat(), token.place());
            return 0;
        }
        let Some(link) = &mut wired.link else { return 0 };
        let flushed = (event.writable && link.has_unsent()).then(|| link.flush());
        let mut used = 0;
        if event.readable
            && let Some(outcome) = link.receive_raw(slot).transpose()
        {
            used = *outcome.as_ref().unwrap_or(&0);
            self.received.push(Received {
                token,
                start: start as u32,
                outcome: outcome.map(|bytes| bytes as u32),
                is_closing: event.is_closing,
                stamp_ns: self.clock.now_ns(),
            });
        }
        if let Some(flushed) = flushed {
            self.after_send(token.seat(), token.place(), flushed);
        }
        used
    }

    pub fn handle_received(&mut self, arena: &[u8]) {
        let mut received = std::mem::take(&mut self.received);
        for one in received.drain(..) {
            match one.outcome {
                Ok(0) => self.stream_ended(one.token),
                Err(error) => self.stream_broke(one.token, &error),
                Ok(bytes) => {
                    let (start, bytes) = (one.start as usize, bytes as usize);
                    self.absorb(one.token, &arena[start..start + bytes], one.stamp_ns);
                    // A full slot may hide more, and an edge is reported once: read on.
                    if bytes == SLOT || one.is_closing {
                        self.read_on(one.token);
                    }
                }
            }
        }
        self.received = received;
    }

    /// Reads and handles all that the socket still has.
    fn read_on(&mut self, token: Token) {
        let mut spill = std::mem::take(&mut self.spill);
        spill.resize(SLOT, 0);
        while let Some(link) = self.wired_of(token).and_then(|wired| wired.link.as_ref()) {
            match link.receive_raw(&mut spill) {
                Ok(None) => break,
                Ok(Some(0)) => self.stream_ended(token),
                Ok(Some(bytes)) => {
                    let stamp_ns = self.clock.now_ns();
                    self.absorb(token, &spill[..bytes], stamp_ns);
                }
                Err(error) => self.stream_broke(token, &error),
            }
        }
        self.spill = spill;
    }

    fn stream_ended(&mut self, token: Token) {
        if let Some(link) = self.wired_of(token).and_then(|wired| wired.link.as_ref()) {
            let error = link.closed();
            self.connection_lost(token.seat(), token.place(), error);
        }
    }

    fn stream_broke(&mut self, token: Token, error: &io::Error) {
        if let Some(link) = self.wired_of(token).and_then(|wired| wired.link.as_ref()) {
            let error = link.lost(error);
            self.connection_lost(token.seat(), token.place(), error);
        }
    }

    /// Bytes came in: decrypted if need be, put behind what was incomplete, understood.
    fn absorb(&mut self, token: Token, raw: &[u8], stamp_ns: u64) {
        let Some(wired) = self.wired_of(token) else { return };
        let Some(link) = &mut wired.link else { return };
        if !link.is_encrypted() && wired.input.is_empty() {
            let consumed = self.understand(token, raw, stamp_ns);
            if consumed < raw.len()
                && let Some(wired) = self.wired_of(token)
            {
                wired.input.extend_from_slice(&raw[consumed..]);
            }
            return;
        }
        let mut bytes = std::mem::take(&mut wired.input);
        let decrypted = link.decrypt(raw, &mut bytes);
        let is_established = wired.stage == Stage::Encrypting && !link.is_handshaking();
        if let Err(error) = decrypted {
            return self.connection_lost(token.seat(), token.place(), error);
        }
        if is_established {
            self.encrypted(token.seat(), token.place());
        }
        let consumed = self.understand(token, &bytes, stamp_ns);
        if let Some(wired) = self.wired_of(token) {
            bytes.drain(..consumed);
            if bytes.is_empty() {
                bytes.shrink_to(KEEP_BYTES);
            }
            wired.input = bytes;
        }
    }

    /// Lets the protocol read from the front of `input`; returns how much it consumed.
    fn understand(&mut self, token: Token, input: &[u8], stamp_ns: u64) -> usize {
        let (index, place) = (token.seat(), token.place());
        let mut at = 0;
        while at < input.len() {
            let Some(wired) = self.wired_of(token) else { return at };
            let (consumed, said) = match wired.client.receive(&input[at..], &mut wired.output) {
                Ok(found) => found,
                Err(error) => {
                    self.connection_lost(index, place, error);
                    return at;
                }
            };
            at += consumed;
            let stage = wired.stage;
            if !wired.output.is_empty() {
                self.send(index, place);
            }
            match said {
                // A whole message without an event may have been consumed: go on behind it.
                Said::More if consumed > 0 => {}
                Said::More => return at,
                Said::Answered
                    if self.seats[index as usize].waits == Waits::Answer(place)
                        && stage == Stage::Up =>
                {
                    self.answered(index, stamp_ns);
                }
                Said::Ready if stage == Stage::LoggingIn => self.logged_in(index, place),
                Said::StartTls if at == input.len() => self.encrypt(index, place),
                Said::StartTls | Said::Ready | Said::Answered => {
                    let error = self.out_of_turn(token);
                    self.connection_lost(index, place, error);
                    return at;
                }
            }
        }
        at
    }

    /// What a server says before it closes an idle connection, or says without sense.
    fn out_of_turn(&mut self, token: Token) -> Error {
        let answers = self.wired_of(token).map(|wired| wired.client.answers());
        let refused = answers.and_then(|answers| answers.last()?.error.as_ref());
        match refused {
            Some(refused) => Error::new(Kind::Connection, refused.message.clone()),
            None => Error::new(Kind::Protocol, "the server answered without being asked")
                .hint("is this really the kind of server that the driver is for?"),
        }
    }
}
