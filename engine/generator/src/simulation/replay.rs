//! Replay: each statement is sent on its session, in order, when it is due or right after the answer
//! before it.

use super::*;
use dyno_core::trace::{Class, Effect, Event, Language, Meta, Origin, Writer};
use dyno_core::workload::{Dialect, Order};
use dyno_workloads::replay;
use serde_json::json;
use std::io::Write;

/// Statements as (session, begin in ms, database). The number of a statement is its class.
fn recorded(lines: &[(u32, u64, &str)], speed: serde_json::Value) -> Box<dyn Workload> {
    let mut writer = Writer::new(Vec::new(), Language::Mysql).unwrap();
    let mut meta = Meta { begin_ns: 7, events: lines.len() as u64, ..Meta::default() };
    for (number, &(session, begin_ms, database)) in lines.iter().enumerate() {
        let event = Event {
            begin_ns: 7 + (begin_ms * MS) as i64,
            // Classes are in the order of their time.
            duration_ns: 1000 - number as u64,
            effect: Effect::Read,
            class: number as u32,
            origin: number as u32,
            text: b"select 1",
        };
        writer.event(session, &event).unwrap();
        meta.sessions = meta.sessions.max(session + 1);
        meta.classes.push(Class { name: format!("c{number}"), ..Class::default() });
        meta.origins.push(Origin { database: database.to_owned(), ..Origin::default() });
    }
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&writer.finish(&meta).unwrap()).unwrap();
    let options = json!({"trace": file.path(), "speed": speed, "databases": "log"});
    let options = serde_json::from_value(options).unwrap();
    let order = Order { options: &options, dialect: Dialect::Mysql, seed: 1, sessions: 1 };
    (replay::KIND.build)(&order).unwrap()
}

/// (time in ms, statement number).
fn sent(outcome: &Outcome) -> Vec<(u64, u16)> {
    let mut sent: Vec<(u64, u16)> =
        outcome.sent().iter().map(|&(at_ns, which)| (at_ns / MS, which)).collect();
    sent.sort_unstable();
    sent
}

fn players(sessions: u32) -> Setup {
    Setup { sessions, length_ns: 10 * SECOND, retries: 0, ..Setup::default() }
}

const TWO: [(u32, u64, &str); 5] =
    [(0, 0, ""), (1, 40, ""), (0, 50, ""), (1, 50, ""), (0, 2000, "")];

#[test]
fn statements_are_sent_when_they_were_by_the_speed() {
    for (speed, by) in [(1.0, 1), (10.0, 10)] {
        let workload = recorded(&TWO, json!(speed));
        let outcome = simulate(&players(2), &*workload, |_| (MS, None));
        let due = [(0, 0), (40 / by, 1), (50 / by, 2), (50 / by, 3), (2000 / by, 4)];
        assert_eq!(sent(&outcome), due);
        let (total, histograms) = outcome.open.unwrap();
        assert_eq!((total.due, total.begun, total.failed, total.left), (5, 5, 0, 0));
        assert_eq!(histograms.response.mean_ns(), MS as f64);
        assert_eq!(outcome.metrics[0].groups[0].committed(), 5);
    }
}

#[test]
fn a_slow_server_makes_sessions_late_and_nothing_is_dropped() {
    let lines = [(0, 0, ""), (0, 10, ""), (0, 20, ""), (1, 10, "")];
    let workload = recorded(&lines, json!(1));
    let outcome = simulate(&players(2), &*workload, |_| (30 * MS, None));
    assert_eq!(sent(&outcome), [(0, 0), (10, 3), (30, 1), (60, 2)]);
    assert_eq!(outcome.latency().mean_ns(), 30.0 * MS as f64);
    // Responses of 30, 50 and 70 ms, and 30 of the other session.
    let (total, histograms) = outcome.open.unwrap();
    assert_eq!(histograms.response.mean_ns(), 45.0 * MS as f64);
    assert_eq!((total.due, total.left), (4, 0));
}

#[test]
fn as_fast_as_answers_come_each_session_keeps_its_order() {
    let workload = recorded(&TWO, json!("max"));
    let outcome = simulate(&players(2), &*workload, |_| (5 * MS, None));
    assert_eq!(sent(&outcome), [(0, 0), (0, 1), (5, 2), (5, 3), (10, 4)]);
    assert!(outcome.open.is_none());
    assert_eq!(outcome.latency().count(), 5);
}

#[test]
fn one_who_is_free_plays_the_session_that_begins_next() {
    let lines = [(0, 0, ""), (1, 10, ""), (2, 20, ""), (0, 40, "")];
    let outcome = simulate(&players(1), &*recorded(&lines, json!(1)), |_| (MS, None));
    // Session 0 ends at 41 ms; the others are late by then.
    assert_eq!(sent(&outcome), [(0, 0), (40, 3), (41, 1), (42, 2)]);
    let (_, histograms) = outcome.open.unwrap();
    assert_eq!(histograms.response.mean_ns(), (1.0 + 1.0 + 32.0 + 23.0) / 4.0 * MS as f64);
    let outcome = simulate(&players(3), &*recorded(&lines, json!("max")), |_| (MS, None));
    assert_eq!(sent(&outcome), [(0, 0), (0, 1), (0, 2), (1, 3)]);
}

#[test]
fn what_is_refused_is_counted_and_not_tried_again() {
    let lines = [(0, 0, ""), (0, 10, ""), (0, 20, "")];
    let outcome = simulate(&players(1), &*recorded(&lines, json!(1)), |call| {
        (MS, if call.number == 1 { refusal("1213", true, true) } else { None })
    });
    assert_eq!(sent(&outcome).len(), 3);
    assert_eq!(outcome.codes["1213"], 1);
    let (total, _) = outcome.open.unwrap();
    assert_eq!((total.begun, total.failed, total.left), (3, 1, 0));
}

#[test]
fn sessions_begin_in_their_database_and_change_it_without_counting_that() {
    let lines = [(0, 0, "a"), (0, 10, "b"), (0, 20, "b"), (1, 5, "b")];
    let workload = recorded(&lines, json!(1));
    assert_eq!(workload.recording().unwrap().databases(), ["", "a", "b"]);
    let outcome = simulate(&players(2), &*workload, |_| (MS, None));
    assert_eq!(sent(&outcome), [(0, 0), (5, 3), (10, 1), (20, 2)]);
    assert_eq!(outcome.latency().count(), 4);
}

#[test]
fn a_lost_connection_costs_the_statement_under_way_alone() {
    let lines = [(0, 0, ""), (0, 100, ""), (0, 3000, "")];
    let setup = Setup { lost: Some((110 * MS, 0..1)), ..players(1) };
    let outcome = simulate(&setup, &*recorded(&lines, json!(1)), |_| (50 * MS, None));
    assert_eq!(sent(&outcome), [(0, 0), (100, 1), (3000, 2)]);
    assert_eq!(outcome.codes["lost"], 1);
    // A statement that only waits is not lost with its connection.
    let setup = Setup { lost: Some((300 * MS, 0..1)), ..players(1) };
    let outcome = simulate(&setup, &*recorded(&lines, json!(1)), |_| (50 * MS, None));
    assert_eq!(sent(&outcome), [(0, 0), (100, 1), (3000, 2)]);
    assert!(outcome.codes.is_empty(), "{:?}", outcome.codes);
}

#[test]
fn the_end_leaves_what_was_due_and_begins_nothing_that_was_not() {
    let lines = [(0, 0, ""), (0, 500, ""), (0, 600, ""), (0, 2000, ""), (1, 700, ""), (2, 800, "")];
    let setup = Setup { length_ns: SECOND, ..players(1) };
    let outcome = simulate(&setup, &*recorded(&lines, json!(1)), |call| {
        (if call.number == 1 { 5 * SECOND } else { MS }, None)
    });
    assert_eq!(sent(&outcome), [(0, 0), (500, 1)]);
    let (total, histograms) = outcome.open.unwrap();
    assert_eq!((total.due, total.begun, total.left), (5, 2, 4));
    assert_eq!((histograms.censored.count(), histograms.censored.min_ns() / MS), (4, 199));
    let setup = Setup { warmup_ns: 550 * MS, length_ns: 500 * MS, ..players(3) };
    let outcome = simulate(&setup, &*recorded(&lines, json!(1)), |_| (MS, None));
    let (total, _) = outcome.open.unwrap();
    assert_eq!((total.due, total.left), (3, 0));
}
