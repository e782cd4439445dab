//! Executes the waits of the main session by blocking the calling thread.

use crate::connection::Connection;
use crate::drive::Server;
use crate::session::{Outcome, Session, Wait};
use dyno_core::error::{Error, Kind};
use dyno_generator::transport::channel::CONNECT_TIMEOUT;
use std::time::{Duration, Instant};

/// Statements of `prepare` and similar commands may take any time.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 3600);

/// Waits for a time, a connection or an answer, and returns the outcome. A failed connection is closed.
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
    let endpoint = servers.get(wired.server).and_then(|server| server.endpoint.as_ref());
    let done = match endpoint {
        None => {
            let what = "this driver needs a tcp or unix address to connect to";
            Err(Error::new(Kind::Plan, what))
        }
        Some(endpoint) if matches!(wait, Wait::Connect(_)) => {
            let deadline = Instant::now() + CONNECT_TIMEOUT;
            wired.channel.connect(&mut *wired.client, endpoint, deadline)
        }
        Some(endpoint) => {
            let deadline = Instant::now() + ANSWER_TIMEOUT;
            wired.channel.converse(&mut *wired.client, endpoint, deadline).map(drop)
        }
    };
    match done {
        Ok(()) => Outcome::Come,
        Err(error) => {
            wired.channel.close();
            Outcome::Lost(match endpoint {
                Some(endpoint) => error.at_server(endpoint.label()),
                None => error,
            })
        }
    }
}
