//! Tests of load threads over real sockets, with scripts in plain Rust, against servers that work, die,
//! hang, or send garbage.

#[path = "../../generator/tests/toy/mod.rs"]
mod toy;

mod fake;

use dyno_sysbench::drive::Ending;
use dyno_sysbench::pace::Rate;
use dyno_sysbench::session::Program;
use fake::{Habits, Trial};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use toy::{Server, serve};

const NEVER: Duration = Duration::from_secs(3600);
/// Enough for what takes milliseconds, on a busy machine too.
const LONG: Duration = Duration::from_secs(3);

/// A server that answers every request.
fn good() -> Server {
    serve(|_, lines| {
        lines.say("hi\n")?;
        lines.answer(usize::MAX)
    })
}

#[test]
fn what_is_counted_adds_up() {
    let server = good();
    let done = Trial::new(server.port).run();
    assert_eq!((&done.ended.how, done.ended.abandoned), (&Ending::Done, 0));
    let total = done.tallies.read();
    assert!(total.events > 0 && total.sessions.iter().all(|share| share.events > 0));
    assert_eq!(total.latency.histogram.count(), total.events);
    assert_eq!((total.reads, done.log.lock().unwrap().len() as u64), (total.events, total.events));
    let (origin_ns, end_ns) = done.ended.measured;
    assert!(end_ns >= origin_ns + 300_000_000);
    assert_eq!(done.heard.started.unwrap().origin_ns, origin_ns);
    assert!(!done.heard.ticks.is_empty() && done.heard.failures.is_empty());
    assert_eq!(server.connections.load(Ordering::Relaxed), 3);
}

#[test]
fn as_many_events_as_asked_for_and_no_more() {
    let mut trial = Trial::new(good().port);
    (trial.sessions, trial.events, trial.times.length) = (7, 100, None);
    let done = trial.run();
    assert_eq!((done.events(), done.ended.how), (100, Ending::Done));
}

#[test]
fn a_session_may_have_a_thread_and_several_connections() {
    let server = good();
    let mut trial = Trial::new(server.port);
    (trial.shares_threads, trial.events, trial.habits.connections) = (false, 50, 3);
    let done = trial.run();
    assert_eq!((done.events(), done.tallies.threads.len()), (50, 3));
    assert_eq!(server.connections.load(Ordering::Relaxed), 9);
}

#[test]
fn hundreds_of_sessions_share_a_thread() {
    let mut trial = Trial::new(good().port);
    (trial.sessions, trial.times.length) = (300, Some(LONG));
    let done = trial.run();
    assert_eq!(done.ended.how, Ending::Done);
    assert!(done.tallies.read().sessions.iter().all(|share| share.events > 0));
}

#[test]
fn answers_come_in_pieces_and_larger_than_any_buffer() {
    let server = serve(|_, lines| {
        lines.say("hi\n")?;
        loop {
            lines.request()?;
            lines.say("b")?;
            std::thread::sleep(Duration::from_millis(1));
            lines.say(&format!("ig 300000\n{}", "x".repeat(300_000)))?;
        }
    });
    let mut trial = Trial::new(server.port);
    (trial.events, trial.times.length) = (30, None);
    let done = trial.run();
    assert_eq!((done.events(), done.ended.how), (30, Ending::Done));
}

#[test]
fn a_server_that_closes_is_news_for_the_script_alone() {
    let server = serve(|_, lines| {
        lines.say("hi\n")?;
        lines.answer(20)
    });
    let mut trial = Trial::new(server.port);
    (trial.events, trial.times.length, trial.habits.reconnects) = (200, None, true);
    let done = trial.run();
    assert_eq!(done.ended.how, Ending::Done);
    let total = done.tallies.read();
    // An event that lost its connection has begun and does not count.
    assert_eq!(total.events + total.reconnects, 200);
    assert!(total.reconnects > 0);
}

#[test]
fn a_script_that_fails_ends_the_run_and_costs_no_figures() {
    let mut trial = Trial::new(good().port);
    (trial.times.length, trial.habits.fails_after) = (None, Some(25));
    let done = trial.run();
    assert_eq!(done.ended.how, Ending::Failed);
    assert_eq!(done.heard.failures, [(0, "as asked".to_owned())]);
    assert_eq!(done.tallies.sessions[0].events.get(), 25);
    assert!(done.events() > 25);
}

#[test]
fn a_failure_does_not_wait_for_events_that_are_due_in_a_thousand_years() {
    let mut trial = Trial::new(good().port);
    (trial.times.length, trial.rate) = (None, Some(Rate { per_s: 1e-9, seed: 1 }));
    trial.habits = Habits { fails_after: Some(0), ..trial.habits };
    let done = trial.run();
    assert_eq!((done.ended.how, done.events()), (Ending::Failed, 0));
}

#[test]
fn nothing_starts_where_nobody_listens() {
    let done = Trial::new(1).run(); // a port that the kernel gives to nobody
    assert_eq!(done.ended.how, Ending::Failed);
    assert!(done.heard.started.is_none() && done.events() == 0);
    let message = &done.heard.failures[0].1;
    assert!(message.contains("127.0.0.1:1: cannot connect"), "{message}");
}

#[test]
fn nothing_starts_while_a_login_does_not_end() {
    let server = serve(|number, lines| {
        if number > 0 {
            lines.say("hi\n")?;
        }
        lines.answer(usize::MAX)
    });
    let mut trial = Trial::new(server.port);
    trial.times.start_max = LONG;
    let done = trial.run();
    assert_eq!(done.ended.how, Ending::NotStarted { missing: 1 });
    assert!(done.heard.started.is_none() && done.ended.abandoned == 0);
}

#[test]
fn rubbish_is_told_to_the_script_with_the_address() {
    let server = serve(|_, lines| {
        lines.say("hi\n")?;
        lines.answer(5)?;
        lines.request()?;
        lines.say("gibberish\n")?;
        lines.answer(usize::MAX)
    });
    let done = Trial::new(server.port).run();
    assert_eq!(done.ended.how, Ending::Failed);
    let message = &done.heard.failures[0].1;
    assert!(message.contains("127.0.0.1:") && message.contains("unknown line"), "{message}");
}

#[test]
fn a_query_that_hangs_does_not_hang_the_run_and_is_cancelled() {
    let server = serve(|number, lines| {
        lines.say("hi\n")?;
        lines.answer(if number == 0 { 3 } else { usize::MAX })?;
        lines.request()?;
        std::thread::sleep(Duration::from_secs(60));
        Ok(())
    });
    let mut trial = Trial::new(server.port);
    trial.times.grace = LONG;
    let done = trial.run();
    assert_eq!((done.ended.how, done.ended.abandoned), (Ending::Forced { unfinished: 1 }, 0));
    assert_eq!(done.tallies.read().latency.histogram.count(), done.tallies.read().events);
    // No answer follows a cancel request, so the test polls until it arrives.
    while server.cancels.load(Ordering::Relaxed) == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn an_answer_without_end_is_cut_and_keeps_nobody_from_working() {
    let server = serve(|number, lines| {
        lines.say("hi\n")?;
        if number == 0 {
            lines.request()?;
            // Slowly: an answer of 320 MiB is an error before the time is over.
            loop {
                lines.say(&format!("more {}\n", "x".repeat(10_000)))?;
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        lines.answer(usize::MAX)
    });
    let mut trial = Trial::new(server.port);
    (trial.times.grace, trial.threads) = (LONG, 1);
    let done = trial.run();
    assert_eq!((done.ended.how, done.ended.abandoned), (Ending::Forced { unfinished: 1 }, 0));
    assert!(done.events() > 0);
}

#[test]
fn a_server_that_answers_nothing_any_more_is_not_waited_for() {
    // Three sessions, and the connection that checks whether the server still responds.
    let server = serve(|number, lines| {
        if number < 3 {
            lines.say("hi\n")?;
            lines.request()?;
            std::thread::sleep(Duration::from_secs(60));
        }
        Ok(())
    });
    let mut trial = Trial::new(server.port);
    (trial.times.grace, trial.times.ask_after) = (NEVER, Duration::ZERO);
    let done = trial.run();
    assert_eq!((done.ended.how, done.ended.abandoned), (Ending::Forced { unfinished: 3 }, 0));
    assert_eq!(server.connections.load(Ordering::Relaxed), 4, "nothing is cancelled there");
}

#[test]
fn a_server_that_answers_others_is_waited_for() {
    let server = serve(|number, lines| {
        lines.say("hi\n")?;
        if number == 0 {
            lines.request()?;
            while lines.connections() < 4 {
                std::thread::sleep(Duration::from_millis(1));
            }
            lines.say("ok\n")?;
        }
        lines.answer(usize::MAX)
    });
    let mut trial = Trial::new(server.port);
    (trial.times.grace, trial.times.ask_after) = (NEVER, Duration::ZERO);
    let done = trial.run();
    assert_eq!(done.ended.how, Ending::Done);
    assert!(done.tallies.sessions.iter().any(|session| session.events.get() == 1));
}

#[test]
fn a_script_that_never_returns_is_left_behind() {
    static MAY_END: AtomicBool = AtomicBool::new(false);
    let mut trial = Trial::new(good().port);
    (trial.shares_threads, trial.habits.spins) = (false, Some(&MAY_END));
    trial.times.grace = LONG;
    let done = trial.run();
    assert_eq!((done.ended.how, done.ended.abandoned), (Ending::Forced { unfinished: 1 }, 1));
    assert_eq!(done.tallies.sessions[0].events.get(), 0);
    assert!(done.tallies.sessions[1].events.get() > 0);
    MAY_END.store(true, Ordering::Relaxed);
}

#[test]
fn the_warm_up_counts_nowhere_however_long_its_events_take() {
    let mut trial = Trial::new(0);
    trial.habits = Habits { pause_ms: Some(30), ..Habits::default() };
    trial.times.warmup = Duration::from_millis(200);
    let done = trial.run();
    let origin_ns = done.ended.measured.0;
    let log = done.log.lock().unwrap();
    let measured = log.iter().filter(|event| event.0 >= origin_ns).count() as u64;
    let straddles = log.iter().any(|event| event.0 < origin_ns && event.1 > origin_ns);
    assert!(straddles && measured > 0 && (measured as usize) < log.len());
    let total = done.tallies.read();
    assert_eq!(
        (total.events, total.reads, total.latency.histogram.count()),
        (measured, measured, measured)
    );
    assert!(done.heard.measuring.unwrap().now_ns >= origin_ns);
}

#[test]
fn sessions_that_never_wait_take_turns() {
    let mut trial = Trial::new(0);
    (trial.sessions, trial.habits) = (50, Habits { pause_ms: Some(0), ..Habits::default() });
    trial.times.length = Some(LONG);
    let done = trial.run();
    let shares = done.tallies.read().sessions;
    assert!(shares.iter().all(|share| share.events > 0));
}

#[test]
fn a_rate_that_cannot_be_kept_costs_a_backlog_and_nothing_else() {
    let server = serve(|_, lines| {
        lines.say("hi\n")?;
        loop {
            std::thread::sleep(Duration::from_millis(10));
            lines.answer(1)?;
        }
    });
    let mut trial = Trial::new(server.port);
    trial.rate = Some(Rate { per_s: 1e6, seed: 5 });
    let done = trial.run();
    assert_eq!(done.ended.how, Ending::Done);
    let total = done.tallies.read();
    assert!(total.events > 0 && total.response.histogram.count() == total.events);
    assert!(total.response.max_ns >= total.latency.max_ns);
    let last = done.heard.ticks.last().unwrap();
    assert!(last.backlog > 1000 && last.concurrency <= 3, "{last:?}");
}

#[test]
fn events_at_a_rate_are_as_many_as_asked_for() {
    let mut trial = Trial::new(good().port);
    (trial.rate, trial.events) = (Some(Rate { per_s: 500.5, seed: 5 }), 60);
    trial.times.length = None;
    let done = trial.run();
    assert_eq!((done.events(), done.ended.how), (60, Ending::Done));
}

#[test]
fn a_command_has_no_common_start_and_no_end_but_its_own() {
    let mut trial = Trial::new(0);
    trial.program = Program::Command("prepare".to_owned());
    (trial.events, trial.habits) = (20, Habits { pause_ms: Some(1), ..Habits::default() });
    trial.times.length = Some(Duration::ZERO);
    let done = trial.run();
    assert_eq!((done.events(), done.ended.how), (20, Ending::Done));
}
