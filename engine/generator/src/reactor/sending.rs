//! The sending half of a turn.

use super::closing::Closing;
use super::load_thread::{LoadThread, token};
use crate::transport::poller::Poller;
use dyno_core::error::{Error, Kind};
use std::io;

/// Sends what is to be sent, and waits for room where the system has none.
pub trait Sending<'a>: LoadThread<'a> {
    /// Sends what is in the channel's output: what comes next answers it.
    #[inline]
    fn send_output(&mut self, at: u32) {
        let Some((_, channel)) = self.channel(at) else { return };
        let Some(link) = &mut channel.link else { return };
        let sent = link.send(&channel.output);
        channel.output.clear();
        channel.patience.sent();
        self.after_send(at, sent);
    }

    /// Counts a send and, when the kernel took only a part, waits for room.
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

    /// Has the socket reported, also if it was before: it may have changed what it is watched for, or
    /// hold what was reported and not read.
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
