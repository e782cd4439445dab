//! Records a run, second by second, for `dyno sysbench --dyno-out`: one line of JSON per second,
//! written at once, so that the lines survive however the run ends.
//!
//! The first line describes the run. Then follows one line per second, with the fields of `--json`'s
//! intervals and the latency histograms; the last line, with `end`, covers the whole run.
//! `python/dbdyno/imports` reads the file.

use super::json::{kind, part};
use super::percentiles::Percentiles;
use super::{Form, Gauges, Kind, Reporter, Stat};
use crate::drive::progress::Progress;
use crate::tally::Tallies;
use dyno_core::error::{Error, Kind as ErrorKind, Result};
use dyno_generator::metrics::hlog;
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Version of the record's format.
const VERSION: u32 = 1;
/// Length of an interval.
const INTERVAL_NS: u64 = 1_000_000_000;

/// The description of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Head {
    /// The test's name as given by the user.
    pub test: String,
    /// The kind of test.
    pub kind: Kind,
    /// The version of sysbench whose reports it prints.
    pub compat: String,
    /// Rate of due events per second; none: sessions run at full speed.
    pub rate_per_s: Option<f64>,
    /// Options set by the user, without passwords.
    pub options: Map<String, Value>,
}

/// A record being written.
#[derive(Debug)]
pub struct Record {
    file: File,
    head: Head,
    form: Form,
    tallies: Arc<Tallies>,
    reporter: Reporter,
    due_ns: u64,
    last: Gauges,
    failure: Option<std::io::Error>,
}

impl Record {
    /// Creates the file, for a run that reports as `form` and counts in `tallies`.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(path: &Path, head: Head, form: &Form, tallies: Arc<Tallies>) -> Result<Self> {
        let file = File::create(path).map_err(|error| unwritten(path, &error))?;
        let percentiles = Percentiles::parse("50,95,99,99.9").unwrap_or(form.percentiles.clone());
        Ok(Self {
            file,
            head,
            form: Form { percentiles, ..form.clone() },
            reporter: Reporter::new(Arc::clone(&tallies), form.rated, 0),
            tallies,
            due_ns: u64::MAX,
            last: Gauges::default(),
            failure: None,
        })
    }

    /// The measured time begins. Returns the time of the first [`tick`](Self::tick).
    pub fn measuring(&mut self, at: &Progress) -> u64 {
        self.reporter = Reporter::new(Arc::clone(&self.tallies), self.form.rated, at.origin_ns);
        self.due_ns = at.origin_ns + INTERVAL_NS;
        self.last = Gauges::from(at);
        let Head { test, kind: what, compat, rate_per_s, options } = &self.head;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let line = json!({
            "dyno_sysbench": VERSION,
            "test": test,
            "kind": kind(*what),
            "version": env!("CARGO_PKG_VERSION"),
            "compat": compat,
            "threads": self.tallies.sessions.len(),
            "rate_per_s": rate_per_s,
            "started_unix_s": since.as_secs_f64(),
            "options": options,
        });
        self.write(&line);
        self.due_ns
    }

    /// Writes the lines that are due. Returns the time of the next call.
    pub fn tick(&mut self, at: &Progress) -> u64 {
        self.last = Gauges::from(at);
        if at.now_ns >= self.due_ns {
            self.interval(at.now_ns);
            let late = at.now_ns - self.due_ns;
            self.due_ns += (late / INTERVAL_NS + 1) * INTERVAL_NS;
        }
        self.due_ns
    }

    fn interval(&mut self, now_ns: u64) {
        let stat = self.reporter.interval(now_ns, self.last);
        if stat.time_interval_s > 0.0 {
            let line = self.line(&stat);
            self.write(&line);
        }
    }

    /// The run has ended at `now_ns`. `failure`: the reason of an early end.
    ///
    /// # Errors
    /// A part of the record could not be written.
    pub fn finish(mut self, now_ns: u64, failure: Option<&str>) -> Result<()> {
        self.interval(now_ns);
        let stat = self.reporter.whole(now_ns, Gauges::default());
        let mut line = self.line(&stat);
        line["end"] = json!(true);
        line["failure"] = json!(failure);
        self.write(&line);
        self.failure.map_or(Ok(()), |error| Err(unwritten(Path::new("the record"), &error)))
    }

    /// Returns `--json`'s fields and both latency histograms, encoded as in `latency.hlog`.
    fn line(&self, stat: &Stat) -> Value {
        let mut line = part(&self.form, stat);
        line["histogram"] = json!(hlog::encode(&stat.counts.latency.histogram).ok());
        if self.form.rated {
            line["response_histogram"] = json!(hlog::encode(&stat.counts.response.histogram).ok());
        }
        line
    }

    fn write(&mut self, line: &Value) {
        if self.failure.is_none()
            && let Err(error) = self.file.write_all(format!("{line}\n").as_bytes())
        {
            // The run continues, and its end reports the error.
            self.failure = Some(error);
        }
    }
}

fn unwritten(path: &Path, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::System, format!("cannot write {}: {error}", path.display()))
        .hint("its disk is full or read-only: name another place with --dyno-out")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Compat;

    const S: u64 = 1_000_000_000;

    fn at(now_ns: u64) -> Progress {
        Progress {
            now_ns,
            started_ns: S,
            origin_ns: S,
            end_ns: u64::MAX,
            backlog: 0,
            concurrency: 0,
            running: 1,
        }
    }

    #[test]
    fn each_second_stands_in_the_file_when_it_is_over_and_the_end_is_the_sum() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record");
        let tallies = Arc::new(Tallies::new(1, 1));
        let form = Form {
            compat: Compat::V1_0,
            kind: Kind::Script,
            percentiles: Percentiles::parse("95").unwrap(),
            histogram: false,
            rated: false,
        };
        let head = Head {
            test: "mine".into(),
            kind: Kind::Script,
            compat: "1.0.20".into(),
            rate_per_s: None,
            options: Map::new(),
        };
        let mut record = Record::create(&path, head, &form, Arc::clone(&tallies)).unwrap();
        let lines = || -> Vec<Value> {
            let text = std::fs::read_to_string(&path).unwrap();
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
        };
        assert_eq!((lines().len(), record.measuring(&at(S))), (0, 2 * S));
        for (now_ns, events, next_ns) in [(2 * S, 3, 3 * S), (5 * S, 4, 6 * S)] {
            for _ in 0..events {
                tallies.threads[0].events.record(1_000_000);
                tallies.sessions[0].events.add(1);
            }
            assert_eq!(record.tick(&at(now_ns)), next_ns);
        }
        assert_eq!(lines().len(), 3, "before the end");
        record.finish(5 * S + S / 2, Some("why")).unwrap();
        let lines = lines();
        let events: Vec<_> = lines.iter().map(|line| line["events"].as_u64()).collect();
        assert_eq!(events, [None, Some(3), Some(4), Some(0), Some(7)]);
        assert_eq!(lines[2]["time_interval_s"], 3.0);
        assert_eq!((&lines[4]["end"], &lines[4]["failure"]), (&json!(true), &json!("why")));
        assert!(lines[1]["latency_ms"]["percentiles"]["99.9"].is_number());
        assert!(lines[1]["histogram"].as_str().unwrap().starts_with("HISTF"));
    }
}
