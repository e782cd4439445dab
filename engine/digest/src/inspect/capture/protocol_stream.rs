//! What the two ends of a connection say, message by message, in whichever protocol.

use super::events::Out;
use super::framer::{Framer, Loss, Message, Style};
use super::position::{Moment, Side};

/// A protocol: takes the messages of both sides, and tells what comes of them.
pub trait Talk: Send {
    /// How the next message of a side begins.
    fn style(&self, side: Side) -> Style;

    /// How many bytes of a message of this tag are wanted.
    fn wanted(&self, side: Side, tag: u8) -> usize;

    /// A message of the client; whether it can be one.
    fn client(&mut self, message: &Message<'_>, out: &mut Out<'_>) -> bool;

    /// A message of the server; whether it can be one.
    fn server(&mut self, message: &Message<'_>, out: &mut Out<'_>) -> bool;

    /// Where the next message of a side begins is not known.
    fn lost(&mut self, side: Side);

    /// Whether a message of a side that was lost begins here.
    fn is_border(&self, side: Side, bytes: &[u8]) -> bool;

    /// Tells of all that waits for an answer: none comes.
    fn give_up(&mut self, out: &mut Out<'_>);

    /// Why nothing can be read, if so.
    fn unreadable(&self) -> Option<&'static str>;

    /// The server's version, where it was told.
    fn product(&self) -> Option<String>;

    /// Bytes that are kept.
    fn buffered(&self) -> usize;
}

/// A connection whose protocol is known.
pub struct Speech {
    frames: [Framer; 2],
    talk: Box<dyn Talk>,
}

const STRANGE: &str = "a message that is none of the protocol's, or answers nothing that was asked";
const PASSED: &str = "bytes in front of the first message's border, at the begin or behind a gap";

impl Speech {
    /// At a connection's begin, or in its middle.
    pub fn new(talk: Box<dyn Talk>, is_begin: bool) -> Self {
        let mut frames = [Side::Client, Side::Server].map(|side| Framer::new(talk.style(side)));
        if !is_begin {
            frames.iter_mut().for_each(Framer::lose);
        }
        Self { frames, talk }
    }

    /// Why nothing can be read, if so.
    pub fn unreadable(&self) -> Option<&'static str> {
        self.talk.unreadable()
    }

    /// The server's version, where it was told.
    pub fn product(&self) -> Option<String> {
        self.talk.product()
    }

    /// Bytes that are kept.
    pub fn buffered(&self) -> usize {
        self.frames.iter().map(Framer::buffered).sum::<usize>() + self.talk.buffered()
    }

    /// The bytes of a packet, in their order.
    pub fn take(&mut self, side: Side, bytes: &[u8], at: Moment, out: &mut Out<'_>) {
        let frame = &mut self.frames[side as usize];
        if frame.is_lost {
            if !self.talk.is_border(side, bytes) {
                return out.not_understood(at, PASSED);
            }
            frame.restart();
        }
        self.messages(side, bytes, at, out);
    }

    /// Bytes that are not there.
    pub fn pass(&mut self, side: Side, count: usize, at: Moment, out: &mut Out<'_>) -> Loss {
        let loss = self.frames[side as usize].pass(count, at);
        if loss == Loss::Lost {
            self.talk.lost(side);
        }
        self.messages(side, b"", at, out);
        loss
    }

    fn messages(&mut self, side: Side, mut bytes: &[u8], at: Moment, out: &mut Out<'_>) {
        let (frame, talk) = (&mut self.frames[side as usize], &mut self.talk);
        loop {
            // Only at a message's begin does its style count.
            frame.style = talk.style(side);
            let wanted = |tag, _| talk.wanted(side, tag);
            let Some(message) = frame.next(&mut bytes, at, wanted) else { break };
            let is_one = match side {
                Side::Client => talk.client(&message, out),
                Side::Server => talk.server(&message, out),
            };
            if !is_one {
                frame.lose();
                talk.lost(side);
                out.not_understood(at, STRANGE);
                break;
            }
            if talk.unreadable().is_some() {
                break;
            }
        }
    }

    /// Nothing more comes.
    pub fn end(&mut self, out: &mut Out<'_>) {
        self.talk.give_up(out);
    }
}
