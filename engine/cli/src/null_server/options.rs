//! Command line of the null server.

use super::delay::{self, Delay};
use std::path::PathBuf;

/// Maximum number of rows in a result set, which is built in memory.
const ROWS_MAX: u32 = 100_000;

const USAGE: &str = "allowed are --port P, --cpu N, --rows N (at most 100000), --delay D, \
                     --record FILE, --socket PATH";

/// What `--help` prints.
pub const HELP: &str = "\
Usage: dyno-engine null-server [OPTIONS]

Speaks the MySQL protocol on 127.0.0.1, accepts any login and answers each statement at once. Says
{\"port\":P} when ready; at SIGTERM, SIGINT or the end of its standard input says what it spent.

Options:
  --port P       Port to listen on; 0, the default: any free one
  --socket PATH  Listen on this Unix socket as well; nothing may be there yet
  --cpu N        Stay on this CPU
  --rows N       Rows of every result, at most 100000 [default: 1]
  --delay D      Hold each answer back: constant:2ms, exponential:1ms (the mean), or
                 bimodal:1ms,20ms,5% (5 % take 20 ms); the same draws in each run, and no answer
                 waits for another's delay [default: constant:0us]
  --record FILE  Write down at the end, as a HdrHistogram log, how long each request was here: from
                 the receive that completed it to the send of its answer
";

/// The parsed command line.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// TCP port on 127.0.0.1; 0 selects a free one.
    pub port: u16,
    /// CPU to which the server is pinned.
    pub cpu: Option<usize>,
    /// Rows of every result set.
    pub rows: u32,
    /// Delay of each answer.
    pub delay: Delay,
    /// File for the times of requests.
    pub record: Option<PathBuf>,
    /// Path of an additional Unix socket to listen on; it must not exist yet.
    pub socket: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self { port: 0, cpu: None, rows: 1, delay: Delay::NONE, record: None, socket: None }
    }
}

impl Options {
    /// Parses the arguments after the command's name. An error is a message for the user.
    pub fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let (name, inline) = match arg.split_once('=') {
                Some((name, value)) => (name, Some(value.to_string())),
                None => (arg.as_str(), None),
            };
            if !["--port", "--cpu", "--rows", "--delay", "--record", "--socket"].contains(&name) {
                return Err(format!("{arg} is not known: {USAGE}"));
            }
            let value = inline
                .or_else(|| args.next().cloned())
                .ok_or_else(|| format!("{name} needs a value: {USAGE}"))?;
            let wrong = || format!("{name} {value} is not possible: {USAGE}");
            match name {
                "--port" => options.port = value.parse().map_err(|_| wrong())?,
                "--cpu" => options.cpu = Some(value.parse().map_err(|_| wrong())?),
                "--delay" => {
                    options.delay = Delay::parse(&value).ok_or_else(|| {
                        format!("--delay {value} is not possible: give {}", delay::USAGE)
                    })?;
                }
                "--record" => options.record = Some(value.into()),
                "--rows" => {
                    options.rows = value.parse().map_err(|_| wrong())?;
                    if options.rows > ROWS_MAX {
                        return Err(wrong());
                    }
                }
                _ => options.socket = Some(value.into()),
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Options, String> {
        Options::parse(&args.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn both_spellings_of_a_value() {
        let args = ["--port", "7", "--rows=3", "--delay", "exponential:1ms", "--cpu=1"];
        let options = parse(&args).unwrap();
        assert_eq!((options.port, options.rows, options.cpu), (7, 3, Some(1)));
        assert_eq!(Some(options.delay), Delay::parse("exponential:1ms"));
    }

    #[test]
    fn what_is_wrong_is_named_with_what_is_allowed() {
        for args in
            [&["--prot", "1"][..], &["--port"], &["--port", "x"], &["--rows=100001"], &["7"]]
        {
            let why = parse(args).unwrap_err();
            assert!(why.contains("--delay"), "{why}");
        }
        assert!(parse(&["--delay=2"]).unwrap_err().contains("constant:2ms"));
    }

    #[test]
    fn help_and_usage_know_the_same_options() {
        let names = |text: &str| -> std::collections::BTreeSet<String> {
            text.split([' ', '\n', ','])
                .filter(|w| w.starts_with("--"))
                .map(str::to_owned)
                .collect()
        };
        assert_eq!(names(HELP), names(USAGE));
    }
}
