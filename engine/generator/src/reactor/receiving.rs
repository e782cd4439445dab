//! The receiving half of a worker's turn: bytes from sockets, stamped, decrypted, put together and
//! understood.

use crate::reactor::receive_buffer::{KEEP_BYTES, READS_A_TURN, RECEIVE_BYTES, Received};
use crate::reactor::session_slot::Connection;
use crate::reactor::worker::Worker;
use crate::transport::channel::Stage;
use crate::transport::link::Link;
use crate::transport::poller::{Poller, Ready};
use dyno_core::clock::Clock;
use dyno_core::driver::Progress;
use dyno_core::error::{Error, Kind};
use std::io;

impl<C: Clock, P: Poller> Worker<'_, C, P> {
    /// Reads from one ready socket, and stamps. Returns the bytes used.
    pub(crate) fn receive(&mut self, event: Ready, space: &mut [u8], start: usize) -> usize {
        let index = event.token as u32;
        let slot = &mut self.slots[index as usize];
        if slot.era != (event.token >> 32) as u32 {
            return 0;
        }
        if slot.stage == Stage::Connecting {
            self.transport_connected(index);
            return 0;
        }
        let Connection::Wire(_, link) = &mut slot.connection else { return 0 };
        let mut used = 0;
        if event.readable {
            let outcome = link.receive_raw(space);
            let stamp_ns = self.clock.now_ns();
            self.now_ns = stamp_ns;
            self.metrics.syscalls.add(1);
            if let Some(outcome) = outcome.transpose() {
                if slot.stage == Stage::Up && self.origin_ns.is_some() {
                    let lag_ns = self.unread.at_most_ns(index, slot.session.op_ns, stamp_ns);
                    self.metrics.lag.record(lag_ns);
                }
                used = *outcome.as_ref().unwrap_or(&0);
                let outcome = outcome.map(|bytes| bytes as u32);
                self.received.push(Received {
                    slot: index,
                    start: start as u32,
                    outcome,
                    is_closing: event.is_closing,
                    stamp_ns,
                });
            }
        }
        if event.writable && link.has_unsent() {
            let flushed = link.flush();
            self.after_send(index, flushed);
        }
        used
    }

    pub(crate) fn handle_received(&mut self, arena: &mut [u8]) {
        let mut received = std::mem::take(&mut self.received);
        for one in received.drain(..) {
            self.unread.turn_of(one.slot);
            match one.outcome {
                Ok(0) => self.stream_ended(one.slot),
                Err(error) => self.stream_broke(one.slot, &error),
                Ok(bytes) => {
                    let (start, bytes) = (one.start as usize, bytes as usize);
                    let era = self.slots[one.slot as usize].era;
                    self.absorb(one.slot, &arena[start..start + bytes], one.stamp_ns);
                    // A full space may hide more, and an edge is reported once: read on.
                    if bytes == RECEIVE_BYTES || one.is_closing {
                        self.read_on(one.slot, era);
                    }
                }
            }
        }
        self.received = received;
    }

    /// Reads and handles what the socket still has, as far as one turn goes.
    fn read_on(&mut self, index: u32, era: u32) {
        let mut spill = std::mem::take(&mut self.spill);
        spill.resize(RECEIVE_BYTES, 0);
        let mut has_more = true;
        for _ in 0..READS_A_TURN {
            has_more = self.slots[index as usize].era == era && self.read(index, &mut spill);
            if !has_more {
                break;
            }
        }
        self.spill = spill;
        if has_more && self.slots[index as usize].era == era {
            self.look_again(index);
        }
    }

    /// Reads once; whether there may be more.
    fn read(&mut self, index: u32, spill: &mut [u8]) -> bool {
        let Some(link) = self.link(index) else { return false };
        let outcome = link.receive_raw(spill);
        self.metrics.syscalls.add(1);
        match outcome {
            Ok(None) => return false,
            Ok(Some(0)) => self.stream_ended(index),
            Ok(Some(bytes)) => {
                let stamp_ns = self.clock.now_ns();
                self.absorb(index, &spill[..bytes], stamp_ns);
            }
            Err(error) => self.stream_broke(index, &error),
        }
        true
    }

    /// Has the socket reported again, since an edge is reported once and it was not emptied.
    fn look_again(&mut self, index: u32) {
        let slot = &self.slots[index as usize];
        let Connection::Wire(_, link) = &slot.connection else { return };
        let (fd, token, writing) = (link.fd(), slot.token(index), slot.is_watched_for_writing);
        if let Err(error) = self.poller.watch(fd, token, writing, true) {
            self.not_watched(index, &error);
        }
    }

    fn stream_ended(&mut self, index: u32) {
        let error = self.link(index).map(Link::closed);
        self.connection_lost(index, error);
    }

    pub(crate) fn stream_broke(&mut self, index: u32, error: &io::Error) {
        let error = self.link(index).map(|link| link.lost(error));
        self.connection_lost(index, error);
    }

    fn link(&self, index: u32) -> Option<&Link> {
        match &self.slots[index as usize].connection {
            Connection::Wire(_, link) => Some(link),
            _ => None,
        }
    }

    /// Bytes came in for a slot: decrypted if need be, put behind what was incomplete, understood.
    fn absorb(&mut self, index: u32, raw: &[u8], stamp_ns: u64) {
        let slot = &mut self.slots[index as usize];
        let Connection::Wire(_, link) = &mut slot.connection else { return };
        if !link.is_encrypted() && slot.partial.is_empty() {
            let consumed = self.understand(index, raw, stamp_ns);
            let slot = &mut self.slots[index as usize];
            if consumed < raw.len() && slot.stage != Stage::Down {
                slot.partial.extend_from_slice(&raw[consumed..]);
            }
            return;
        }
        let mut plain = std::mem::take(&mut self.plain);
        plain.clear();
        let decrypted = link.decrypt(raw, &mut plain);
        let is_established = slot.stage == Stage::Encrypting && !link.is_handshaking();
        if let Err(error) = decrypted {
            self.connection_lost(index, Some(error));
        } else {
            if is_established {
                self.encrypted(index);
            }
            self.absorb_plain(index, &plain, stamp_ns);
        }
        plain.shrink_to(RECEIVE_BYTES);
        self.plain = plain;
    }

    fn absorb_plain(&mut self, index: u32, plain: &[u8], stamp_ns: u64) {
        let mut bytes = std::mem::take(&mut self.slots[index as usize].partial);
        bytes.extend_from_slice(plain);
        if bytes.is_empty() {
            return;
        }
        let consumed = self.understand(index, &bytes, stamp_ns);
        let slot = &mut self.slots[index as usize];
        if slot.stage == Stage::Down {
            return;
        }
        bytes.drain(..consumed);
        if bytes.is_empty() {
            bytes.shrink_to(KEEP_BYTES);
        }
        slot.partial = bytes;
    }

    /// Lets the protocol read from the front of `input`; returns how much it consumed.
    fn understand(&mut self, index: u32, input: &[u8], stamp_ns: u64) -> usize {
        let era = self.slots[index as usize].era;
        let mut at = 0;
        while at < input.len() && self.slots[index as usize].era == era {
            let slot = &mut self.slots[index as usize];
            let Connection::Wire(wire, _) = &mut slot.connection else { return at };
            self.out.clear();
            let (consumed, progress) = match wire.receive(&input[at..], &mut self.out) {
                Ok(found) => found,
                Err(error) => {
                    self.connection_lost(index, Some(error));
                    return at;
                }
            };
            at += consumed;
            if !self.out.is_empty() {
                self.send_out(index);
            }
            match progress {
                // A whole message without an event may have been consumed: go on behind it.
                Progress::More if consumed > 0 => {}
                Progress::More => return at,
                Progress::Reply(reply) if self.slots[index as usize].stage == Stage::Up => {
                    self.answered(index, reply, stamp_ns);
                }
                Progress::Ready => self.logged_in(index),
                Progress::StartTls if at == input.len() => self.encrypt(index),
                Progress::StartTls | Progress::WantData | Progress::Reply(_) => {
                    let error = Error::new(Kind::Protocol, "the server answered out of turn")
                        .hint("is this really the kind of server that the target names?");
                    self.connection_lost(index, Some(error));
                }
            }
        }
        at
    }
}
