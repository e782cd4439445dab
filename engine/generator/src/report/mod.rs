//! The reporter: reads the load threads' metrics and emits an event per interval, a histogram per
//! interval and group, and the totals at the end.

mod closing;
pub mod open_loop;
pub mod ticks;
pub mod watch;

use crate::metrics::group::CODES_MAX;
use crate::metrics::hlog::Hlog;
use crate::metrics::notice::Notice;
use crate::metrics::thread::ThreadMetrics;
use crate::metrics::totals::{Details, GroupTotals, Totals, committed, cpu_ns, spun_ns};
use crate::pacing::due_count::DueCount;
use crate::report::open_loop::{Ending, OpenLoop};
use closing::total_of;
pub use closing::{Closing, Ended};
use dyno_core::event::{Event, Generator, GroupInterval, Phase};
use dyno_core::histogram::Histogram;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::sync::mpsc::Receiver;

/// Maximum number of load threads listed in an interval: the busiest ones.
const BUSY_LISTED: usize = 64;
/// Maximum number of outages listed in a trial: an unstable server with thousands of sessions must not
/// fill the disk.
const OUTAGES_MAX: u64 = 10_000;
/// Names of a group in results.
#[derive(Debug, Clone)]
pub struct Names<'a> {
    /// Name of the group.
    pub group: String,
    /// Names of its classes, by index.
    pub classes: Vec<String>,
    /// Kinds of its transactions, after the classes.
    pub kinds: Vec<String>,
    /// Its arrivals, if it is an open loop or a paced replay.
    pub due: Option<DueCount<'a>>,
}

impl Names<'_> {
    fn histograms(&self) -> usize {
        self.classes.len() + self.kinds.len()
    }
}

/// Reporter of a trial; see the module.
pub struct Reporter<'a, W: Write> {
    names: &'a [Names<'a>],
    metrics: &'a [ThreadMetrics],
    notices: &'a Receiver<Notice>,
    emit: &'a dyn Fn(Event),
    hlog: Option<Hlog<W>>,
    origin_ns: u64,
    measure_ns: u64,
    last: Totals,
    /// Details at the last edge of a phase.
    edge: Vec<Details>,
    /// Readings at the start of the measured phase.
    base: Option<(Totals, Vec<Details>)>,
    /// Commits by tick of the current interval, for each group, and the total at the last tick.
    ticks: Vec<(Vec<u32>, u64)>,
    /// State of open loops, by group.
    open: Vec<Option<OpenLoop<'a>>>,
    /// Time of the last reading of CPU times, each thread's CPU time, and the part spent spinning.
    busy_at: (u64, Vec<u64>, Vec<u64>),
    busy_max: f64,
    codes_seen: BTreeSet<(usize, String)>,
    outages: u64,
}

impl<'a, W: Write> Reporter<'a, W> {
    /// Creates a reporter when the load begins, at `origin_ns`, after the arrival sources are opened.
    pub fn new(
        names: &'a [Names<'a>],
        metrics: &'a [ThreadMetrics],
        notices: &'a Receiver<Notice>,
        emit: &'a dyn Fn(Event),
        (origin_ns, measure_ns): (u64, u64),
    ) -> Self {
        let last = Totals::read(metrics, names.len(), origin_ns, &[]);
        let open =
            |(group, names): (usize, &Names<'a>)| Some(OpenLoop::new(group, names.due?, metrics));
        Self {
            names,
            metrics,
            notices,
            emit,
            hlog: None,
            origin_ns,
            measure_ns,
            ticks: last.groups.iter().map(|group| (Vec::new(), group.latency.count())).collect(),
            edge: details(names, metrics),
            base: None,
            open: names.iter().enumerate().map(open).collect(),
            busy_at: (origin_ns, last.cpu_ns.clone(), last.spun_ns.clone()),
            last,
            busy_max: 0.0,
            codes_seen: BTreeSet::new(),
            outages: 0,
        }
    }

    /// Also writes histograms to a log. A log that cannot be written causes a warning and no failure.
    pub fn log_to(&mut self, hlog: io::Result<Hlog<W>>) {
        match hlog {
            Ok(hlog) => self.hlog = Some(hlog),
            Err(error) => self.log_failed(&error),
        }
    }

    fn log_failed(&mut self, error: &io::Error) {
        self.hlog = None;
        let message = format!(
            "latency.hlog is incomplete ({error}): the run goes on without it; is the disk full?"
        );
        (self.emit)(Event::Warning { message });
    }

    fn log(&mut self, tag: &str, start_s: f64, length_s: f64, histogram: &Histogram) {
        if let Some(hlog) = &mut self.hlog
            && let Err(error) = hlog.line(tag, start_s, length_s, histogram)
        {
            self.log_failed(&error);
        }
    }

    /// End of the last interval, where the next one begins.
    pub fn read_ns(&self) -> u64 {
        self.last.at_ns
    }

    fn t_s(&self, at_ns: u64) -> f64 {
        (at_ns as f64 - self.measure_ns as f64) / 1e9
    }

    /// Ends `ticks` ticks within an interval: one, or several when the reporter is late. In the latter case
    /// the ticks of the commits are unknown. The reporter then distributes the commits evenly, since its own
    /// lateness must look neither like a stall nor like a burst of the system.
    pub fn tick(&mut self, now_ns: u64, ticks: u64) {
        for group in 0..self.names.len() {
            self.push_ticks(group, committed(self.metrics, group), ticks);
        }
        self.look_at_backlogs(now_ns);
        self.look_at_cpu(now_ns);
        self.tell_notices();
    }

    fn look_at_backlogs(&mut self, now_ns: u64) {
        if self.base.is_some() {
            self.open.iter_mut().flatten().for_each(|open| open.tick(now_ns));
        }
    }

    fn push_ticks(&mut self, group: usize, committed: u64, passed: u64) {
        if passed == 0 {
            return;
        }
        let (ticks, ticked) = &mut self.ticks[group];
        // An interval counts commits by the histogram, which may be ahead of the thread's count while the
        // thread is interrupted during a commit.
        let committed = committed.max(*ticked);
        let new = committed - *ticked;
        ticks.extend((0..passed).map(|tick| {
            let share = new * (tick + 1) / passed - new * tick / passed;
            u32::try_from(share).unwrap_or(u32::MAX)
        }));
        *ticked = committed;
    }

    /// Updates the highest busy share of any whole second of the measured phase.
    fn look_at_cpu(&mut self, now_ns: u64) {
        let elapsed_ns = now_ns.saturating_sub(self.busy_at.0);
        if elapsed_ns < 1_000_000_000 {
            return;
        }
        let now = cpu_ns(self.metrics, &self.busy_at.1);
        let spun = spun_ns(self.metrics);
        if self.base.is_some() {
            for (place, metrics) in self.metrics.iter().enumerate() {
                if !metrics.in_process {
                    let in_vain_ns = spun[place] - self.busy_at.2[place];
                    let worked_ns = (now[place] - self.busy_at.1[place]).saturating_sub(in_vain_ns);
                    let share = worked_ns as f64 / elapsed_ns as f64;
                    self.busy_max = self.busy_max.max(share);
                }
            }
        }
        self.busy_at = (now_ns, now, spun);
    }

    /// Ends an interval, and `ticks` ticks with it. `is_edge`: it is the last one of the warm-up or of the
    /// measured phase.
    pub fn interval(&mut self, now_ns: u64, ticks: u64, is_edge: bool) {
        let phase = if self.base.is_some() { Phase::Measure } else { Phase::Warmup };
        let still: Vec<ThreadMetrics>;
        let mut metrics = self.metrics;
        if is_edge {
            still = metrics.iter().map(ThreadMetrics::settled).collect();
            metrics = &still;
            self.edge = details(self.names, metrics);
        }
        let now = Totals::read(metrics, self.names.len(), now_ns, &self.last.cpu_ns);
        let last = std::mem::replace(&mut self.last, now.clone());
        let length_s = now_ns.saturating_sub(last.at_ns).max(1) as f64 / 1e9;
        let start_s = (last.at_ns - self.origin_ns) as f64 / 1e9;
        let mut groups = BTreeMap::new();
        for (place, names) in self.names.iter().enumerate() {
            // The last tick counts by the histogram, as the interval does, so that the ticks add up to it.
            self.push_ticks(place, now.groups[place].latency.count(), ticks);
            let ticks = std::mem::take(&mut self.ticks[place].0);
            let latency = now.groups[place].latency.since(&last.groups[place].latency);
            let tag = match phase {
                Phase::Warmup => format!("{}/!warmup", names.group),
                Phase::Measure => names.group.clone(),
            };
            self.log(&tag, start_s, length_s, &latency);
            let censored = now.groups[place].censored.since(&last.groups[place].censored);
            if phase == Phase::Measure && censored.count() > 0 {
                self.log(&format!("{tag}/!censored"), start_s, length_s, &censored);
            }
            let (now, last) = (&now.groups[place], &last.groups[place]);
            let mut interval = interval_of(now, last, (&latency, &censored), ticks);
            interval.open = self.open[place].as_mut().map(|open| open.interval(now_ns, now, last));
            groups.insert(names.group.clone(), interval);
        }
        if let Some(Err(error)) = self.hlog.as_mut().map(Hlog::flush) {
            self.log_failed(&error);
        }
        let generator = Generator {
            busy: busy(&now, &last, length_s),
            cpu_s: cpu_s(&now, &last),
            lag_p99_ns: now.lag.since(&last.lag).latency().and_then(|lag| lag.p99_ns),
        };
        (self.emit)(Event::Interval { t_s: self.t_s(now_ns), length_s, phase, groups, generator });
        self.look_at_backlogs(now_ns);
        self.look_at_cpu(now_ns);
        self.tell_notices();
    }

    /// Begins the measured phase at the end of the last interval.
    pub fn begin_measuring(&mut self) {
        self.base = Some((self.last.clone(), self.edge.clone()));
        let last = &self.last;
        self.busy_at = (last.at_ns, last.cpu_ns.clone(), last.spun_ns.clone());
    }

    /// Emits the notices of the load threads: each code of a group once, and up to a maximum of outages.
    pub fn tell_notices(&mut self) {
        while let Ok(notice) = self.notices.try_recv() {
            match notice {
                Notice::Error { at_ns, group, code, message } => {
                    let is_new = self.codes_seen.len() < CODES_MAX * self.names.len()
                        && self.codes_seen.insert((group, code.clone()));
                    if is_new {
                        let (t_s, group) = (self.t_s(at_ns), self.names[group].group.clone());
                        (self.emit)(Event::Error { t_s, group, code, message });
                    }
                }
                Notice::Outage { group, session, start_ns, end_ns, cause } => {
                    self.outages += 1;
                    if self.outages > OUTAGES_MAX {
                        continue;
                    }
                    (self.emit)(Event::Outage {
                        group: self.names[group].group.clone(),
                        session,
                        start_s: self.t_s(start_ns),
                        end_s: end_ns.map(|at_ns| self.t_s(at_ns)),
                        cause,
                    });
                }
            }
        }
    }

    /// Closes the measured phase at the end of the last interval. Call before the load threads end: later
    /// work is not counted.
    pub fn close(&mut self, ended: Ended) -> Closing {
        let end = (self.last.clone(), std::mem::take(&mut self.edge));
        let base = self.base.take().unwrap_or_else(|| end.clone());
        Closing { base, end, busy_max: self.busy_max, ended }
    }

    /// Whether all arrivals of the measured phase have ended in all open loops.
    pub fn is_drained(&mut self) -> bool {
        self.open.iter_mut().flatten().all(OpenLoop::is_drained)
    }

    /// Emits the totals and the histograms of classes, errors and lag. Call after the load threads have
    /// ended and sent their last notices.
    pub fn finish(&mut self, closing: &Closing, ending: Ending, dropped: u64) {
        self.tell_notices();
        let unlisted = dropped + self.outages.saturating_sub(OUTAGES_MAX);
        if unlisted > 0 {
            let message = format!("{unlisted} more errors and outages happened than are listed");
            (self.emit)(Event::Warning { message });
        }
        let ((base, base_details), (end, end_details)) = (&closing.base, &closing.end);
        let measured_s = (end.at_ns - base.at_ns) as f64 / 1e9;
        let start_s = (base.at_ns - self.origin_ns) as f64 / 1e9;
        let mut groups = BTreeMap::new();
        for (place, names) in self.names.iter().enumerate() {
            let details = end_details[place].since(&base_details[place]);
            let kinds = names.kinds.iter().map(|kind| format!("!kind.{kind}"));
            let tags = names.classes.iter().cloned().chain(kinds);
            for (tag, histogram) in tags.zip(&details.classes) {
                self.log(&format!("{}/{tag}", names.group), start_s, measured_s, histogram);
            }
            let tag = format!("{}/!errors", names.group);
            self.log(&tag, start_s, measured_s, &details.error_latency);
            let oldest = |metrics: &ThreadMetrics| metrics.groups[place].in_flight_oldest_ns.get();
            let oldest_ns = self.metrics.iter().map(oldest).max().unwrap_or(0);
            let (now, last) = (&end.groups[place], &base.groups[place]);
            let mut total = total_of(now, last, names, details, oldest_ns);
            if let Some(open) = &mut self.open[place] {
                let (balance, histograms) = open.total(now, ending);
                total.open = Some(balance);
                let tag = |kind: &str| format!("{}/!{kind}", names.group);
                self.log(&tag("response"), start_s, measured_s, &histograms.response);
                self.log(&tag("response_censored"), start_s, measured_s, &histograms.censored);
                self.log(&tag("dispatch"), start_s, measured_s, &histograms.dispatch);
            }
            groups.insert(names.group.clone(), total);
        }
        let lag = end.lag.since(&base.lag);
        self.log("!lag", start_s, measured_s, &lag);
        if let Some(Err(error)) = self.hlog.as_mut().map(Hlog::flush) {
            self.log_failed(&error);
        }
        let generator = closing.generator(&lag);
        let (interrupted, asked) =
            (closing.ended == Ended::Interrupted, closing.ended == Ended::Asked);
        (self.emit)(Event::End { measured_s, interrupted, asked, groups, generator });
    }
}

fn details(names: &[Names<'_>], metrics: &[ThreadMetrics]) -> Vec<Details> {
    let of =
        |(group, names): (usize, &Names<'_>)| Details::read(metrics, group, names.histograms());
    names.iter().enumerate().map(of).collect()
}

fn interval_of(
    now: &GroupTotals,
    last: &GroupTotals,
    (latency, censored): (&Histogram, &Histogram),
    ticks: Vec<u32>,
) -> GroupInterval {
    GroupInterval {
        transactions: latency.count(),
        operations: now.operations - last.operations,
        rows: now.rows - last.rows,
        errors: now.errors - last.errors,
        retries: now.retries - last.retries,
        failed: censored.count(),
        lost: now.lost,
        ticks,
        latency: latency.latency(),
        open: None,
    }
}

fn cpu_s(now: &Totals, last: &Totals) -> f64 {
    let cpu_ns: u64 = now.cpu_ns.iter().zip(&last.cpu_ns).map(|(now, then)| now - then).sum();
    cpu_ns as f64 / 1e9
}

fn busy(now: &Totals, last: &Totals, length_s: f64) -> Vec<f64> {
    let share = |place: usize| {
        let in_vain_ns = now.spun_ns[place] - last.spun_ns[place];
        let worked_ns = (now.cpu_ns[place] - last.cpu_ns[place]).saturating_sub(in_vain_ns);
        (worked_ns as f64 / 1e9 / length_s).min(1.0)
    };
    let mut busy: Vec<f64> = (0..now.cpu_ns.len()).map(share).collect();
    if busy.len() > BUSY_LISTED {
        busy.sort_by(|a, b| b.total_cmp(a));
        busy.truncate(BUSY_LISTED);
    }
    busy
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::notice::Notices;
    use crate::report::ticks::TICK_NS;
    use std::cell::RefCell;

    #[test]
    fn a_commit_that_its_thread_has_half_recorded_counts_in_one_tick() {
        let metrics = [ThreadMetrics::new([0], false)];
        let group = &metrics[0].groups[0];
        let names = [Names { group: "g".to_owned(), classes: vec![], kinds: vec![], due: None }];
        let (_notices, told) = Notices::new();
        let intervals = RefCell::new(Vec::new());
        let emit = |event| {
            if let Event::Interval { mut groups, .. } = event {
                intervals.borrow_mut().push(groups.remove("g").unwrap());
            }
        };
        let mut reporter = Reporter::<Vec<u8>>::new(&names, &metrics, &told, &emit, (0, 0));
        group.commit(1000, 1, 1);
        // In the histogram and not counted yet: the thread was interrupted between the two writes.
        group.latency.record(1000);
        reporter.interval(TICK_NS, 1, false);
        reporter.tick(2 * TICK_NS, 1);
        group.commit(1000, 1, 1);
        group.commit(1000, 1, 1);
        reporter.interval(3 * TICK_NS, 1, false);
        let intervals = intervals.borrow();
        assert_eq!(intervals[0].ticks, [2]);
        assert_eq!(intervals[1].ticks, [0, 2]);
        for interval in intervals.iter() {
            let ticked = interval.ticks.iter().map(|&n| u64::from(n)).sum::<u64>();
            assert_eq!(ticked, interval.transactions);
        }
    }

    #[test]
    fn a_late_reporter_shows_neither_a_stall_nor_a_burst() {
        let metrics = [ThreadMetrics::new([0], false)];
        let names = [Names { group: "g".to_owned(), classes: vec![], kinds: vec![], due: None }];
        let (_notices, told) = Notices::new();
        let ticks = RefCell::new(Vec::new());
        let emit = |event| {
            if let Event::Interval { mut groups, .. } = event {
                ticks.borrow_mut().push(groups.remove("g").unwrap().ticks);
            }
        };
        let mut reporter = Reporter::<Vec<u8>>::new(&names, &metrics, &told, &emit, (0, 0));
        (0..10).for_each(|_| metrics[0].groups[0].commit(1000, 1, 1));
        reporter.tick(3 * TICK_NS + 5, 3);
        (0..5).for_each(|_| metrics[0].groups[0].commit(1000, 1, 1));
        reporter.interval(5 * TICK_NS, 2, false);
        assert_eq!(*ticks.borrow(), [[3, 3, 4, 2, 3]]);
    }
}
