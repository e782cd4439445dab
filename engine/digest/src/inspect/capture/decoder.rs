//! The trait of protocol decoders.

use super::events::Out;
use super::framer::{Message, Style};
use super::position::Side;

/// Decodes the messages of both sides of a connection, and emits events.
pub trait Decoder: Send {
    /// Header format of a side's next message.
    fn style(&self, side: Side) -> Style;

    /// How many body bytes of a message with this tag to buffer.
    fn wanted(&self, side: Side, tag: u8) -> usize;

    /// Processes a message of the client; returns whether it is valid.
    fn client(&mut self, message: &Message<'_>, out: &mut Out<'_>) -> bool;

    /// Processes a message of the server; returns whether it is valid.
    fn server(&mut self, message: &Message<'_>, out: &mut Out<'_>) -> bool;

    /// Reports that the start of a side's next message is unknown.
    fn lost(&mut self, side: Side);

    /// Whether a message begins here, on a side whose message borders are unknown.
    fn is_border(&self, side: Side, bytes: &[u8]) -> bool;

    /// Emits all pending requests as unanswered.
    fn give_up(&mut self, out: &mut Out<'_>);

    /// Why the connection is unreadable, if it is.
    fn unreadable(&self) -> Option<&'static str>;

    /// The server's product and version, if the capture holds them.
    fn product(&self) -> Option<String>;

    /// Number of buffered bytes.
    fn buffered(&self) -> usize;
}
