//! The relay as a program: what becomes of clients when it has no descriptors left.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, ErrorKind, Read, Result, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// Patience with what must happen.
const SOON: Duration = Duration::from_secs(60);

struct Relay {
    child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Relay {
    /// A relay that may have so many descriptors. Nobody reads its standard error.
    fn limited(descriptors: u32) -> Self {
        let mut child = Command::new("sh")
            .args(["-c", r#"ulimit -n "$1" && exec "$0" relay"#, env!("CARGO_BIN_EXE_dyno-engine")])
            .arg(descriptors.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let commands = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self { child, commands, answers }
    }

    fn ask(&mut self, command: &Value) -> Value {
        writeln!(self.commands, "{command}").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Ends it; what it wrote to standard error.
    fn end(self) -> String {
        let Self { child, commands, answers } = self;
        drop((commands, answers));
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stderr).unwrap()
    }
}

/// A client's connection. A relay that turns it away at once may reset it before `connect` has returned.
fn client(port: u16) -> Result<TcpStream> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(SOON))?;
    Ok(stream)
}

#[test]
fn a_relay_without_descriptors_turns_clients_away_and_goes_on() {
    let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let to = server.local_addr().unwrap().to_string();
    // A connection needs two: with one of the limits there is none left, with the other one is.
    for limit in [40, 41] {
        let mut relay = Relay::limited(limit);
        let listen = json!({"do": "listen", "name": "db", "link": {"to": to}});
        let port = relay.ask(&listen)["port"].as_u64().unwrap() as u16;
        let held: Vec<_> = (0..40).map(|_| client(port)).collect();
        // More than a pipe could hold, if there were a line for each.
        for number in 0..2000 {
            let end = client(port).and_then(|mut stream| stream.read(&mut [0]));
            let is_away = match &end {
                Ok(count) => *count == 0,
                Err(why) => why.kind() == ErrorKind::ConnectionReset,
            };
            assert!(is_away, "client {number} of a relay with {limit} descriptors: {end:?}");
        }
        let status = relay.ask(&json!({"do": "status", "name": "db"}));
        let open = status["connections"].as_u64().unwrap();
        assert!((1..=u64::from(limit) / 2).contains(&open), "{status}");
        drop(held);
        let said = relay.end();
        assert!(said.lines().count() <= 1, "{said}");
    }
}
