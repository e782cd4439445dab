//! Connections of our own beside those of the sessions, at the end of a run: to stop statements of
//! sessions that were cut (one whose client has merely gone away may run on, holding locks), and to
//! ask whether a server that owes answers still gives any.

use super::Server;
use dyno_core::client::{Client, Nature};
use dyno_core::driver::Cancel;
use dyno_core::error::{Error, Kind, Result};
use dyno_generator::reactor::cancel::send_packet;
use dyno_generator::transport::channel::Channel;
use dyno_generator::transport::endpoint::Endpoint;
use std::time::{Duration, Instant};

/// Time for all cancellations: the server may be the one that hangs.
const CANCELS: Duration = Duration::from_secs(3);
/// Time for a server to let us in and to answer a question.
const QUESTION: Duration = Duration::from_secs(3);

/// Carries out cancellations as far as time allows. Failures are silent: the sessions have ended
/// already, and say so.
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

/// Whether any of the servers that sessions have reached answers a question, be it by a refusal to let
/// us in. Where they have reached none, nobody has to answer.
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

/// A connection of our own, waited for.
struct Control<'a> {
    endpoint: &'a Endpoint,
    channel: Channel,
    client: Box<dyn Client>,
    /// For all that it is used for.
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

/// Whether a protocol's error is the server's refusal, and no rubbish of its, nor a bound of ours.
fn is_refusal(error: &Error) -> bool {
    !matches!(error.kind, Kind::Protocol | Kind::System)
}
