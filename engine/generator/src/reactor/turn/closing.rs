//! Handling of lost connections and of failed attempts to connect.

use crate::reactor::load_thread::LoadThread;
use crate::transport::channel::Stage;
use crate::transport::endpoint::Endpoint;
use dyno_core::error::Error;

/// Closes connections and notifies their sessions.
pub trait Closing<'a>: LoadThread<'a> {
    /// Closes a connection in any stage and reports its loss.
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

    /// Handles a failed attempt to connect to one of the host's addresses.
    fn connect_failed(&mut self, at: u32, error: Error) {
        let candidates = self.endpoint(at).map_or(1, Endpoint::candidates);
        self.io().queue.settle();
        let Some((io, channel)) = self.channel(at) else { return };
        let was_connecting = matches!(channel.stage, Stage::Connecting | Stage::Down);
        channel.close();
        channel.address += 1;
        if was_connecting && channel.address < candidates {
            // Try the name's next address as part of the same attempt.
            return io.queue.push(at);
        }
        channel.address = 0;
        self.not_connected(at, error);
    }
}

impl<'a, T: LoadThread<'a>> Closing<'a> for T {}
