//! Splits the byte streams of both ends into messages and hands each message to the decoder.

use super::decoder::Decoder;
use super::events::Out;
use super::framer::{Framer, Loss};
use super::position::{Position, Side};

/// A connection whose protocol is known.
pub struct ProtocolStream {
    frames: [Framer; 2],
    decoder: Box<dyn Decoder>,
}

const STRANGE: &str = "a message that is none of the protocol's, or answers nothing that was asked";
const PASSED: &str = "bytes in front of the first message's border, at the begin or behind a gap";

impl ProtocolStream {
    /// Creates a stream at the start (`is_begin`) or in the middle of a connection.
    pub fn new(decoder: Box<dyn Decoder>, is_begin: bool) -> Self {
        let mut frames = [Side::Client, Side::Server].map(|side| Framer::new(decoder.style(side)));
        if !is_begin {
            frames.iter_mut().for_each(Framer::lose);
        }
        Self { frames, decoder }
    }

    /// Why the connection is unreadable, if it is.
    pub fn unreadable(&self) -> Option<&'static str> {
        self.decoder.unreadable()
    }

    /// The server's product and version, if the capture holds them.
    pub fn product(&self) -> Option<String> {
        self.decoder.product()
    }

    /// Number of buffered bytes.
    pub fn buffered(&self) -> usize {
        self.frames.iter().map(Framer::buffered).sum::<usize>() + self.decoder.buffered()
    }

    /// Processes the next bytes of a side.
    pub fn take(&mut self, side: Side, bytes: &[u8], at: Position, out: &mut Out<'_>) {
        let frame = &mut self.frames[side as usize];
        if frame.is_lost {
            if !self.decoder.is_border(side, bytes) {
                return out.not_understood(at, PASSED);
            }
            frame.restart();
        }
        self.messages(side, bytes, at, out);
    }

    /// Skips a gap of `count` bytes.
    pub fn pass(&mut self, side: Side, count: usize, at: Position, out: &mut Out<'_>) -> Loss {
        let loss = self.frames[side as usize].pass(count, at);
        if loss == Loss::Lost {
            self.decoder.lost(side);
        }
        self.messages(side, b"", at, out);
        loss
    }

    fn messages(&mut self, side: Side, mut bytes: &[u8], at: Position, out: &mut Out<'_>) {
        let (frame, decoder) = (&mut self.frames[side as usize], &mut self.decoder);
        loop {
            // The framer uses the style only at the start of a message.
            frame.style = decoder.style(side);
            let wanted = |tag, _| decoder.wanted(side, tag);
            let Some(message) = frame.next(&mut bytes, at, wanted) else { break };
            let is_one = match side {
                Side::Client => decoder.client(&message, out),
                Side::Server => decoder.server(&message, out),
            };
            if !is_one {
                frame.lose();
                decoder.lost(side);
                out.not_understood(at, STRANGE);
                break;
            }
            if decoder.unreadable().is_some() {
                break;
            }
        }
    }

    /// Ends the stream: emits pending requests as unanswered.
    pub fn end(&mut self, out: &mut Out<'_>) {
        self.decoder.give_up(out);
    }
}
