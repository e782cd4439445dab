//! Open loops and groups with several targets over real sockets.

mod toy;

use dyno_core::event::{Event, GroupTotal};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use toy::*;

/// Open-loop totals of a trial's group.
fn open(total: &GroupTotal) -> &dyno_core::event::OpenTotal {
    total.open.as_ref().expect("an open loop")
}

#[test]
fn an_open_loop_at_a_rate_that_the_server_holds_begins_all_that_is_due() {
    let server = serve(|_, lines| {
        lines.say("hi\n")?;
        lines.answer(usize::MAX)
    });
    let trial = run(server.port, serde_json::json!({"arrivals": uniform(200.0)}), quietly);
    assert_eq!(trial.result, Ok(false));
    let total = trial.total();
    let open = open(total);
    assert_eq!((open.due, open.left, open.failed), (200, 0, 0));
    let response = open.response.as_ref().unwrap();
    assert_eq!((response.count, response.censored), (200, 0));
    assert!(trial.hlog.contains("Tag=g/!response,") && trial.hlog.contains("Tag=g/!dispatch,"));
    // With those of the warm-up, which intervals that are read late share with the measured time.
    let due: u64 = trial.events.iter().filter_map(interval_due).sum();
    assert!((239..=241).contains(&due), "intervals tell of {due} arrivals");
}

#[test]
fn an_open_loop_that_has_been_measured_enough_ends_with_an_interval_and_drains() {
    let server = serve(|_, lines| {
        lines.say("hi\n")?;
        lines.answer(usize::MAX)
    });
    let asked = AtomicUsize::new(0);
    let enough = || asked.fetch_add(1, Ordering::Relaxed) > 0;
    let plan = serde_json::json!({"duration_s": 600.0});
    let group = serde_json::json!({"arrivals": uniform(200.0)});
    let trial = run_until(server.port, group, plan, quietly, &enough);
    assert_eq!(trial.result, Ok(false));
    assert!(matches!(trial.events.last(), Some(Event::End { asked: true, .. })));
    let open = open(trial.total());
    // 100 an interval, without those due later.
    assert_eq!((open.due % 100, open.left, open.failed), (0, 0, 0));
    assert!(open.due > 0 && open.due < 60_000);
    assert_eq!(open.response.as_ref().unwrap().count, open.due);
}

fn interval_due(event: &Event) -> Option<u64> {
    match event {
        Event::Interval { groups, .. } => Some(groups["g"].open.as_ref()?.due),
        _ => None,
    }
}

#[test]
fn an_open_loop_that_no_server_holds_ends_on_time_with_its_backlog_counted() {
    let server = serve(|_, lines| {
        lines.say("hi\n")?;
        lines.answer(usize::MAX)
    });
    let patch = serde_json::json!({"arrivals": {"process": "poisson", "steps": [
        {"for_s": null, "from_per_s": 1e7, "to_per_s": 1e7},
    ]}});
    let begun = std::time::Instant::now();
    let trial = run_plan(server.port, patch, serde_json::json!({"drain_s": 0.3}), quietly);
    assert_eq!(trial.result, Ok(false));
    assert!(begun.elapsed() < Duration::from_secs(120), "{:?}", begun.elapsed());
    let total = trial.total();
    let open = open(total);
    assert!(open.due > 9_900_000 && open.due < 10_100_000, "{}", open.due);
    assert!(open.backlog_end + open.begun >= open.due);
    assert!(open.left > 0 && open.drain_s >= 0.3);
    let response = open.response.as_ref().unwrap();
    assert_eq!((response.count, response.censored), (open.due, open.left + open.failed));
    assert!(trial.hlog.contains("Tag=g/!response_censored,"));
}

#[test]
fn sessions_are_dealt_over_the_targets_of_their_group() {
    let count: Behaviour = |_, lines| {
        lines.say("hi\n")?;
        lines.answer(usize::MAX)
    };
    let servers = [serve(count), serve(count)];
    let target = |server: &Server| {
        serde_json::json!({
            "driver": "toy", "address": {"tcp": {"host": "127.0.0.1", "port": server.port}}
        })
    };
    let plan = serde_json::json!({"targets": {"t": target(&servers[0]), "u": target(&servers[1])}});
    let group = serde_json::json!({"sessions": 5, "also_targets": ["u"]});
    let trial = run_plan(servers[0].port, group, plan, quietly);
    assert_eq!(trial.result, Ok(false));
    let connections = servers.map(|server| server.connections.load(Ordering::Relaxed));
    assert_eq!(connections, [3, 2]);
}

#[test]
fn a_group_speaks_one_protocol_and_a_drain_has_a_length() {
    let other = serde_json::json!({"driver": "other", "address": "none"});
    let toy = serde_json::json!({"driver": "toy", "address": "none"});
    let plan = serde_json::json!({"targets": {"t": toy, "u": other}});
    let group = serde_json::json!({"also_targets": ["u"]});
    let error = run_plan(1, group, plan, quietly).result.unwrap_err();
    assert!(error.what.contains("also_targets") && error.what.contains("other"), "{error}");
    let plan = serde_json::json!({"drain_s": -1.0});
    let error = run_plan(1, serde_json::json!({}), plan, quietly).result.unwrap_err();
    assert!(error.what.contains("drain_s"), "{error}");
}
