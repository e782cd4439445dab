//! `dyno-engine digest LOG...`: summarizes a server's logs in one JSON document.
//!
//! Writes events to standard output, one JSON object per line: `progress` (bytes read, and total bytes) at
//! most ten times per second, then `digest` with the document (or `shape`, `parallelism`, `trace`), or
//! `failed`.

use crate::confined::{self, Needs};
use crate::{DONE, INTERRUPTED, REFUSED, output, signals};
use dyno_core::error::{Error, Kind};
use dyno_core::shown::shown;
use dyno_digest::aggregate::collector::Taking;
use dyno_digest::aggregate::grouping::GroupBy;
use dyno_digest::aggregate::order_by::OrderBy;
use dyno_digest::aggregate::summary::{Asked, Limit};
use dyno_digest::digest::digest;
use dyno_digest::document::{Document, Input};
use dyno_digest::event::Measure;
use dyno_digest::filter::{Condition, Filter};
use dyno_digest::logs::format::Settings;
use dyno_digest::logs::formats::FORMATS;
use dyno_digest::parallelism;
use dyno_digest::replay_file;
use dyno_digest::request::{Request, Watcher};
use dyno_digest::timestamp;
use dyno_digest::workload_profile;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const HELP: &str = "\
dyno-engine digest: what a server's logs say

Usage: dyno-engine digest [OPTIONS] LOG...

LOG is a file, also one packed by gzip or zstd; `-` is standard input.

Options:
  --log-format NAME    The logs' format; otherwise found out from their first bytes
  --threads N          Threads that read (default: the CPUs)
  --since T, --until T Events that ended from T on, or before T: Unix seconds or 2026-01-31T12:00:00Z
  --user, --host, --db NAME
                       Events of this user, host or default database
  --where EXPR         Events for which this holds: query_time > 0.5 and (rows_sent = 0 or user ~ 'app')
  --group-by WHAT      fingerprint (default), table (all of a statement together), db, user, host, distill
  --merge-names        Numbers and hashes in names count for nothing: wp_17_posts and wp_18_posts are wp_?_posts
  --order-by WHAT      query_time (default), count, max, statement_bytes, or a measure: rows_examined
  --limit WHAT         Classes listed: 95%:20 (default: 95 % of what they are ordered by, at most 20), N,
                       all (at most 10,000)
  --samples none|raw   raw: the text of each class's slowest statement, with its literals
  --line-prefix TEXT   PostgreSQL's log_line_prefix; the log is then its log of lines
  --utc-offset OFFSET  The server's local time ahead of UTC where the log does not say: +02:00
  --port N             A server's port in network captures; may be repeated
  --follow             Wait for more at the end of the only LOG, also after rotation
  --every SECONDS      With --follow: a document every so often (default: 10)
  --strict             End with 1 if any input was not parsed
  --shape              What a workload like this is made of, instead: event `shape`
  --parallelism        What parallel replication could bring, instead: event `parallelism`
  --trace OUT          What sessions sent, with all literals, for a replay: the file OUT, event `trace`

Signals: SIGINT and SIGTERM end reading; the document is of what was read so far.

Exit codes: 0 done, 1 some input was not parsed (--strict), 2 the command line or a log must change,
3 interrupted.
";

/// Exit code with `--strict`: some input was not parsed.
const NOT_PARSED: i32 = 1;

/// Runs the command; returns the exit code.
pub fn main(args: &[String]) -> i32 {
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        return output::text(&(HELP.to_owned() + &formats()));
    }
    let arguments = match Arguments::parse(args) {
        Ok(arguments) => arguments,
        Err(error) => return failed(&error),
    };
    signals::install();
    let now = Instant::now();
    let needs = arguments.needs();
    let mut watching = Watching {
        needs,
        every: arguments.every,
        said: None,
        documented: now,
        is_all_parsed: true,
    };
    let done = match &arguments.wanted {
        Wanted::Document => digest(&arguments.request, &signals::STOP, &mut watching),
        Wanted::Trace(out) => trace(&arguments.request, out, &mut watching),
        Wanted::Shape => {
            workload_profile::from_logs::derive(&arguments.request, &signals::STOP, &mut watching)
                .map(|found| {
                    watching.read(&found.logs.inputs);
                    line(&json!({"event": "shape", "shape": found}));
                })
        }
        Wanted::Parallelism => {
            parallelism::from_logs::derive(&arguments.request, &signals::STOP, &mut watching).map(
                |found| {
                    watching.read(&found.logs.inputs);
                    line(&json!({"event": "parallelism", "parallelism": found}));
                },
            )
        }
    };
    match done {
        Err(error) => failed(&error),
        Ok(()) if signals::STOP.load(Ordering::Relaxed) => INTERRUPTED,
        Ok(()) if arguments.is_strict && !watching.is_all_parsed => NOT_PARSED,
        Ok(()) => DONE,
    }
}

fn trace(request: &Request, out: &Path, watching: &mut Watching) -> Result<(), Error> {
    let (meta, logs) = replay_file::from_logs::trace(request, out, &signals::STOP, watching)?;
    watching.read(&logs.inputs);
    let mut told = serde_json::to_value(&meta).unwrap_or_default();
    if let Some(told) = told.as_object_mut() {
        // Only the numbers of classes and origins, which may be many; the trace lists them.
        let (classes, origins) = (meta.classes.len(), meta.origins.len());
        let of = [("inputs", json!(logs.inputs)), ("censored", json!(logs.censored))];
        told.extend(of.map(|(key, value)| (key.to_owned(), value)));
        told.extend([("classes".into(), classes.into()), ("origins".into(), origins.into())]);
    }
    line(&json!({"event": "trace", "trace": told}));
    Ok(())
}

fn formats() -> String {
    FORMATS.iter().fold("\nFormats:\n".to_owned(), |text, kind| {
        let unseen = if kind.is_seen_live { "" } else { " (not seen from a live server)" };
        format!("{text}  {:<18} {}{unseen}\n", kind.name, kind.about)
    })
}

fn failed(error: &Error) -> i32 {
    line(&serde_json::to_value(output::failed(error)).unwrap_or_default());
    eprintln!("dyno-engine digest: {}", shown(&error.to_string()));
    REFUSED
}

fn line(value: &Value) {
    if output::text(&format!("{value}\n")) != DONE {
        signals::nobody_reads(&signals::STOP);
    }
}

/// Writes progress and documents as events.
struct Watching {
    needs: Needs,
    every: Duration,
    said: Option<Instant>,
    documented: Instant,
    is_all_parsed: bool,
}

impl Watching {
    fn read(&mut self, inputs: &[Input]) {
        self.is_all_parsed = inputs.iter().all(|input| input.pieces_not_understood == 0);
    }
}

impl Watcher for Watching {
    fn opened(&mut self) {
        confined::confine(&self.needs);
    }

    fn progress(&mut self, bytes: u64, bytes_total: Option<u64>) {
        let now = Instant::now();
        if self.said.is_none_or(|said| now - said >= Duration::from_millis(100)) {
            self.said = Some(now);
            line(&json!({"event": "progress", "bytes": bytes, "bytes_total": bytes_total}));
        }
    }

    fn wants_document(&mut self) -> bool {
        let wants = self.documented.elapsed() >= self.every;
        if wants {
            self.documented = Instant::now();
        }
        wants
    }

    fn document(&mut self, document: Document) {
        self.read(&document.inputs);
        line(&json!({"event": "digest", "document": document}));
    }
}

/// The requested output.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Wanted {
    Document,
    Shape,
    Parallelism,
    Trace(PathBuf),
}

/// The command line.
struct Arguments {
    request: Request,
    wanted: Wanted,
    every: Duration,
    is_strict: bool,
}

impl Arguments {
    fn parse(args: &[String]) -> Result<Self, Error> {
        let mut all = Self {
            request: Request {
                logs: Vec::new(),
                format: None,
                settings: Settings::default(),
                threads: std::thread::available_parallelism().map_or(1, usize::from),
                taking: Taking {
                    filter: Filter::default(),
                    order_by: OrderBy::QueryTime,
                    keeps_text: false,
                },
                asked: Asked {
                    group_by: GroupBy::Fingerprint,
                    order_by: OrderBy::QueryTime,
                    limit: Limit { share: 0.95, count: 20 },
                    merges_names: false,
                },
                follows: false,
            },
            wanted: Wanted::Document,
            every: Duration::from_secs(10),
            is_strict: false,
        };
        let mut left = args.iter();
        let mut are_options_over = false;
        while let Some(arg) = left.next() {
            if are_options_over || !arg.starts_with("--") {
                all.request.logs.push(arg.clone());
                continue;
            }
            let (name, value) = match arg.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (&**arg, None),
            };
            match (name, &value) {
                ("--", None) => are_options_over = true,
                ("--follow", None) => all.request.follows = true,
                ("--strict", None) => all.is_strict = true,
                ("--merge-names", None) => all.request.asked.merges_names = true,
                ("--shape", None) => all.wanted = Wanted::Shape,
                ("--parallelism", None) => all.wanted = Wanted::Parallelism,
                _ => {
                    let value = value.or_else(|| left.next().cloned());
                    all.option(name, value)?;
                }
            }
        }
        all.request.taking.order_by = all.request.asked.order_by;
        if all.request.follows && all.wanted != Wanted::Document {
            return Err(wrong("--follow has no end at which to make a shape or a simulation"));
        }
        Ok(all)
    }

    /// The file operations that remain necessary once the logs are open.
    fn needs(&self) -> Needs {
        match (&self.wanted, self.request.logs.as_slice()) {
            (Wanted::Trace(out), _) => Needs::Renaming(out.clone()),
            (_, [log]) if self.request.follows => Needs::Reopening(log.into()),
            _ => Needs::Nothing,
        }
    }

    fn option(&mut self, name: &str, value: Option<String>) -> Result<(), Error> {
        let request = &mut self.request;
        let given =
            || value.clone().ok_or_else(|| wrong(format!("{name} needs a value, or is no option")));
        let filter = &mut request.taking.filter;
        match name {
            "--log-format" => request.format = Some(given()?),
            "--threads" => request.threads = number::<usize>(name, &given()?)?.clamp(1, 256),
            "--since" => filter.since_ns = Some(moment(name, &given()?)?),
            "--until" => filter.until_ns = Some(moment(name, &given()?)?),
            "--user" => filter.user = Some(given()?.into_bytes()),
            "--host" => filter.host = Some(given()?.into_bytes()),
            "--db" => filter.database = Some(given()?.into_bytes()),
            "--where" => filter.condition = Some(Condition::parse(&given()?)?),
            "--group-by" => request.asked.group_by = group_by(&given()?)?,
            "--order-by" => request.asked.order_by = order_by(&given()?)?,
            "--limit" => request.asked.limit = limit(&given()?)?,
            "--samples" => request.taking.keeps_text = samples(&given()?)?,
            "--trace" => self.wanted = Wanted::Trace(given()?.into()),
            "--line-prefix" => request.settings.line_prefix = Some(given()?),
            "--utc-offset" => request.settings.utc_offset_s = offset(&given()?)?,
            "--port" => request.settings.ports.push(number(name, &given()?)?),
            "--every" => self.every = Duration::from_secs(number::<u64>(name, &given()?)?.max(1)),
            _ => return Err(wrong(format!("there is no option {name}"))),
        }
        Ok(())
    }
}

fn wrong(what: impl Into<String>) -> Error {
    Error::new(Kind::Plan, what.into()).hint("`dyno-engine digest --help` lists all options")
}

fn number<T: FromStr>(name: &str, text: &str) -> Result<T, Error> {
    text.parse().map_err(|_| wrong(format!("{name}: {text} is no number that fits")))
}

/// Parses Unix seconds or an RFC 3339 timestamp to nanoseconds since 1970.
fn moment(name: &str, text: &str) -> Result<i64, Error> {
    timestamp::parse(text).ok_or_else(|| {
        wrong(format!("{name}: {text} is neither Unix seconds nor like 2026-01-31T12:00:00Z"))
    })
}

fn group_by(text: &str) -> Result<GroupBy, Error> {
    GroupBy::ALL.iter().find(|(name, _)| *name == text).map(|(_, by)| *by).ok_or_else(|| {
        let names: Vec<&str> = GroupBy::ALL.iter().map(|(name, _)| *name).collect();
        wrong(format!("--group-by: {text} is none of {}", names.join(", ")))
    })
}

fn order_by(text: &str) -> Result<OrderBy, Error> {
    Ok(match text {
        "query_time" => OrderBy::QueryTime,
        "count" => OrderBy::Count,
        "max" => OrderBy::Max,
        "statement_bytes" => OrderBy::StatementBytes,
        _ => {
            let measure = Measure::ALL.iter().find(|measure| measure.name() == text);
            OrderBy::Measure(*measure.ok_or_else(|| {
                let names: Vec<&str> = Measure::ALL.iter().map(|m| m.name()).collect();
                wrong(format!(
                    "--order-by: {text} is none of query_time, count, max, statement_bytes, {}",
                    names.join(", ")
                ))
            })?)
        }
    })
}

/// Parses `95%:20`, `95%`, `20` or `all`.
fn limit(text: &str) -> Result<Limit, Error> {
    if text == "all" {
        return Ok(Limit { share: 1.0, count: usize::MAX });
    }
    let (share, count) = match text.split_once('%') {
        Some((share, "")) => (Some(share), None),
        Some((share, rest)) => (Some(share), Some(rest.strip_prefix(':').unwrap_or(rest))),
        None => (None, Some(text)),
    };
    let share = share.map_or(Ok(100.0), |share| number::<f64>("--limit", share))?;
    if !(0.0..=100.0).contains(&share) {
        return Err(wrong(format!("--limit: {share}% is no share")));
    }
    let count = count.map_or(Ok(usize::MAX), |count| number("--limit", count))?;
    Ok(Limit { share: share / 100.0, count })
}

fn samples(text: &str) -> Result<bool, Error> {
    match text {
        "none" => Ok(false),
        "raw" => Ok(true),
        _ => Err(wrong(format!("--samples: {text} is neither none nor raw"))),
    }
}

/// Parses `+02:00`, `-0330` or seconds to seconds.
fn offset(text: &str) -> Result<i32, Error> {
    timestamp::offset_s(text)
        .ok_or_else(|| wrong(format!("--utc-offset: {text} is neither like +02:00 nor seconds")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Arguments, Error> {
        Arguments::parse(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn limits_are_shares_and_counts() {
        assert_eq!(limit("95%:20").unwrap(), Limit { share: 0.95, count: 20 });
        assert_eq!(limit("50%").unwrap(), Limit { share: 0.5, count: usize::MAX });
        assert_eq!(limit("7").unwrap(), Limit { share: 1.0, count: 7 });
        assert_eq!(limit("all").unwrap(), Limit { share: 1.0, count: usize::MAX });
        assert!(limit("120%").is_err() && limit("x").is_err());
    }

    #[test]
    fn options_take_their_value_from_either_side_of_an_equals_sign() {
        let all =
            parse(&["--user=app", "a.log", "--order-by", "rows_examined", "--", "--b"]).unwrap();
        assert_eq!(all.request.logs, ["a.log", "--b"]);
        assert_eq!(all.request.taking.filter.user.as_deref(), Some(&b"app"[..]));
        assert_eq!(all.request.taking.order_by, OrderBy::Measure(Measure::RowsExamined));
    }

    #[test]
    fn only_what_is_followed_or_written_needs_files_later() {
        let needs = |args: &[&str]| parse(args).unwrap().needs();
        assert_eq!(needs(&["a.log", "b.log", "--shape"]), Needs::Nothing);
        assert_eq!(needs(&["/var/a.log", "--follow"]), Needs::Reopening("/var/a.log".into()));
        assert_eq!(needs(&["a.log", "--trace", "t/out"]), Needs::Renaming("t/out".into()));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let what = |args: &[&str]| parse(args).err().unwrap().what;
        assert!(what(&["--sinc", "1"]).contains("--sinc"));
        assert!(what(&["--threads", "x"]).contains("--threads: x"));
        assert!(what(&["--since", "yesterday"]).contains("yesterday"));
        assert!(what(&["--group-by", "x"]).contains("fingerprint, table"));
        assert!(what(&["--user"]).contains("--user needs a value"));
        assert!(what(&["--follow", "--parallelism", "a"]).contains("no end"));
    }
}
