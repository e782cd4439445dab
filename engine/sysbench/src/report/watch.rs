//! Observes a run and prints its reports when they are due, or calls the script's hooks for them.

use super::hooks::{self, Row};
use super::{Form, Gauges, Reporter, Stat, json, text};
use crate::console::{self, Level};
use crate::drive::progress::{Observer, Progress};
use crate::tally::Tallies;
use serde_json::Value;
use std::sync::Arc;

/// Maximum number of intervals stored for `--json`: a day of seconds. Later ones are only printed.
const INTERVALS_MAX: usize = 86_400;

/// The report hooks of a script.
pub trait Hooks {
    /// Calls `sysbench.hooks.report_intermediate`; returns whether the hook exists.
    fn intermediate(&mut self, _row: &Row) -> bool {
        false
    }

    /// Calls `sysbench.hooks.report_cumulative`, for checkpoints and the final report, likewise.
    fn cumulative(&mut self, _row: &Row) -> bool {
        false
    }
}

/// Hooks of a test that has none.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHooks;

impl Hooks for NoHooks {}

/// Prints a text if the verbosity admits its level; always without a level.
pub type Print<'a> = dyn FnMut(Option<Level>, &str) + 'a;

/// Prints on the console, outside tests.
pub fn on_console(level: Option<Level>, text: &str) {
    if level.is_none_or(console::admits) {
        console::print(text);
    }
}

/// The times and format of reports.
#[derive(Debug, Clone, PartialEq)]
pub struct Reports {
    /// The format.
    pub form: Form,
    /// `--report-interval`; 0: none.
    pub interval_ns: u64,
    /// `--report-checkpoints`: times since the begin of the measured time, in any order.
    pub checkpoints_ns: Vec<u64>,
    /// Whether intervals are stored for `--json`.
    pub keeps: bool,
}

/// The reports of one run.
pub struct Watch<'a> {
    reports: Reports,
    tallies: Arc<Tallies>,
    reporter: Reporter,
    hooks: &'a mut dyn Hooks,
    print: &'a mut Print<'a>,
    origin_ns: u64,
    /// Time of the next interval on the run's clock; `u64::MAX`: none.
    interval_due_ns: u64,
    /// Times on the run's clock, the next one last.
    checkpoints_due_ns: Vec<u64>,
    last: Gauges,
    kept: Vec<Value>,
}

impl<'a> Watch<'a> {
    /// Creates the reports of a run that counts in `tallies` and has not begun.
    pub fn new(
        reports: Reports,
        tallies: Arc<Tallies>,
        hooks: &'a mut dyn Hooks,
        print: &'a mut Print<'a>,
    ) -> Self {
        let reporter = Reporter::new(Arc::clone(&tallies), reports.form.rated, 0);
        Self {
            reports,
            tallies,
            reporter,
            hooks,
            print,
            origin_ns: 0,
            interval_due_ns: u64::MAX,
            checkpoints_due_ns: Vec::new(),
            last: Gauges::default(),
            kept: Vec::new(),
        }
    }

    /// The run has ended at `now_ns`, with `running` sessions (0 unless they were abandoned). Prints
    /// the reports that are due and the final report. Returns the counts since the begin, and the stored
    /// intervals.
    pub fn finish(mut self, now_ns: u64, running: u32) -> (Stat, Vec<Value>) {
        // An interval that ends with the run is due even without a `tick` at that time.
        self.report(now_ns, self.last);
        (self.print)(None, hooks::close());
        let gauges = Gauges { threads_running: u64::from(running), ..Gauges::default() };
        let stat = self.reporter.checkpoint(now_ns, gauges);
        self.cumulative(&stat);
        (self.print)(None, hooks::close());
        (self.reporter.whole(now_ns, gauges), self.kept)
    }

    /// Prints the reports that are due.
    fn report(&mut self, now_ns: u64, gauges: Gauges) {
        if now_ns >= self.interval_due_ns {
            let stat = self.reporter.interval(now_ns, gauges);
            self.intermediate(&stat);
            let gone = (now_ns - self.origin_ns) / self.reports.interval_ns;
            self.interval_due_ns = self.origin_ns + (gone + 1) * self.reports.interval_ns;
        }
        let count = self.checkpoints_due_ns.len();
        self.checkpoints_due_ns.retain(|&due_ns| due_ns > now_ns);
        if self.checkpoints_due_ns.len() < count {
            let stat = self.reporter.checkpoint(now_ns, gauges);
            (self.print)(Some(Level::Notice), &text::checkpoint_heading(&stat));
            self.cumulative(&stat);
        }
    }

    fn intermediate(&mut self, stat: &Stat) {
        let form = &self.reports.form;
        if !self.hooks.intermediate(&Row::new(form, stat)) {
            (self.print)(Some(Level::Notice), &text::interval(form, stat));
        }
        if self.reports.keeps && self.kept.len() < INTERVALS_MAX {
            self.kept.push(json::part(form, stat));
        }
    }

    fn cumulative(&mut self, stat: &Stat) {
        let form = &self.reports.form;
        if !self.hooks.cumulative(&Row::new(form, stat)) {
            (self.print)(Some(Level::Notice), &text::cumulative(form, stat));
        }
    }

    fn next_ns(&self) -> u64 {
        let checkpoint_ns = self.checkpoints_due_ns.iter().copied().min().unwrap_or(u64::MAX);
        self.interval_due_ns.min(checkpoint_ns)
    }
}

impl Observer for Watch<'_> {
    fn measuring(&mut self, at: &Progress) -> u64 {
        let (origin_ns, reports) = (at.origin_ns, &self.reports);
        self.origin_ns = origin_ns;
        self.last = Gauges::from(at);
        self.reporter = Reporter::new(Arc::clone(&self.tallies), reports.form.rated, origin_ns);
        if reports.interval_ns > 0 {
            self.interval_due_ns = origin_ns + reports.interval_ns;
        }
        self.checkpoints_due_ns =
            reports.checkpoints_ns.iter().map(|&after_ns| origin_ns + after_ns).collect();
        self.next_ns()
    }

    fn tick(&mut self, at: &Progress) -> u64 {
        self.last = Gauges::from(at);
        self.report(at.now_ns, self.last);
        self.next_ns()
    }

    fn failed(&mut self, _number: u32, message: &str) {
        (self.print)(Some(Level::Fatal), &format!("FATAL: {message}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::percentiles::Percentiles;
    use crate::report::{Compat, Kind};

    const S: u64 = 1_000_000_000;
    const ORIGIN_NS: u64 = 50 * S;

    fn at(after_s: f64) -> Progress {
        Progress {
            now_ns: ORIGIN_NS + (after_s * 1e9) as u64,
            started_ns: ORIGIN_NS,
            origin_ns: ORIGIN_NS,
            end_ns: u64::MAX,
            backlog: 0,
            concurrency: 0,
            running: 1,
        }
    }

    fn reports() -> Reports {
        let form = Form {
            compat: Compat::V1_0,
            kind: Kind::Script,
            percentiles: Percentiles::parse("95").expect("a percentile"),
            histogram: false,
            rated: false,
        };
        Reports { form, interval_ns: 2 * S, checkpoints_ns: vec![3 * S, S], keeps: true }
    }

    fn done(tallies: &Tallies, events: u64) {
        tallies.sessions[0].events.add(events);
        for _ in 0..events {
            tallies.threads[0].events.record(1_000_000);
        }
    }

    /// The printed lines that show events or begin a report.
    fn told(printed: &str) -> Vec<&str> {
        let is_told = |line: &&str| line.starts_with('[') || line.contains("events:");
        printed.lines().filter(is_told).map(str::trim_start).collect()
    }

    #[test]
    fn intervals_and_checkpoints_come_when_due_and_cover_their_time() {
        let tallies = Arc::new(Tallies::new(1, 1));
        let mut printed = String::new();
        let mut print = |_: Option<Level>, text: &str| printed.push_str(text);
        let mut hooks = NoHooks;
        let mut watch = Watch::new(reports(), Arc::clone(&tallies), &mut hooks, &mut print);
        done(&tallies, 1); // Sessions do not wait until the watch is told that they have begun.
        assert_eq!(watch.measuring(&at(0.0)), ORIGIN_NS + S);
        assert_eq!(watch.tick(&at(1.0)), ORIGIN_NS + 2 * S);
        done(&tallies, 3);
        assert_eq!(watch.tick(&at(2.0)), ORIGIN_NS + 3 * S);
        done(&tallies, 5);
        assert_eq!(watch.tick(&at(3.0)), ORIGIN_NS + 4 * S);
        done(&tallies, 7);
        // The interval up to 4 s is due without a `tick`.
        let (whole, kept) = watch.finish(ORIGIN_NS + 4 * S, 0);
        assert_eq!((whole.counts.events, kept.len()), (16, 2));
        assert_eq!(kept[1]["events"], 12);
        assert_eq!(
            told(&printed),
            [
                "[ 1s ] Checkpoint report:",
                "total number of events:              1",
                "[ 2s ] thds: 1 eps: 2.00 lat (ms,95%): 1.00",
                "[ 3s ] Checkpoint report:",
                "total number of events:              8",
                "[ 4s ] thds: 1 eps: 6.00 lat (ms,95%): 1.00",
                "total number of events:              7",
            ]
        );
    }

    #[test]
    fn a_late_tick_reports_once() {
        let tallies = Arc::new(Tallies::new(1, 1));
        let mut printed = String::new();
        let mut print = |_: Option<Level>, text: &str| printed.push_str(text);
        let mut hooks = NoHooks;
        let mut watch = Watch::new(reports(), Arc::clone(&tallies), &mut hooks, &mut print);
        watch.measuring(&at(0.0));
        done(&tallies, 14);
        assert_eq!(watch.tick(&at(7.0)), ORIGIN_NS + 8 * S);
        assert_eq!(
            told(&printed),
            [
                "[ 7s ] thds: 1 eps: 2.00 lat (ms,95%): 1.00",
                "[ 7s ] Checkpoint report:",
                "total number of events:              14",
            ]
        );
    }

    struct Own(Vec<String>);

    impl Hooks for Own {
        fn intermediate(&mut self, row: &Row) -> bool {
            self.0.push(format!("interval of {}", row.events));
            true
        }

        fn cumulative(&mut self, row: &Row) -> bool {
            self.0.push(format!("all of {}", row.events));
            true
        }
    }

    #[test]
    fn hooks_take_the_reports_over() {
        let tallies = Arc::new(Tallies::new(1, 1));
        let mut printed = String::new();
        let mut print = |_: Option<Level>, text: &str| printed.push_str(text);
        let mut own = Own(vec![]);
        let mut watch = Watch::new(reports(), Arc::clone(&tallies), &mut own, &mut print);
        watch.measuring(&at(0.0));
        done(&tallies, 2);
        watch.tick(&at(1.0));
        watch.tick(&at(2.0));
        watch.finish(ORIGIN_NS + S * 5 / 2, 0);
        assert_eq!(own.0, ["all of 2", "interval of 2", "all of 0"]);
        assert_eq!(printed, "[ 1s ] Checkpoint report:\n");
    }
}
