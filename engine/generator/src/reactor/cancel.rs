//! Cancellation of statements at their server, from a thread of its own: a statement may continue after
//! its client has disconnected, holding locks that the next trial would wait for.

use crate::reactor::control::{Cancellation, GroupTargets, Server};
use crate::transport::channel::Channel;
use crate::transport::endpoint::Endpoint;
use crate::transport::link::Link;
use dyno_core::driver::{Cancel, Session};
use dyno_core::error::Result;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Timeout of one cancellation in all: the server itself may hang.
const TIMEOUT: Duration = Duration::from_secs(4);
/// Time for queued cancellations after the end of the load.
const FAREWELL: Duration = Duration::from_secs(3);

/// Carries out cancellations until `ended` is set and the queue is empty, but at most 3 s longer than
/// `ended`. Ignores failures: the connection is closed already, and its error is counted.
pub fn serve(
    group_targets: &[GroupTargets<'_>],
    requests: &Receiver<Cancellation>,
    ended: &AtomicBool,
) {
    let mut stop_at = None;
    loop {
        match requests.recv_timeout(Duration::from_millis(20)) {
            Ok(Cancellation { group, session, how }) => {
                drop(carry_out(group_targets[group].server(session), &how));
            }
            Err(RecvTimeoutError::Timeout) if ended.load(Ordering::Acquire) => return,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if ended.load(Ordering::Acquire) {
            let stop_at = *stop_at.get_or_insert_with(|| Instant::now() + FAREWELL);
            if Instant::now() > stop_at {
                return;
            }
        }
    }
}

fn carry_out(server: Server<'_>, how: &Cancel) -> Result<()> {
    let Some(endpoint) = server.endpoint else { return Ok(()) };
    let deadline = Instant::now() + TIMEOUT;
    match how {
        Cancel::Close => Ok(()),
        Cancel::Packet(bytes) => send_packet(endpoint, bytes, deadline),
        Cancel::Statement(sql) => {
            let Session::Wire(mut wire) = server.driver.session(u32::MAX)? else { return Ok(()) };
            let mut channel = Channel::default();
            channel.connect(&mut *wire, endpoint, deadline)?;
            wire.query(sql, &mut channel.output);
            channel.converse(&mut *wire, endpoint, deadline)?;
            channel.farewell(&mut *wire);
            Ok(())
        }
    }
}

/// Asks a server to cancel a statement by `bytes`, sent alone over a new connection.
///
/// # Errors
/// [`Kind::Connection`](dyno_core::error::Kind::Connection) when the server cannot be reached in time.
pub fn send_packet(endpoint: &Endpoint, bytes: &[u8], deadline: Instant) -> Result<()> {
    let mut link = Link::open_blocking(endpoint, deadline)?;
    link.send_all(bytes, deadline)?;
    // The server closes the connection after it has signalled the session.
    let _ = link.receive_some(&mut Vec::new(), deadline);
    Ok(())
}
