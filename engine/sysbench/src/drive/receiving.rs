//! The receiving half of a turn: bytes from sockets, decrypted, put together and understood.

use super::session_slot::{Token, Waits};
use super::worker::Worker;
use crate::connection::Wired;
use crate::session::Outcome;
use dyno_core::clock::Clock;
use dyno_core::driver::Progress;
use dyno_core::error::{Error, Kind};
use dyno_generator::reactor::receive_buffer::{KEEP_BYTES, READS_A_TURN};
use dyno_generator::transport::channel::Stage;
use dyno_generator::transport::poller::{Poller, Ready};
use std::io;

impl<C: Clock, P: Poller> Worker<'_, C, P> {
    /// The connection in this life; none when it is over.
    #[inline]
    fn wired_of(&mut self, token: Token) -> Option<&mut Wired> {
        let wired = self.slots[token.slot() as usize].wired(token.place())?;
        (wired.channel.era == token.era()).then_some(wired)
    }

    /// Serves one ready socket: what came is understood, and the session that it answers goes on.
    /// In a trial it is counted how long its answer may have lain unread.
    pub fn serve(&mut self, event: Ready, buffer: &mut [u8]) {
        let token = Token(event.token);
        let Some(wired) = self.wired_of(token) else { return };
        if wired.channel.stage == Stage::Connecting {
            return self.transport_connected(token.slot(), token.place());
        }
        let (is_up, sent_ns) = (wired.channel.is_up(), wired.sent_ns);
        let Some(link) = &mut wired.channel.link else { return };
        if event.writable && link.has_unsent() {
            let flushed = link.flush();
            self.after_send(token.slot(), token.place(), flushed);
        }
        if event.readable {
            if is_up && self.is_started() {
                self.count_lag(token.slot(), sent_ns);
            }
            self.read(token, buffer, event.is_closing);
        }
    }

    /// Reads what the socket has, as far as one turn goes.
    fn read(&mut self, token: Token, buffer: &mut [u8], is_closing: bool) {
        for _ in 0..READS_A_TURN {
            let Some(link) = self.wired_of(token).and_then(|wired| wired.channel.link.as_ref())
            else {
                return;
            };
            let received = link.receive_raw(buffer);
            self.count_calls(1);
            match received {
                Ok(None) => return,
                Ok(Some(0)) => return self.stream_ended(token),
                Ok(Some(bytes)) => {
                    self.absorb(token, &buffer[..bytes]);
                    // A full buffer may hide more, as may the end of the stream, and an edge is
                    // reported once: then read on.
                    if bytes < buffer.len() && !is_closing {
                        return;
                    }
                }
                Err(error) => return self.stream_broke(token, &error),
            }
        }
        // An edge is reported once, and the socket was not emptied: it is to be reported again.
        if self.wired_of(token).is_some_and(|wired| wired.channel.link.is_some()) {
            self.watch(token.slot(), token.place());
        }
    }

    fn stream_ended(&mut self, token: Token) {
        if let Some(link) = self.wired_of(token).and_then(|wired| wired.channel.link.as_ref()) {
            let error = link.closed();
            self.connection_lost(token.slot(), token.place(), error);
        }
    }

    fn stream_broke(&mut self, token: Token, error: &io::Error) {
        if let Some(link) = self.wired_of(token).and_then(|wired| wired.channel.link.as_ref()) {
            let error = link.lost(error);
            self.connection_lost(token.slot(), token.place(), error);
        }
    }

    /// Bytes came in: decrypted if need be, put behind what was incomplete, understood.
    fn absorb(&mut self, token: Token, raw: &[u8]) {
        self.take_in(token, raw);
        let now_ns = self.now_ns;
        if let Some(wired) = self.wired_of(token)
            && let Err(error) = wired.channel.heard(&*wired.client, now_ns, raw.len())
        {
            self.connection_lost(token.slot(), token.place(), error);
        }
    }

    fn take_in(&mut self, token: Token, raw: &[u8]) {
        let Some(wired) = self.wired_of(token) else { return };
        let Some(link) = &mut wired.channel.link else { return };
        if !link.is_encrypted() && wired.channel.input.is_empty() {
            let consumed = self.understand(token, raw);
            if consumed < raw.len()
                && let Some(wired) = self.wired_of(token)
            {
                wired.channel.input.extend_from_slice(&raw[consumed..]);
            }
            return;
        }
        let mut bytes = std::mem::take(&mut wired.channel.input);
        let decrypted = link.decrypt(raw, &mut bytes);
        let is_established = wired.channel.stage == Stage::Encrypting && !link.is_handshaking();
        if let Err(error) = decrypted {
            return self.connection_lost(token.slot(), token.place(), error);
        }
        if is_established {
            self.encrypted(token.slot(), token.place());
        }
        let consumed = self.understand(token, &bytes);
        if let Some(wired) = self.wired_of(token) {
            bytes.drain(..consumed);
            if bytes.is_empty() {
                bytes.shrink_to(KEEP_BYTES);
            }
            wired.channel.input = bytes;
        }
    }

    /// Lets the protocol read from the front of `input`; returns how much it consumed.
    fn understand(&mut self, token: Token, input: &[u8]) -> usize {
        let (index, place) = (token.slot(), token.place());
        let mut at = 0;
        while at < input.len() {
            let Some(wired) = self.wired_of(token) else { return at };
            let (consumed, said) =
                match wired.client.receive(&input[at..], &mut wired.channel.output) {
                    Ok(found) => found,
                    Err(error) => {
                        self.connection_lost(index, place, error);
                        return at;
                    }
                };
            at += consumed;
            let stage = wired.channel.stage;
            if !wired.channel.output.is_empty() {
                self.send(index, place);
            }
            match said {
                // A whole message without an event may have been consumed: go on behind it.
                Progress::More if consumed > 0 => {}
                Progress::More => return at,
                Progress::Reply(())
                    if self.slots[index as usize].waits == Waits::Answer(place)
                        && stage == Stage::Up =>
                {
                    self.go_on(index, Outcome::Come);
                }
                Progress::Ready if stage == Stage::LoggingIn => self.logged_in(index, place),
                Progress::StartTls if at == input.len() => self.encrypt(index, place),
                Progress::StartTls | Progress::WantData | Progress::Ready | Progress::Reply(()) => {
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
