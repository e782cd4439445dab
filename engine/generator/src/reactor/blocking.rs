//! A load thread with one session whose calls block (an in-process library).

use crate::audit::log::Log;
use crate::metrics::notice::{Notice, Notices};
use crate::metrics::thread::ThreadMetrics;
use crate::reactor::control::{Control, GroupTargets};
use crate::reactor::plan::session_slot::{SHORT_LIFE_NS, START_ATTEMPTS, reconnect_wait_ns};
use crate::session::{Session, Sinks, Step};
use dyno_core::clock::Clock;
use dyno_core::driver::{Blocking, Reply, Session as Connection, Task};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::random::rng::Rng;
use std::time::Duration;

/// Longest sleep: bounds the delay in noticing the end, or an arrival that another session gave back.
const SLEEP_MAX: Duration = Duration::from_millis(20);
/// Longest sleep before the load begins: bounds the delay of its begin.
const START_SLEEP_MAX: Duration = Duration::from_micros(500);

/// How long after the planned end a call may still wait: the totals are read by then.
const END_GRACE_NS: u64 = 1_000_000_000;

/// One session on its own thread.
pub struct BlockingWorker<'a, C> {
    /// Clock of the load.
    pub clock: &'a C,
    /// Start and end of the load.
    pub control: &'a Control,
    /// The session's group.
    pub targets: &'a GroupTargets<'a>,
    /// Metrics of the thread.
    pub metrics: &'a ThreadMetrics,
    /// Queue to the reporter.
    pub notices: &'a Notices,
    /// The thread's part of `audit.log`, if commits are audited.
    pub audit: Option<&'a Log>,
    /// Number within the group.
    pub number: u32,
}

impl<C: Clock> BlockingWorker<'_, C> {
    /// Runs the session until the load is stopped.
    pub fn run(&self) {
        let group = self.targets.config.group;
        let (notices, audit) = (self.notices, self.audit);
        let sinks = Sinks { group, metrics: &self.metrics.groups[group], notices, audit };
        let mut session = Session::new(self.number);
        // Start and cause of the current outage.
        let mut down: Option<(u64, String)> = None;
        let mut short_lives = 0;
        while !self.control.is_stopped() {
            let Some(mut connection) = self.connect(&mut down, sinks) else { break };
            if !self.wait_for_start() {
                break;
            }
            let up_ns = self.clock.now_ns();
            if let Some((start_ns, cause)) = down.take() {
                sinks.metrics.lost.sub(1);
                self.tell_outage(start_ns, Some(up_ns), cause);
            }
            let step = session.begin(up_ns, sinks, &self.targets.config);
            if let Err(error) = self.work(&mut *connection, &mut session, step, sinks) {
                let now_ns = self.clock.now_ns();
                session.lost(now_ns, &error.to_string(), sinks, &self.targets.config);
                sinks.metrics.lost.add(1);
                down = Some((now_ns, error.to_string()));
                let is_short = now_ns - up_ns < SHORT_LIFE_NS;
                short_lives = if is_short { short_lives + 1 } else { 0 };
                self.sleep_until(now_ns + reconnect_wait_ns(short_lives, now_ns));
            }
        }
        let now_ns = self.clock.now_ns();
        if let Some((start_ns, cause)) = down {
            self.tell_outage(start_ns, None, cause);
        }
        let age_ns = session.under_way_since_ns().map_or(0, |at| now_ns.saturating_sub(at));
        sinks.metrics.in_flight_oldest_ns.raise(age_ns);
        session.cut_short(now_ns, sinks, &self.targets.config);
        session.leave(&self.targets.config);
    }

    /// Opens the session, retrying until it succeeds; `None` when the load ends first.
    fn connect(
        &self,
        down: &mut Option<(u64, String)>,
        sinks: Sinks<'_>,
    ) -> Option<Box<dyn Blocking>> {
        let gate = &self.control.gates[self.targets.config.group];
        let mut is_settled = self.control.origin().is_some();
        let mut failures = 0;
        while !self.control.is_stopped() {
            let error = match self.targets.server(self.number).driver.session(self.number) {
                Ok(Connection::Blocking(connection)) => {
                    if !is_settled {
                        gate.connected();
                    }
                    return Some(connection);
                }
                Ok(_) => Error::new(Kind::Plan, "a network session reached a blocking worker"),
                Err(error) => error,
            };
            failures += 1;
            if !is_settled && (failures >= START_ATTEMPTS || error.kind == Kind::Plan) {
                is_settled = true;
                gate.failed(error.clone());
            }
            let now_ns = self.clock.now_ns();
            if is_settled && down.is_none() {
                *down = Some((now_ns, error.to_string()));
                sinks.metrics.lost.add(1);
            }
            let seed = self.targets.config.seed;
            let random = Rng::for_transaction(seed, self.number, now_ns).u64();
            self.sleep_until(now_ns + reconnect_wait_ns(failures, random));
        }
        None
    }

    /// Waits for the load to begin; false when it ends first.
    fn wait_for_start(&self) -> bool {
        while !self.control.is_stopped() {
            if self.control.origin().is_some() {
                return true;
            }
            std::thread::sleep(START_SLEEP_MAX);
        }
        false
    }

    /// Carries out steps until the connection breaks (an error) or the load ends.
    fn work(
        &self,
        connection: &mut dyn Blocking,
        session: &mut Session,
        mut step: Step,
        sinks: Sinks<'_>,
    ) -> Result<()> {
        let config = &self.targets.config;
        let open = &sinks.metrics.open;
        while !self.control.is_stopped() {
            step = match step {
                Step::Send => {
                    let now_ns = self.clock.now_ns();
                    session.sent(now_ns, open);
                    let since_ns = session.under_way_since_ns().unwrap_or(now_ns);
                    // A call must not delay the end of the trial by its whole deadline.
                    let end_ns = self.control.end_ns().saturating_add(END_GRACE_NS);
                    let until_ns = (since_ns + config.deadline_ns).min(end_ns);
                    let left_ns = until_ns.saturating_sub(now_ns);
                    let (ops, transaction) = session.ops();
                    let left = Duration::from_nanos(left_ns);
                    let reply = connection.execute(&ops[0], transaction, left)?;
                    // The end of the load interrupted the call; the system did not refuse it.
                    if reply.error.is_some() && self.control.is_stopped() {
                        return Ok(());
                    }
                    session.answered(self.clock.now_ns(), reply, sinks, config)
                }
                Step::Rollback => {
                    session.sent(self.clock.now_ns(), open);
                    connection.task(Task::Rollback)?;
                    session.answered(self.clock.now_ns(), Reply::default(), sinks, config)
                }
                Step::Wait(_) | Step::Rest => {
                    let until_ns =
                        if let Step::Wait(until_ns) = step { until_ns } else { u64::MAX };
                    if self.waits_in_vain(until_ns, session) {
                        session.reconsider(self.clock.now_ns(), sinks, config)
                    } else if self.control.is_stopped() {
                        return Ok(());
                    } else {
                        session.woken(self.clock.now_ns(), sinks, config)
                    }
                }
                Step::Reconnect(cause) => return Err(Error::new(Kind::Server, cause)),
                // In-process libraries replay no recordings, and their calls are not pipelined: their
                // drivers refuse both.
                Step::SendText(_) | Step::Leave | Step::Receive => {
                    let what = "a recording or a pipeline reached a blocking worker";
                    return Err(Error::new(Kind::Plan, what));
                }
            };
        }
        Ok(())
    }

    /// Sleeps until `until_ns` or the end of the load; true when an arrival was given back that precedes
    /// the one that the session waits for.
    fn waits_in_vain(&self, until_ns: u64, session: &Session) -> bool {
        let awaited = self.targets.config.arrival_source.zip(session.awaits());
        let Some((arrival_source, held)) = awaited else {
            self.sleep_until(until_ns);
            return false;
        };
        let slice_ns = SLEEP_MAX.as_nanos() as u64;
        while !self.control.is_stopped() {
            if arrival_source.has_before(held) {
                return true;
            }
            let now_ns = self.clock.now_ns();
            if now_ns >= until_ns {
                break;
            }
            self.sleep_until(until_ns.min(now_ns + slice_ns));
        }
        false
    }

    fn sleep_until(&self, until_ns: u64) {
        while !self.control.is_stopped() {
            let left = Duration::from_nanos(until_ns.saturating_sub(self.clock.now_ns()));
            if left.is_zero() {
                break;
            }
            std::thread::sleep(left.min(SLEEP_MAX));
        }
    }

    fn tell_outage(&self, start_ns: u64, end_ns: Option<u64>, cause: String) {
        self.notices.emit(Notice::Outage {
            group: self.targets.config.group,
            session: self.number,
            start_ns,
            end_ns,
            cause,
        });
    }
}
