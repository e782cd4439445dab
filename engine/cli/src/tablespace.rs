//! `dyno-engine tablespace FILE|DIR...`: what InnoDB's data files hold.
//!
//! Writes events to standard output, one JSON object per line: `tablespace` for each file as it is done,
//! `skipped` for what could not be read, `end` with the totals.

use crate::confined::{self, Needs};
use crate::{DONE, INTERRUPTED, REFUSED, output, signals};
use dyno_core::error::{Error, Kind};
use dyno_core::shown::shown;
use dyno_tablespace::document::{Event, Totals};
use dyno_tablespace::files;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

const HELP: &str = "\
dyno-engine tablespace: what InnoDB's data files hold

Usage: dyno-engine tablespace [OPTIONS] FILE|DIR...

Reads files of MySQL 5.7 to 9 and of MariaDB, also below directories (*.ibd, *.ibu, *.ibt, ibdata*,
ibtmp*, undo*), and writes an object of JSON a line for each: pages by type, extents, segments, fill
of each index, what is free, what a rebuild would give back, damaged pages. It only reads. Beside a
running server the files lack what is in its memory alone; pages that do not verify are read again.

Options:
  --threads N  Files that are read at a time (default: 1)

Exit codes: 0 done, 1 pages are damaged or files could not be read, 2 the command line must change,
3 interrupted.
";

/// Exit code: damaged pages, or files that could not be read.
const FOUND: i32 = 1;

/// Runs the command; returns the exit code.
pub fn main(args: &[String]) -> i32 {
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        return output::text(HELP);
    }
    let (paths, threads) = match parse(args) {
        Ok(parsed) => parsed,
        Err(error) => {
            eprintln!("dyno-engine tablespace: {}", shown(&error.to_string()));
            return REFUSED;
        }
    };
    signals::install();
    confined::confine(&Needs::Reading(paths.clone()));
    let totals = files::read_all(&paths, threads, &signals::STOP, line);
    code(&totals)
}

fn code(totals: &Totals) -> i32 {
    match () {
        () if signals::STOP.load(Ordering::Relaxed) => INTERRUPTED,
        () if totals.skipped > 0 || totals.corrupt_pages > 0 => FOUND,
        () => DONE,
    }
}

fn line(event: Event) {
    let Ok(text) = serde_json::to_string(&event) else { return };
    if output::text(&(text + "\n")) != DONE {
        signals::nobody_reads(&signals::STOP);
    }
}

fn parse(args: &[String]) -> Result<(Vec<PathBuf>, usize), Error> {
    let (mut paths, mut threads) = (Vec::new(), 1);
    let mut left = args.iter();
    let mut are_options_over = false;
    while let Some(arg) = left.next() {
        if are_options_over || !arg.starts_with("--") {
            paths.push(arg.into());
            continue;
        }
        let (name, value) = match arg.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (&**arg, None),
        };
        match name {
            "--" if value.is_none() => are_options_over = true,
            "--threads" => {
                let value = value.or_else(|| left.next().map(|arg| &**arg)).unwrap_or_default();
                let number: Option<usize> = value.parse().ok();
                threads = number.filter(|number| (1..=256).contains(number)).ok_or_else(|| {
                    wrong(format!("--threads: {value:?} is no number from 1 to 256"))
                })?;
            }
            _ => return Err(wrong(format!("there is no option {name}"))),
        }
    }
    if paths.is_empty() {
        return Err(wrong("no file or directory is given"));
    }
    Ok((paths, threads))
}

fn wrong(what: impl Into<String>) -> Error {
    Error::new(Kind::Plan, what).hint("`dyno-engine tablespace --help` says what there is")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Result<(Vec<PathBuf>, usize), String> {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        parse(&args).map_err(|error| error.what)
    }

    #[test]
    fn paths_and_threads_are_taken() {
        let expected = Ok((vec!["a.ibd".into(), "--b".into()], 2));
        assert_eq!(parsed(&["a.ibd", "--threads", "2", "--", "--b"]), expected);
        assert_eq!(parsed(&["--threads=2", "a.ibd", "--", "--b"]), expected);
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(parsed(&["--threads", "0", "a"]).unwrap_err().contains("--threads"));
        assert!(parsed(&["--thread", "1", "a"]).unwrap_err().contains("--thread"));
        assert!(parsed(&[]).unwrap_err().contains("no file"));
    }
}
