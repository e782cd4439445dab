//! Command line of the null server.

use std::path::PathBuf;
use std::time::Duration;

/// Longest result set, rows: it is built in memory.
const ROWS_MAX: u32 = 100_000;

const USAGE: &str =
    "allowed are --port P, --cpu N, --rows N (at most 100000), --delay-us D, --socket PATH";

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
  --delay-us D   Hold each answer back for so many microseconds [default: 0]
";

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// TCP port on 127.0.0.1; 0: any free one.
    pub port: u16,
    /// CPU to stay on.
    pub cpu: Option<usize>,
    /// Rows of every result set.
    pub rows: u32,
    /// How long each answer is held back.
    pub delay: Duration,
    /// Path of a Unix socket to listen on as well; nothing may be there yet.
    pub socket: Option<PathBuf>,
}

impl Options {
    /// Parses the arguments behind the command's name.
    pub fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self { port: 0, cpu: None, rows: 1, delay: Duration::ZERO, socket: None };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let (name, inline) = match arg.split_once('=') {
                Some((name, value)) => (name, Some(value.to_string())),
                None => (arg.as_str(), None),
            };
            if !["--port", "--cpu", "--rows", "--delay-us", "--socket"].contains(&name) {
                return Err(format!("{arg} is not known: {USAGE}"));
            }
            let value = inline
                .or_else(|| args.next().cloned())
                .ok_or_else(|| format!("{name} needs a value: {USAGE}"))?;
            let wrong = || format!("{name} {value} is not possible: {USAGE}");
            match name {
                "--port" => options.port = value.parse().map_err(|_| wrong())?,
                "--cpu" => options.cpu = Some(value.parse().map_err(|_| wrong())?),
                "--delay-us" => {
                    options.delay = Duration::from_micros(value.parse().map_err(|_| wrong())?);
                }
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
        let options = parse(&["--port", "7", "--rows=3", "--delay-us", "50", "--cpu=1"]).unwrap();
        assert_eq!((options.port, options.rows, options.cpu), (7, 3, Some(1)));
        assert_eq!(options.delay, Duration::from_micros(50));
    }

    #[test]
    fn what_is_wrong_is_named_with_what_is_allowed() {
        for args in
            [&["--prot", "1"][..], &["--port"], &["--port", "x"], &["--rows=100001"], &["7"]]
        {
            let why = parse(args).unwrap_err();
            assert!(why.contains("--delay-us"), "{why}");
        }
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
