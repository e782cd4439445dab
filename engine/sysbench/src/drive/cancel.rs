//! Connections of the engine itself, in addition to those of the sessions, at the end of a run. They
//! cancel statements of sessions that were cut (a statement whose client has disconnected may
//! continue and hold locks), and probe servers that owe answers.

use super::Server;
use dyno_core::driver::Cancel;
use dyno_core::driver::client::{Client, Nature};
use dyno_core::error::{Error, Kind, Result};
use dyno_generator::reactor::cancel::send_packet;
use dyno_generator::transport::channel::Channel;
use dyno_generator::transport::endpoint::Endpoint;
use std::time::{Duration, Instant};

/// Time limit for all cancellations: the hung server may be one of them.
const CANCELS: Duration = Duration::from_secs(3);
/// Time limit for a server to accept a login and to answer a probe.
const QUESTION: Duration = Duration::from_secs(3);

/// Executes cancellations within the time limit. Failures are ignored: the sessions have already
/// ended and reported their errors.
pub(crate) fn carry_out(servers: &[Server], cancels: Vec<(usize, Cancel)>) {
    let deadline = Instant::now() + CANCELS;
    let mut controls: Vec<Option<Result<Control<'_>>>> = servers.iter().map(|_| None).collect();
    for (server, how) in cancels {
        if Instant::now() > deadline {
            return;
        }
        let Some(endpoint) = servers.get(server).and_then(|one| one.endpoint.as_ref()) else {
            continue;
        };
        match how {
            Cancel::Close => {}
            Cancel::Packet(bytes) => drop(send_packet(endpoint, &bytes, deadline)),
            Cancel::Statement(sql) => {
                let control = controls[server].get_or_insert_with(|| {
                    let mut control = Control::new(&servers[server], endpoint, deadline)?;
                    control.connect().map(|()| control)
                });
                // A refusal means that the statement has ended by itself.
                if let Ok(open) = control
                    && let Err(error) = open.query(&sql)
                {
                    *control = Err(error);
                }
            }
        }
    }
}

/// Whether any server that sessions have connected to answers a probe; a refused login counts as an
/// answer. True if sessions have connected to none.
pub(crate) fn any_answers(reached: &[&Server]) -> bool {
    let ask = |server: &&Server| server.endpoint.as_ref().is_none_or(|at| answers(server, at));
    reached.is_empty() || reached.iter().any(ask)
}

fn answers(server: &Server, endpoint: &Endpoint) -> bool {
    let deadline = Instant::now() + QUESTION;
    let Ok(mut control) = Control::new(server, endpoint, deadline) else { return false };
    let heard = control.connect().and_then(|()| control.query("SELECT 1"));
    heard.map_or_else(|error| control.channel.was_refused && is_refusal(&error), |()| true)
}

/// A connection of the engine, used synchronously.
struct Control<'a> {
    endpoint: &'a Endpoint,
    channel: Channel,
    client: Box<dyn Client>,
    /// The deadline of all its operations.
    deadline: Instant,
}

impl<'a> Control<'a> {
    fn new(server: &Server, endpoint: &'a Endpoint, deadline: Instant) -> Result<Self> {
        let Nature::Wire(client) = (server.clients)()? else {
            return Err(Error::new(Kind::Plan, "a library has no statements to cancel"));
        };
        Ok(Self { endpoint, channel: Channel::default(), client, deadline })
    }

    fn connect(&mut self) -> Result<()> {
        self.channel.connect(&mut *self.client, self.endpoint, self.deadline)
    }

    fn query(&mut self, sql: &str) -> Result<()> {
        self.client.query(sql.as_bytes(), &mut self.channel.output);
        self.channel.converse(&mut *self.client, self.endpoint, self.deadline).map(drop)
    }
}

/// Whether a protocol error is the server's refusal, not malformed data or a limit of the engine.
fn is_refusal(error: &Error) -> bool {
    !matches!(error.kind, Kind::Protocol | Kind::System)
}
