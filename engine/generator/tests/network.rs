//! Whole trials over real sockets against servers that work, crash, hang, and violate the protocol.

mod toy;

use dyno_core::error::Kind as ErrorKind;
use dyno_core::event::{Event, Phase};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use toy::*;

#[test]
fn what_is_counted_adds_up() {
    let server = serve(|_, lines| {
        lines.say("hi\n")?;
        lines.answer(usize::MAX)
    });
    let trial = run(server.port, serde_json::json!({}), quietly);
    assert_eq!(trial.result, Ok(false));
    let total = trial.total();
    let (mut transactions, mut operations, mut ticks) = (0, 0, 0);
    for event in &trial.events {
        if let Event::Interval { phase: Phase::Measure, groups, .. } = event {
            transactions += groups["g"].transactions;
            operations += groups["g"].operations;
            ticks += groups["g"].ticks.iter().map(|&tick| u64::from(tick)).sum::<u64>();
        }
    }
    assert!(total.transactions > 0 && total.errors.is_empty() && trial.outages().is_empty());
    assert_eq!((transactions, ticks), (total.transactions, total.transactions));
    assert_eq!(operations, total.operations);
    assert_eq!(total.latency.as_ref().unwrap().count, total.transactions);
    let mut tags: Vec<&str> =
        trial.hlog.lines().filter_map(|l| l.strip_prefix("Tag=")?.split(',').next()).collect();
    tags.dedup(); // two intervals, or one where the reporter was late
    assert_eq!(tags, ["g/!warmup", "g", "g/read", "g/!errors", "!lag"]);
    let Some(Event::End { generator, measured_s, .. }) = trial.events.last() else { panic!() };
    assert!(generator.lag.is_some() && generator.polls > 0 && *measured_s > 0.0);
    assert!(matches!(trial.events[0], Event::Start { .. }));
    assert!(trial.events.iter().any(|event| matches!(event, Event::Ready { .. })));
}

#[test]
fn a_server_that_closes_costs_outages_with_an_end() {
    let server = serve(|_, lines| {
        lines.say("hi\n")?;
        lines.answer(50)
    });
    let trial = run(server.port, serde_json::json!({}), quietly);
    assert_eq!(trial.result, Ok(false));
    let outages = trial.outages();
    assert!(!outages.is_empty());
    assert!(outages.iter().any(|(start_s, end_s, cause)| {
        end_s.is_some_and(|end_s| end_s >= *start_s) && cause.contains("clos")
    }));
    assert!(trial.total().transactions > 0 && trial.total().errors["lost"] > 0);
}

#[test]
fn a_server_that_talks_rubbish_costs_outages_that_say_so() {
    let server = serve(|_, lines| {
        lines.say("hi\n")?;
        lines.answer(20)?;
        lines.request()?;
        lines.say("\u{1}gibberish\n")
    });
    let trial = run(server.port, serde_json::json!({}), quietly);
    assert_eq!(trial.result, Ok(false));
    assert!(trial.outages().iter().any(|outage| outage.2.contains("unknown line")));
    assert!(trial.total().transactions > 0);
}

#[test]
fn a_server_that_answers_unasked_is_not_believed() {
    let server = serve(|_, lines| {
        lines.say("hi\n")?;
        lines.request()?;
        lines.say("ok\nok\nok\nok\n")?;
        lines.answer(usize::MAX)
    });
    let trial = run(server.port, serde_json::json!({"arrivals": uniform(30.0)}), quietly);
    assert_eq!(trial.result, Ok(false));
    assert!(trial.outages().iter().any(|outage| outage.2.contains("without being asked")));
}

#[test]
fn a_server_that_hangs_meets_the_deadline_and_is_told_to_cancel() {
    let server = serve(|_, lines| {
        lines.say("hi\n")?;
        lines.answer(10)?;
        lines.request()?;
        std::thread::sleep(Duration::from_secs(30));
        Ok(())
    });
    let trial = run(server.port, serde_json::json!({"deadline_s": 0.1}), quietly);
    assert_eq!(trial.result, Ok(false));
    let total = trial.total();
    assert!(total.errors["deadline"] > 0 && total.failed >= total.errors["deadline"]);
    assert!(total.error_latency.as_ref().unwrap().mean_ns >= 99e6);
    assert!(total.transactions > 0);
    assert!(server.cancels.load(Ordering::Relaxed) > 0);
}

#[test]
fn answers_without_end_meet_the_deadline_and_keep_nobody_from_working() {
    let server = serve(|number, lines| {
        lines.say("hi\n")?;
        if number == 0 {
            lines.request()?;
            return lines.go_on_for_ever();
        }
        lines.answer(usize::MAX)
    });
    // All sessions on one thread.
    let one = serde_json::json!({"workers": 1});
    let trial = run_plan(server.port, serde_json::json!({"deadline_s": 0.5}), one, quietly);
    assert_eq!(trial.result, Ok(false));
    let total = trial.total();
    // Others may miss it on a busy machine, now and then.
    let missed = total.errors["deadline"];
    assert!(missed >= 1 && total.transactions > 10 * missed, "{:?}", total.errors);
}

#[test]
fn a_trial_ends_in_time_though_all_answers_go_on() {
    let server = serve(|_, lines| {
        lines.say("hi\n")?;
        lines.request()?;
        lines.go_on_for_ever()
    });
    let trial = run(server.port, serde_json::json!({}), quietly);
    assert_eq!(trial.result, Ok(false));
    assert_eq!(trial.total().transactions, 0);
}

#[test]
fn a_login_that_goes_on_and_on_ends_with_the_interrupt() {
    let server = serve(|_, lines| lines.go_on_for_ever());
    let trial = run(server.port, serde_json::json!({}), |interrupted| {
        std::thread::sleep(Duration::from_millis(300));
        interrupted.store(true, Ordering::Relaxed);
    });
    assert!(trial.result.is_ok_and(|interrupted| interrupted));
}

#[test]
fn a_server_that_is_gone_for_good_costs_outages_without_an_end() {
    // The server closes sessions during the trial, with the end of the stream as its answer.
    static GONE: AtomicBool = AtomicBool::new(false);
    static CLOSED: AtomicUsize = AtomicUsize::new(0);
    let fragile = serve(|_, lines| {
        if GONE.load(Ordering::Relaxed) {
            return Ok(());
        }
        lines.say("hi\n")?;
        while !GONE.load(Ordering::Relaxed) {
            lines.answer(1)?;
        }
        CLOSED.fetch_add(1, Ordering::Relaxed);
        Ok(())
    });
    let closing = Arc::clone(&fragile.closing);
    let port = fragile.port;
    // It is gone some ticks after the measured time began, which ends some ticks after all sessions have
    // been closed.
    let (ticks, after) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let enough = || {
        if ticks.fetch_add(1, Ordering::Relaxed) == 4 {
            closing.store(true, Ordering::Relaxed);
            GONE.store(true, Ordering::Relaxed);
            let _ = TcpStream::connect(("127.0.0.1", port));
        }
        CLOSED.load(Ordering::Relaxed) == 3 && after.fetch_add(1, Ordering::Relaxed) >= 10
    };
    let plan = serde_json::json!({"duration_s": 600.0});
    let trial = run_until(port, serde_json::json!({}), plan, quietly, &enough);
    assert_eq!(trial.result, Ok(false));
    let open = trial.outages().iter().filter(|outage| outage.1.is_none()).count();
    assert_eq!(open, 3, "{:?}", trial.outages());
    assert!(trial.total().transactions > 0);
    let lost = |event: &Event| match event {
        Event::Interval { groups, .. } => Some(groups["g"].lost),
        _ => None,
    };
    assert_eq!(trial.events.iter().filter_map(lost).next_back(), Some(3));
}

#[test]
fn a_server_that_is_not_there_fails_the_trial_and_is_named() {
    // The kernel gives that port to nobody.
    let trial = run(1, serde_json::json!({}), quietly);
    let error = trial.result.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Connection);
    assert!(error.what.contains("127.0.0.1:1"), "{error}");
    assert!(error.what.contains("refused") && error.what.contains("group g:"), "{error}");
}

#[test]
fn a_server_that_admits_only_some_sessions_is_a_warning() {
    let server = serve(|connection, lines| {
        if connection != 0 {
            return Ok(());
        }
        lines.say("hi\n")?;
        lines.answer(usize::MAX)
    });
    let trial = run(server.port, serde_json::json!({}), quietly);
    assert_eq!(trial.result, Ok(false));
    let warned =
        |event: &Event| matches!(event, Event::Warning { message } if message.contains("2 of 3"));
    assert!(trial.events.iter().any(warned), "{:?}", trial.events);
    assert!(trial.total().transactions > 0);
    assert_eq!(trial.outages().len(), 2);
}

#[test]
fn answers_in_pieces_and_larger_than_any_buffer_are_whole() {
    let server = serve(|connection, lines| {
        lines.say("hi\n")?;
        loop {
            lines.request()?;
            if connection % 2 == 0 {
                for byte in ["o", "k", "\n"] {
                    lines.say(byte)?;
                }
            } else {
                lines.say("big 300000\n")?;
                lines.say(&"x".repeat(300_000))?;
            }
        }
    });
    let trial = run(server.port, serde_json::json!({}), quietly);
    assert_eq!(trial.result, Ok(false));
    assert!(trial.outages().is_empty(), "{:?}", trial.outages());
    assert!(trial.total().rows > trial.total().transactions, "both kinds of answers came");
}

#[test]
fn retryable_errors_are_counted_by_code() {
    let server = serve(|_, lines| {
        lines.say("hi\n")?;
        loop {
            lines.answer(3)?;
            lines.request()?;
            lines.say("err 1213\n")?;
        }
    });
    let trial = run(server.port, serde_json::json!({}), quietly);
    let total = trial.total();
    assert!(total.errors["1213"] > 0 && total.retries > 0);
    assert_eq!((total.errors.len(), total.failed), (1, 0));
    let told = trial.events.iter().filter(|event| matches!(event, Event::Error { .. })).count();
    assert_eq!(told, 1);
}

#[test]
fn an_interruption_keeps_what_was_measured() {
    let server = serve(|_, lines| {
        lines.say("hi\n")?;
        lines.answer(usize::MAX)
    });
    let (ticks, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let looked = || {
        over.store(ticks.fetch_add(1, Ordering::Relaxed) >= 5, Ordering::Relaxed);
        false
    };
    let interrupt = |interrupted: &AtomicBool| {
        while !over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
        }
        interrupted.store(true, Ordering::Relaxed);
    };
    let plan = serde_json::json!({"duration_s": 600.0});
    let trial = run_until(server.port, serde_json::json!({}), plan, interrupt, &looked);
    assert_eq!(trial.result, Ok(true));
    let Some(Event::End { interrupted, measured_s, .. }) = trial.events.last() else { panic!() };
    assert!(*interrupted && *measured_s > 0.0 && *measured_s < 600.0);
    assert!(trial.total().transactions > 0);
    assert!(trial.hlog.contains("Tag=g/read,"));
}

#[test]
fn a_plan_that_cannot_be_carried_out_is_refused_by_name() {
    for (patch, word) in [
        (serde_json::json!({"target": "nowhere"}), "nowhere"),
        (serde_json::json!({"workload": "tpcx"}), "tpcx"),
        (serde_json::json!({"sessions": 0}), "sessions"),
        (serde_json::json!({"arrivals": uniform(-1.0)}), "arrivals"),
        (serde_json::json!({"arrivals": steps(&[])}), "steps"),
        (serde_json::json!({"arrivals": steps(&[(None, 1.0, 1.0), (None, 1.0, 1.0)])}), "steps[0]"),
        (serde_json::json!({"arrivals": steps(&[(None, 1.0, 2.0)])}), "without for_s"),
        (serde_json::json!({"arrivals": steps(&[(Some(0.0), 1.0, 2.0)])}), "for_s"),
        (serde_json::json!({"arrivals": steps(&[(None, 0.0, 0.0)])}), "all rates"),
        (serde_json::json!({"arrivals": uniform(1e8)}), "arrivals.steps[0]"),
        (serde_json::json!({"think": {"mean_s": 0.0, "distribution": "constant"}}), "think"),
        (
            serde_json::json!({
                "arrivals": uniform(1.0), "think": {"mean_s": 1.0, "distribution": "constant"}
            }),
            "both arrivals and think",
        ),
        (serde_json::json!({"also_targets": ["elsewhere"]}), "elsewhere"),
        (serde_json::json!({"deadline_s": 0.0}), "deadline_s"),
        (serde_json::json!({"name": "a b"}), "a b"),
    ] {
        let error = run(1, patch, quietly).result.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Plan);
        assert!(error.what.contains(word), "{error}");
    }
}

/// How the trial ended: interrupted, ended by request, and the lengths of the measured intervals.
fn ending(trial: &Trial) -> (bool, bool, Vec<f64>) {
    let length = |event: &Event| match event {
        Event::Interval { phase: Phase::Measure, length_s, .. } => Some(*length_s),
        _ => None,
    };
    let Some(Event::End { interrupted, asked, .. }) = trial.events.last() else { panic!() };
    (*interrupted, *asked, trial.events.iter().filter_map(length).collect())
}

#[test]
fn enough_ends_the_measured_phase_with_an_interval_and_not_as_an_interruption() {
    let server = serve(|_, lines| {
        lines.say("hi\n")?;
        lines.answer(usize::MAX)
    });
    let asked = AtomicUsize::new(0);
    let enough = || asked.fetch_add(1, Ordering::Relaxed) > 0;
    let plan = serde_json::json!({"duration_s": 600.0, "interval_s": 0.3});
    let trial = run_until(server.port, serde_json::json!({}), plan, quietly, &enough);
    assert_eq!(trial.result, Ok(false));
    let (interrupted, asked, intervals) = ending(&trial);
    assert!(!interrupted && asked);
    let Some(Event::End { measured_s, groups, .. }) = trial.events.last() else { panic!() };
    assert!(*measured_s > 0.29, "it ends with an interval: {measured_s}");
    assert!((measured_s - intervals.iter().sum::<f64>()).abs() < 1e-6);
    assert!(groups["g"].transactions > 0 && trial.outages().is_empty());
}

#[test]
fn enough_said_before_the_measured_phase_or_at_its_end_changes_nothing() {
    let server = serve(|_, lines| {
        lines.say("hi\n")?;
        lines.answer(usize::MAX)
    });
    let plan = || serde_json::json!({"duration_s": 0.6, "interval_s": 0.6});
    let asked = AtomicUsize::new(0);
    let before = || asked.fetch_add(1, Ordering::Relaxed) == 0;
    for enough in [&before as &(dyn Fn() -> bool + Sync), &|| true] {
        let trial = run_until(server.port, serde_json::json!({}), plan(), quietly, enough);
        assert!(!ending(&trial).1);
    }
    assert!(asked.load(Ordering::Relaxed) > 1);
}
