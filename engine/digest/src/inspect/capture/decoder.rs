//! The trait of protocol decoders: they take the messages of both ends and give events.

use super::events::Out;
use super::framer::{Message, Style};
use super::position::Side;

/// A protocol: takes the messages of both sides, and tells what comes of them.
pub trait Decoder: Send {
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
