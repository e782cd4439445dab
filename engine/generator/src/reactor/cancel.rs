//! Stopping statements at their server, from a thread beside the load: a statement whose client has
//! merely gone away may run on, holding locks that the next trial would wait for.

use crate::reactor::control::{Cancellation, GroupTargets, Server};
use crate::transport::endpoint::Endpoint;
use crate::transport::link::Link;
use dyno_core::driver::{Cancel, Progress, Session, Wire};
use dyno_core::error::{Error, Kind, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Longest that a cancellation may take in all: the server may be the one that hangs.
const TIMEOUT: Duration = Duration::from_secs(4);
/// Time for what is still waiting when the load has ended.
const FAREWELL: Duration = Duration::from_secs(3);

/// Carries out cancellations until `ended` and the queue is empty, or time is up. Failures are
/// silent: the connection is closed already, and its error is counted.
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
            let mut link = Link::open_blocking(endpoint, deadline)?;
            let mut out = Vec::new();
            wire.connected(endpoint.is_unix(), &mut out);
            converse(&mut *wire, &mut link, server, &mut out, deadline)?;
            wire.query(sql, &mut out);
            converse(&mut *wire, &mut link, server, &mut out, deadline)?;
            wire.quit(&mut out);
            link.send_all(&out, deadline)
        }
    }
}

/// Asks a server to cancel a statement by a connection of its own that carries these bytes alone.
///
/// # Errors
/// [`Kind::Connection`] when the server cannot be reached in time.
pub fn send_packet(endpoint: &Endpoint, bytes: &[u8], deadline: Instant) -> Result<()> {
    let mut link = Link::open_blocking(endpoint, deadline)?;
    link.send_all(bytes, deadline)?;
    // The server closes when it has passed the signal on.
    let _ = link.receive_some(&mut Vec::new(), deadline);
    Ok(())
}

/// Sends `out` and goes on until the protocol is ready or has its reply.
fn converse(
    wire: &mut dyn Wire,
    link: &mut Link,
    server: Server<'_>,
    out: &mut Vec<u8>,
    deadline: Instant,
) -> Result<()> {
    let mut input = Vec::new();
    loop {
        link.send_all(out, deadline)?;
        out.clear();
        if input.is_empty() {
            link.receive_some(&mut input, deadline)?;
        }
        let (consumed, progress) = wire.receive(&input, out)?;
        input.drain(..consumed);
        match progress {
            Progress::Ready | Progress::Reply(_) => return link.send_all(out, deadline),
            Progress::StartTls => {
                if let Some(endpoint) = server.endpoint {
                    link.encrypt_blocking(endpoint, &mut input, deadline)?;
                    wire.tls_established(out);
                }
            }
            // What is there is no whole message: more must come behind it.
            Progress::More if out.is_empty() && consumed == 0 => {
                link.receive_some(&mut input, deadline)?;
            }
            Progress::More => {}
            Progress::WantData => {
                return Err(Error::new(Kind::Protocol, "unexpected request for data"));
            }
        }
    }
}
