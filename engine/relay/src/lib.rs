//! `dyno-engine relay`: TCP connections on loopback, passed on under the conditions of a network.
//!
//! The kernel may lack netem, and an unprivileged run has no network namespaces. The relay needs neither: delay
//! and bandwidth come from queues of its own, losses and partitions from filters on its sockets, so that
//! both ends retransmit and give up as TCP does (`sockets/filter.rs`).
//!
//! | module | contents |
//! |---|---|
//! | `conditions` | what a listener's network is like |
//! | `queues` | bytes under way, and the bandwidth that connections share. No sockets, no clock |
//! | `sockets` | listeners, connections, and the filters that lose packets |
//! | `names` | servers that are found by a name |
//! | `swallow` | planted defects: commits that are acknowledged and rolled back |
//! | `control` | commands and answers, one JSON object a line |
//! | `event_loop`, `table` | what moves all of them; listeners and connections by keys |
//! | `redirect` | a library that leads connections of servers here |
//!
//! Sources: tcp(7), socket(7) `SO_ATTACH_FILTER` and `SO_LINGER`, epoll(7).

mod conditions;
mod control;
mod event_loop;
mod names;
mod queues;
mod redirect;
mod sockets;
mod swallow;
mod table;

use dyno_core::shown::shown;
use dyno_generator::machine;
use std::io::{Read, Write};
use std::path::Path;

/// What `--help` prints.
const HELP: &str = "\
Usage: dyno-engine relay [--cpus LIST | --redirect FILE]

Passes TCP connections on, on loopback only, under the conditions of a network: delay, jitter, bandwidth,
loss, partition. Commands are JSON objects, one a line, on standard input; each is answered by one line on
standard output, with the time from which it holds (at_unix_s) or an error. The end of standard input ends
the relay and resets its connections.

  {\"do\":\"listen\",\"name\":\"db\",\"link\":{\"to\":\"127.0.0.1:3306\"},\"port\":0}   0, the default: any free port; on
                                                       \"ip\":\"127.0.0.1\" or another address of loopback
  {\"do\":\"change\",\"name\":\"db\",\"link\":{\"delay_s\":0.005}}     what is not named stays; \"reset\":true too
  {\"do\":\"reset\",\"name\":\"db\"}                             reset all its connections
  {\"do\":\"close\",\"name\":\"db\"}                             the same, and stop listening
  {\"do\":\"status\",\"name\":\"db\"}

A link, each value one number or {\"to_server\":N,\"to_client\":N}:
  to           address on loopback that new connections go to
  resolve      {\"name\":\"db.dyno.test\",\"server\":\"127.0.0.1:53\",\"port\":N,\"keep_s\":S,\"patience_s\":S}: new
               connections go to the port at the address that this name server says; it is asked again once
               the answer's TTL is over, or after keep_s; one that is not answered is reset after patience_s
  delay_s      delay of one way; a connection costs three of them before the server sees it, as in TCP
  jitter_s     up to so much more, evenly distributed; bytes stay in order
  bytes_per_s  bandwidth that all connections share, in payload; 0: no limit
  loss         share of packets that are lost; the kernel retransmits
  drop         none | to_server | to_client | both: all packets are lost, until changed
  refuse       true: new connections are refused
  swallow      {\"protocol\":\"mysql\"|\"postgres\",\"every\":N,\"seed\":N}, of new connections without TLS: one
               in N commits is answered and rolled back, to try an audit with; \"every\":0 ends it

Options:
  --cpus LIST      Run on these CPUs only: 0,2
  --redirect FILE  Write a library for LD_PRELOAD, and end: it leads connections of a server to relays, by the
                   lines PORT RELAYPORT of the file that DYNO_REDIRECT names
";

/// Runs the relay until the end of standard input. `args` are the arguments after `relay`. Returns the exit
/// code: 0, or 2 with the reason on standard error.
pub fn main(args: &[String]) -> i32 {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["--help" | "-h"] => {
            std::io::stdout().write_all(HELP.as_bytes()).map_err(|e| e.to_string())
        }
        [] => run(&[]),
        ["--cpus", list] => cpus(list).and_then(|cpus| run(&cpus)),
        ["--redirect", file] => {
            redirect::write(Path::new(file)).map_err(|why| format!("{file}: {why}"))
        }
        _ => Err(format!(
            "unknown option: {}; allowed are --cpus LIST and --redirect FILE",
            words.join(" ")
        )),
    };
    match done {
        Ok(()) => 0,
        Err(why) => {
            eprintln!("dyno-engine relay: {}", shown(&why));
            2
        }
    }
}

fn cpus(list: &str) -> Result<Vec<u32>, String> {
    let parsed: Result<Vec<u32>, _> = list.split(',').map(str::parse).collect();
    parsed.map_err(|_| format!("--cpus {list} is not a list of numbers such as 0,2"))
}

fn run(cpus: &[u32]) -> Result<(), String> {
    machine::pin(cpus).map_err(|error| error.to_string())?;
    machine::raise_descriptor_limit().map_err(|error| error.to_string())?;
    serve(std::io::stdin(), std::io::stdout()).map_err(|error| error.to_string())
}

/// Serves commands from `input` until it ends; answers go to `output`.
///
/// # Errors
/// The system's: out of descriptors, or `output` cannot be written.
pub fn serve(input: impl Read + Send + 'static, output: impl Write) -> std::io::Result<()> {
    machine::wait_precisely();
    event_loop::Relay::new(input, output)?.serve()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_option_is_refused() {
        assert_eq!(cpus("0,2"), Ok(vec![0, 2]));
        assert!(cpus("0-2").unwrap_err().contains("0,2"));
        for args in [
            &["--cpu", "1"][..],
            &["--cpus"],
            &["--cpus", "x"],
            &["--cpus", "100000"],
            &["--redirect"],
        ] {
            let args: Vec<String> = args.iter().map(ToString::to_string).collect();
            assert_eq!(main(&args), 2, "{args:?}");
        }
    }
}
