//! What a load thread does with connections that are lost, or could not be made.

use super::load_thread::LoadThread;
use crate::transport::channel::Stage;
use crate::transport::endpoint::Endpoint;
use dyno_core::error::Error;

/// Closes connections, and says so to their sessions.
pub trait Closing<'a>: LoadThread<'a> {
    /// The connection is of no more use, whether it was at work, idle, or on its way.
    fn connection_lost(&mut self, at: u32, error: Error) {
        let Some(stage) = self.channel(at).map(|(_, channel)| channel.stage) else { return };
        let error = match self.endpoint(at) {
            Some(endpoint) => error.at_server(endpoint.label()),
            None => error,
        };
        match stage {
            Stage::Down => {}
            Stage::Up => self.lost(at, error),
            Stage::Connecting | Stage::Encrypting | Stage::LoggingIn => {
                self.connect_failed(at, error);
            }
        }
    }

    /// It could not be made at the address that was tried.
    fn connect_failed(&mut self, at: u32, error: Error) {
        let candidates = self.endpoint(at).map_or(1, Endpoint::candidates);
        self.io().queue.settle();
        let Some((io, channel)) = self.channel(at) else { return };
        let was_connecting = matches!(channel.stage, Stage::Connecting | Stage::Down);
        channel.close();
        channel.address += 1;
        if was_connecting && channel.address < candidates {
            // The name has another address: that is part of the same attempt.
            return io.queue.push(at);
        }
        channel.address = 0;
        self.not_connected(at, error);
    }
}

impl<'a, T: LoadThread<'a>> Closing<'a> for T {}
