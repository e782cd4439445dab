//! Exact tests of pacing, warm-up and waiting, in simulated time, with the real worker and scripts
//! whose events only sleep.

use super::session_slot::SessionSlot;
use super::shared::Shared;
use super::worker::Worker;
use super::{Drive, Times};
use crate::pace::{Next, Pace, Rate};
use crate::session::{Baggage, Outcome, Program, Scripts, Session, Step, Wait};
use crate::tally::{Reading, Tallies};
use dyno_core::clock::{Clock, SimulatedClock};
use dyno_generator::transport::poller::SimulatedPoller;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
/// The start of simulated time.
const ORIGIN: u64 = 5 * SECOND;

/// Times at which an event was due, began and ended, since the start.
type Event = (u64, u64, u64);

struct Pauses {
    clock: Rc<SimulatedClock>,
    pause_ns: u64,
    log: Rc<RefCell<Vec<Event>>>,
}

impl Scripts for Pauses {
    fn resume(&mut self, session: &mut Session<'_>, outcome: Outcome) -> Step {
        if matches!(outcome, Outcome::Begin) {
            return Step::Wait(Wait::Start);
        }
        let now_ns = self.clock.now_ns();
        if session.began_ns != 0 {
            let event = [session.due_ns, session.began_ns, now_ns].map(|at_ns| at_ns - ORIGIN);
            self.log.borrow_mut().push(event.into());
            session.end_event(now_ns);
        }
        match session.next_event(now_ns) {
            Next::Go { .. } => {
                session.begin_event(now_ns);
                Step::Wait(Wait::Until(now_ns + self.pause_ns))
            }
            Next::Wait { until_ns } => Step::Wait(Wait::Until(until_ns)),
            Next::Stop => Step::Ended,
        }
    }
}

/// Runs this many sessions for one second after a warm-up; each event is a sleep.
fn simulate(
    sessions: u32,
    pause_ns: u64,
    per_s: Option<f64>,
    warmup_ns: u64,
) -> (Reading, Vec<Event>) {
    let clock = Rc::new(SimulatedClock::default());
    clock.set_ns(ORIGIN);
    let tallies = Arc::new(Tallies::new(sessions as usize, 1));
    let warmup = Duration::from_nanos(warmup_ns);
    let rate = per_s.map(|per_s| Rate { per_s, seed: 42 });
    let pace = Arc::new(Pace::new(0, rate, warmup.as_secs_f64()));
    let length = Some(Duration::from_secs(1));
    let (grace, start_max, ask_after) = (Duration::ZERO, Duration::ZERO, Duration::MAX);
    let drive = Drive {
        program: Program::Run,
        sessions,
        shares_threads: true,
        threads: 1,
        servers: Arc::new([]),
        tallies: Arc::clone(&tallies),
        pace: Arc::clone(&pace),
        make: Arc::new(|_| unreachable!("the test makes its scripts")),
        times: Times { warmup, length, grace, ask_after, start_max },
        cpus: Vec::new(),
    };
    let shared = Shared::new(&drive, 1);
    pace.starts(ORIGIN + warmup_ns, ORIGIN + warmup_ns + SECOND);
    shared.start();
    let log = Rc::new(RefCell::new(Vec::new()));
    let scripts = Pauses { clock: Rc::clone(&clock), pause_ns, log: Rc::clone(&log) };
    let poller = SimulatedPoller(Rc::clone(&clock));
    let slots = (0..sessions).map(|number| SessionSlot::new(shared.session(number, 0))).collect();
    let stays = |_: u32, _: Baggage| unreachable!("pauses block nothing");
    Worker::new((&*clock, poller), &shared, (Box::new(scripts), &stays), (0, slots), 1)
        .run()
        .expect("simulated time does not fail");
    assert_eq!((shared.ended(), shared.arrived()), (sessions, sessions));
    assert!(clock.now_ns() >= ORIGIN + warmup_ns + SECOND, "no session leaves early");
    (tallies.read(), log.take())
}

#[test]
fn events_begin_the_moment_they_are_due_while_a_session_is_free() {
    let (reading, log) = simulate(40, MS, Some(200.0), 0);
    assert!(log.iter().all(|&(due_ns, began_ns, _)| began_ns == due_ns), "{log:?}");
    assert!((150..250).contains(&log.len()), "{}", log.len());
    assert_eq!(reading.events, log.len() as u64);
    assert_eq!((reading.latency.min_ns, reading.response.max_ns), (MS, MS));
}

#[test]
fn a_session_that_is_late_goes_on_without_a_pause_and_nothing_is_dropped() {
    let (reading, log) = simulate(1, 10 * MS, Some(1000.0), 0);
    let first_ns = log[0].1;
    for (number, &(due_ns, began_ns, _)) in log.iter().enumerate() {
        assert_eq!(began_ns, first_ns + number as u64 * 10 * MS);
        assert!(due_ns <= began_ns);
    }
    // Arrivals begin in order: the hundredth begins late by almost the whole run.
    assert!(log.windows(2).all(|pair| pair[0].0 <= pair[1].0) && log.len() == 100);
    assert_eq!(reading.response.max_ns, log.iter().map(|event| event.2 - event.0).max().unwrap());
}

#[test]
fn an_event_belongs_to_the_time_in_which_it_began() {
    let (reading, log) = simulate(1, 300 * MS, None, SECOND);
    let began: Vec<u64> = log.iter().map(|event| event.1 / MS).collect();
    assert_eq!(began, [0, 300, 600, 900, 1200, 1500, 1800]);
    assert_eq!((reading.events, reading.latency.histogram.count()), (3, 3));
    assert_eq!(reading.sessions[0].busy_ns, 900 * MS);
}

#[test]
fn the_warm_up_runs_at_the_rate() {
    let (reading, log) = simulate(20, MS, Some(500.0), SECOND);
    let early = log.iter().filter(|event| event.0 < SECOND).count();
    assert!((400..600).contains(&early), "{early}");
    assert_eq!(reading.events, (log.len() - early) as u64);
}

#[test]
fn sessions_stay_until_the_time_is_over_though_nothing_more_is_due() {
    let (reading, log) = simulate(3, MS, Some(2.0), 0);
    assert_eq!(reading.events, log.len() as u64);
    assert!(log.len() < 10);
}
