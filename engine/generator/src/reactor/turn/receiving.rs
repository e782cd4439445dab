//! The receiving half of a turn: reads, stamps, decrypts, reassembles and parses bytes from sockets.

use super::closing::Closing;
use super::connecting::Connecting;
use super::receive_buffer::{KEEP_BYTES, READS_A_TURN, RECEIVE_BYTES, Received};
use super::sending::Sending;
use crate::reactor::load_thread::{LoadThread, Speaker};
use crate::transport::channel::Stage;
use crate::transport::poller::Ready;
use dyno_core::clock::Clock;
use dyno_core::driver::{Progress, WireProtocol};
use std::io;

/// Reads from ready sockets.
pub trait Receiving<'a>: LoadThread<'a> {
    /// The connection that a token identifies; `None` when that connection has ended.
    #[inline]
    fn live(&mut self, token: u64) -> Option<Speaker<'_, 'a, Self>> {
        self.speaker(token as u32).filter(|(_, channel, _)| channel.era == (token >> 32) as u32)
    }

    /// Reads from one ready socket, and stamps. Returns the number of bytes used of `space`, which begins at
    /// `start` of the arena.
    fn receive(&mut self, event: Ready, space: &mut [u8], start: usize) -> usize {
        let at = event.token as u32;
        let Some((io, channel, _)) = self.live(event.token) else { return 0 };
        if channel.stage == Stage::Connecting {
            self.transport_connected(at);
            return 0;
        }
        let is_up = channel.is_up();
        let Some(link) = &mut channel.link else { return 0 };
        let has_unsent = event.writable && link.has_unsent();
        let mut used = 0;
        if event.readable {
            let outcome = link.receive_raw(space);
            // Without metrics the exact time of the read is not needed.
            let stamp_ns = if io.metrics.is_some() { io.clock.now_ns() } else { io.now_ns };
            io.now_ns = stamp_ns;
            io.count_calls(1);
            if let Some(outcome) = outcome.transpose() {
                used = *outcome.as_ref().unwrap_or(&0);
                io.received.push(Received {
                    token: event.token,
                    start: start as u32,
                    outcome: outcome.map(|bytes| bytes as u32),
                    is_closing: event.is_closing,
                    stamp_ns,
                });
                if is_up {
                    self.come(at, stamp_ns);
                }
            }
        }
        if has_unsent && let Some((_, channel, _)) = self.live(event.token) {
            let flushed = channel.link.as_mut().map(|link| link.flush());
            flushed.into_iter().for_each(|flushed| self.after_send(at, flushed));
        }
        used
    }

    /// Handles the bytes received since the last call.
    fn handle_received(&mut self, arena: &[u8]) {
        let mut received = std::mem::take(&mut self.io().received);
        for one in received.drain(..) {
            let at = one.token as u32;
            self.io().unread.turn_of(at);
            match one.outcome {
                Ok(0) => self.stream_over(one.token, None),
                Err(error) => self.stream_over(one.token, Some(&error)),
                Ok(bytes) => {
                    let (start, bytes) = (one.start as usize, bytes as usize);
                    self.absorb(one.token, &arena[start..start + bytes], one.stamp_ns);
                    // More bytes may follow a full space or a closing peer, and an edge is reported
                    // once: continue to read.
                    if bytes == RECEIVE_BYTES || one.is_closing {
                        self.read_on(one.token);
                    }
                }
            }
        }
        self.io().received = received;
    }

    /// Reads and handles the rest of the socket's bytes, up to the limit of a turn.
    fn read_on(&mut self, token: u64) {
        let mut spill = std::mem::take(&mut self.io().spill);
        spill.resize(RECEIVE_BYTES, 0);
        let has_more = (0..READS_A_TURN).all(|_| self.read(token, &mut spill));
        self.io().spill = spill;
        if has_more && self.live(token).is_some() {
            // The socket was not emptied: have it reported again.
            self.watch(token as u32);
        }
    }

    /// Reads once; returns whether more bytes may follow.
    fn read(&mut self, token: u64, spill: &mut [u8]) -> bool {
        let Some((io, channel, _)) = self.live(token) else { return false };
        let Some(link) = &channel.link else { return false };
        let outcome = link.receive_raw(spill);
        io.count_calls(1);
        match outcome {
            Ok(None) => return false,
            Ok(Some(0)) => self.stream_over(token, None),
            Ok(Some(bytes)) => {
                let stamp_ns = io.clock.now_ns();
                self.absorb(token, &spill[..bytes], stamp_ns);
            }
            Err(error) => self.stream_over(token, Some(&error)),
        }
        true
    }

    /// Handles the end of the stream, or the system's error on the connection.
    fn stream_over(&mut self, token: u64, error: Option<&io::Error>) {
        let link = self.live(token).and_then(|(_, channel, _)| channel.link.as_ref());
        let over = link.map(|link| error.map_or_else(|| link.closed(), |error| link.lost(error)));
        if let Some(over) = over {
            self.connection_lost(token as u32, over);
        }
    }

    /// Handles bytes that were received at `stamp_ns`.
    fn absorb(&mut self, token: u64, raw: &[u8], stamp_ns: u64) {
        self.take_in(token, raw, stamp_ns);
        if self.live(token).is_some()
            && let Err(error) = self.heard(token as u32, raw.len())
        {
            self.connection_lost(token as u32, error);
        }
    }

    /// Decrypts bytes if necessary, appends them to an incomplete message, and parses the result.
    fn take_in(&mut self, token: u64, raw: &[u8], stamp_ns: u64) {
        let Some((_, channel, _)) = self.live(token) else { return };
        let Some(link) = &mut channel.link else { return };
        if !link.is_encrypted() && channel.input.is_empty() {
            let consumed = self.understand(token, raw, stamp_ns);
            if consumed < raw.len()
                && let Some((_, channel, _)) = self.live(token)
            {
                channel.input.extend_from_slice(&raw[consumed..]);
            }
            return;
        }
        let mut bytes = std::mem::take(&mut channel.input);
        let decrypted = link.decrypt(raw, &mut bytes);
        let is_established = channel.stage == Stage::Encrypting && !link.is_handshaking();
        if let Err(error) = decrypted {
            return self.connection_lost(token as u32, error);
        }
        if is_established {
            self.encrypted(token as u32);
        }
        let consumed = self.understand(token, &bytes, stamp_ns);
        if let Some((_, channel, _)) = self.live(token) {
            bytes.drain(..consumed);
            if bytes.is_empty() {
                bytes.shrink_to(KEEP_BYTES);
            }
            channel.input = bytes;
        }
    }

    /// Lets the protocol parse from the front of `input`; returns how many bytes it consumed.
    fn understand(&mut self, token: u64, input: &[u8], stamp_ns: u64) -> usize {
        let index = token as u32;
        let mut at = 0;
        while at < input.len() {
            let Some((_, channel, protocol)) = self.live(token) else { return at };
            let (consumed, progress) = match protocol.receive(&input[at..], &mut channel.output) {
                Ok(found) => found,
                Err(error) => {
                    self.connection_lost(index, error);
                    return at;
                }
            };
            at += consumed;
            let mut stage = channel.stage;
            if !channel.output.is_empty() {
                self.send_output(index);
                stage = self.live(token).map_or(Stage::Down, |(_, channel, _)| channel.stage);
            }
            match progress {
                // The protocol may have consumed a whole message without an event: continue after it.
                Progress::More if consumed > 0 => {}
                Progress::More => return at,
                Progress::Reply(reply) if stage == Stage::Up => {
                    self.answered(index, reply, stamp_ns);
                }
                Progress::Ready if stage == Stage::LoggingIn => self.come_up(index),
                Progress::StartTls if at == input.len() => self.encrypt(index),
                Progress::StartTls | Progress::WantData | Progress::Ready | Progress::Reply(_) => {
                    let error = self.out_of_turn(index);
                    self.connection_lost(index, error);
                    return at;
                }
            }
        }
        at
    }
}

impl<'a, T: LoadThread<'a>> Receiving<'a> for T {}
