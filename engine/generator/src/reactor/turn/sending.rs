//! The sending half of a turn.

use super::closing::Closing;
use crate::reactor::load_thread::{LoadThread, token};
use crate::transport::poller::Poller;
use dyno_core::error::{Error, Kind};
use std::io;

/// Sends bytes, and waits for writability when the kernel's buffer is full.
pub trait Sending<'a>: LoadThread<'a> {
    /// Sends the channel's output and expects an answer to it.
    #[inline]
    fn send_output(&mut self, at: u32) {
        let Some((_, channel)) = self.channel(at) else { return };
        let Some(link) = &mut channel.link else { return };
        let sent = link.send(&channel.output);
        channel.output.clear();
        channel.patience.sent();
        self.after_send(at, sent);
    }

    /// Counts a send and waits for writability if the kernel accepted only a part.
    #[inline]
    fn after_send(&mut self, at: u32, sent: io::Result<u32>) {
        let Some((io, channel)) = self.channel(at) else { return };
        let Some(link) = &channel.link else { return };
        match sent {
            Ok(calls) => io.count_calls(calls),
            Err(error) => {
                let error = link.lost(&error);
                self.not_sent(at);
                return self.connection_lost(at, error);
            }
        }
        if link.has_unsent() != channel.is_watched_for_writing {
            channel.is_watched_for_writing = link.has_unsent();
            self.watch(at);
        }
    }

    /// Watches the socket, also if it is watched already: the interest may have changed, or the socket may
    /// hold bytes that were reported and not read.
    fn watch(&mut self, at: u32) {
        let Some((io, channel)) = self.channel(at) else { return };
        let Some(link) = &channel.link else { return };
        let writing = channel.is_watched_for_writing;
        if let Err(error) = io.poller.watch(link.fd(), token(at, channel.era), writing, true) {
            let error = Error::new(Kind::System, format!("cannot watch a socket: {error}"));
            self.connection_lost(at, error);
        }
    }
}

impl<'a, T: LoadThread<'a>> Sending<'a> for T {}
