//! Carries the main session on: one session, on the thread that asks for it, which waits itself.

use crate::connection::{Connection, Wired};
use crate::drive::Server;
use crate::session::{Outcome, Session, Wait};
use dyno_core::client::Said;
use dyno_core::clock::{Clock, MonotonicClock};
use dyno_core::error::{Error, Kind, Result};
use dyno_generator::reactor::session_slot::Stage;
use dyno_generator::transport::endpoint::Endpoint;
use dyno_generator::transport::link::Link;
use std::time::{Duration, Instant};

/// Longest time to connect and log in.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// Statements of `prepare` and the like take what they take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 3600);
/// Further bytes of an answer that are asked for at a time.
const RECEIVE_BYTES: usize = 16 * 1024;

/// Waits, and says what came of it.
pub fn wait(session: &mut Session<'_>, servers: &[Server], wait: Wait) -> Outcome {
    let place = match wait {
        Wait::Start => return Outcome::Come,
        Wait::Until(until_ns) => {
            let left_ns = until_ns.saturating_sub(crate::lua::sessions::now_ns());
            std::thread::sleep(Duration::from_nanos(left_ns));
            return Outcome::Come;
        }
        Wait::Connect(place) | Wait::Answer(place) => place,
    };
    let Some(Some(Connection::Wire(wired))) = session.connections.get_mut(place) else {
        return Outcome::Lost(Error::new(Kind::Connection, "there is no such connection"));
    };
    let done = match servers.get(wired.server).and_then(|server| server.endpoint.as_ref()) {
        None => {
            let what = "this driver needs a tcp or unix address to connect to";
            Err(Error::new(Kind::Plan, what))
        }
        Some(endpoint) if matches!(wait, Wait::Connect(_)) => connect(wired, endpoint),
        Some(endpoint) => {
            converse(wired, endpoint, Instant::now() + ANSWER_TIMEOUT, Said::Answered)
        }
    };
    match done {
        Ok(()) => Outcome::Come,
        Err(error) => {
            let error = match wired.link.as_ref().map(Link::label) {
                Some(label) => error.at_server(label),
                None => error,
            };
            wired.close();
            Outcome::Lost(error)
        }
    }
}

fn connect(wired: &mut Wired, endpoint: &Endpoint) -> Result<()> {
    wired.close();
    let deadline = Instant::now() + CONNECT_TIMEOUT;
    wired.link = Some(Link::open_blocking(endpoint, deadline)?);
    wired.client.connected(endpoint.is_unix(), &mut wired.output);
    converse(wired, endpoint, deadline, Said::Ready)?;
    wired.stage = Stage::Up;
    Ok(())
}

/// Sends what is to be sent, and receives until `end` is said.
fn converse(wired: &mut Wired, endpoint: &Endpoint, deadline: Instant, end: Said) -> Result<()> {
    let mut received = 0;
    loop {
        let Wired { client, link, input, output, patience, .. } = wired;
        let link = link.as_mut().ok_or_else(|| Error::new(Kind::Connection, "not connected"))?;
        if !output.is_empty() {
            link.send_all(output, deadline)?;
            output.clear();
            patience.sent();
        }
        let (consumed, said) = client.receive(input, output)?;
        input.drain(..consumed);
        match said {
            Said::StartTls => {
                link.encrypt_blocking(endpoint, input, deadline)?;
                client.tls_established(output);
            }
            said if said == end => return Ok(()),
            Said::More if consumed == 0 && output.is_empty() => {
                wired.heard(MonotonicClock.now_ns(), received)?;
                let Wired { link: Some(link), input, .. } = wired else { continue };
                input.reserve(RECEIVE_BYTES);
                received = link.receive_some(input, deadline)?;
            }
            // Progress within the login, or the end of what was answered before.
            _ => {}
        }
    }
}
