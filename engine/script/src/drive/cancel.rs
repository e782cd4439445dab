//! Stopping statements at their server when their sessions were cut: one whose client has merely
//! gone away may run on, holding locks.

use super::Server;
use dyno_core::client::{Client, Nature, Said};
use dyno_core::driver::Cancel;
use dyno_core::error::{Error, Kind, Result};
use dyno_load::endpoint::Endpoint;
use dyno_load::transport::Link;
use std::time::{Duration, Instant};

/// Longest that a wait for the server may take: it may be the one that hangs.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Time for all of them.
const ALL: Duration = Duration::from_secs(3);

/// Carries out cancellations as far as time allows. Failures are silent: the sessions have ended
/// already, and say so.
pub(crate) fn carry_out(servers: &[Server], cancels: Vec<(usize, Cancel)>) {
    let stop_at = Instant::now() + ALL;
    let mut controls: Vec<Option<Result<Control<'_>>>> = servers.iter().map(|_| None).collect();
    for (server, how) in cancels {
        if Instant::now() > stop_at {
            return;
        }
        let Some(endpoint) = servers.get(server).and_then(|one| one.endpoint.as_ref()) else {
            continue;
        };
        match how {
            Cancel::Close => {}
            Cancel::Packet(bytes) => drop(send_packet(endpoint, &bytes)),
            Cancel::Statement(sql) => {
                let control = controls[server]
                    .get_or_insert_with(|| Control::open(&servers[server], endpoint));
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

fn send_packet(endpoint: &Endpoint, bytes: &[u8]) -> Result<()> {
    let mut link = Link::open_blocking(endpoint, TIMEOUT)?;
    link.send_all(bytes, TIMEOUT)?;
    // The server closes when it has passed the signal on.
    let _ = link.receive_some(&mut Vec::new(), TIMEOUT);
    Ok(())
}

/// A connection of our own, waited for.
struct Control<'a> {
    endpoint: &'a Endpoint,
    link: Link,
    client: Box<dyn Client>,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl<'a> Control<'a> {
    fn open(server: &Server, endpoint: &'a Endpoint) -> Result<Self> {
        let Nature::Wire(mut client) = server.clients.client()? else {
            return Err(Error::new(Kind::Plan, "a library has no statements to cancel"));
        };
        let link = Link::open_blocking(endpoint, TIMEOUT)?;
        let mut output = Vec::new();
        client.connected(endpoint.is_unix(), &mut output);
        let mut control = Self { endpoint, link, client, input: Vec::new(), output };
        control.converse()?;
        Ok(control)
    }

    fn query(&mut self, sql: &str) -> Result<()> {
        self.client.query(sql.as_bytes(), &mut self.output);
        self.converse()
    }

    /// Sends what there is and goes on until the protocol is ready or answered.
    fn converse(&mut self) -> Result<()> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            self.link.send_all(&self.output, TIMEOUT)?;
            self.output.clear();
            if Instant::now() > deadline {
                return Err(Error::new(Kind::Connection, "the server takes too long"));
            }
            if self.input.is_empty() {
                self.link.receive_some(&mut self.input, TIMEOUT)?;
            }
            let (consumed, said) = self.client.receive(&self.input, &mut self.output)?;
            self.input.drain(..consumed);
            match said {
                Said::Ready | Said::Answered => {
                    return self.link.send_all(&self.output, TIMEOUT);
                }
                Said::StartTls => {
                    self.link.encrypt_blocking(self.endpoint, &mut self.input, TIMEOUT)?;
                    self.client.tls_established(&mut self.output);
                }
                // What is there is no whole message: more must come behind it.
                Said::More if self.output.is_empty() && consumed == 0 => {
                    self.link.receive_some(&mut self.input, TIMEOUT)?;
                }
                Said::More => {}
            }
        }
    }
}
