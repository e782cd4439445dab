//! Connections of our own beside those of the sessions, at the end of a run: to stop statements of
//! sessions that were cut (one whose client has merely gone away may run on, holding locks), and to
//! ask whether a server that owes answers still gives any.

use super::Server;
use dyno_core::client::{Client, Nature, Said};
use dyno_core::driver::Cancel;
use dyno_core::error::{Error, Kind, Result};
use dyno_generator::reactor::cancel::send_packet;
use dyno_generator::transport::endpoint::Endpoint;
use dyno_generator::transport::link::Link;
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
                let control = controls[server]
                    .get_or_insert_with(|| Control::open(&servers[server], endpoint, deadline));
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
    let Ok(mut control) = Control::connect(server, endpoint, deadline) else { return false };
    let heard = control.converse().and_then(|()| control.query("SELECT 1"));
    heard.is_ok() || control.was_refused
}

/// A connection of our own, waited for.
struct Control<'a> {
    endpoint: &'a Endpoint,
    link: Link,
    client: Box<dyn Client>,
    input: Vec<u8>,
    output: Vec<u8>,
    /// For all that it is used for.
    deadline: Instant,
    /// The server has ended it in its own words: no room, no such user.
    was_refused: bool,
}

impl<'a> Control<'a> {
    fn open(server: &Server, endpoint: &'a Endpoint, deadline: Instant) -> Result<Self> {
        let mut control = Self::connect(server, endpoint, deadline)?;
        control.converse()?;
        Ok(control)
    }

    /// Connects; the login has begun.
    fn connect(server: &Server, endpoint: &'a Endpoint, deadline: Instant) -> Result<Self> {
        let Nature::Wire(mut client) = server.clients.client()? else {
            return Err(Error::new(Kind::Plan, "a library has no statements to cancel"));
        };
        let link = Link::open_blocking(endpoint, deadline)?;
        let mut output = Vec::new();
        client.connected(endpoint.is_unix(), &mut output);
        let (input, was_refused) = (Vec::new(), false);
        Ok(Self { endpoint, link, client, input, output, deadline, was_refused })
    }

    fn query(&mut self, sql: &str) -> Result<()> {
        self.client.query(sql.as_bytes(), &mut self.output);
        self.converse()
    }

    /// Sends what there is and goes on until the protocol is ready or answered.
    fn converse(&mut self) -> Result<()> {
        let deadline = self.deadline;
        loop {
            self.link.send_all(&self.output, deadline)?;
            self.output.clear();
            if self.input.is_empty() {
                self.link.receive_some(&mut self.input, deadline)?;
            }
            let received = self.client.receive(&self.input, &mut self.output);
            self.was_refused = received.as_ref().is_err_and(is_refusal);
            let (consumed, said) = received?;
            self.input.drain(..consumed);
            match said {
                Said::Ready | Said::Answered => {
                    return self.link.send_all(&self.output, deadline);
                }
                Said::StartTls => {
                    self.link.encrypt_blocking(self.endpoint, &mut self.input, deadline)?;
                    self.client.tls_established(&mut self.output);
                }
                // What is there is no whole message: more must come behind it.
                Said::More if self.output.is_empty() && consumed == 0 => {
                    self.link.receive_some(&mut self.input, deadline)?;
                }
                Said::More => {}
            }
        }
    }
}

/// Whether a protocol's error is the server's refusal, and no rubbish of its, nor a bound of ours.
fn is_refusal(error: &Error) -> bool {
    !matches!(error.kind, Kind::Protocol | Kind::System)
}
