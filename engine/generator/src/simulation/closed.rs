//! Closed loops: the next transaction begins when the last one has ended.

use super::*;
use crate::session::BACKOFF_MAX_NS;
use dyno_core::histogram::{bucket_of, range_of};
use dyno_core::plan::{ThinkDistribution, ThinkPer};
use dyno_core::workload::Expect;
use std::cell::Cell;

#[test]
fn a_closed_loop_sends_the_next_transaction_at_once() {
    let outcome = simulate(&Setup::default(), &One, |_| (10 * MS, None));
    let group = outcome.group();
    // Answers at 10 ms, 20 ms ... 990 ms; the load does not wait for the one due at the end.
    assert_eq!((group.committed(), group.operations.get(), group.rows.get()), (99, 99, 99));
    assert_eq!(outcome.latency().mean_ns(), 10.0 * MS as f64);
    assert_eq!(group.in_flight_oldest_ns.get(), 10 * MS - 1);
    assert_eq!(outcome.class(0), 99);
    assert_eq!(outcome.log.len(), 100);
}

#[test]
fn a_transaction_lasts_from_its_first_request_to_the_answer_to_its_commit() {
    let outcome = simulate(&Setup::default(), &Three, |call| match call.op.request {
        1 => (30 * MS, None),
        _ => (5 * MS, None),
    });
    let group = outcome.group();
    assert_eq!((group.committed(), group.operations.get()), (24, 72));
    assert_eq!(outcome.latency().mean_ns(), 40.0 * MS as f64);
    assert_eq!([0, 1, 2].map(|class| outcome.class(class)), [24, 24, 24]);
    assert_eq!(group.in_flight_oldest_ns.get(), 40 * MS - 1);
}

#[test]
fn a_retry_is_the_same_transaction_on_the_first_attempts_clock() {
    // The first two writes deadlock; the server has rolled back.
    let outcome = simulate(&Setup::default(), &Three, |call| {
        assert!(call.op.request != 1 || call.tx.values.len() == 1);
        (MS, if call.number == 1 || call.number == 3 { refusal("1213", true, true) } else { None })
    });
    let group = outcome.group();
    assert_eq!(outcome.codes, BTreeMap::from([("1213".to_owned(), 2)]));
    assert_eq!((group.errors.get(), group.retries.get(), group.failed.get()), (2, 2, 0));
    assert_eq!(group.refused_commits.get(), 0);
    // begin 1 ms, write 1 ms, back-off 0.5 to 1 ms; the same, back-off 1 to 2 ms; then 3 ms.
    let first_ms = outcome.latency().max_ns() as f64 / MS as f64;
    assert!((8.5..10.1).contains(&first_ms), "{first_ms}");
    // Only committed transactions count.
    assert_eq!(outcome.class(0), group.committed());
    assert_eq!(group.operations.get(), 3 * group.committed());
    assert_eq!(outcome.notices.len(), 1, "a code is reported once: {:?}", outcome.notices);
}

#[test]
fn a_refused_commit_is_counted_as_such() {
    let outcome = simulate(&Setup::default(), &Three, |call| {
        (MS, if call.number == 2 { refusal("1213", true, true) } else { None })
    });
    let group = outcome.group();
    assert_eq!((group.errors.get(), group.refused_commits.get()), (1, 1));
}

#[test]
fn retries_back_off_further_each_time_and_end() {
    let setup = Setup { retries: 9, length_ns: 2 * SECOND, ..Setup::default() };
    let outcome = simulate(&setup, &Three, |call| {
        (MS, if call.op.request == 1 { refusal("1213", true, true) } else { None })
    });
    let group = outcome.group();
    assert_eq!(group.committed(), 0);
    let begins: Vec<u64> = outcome
        .sent()
        .into_iter()
        .filter(|request| request.1 == 0)
        .map(|request| request.0)
        .collect();
    for (retry, pair) in begins[..10].windows(2).enumerate() {
        let full_ns = (MS << retry).min(BACKOFF_MAX_NS);
        let wait_ns = pair[1] - pair[0] - 2 * MS;
        assert!(wait_ns > full_ns / 2 && wait_ns <= full_ns, "retry {retry}: {wait_ns}");
    }
    // Ten attempts a transaction, the last one without a wait after it.
    assert_eq!(begins[10] - begins[9], 2 * MS);
    assert_eq!(group.failed.get(), group.errors.get() / 10);
    // Each transaction had nine retries, except the one that the end interrupted.
    let begun = group.retries.get() + group.failed.get();
    assert!((begun..=begun + 1).contains(&(begins.len() as u64)));
}

#[test]
fn an_error_that_is_not_retryable_rolls_back_and_goes_on() {
    // Calls: begin, write (refused); from the next transaction on every call succeeds.
    let outcome = simulate(&Setup::default(), &Three, |call| {
        (MS, if call.number == 1 { refusal("1062", false, false) } else { None })
    });
    let group = outcome.group();
    assert_eq!((group.errors.get(), group.retries.get(), group.failed.get()), (1, 0, 1));
    assert_eq!(outcome.codes["1062"], 1);
    // The ROLLBACK is answered at once: the next BEGIN leaves at 2 ms.
    assert_eq!(&outcome.sent()[..4], [(0, 0), (MS, 1), (2 * MS, 0), (3 * MS, 1)]);
    assert_eq!(outcome.latency().mean_ns(), 3.0 * MS as f64);
}

#[test]
fn a_deadline_counts_at_least_its_age_and_the_session_works_on() {
    let setup = Setup { deadline_ns: 100 * MS, ..Setup::default() };
    // Call 3 of a connection hangs; the session closes the connection and makes a new one.
    let outcome = simulate(&setup, &One, |call| {
        (if call.number == 3 { 3600 * SECOND } else { 10 * MS }, None)
    });
    let group = outcome.group();
    let mut ages = Histogram::default();
    group.error_latency.add_to(&mut ages);
    // Each connection: three answers, then 100 ms of waiting: 130 ms.
    assert_eq!(outcome.codes, BTreeMap::from([("deadline".to_owned(), 7)]));
    assert_eq!((group.failed.get(), group.committed()), (7, 7 * 3 + 3));
    assert_eq!(ages.mean_ns(), 100.0 * MS as f64);
    assert_eq!(outcome.latency().mean_ns(), 10.0 * MS as f64);
    assert_eq!(group.lost.get(), 0);
}

#[test]
fn what_is_given_up_counts_with_its_age_from_the_first_attempt_on() {
    // One call in fifty takes 200 ms. With a deadline of 100 ms, the session gives it up then.
    let slow = |call: Call<'_>| (if call.number % 50 == 49 { 200 * MS } else { 2 * MS }, None);
    let setup = Setup { length_ns: 600 * SECOND, ..Setup::default() };
    let p99 = |outcome: &Outcome| {
        let latency = outcome.latency().latency_with(&outcome.censored()).unwrap();
        (latency.p99_ns.unwrap() / MS, latency.at_least)
    };
    assert_eq!(p99(&simulate(&setup, &One, slow)), (200, vec![]));
    let setup = Setup { deadline_ns: 100 * MS, ..setup };
    let outcome = simulate(&setup, &One, slow);
    assert_eq!(outcome.latency().quantile_ns(0.99) / MS, 2, "of those that committed");
    let bounds = ["mean_ns", "p99_ns", "p999_ns"].map(str::to_owned).to_vec();
    assert_eq!(p99(&outcome), (100, bounds));
    assert_eq!(outcome.censored().mean_ns(), 100.0 * MS as f64);
    assert_eq!(outcome.censored().count(), outcome.group().failed.get());
    // Refused twice, 10 ms each, with a pause of 0.5 to 1 ms between: no retry is left.
    let outcome = simulate(&Setup { retries: 1, ..Setup::default() }, &One, |call| {
        (10 * MS, if call.number < 2 { refusal("1213", true, true) } else { None })
    });
    assert_eq!((outcome.censored().count(), outcome.group().failed.get()), (1, 1));
    let age_ms = outcome.censored().mean_ns() / MS as f64;
    assert!((20.5..=21.0).contains(&age_ms), "{age_ms}");
    // A connection is lost 4 ms into a transaction.
    let setup = Setup { lost: Some((34 * MS, 0..1)), ..Setup::default() };
    let outcome = simulate(&setup, &One, |_| (10 * MS, None));
    assert_eq!(outcome.censored().mean_ns(), 4.0 * MS as f64);
}

#[test]
fn a_deadline_also_ends_retrying() {
    let setup = Setup { deadline_ns: 50 * MS, retries: u32::MAX, ..Setup::default() };
    let outcome = simulate(&setup, &Three, |call| {
        (MS, if call.op.request == 1 { refusal("40001", true, true) } else { None })
    });
    let group = outcome.group();
    assert_eq!(group.committed(), 0);
    assert!(outcome.codes["deadline"] >= 18, "{:?}", outcome.codes);
    assert_eq!(group.failed.get(), outcome.codes["deadline"]);
}

#[test]
fn the_same_seed_repeats_every_moment() {
    let run = || {
        let setup = Setup { sessions: 7, ..Setup::default() };
        simulate(&setup, &Three, |call| {
            (
                MS + call.number % 3,
                if call.number % 5 == 1 { refusal("1213", true, false) } else { None },
            )
        })
        .log
    };
    assert_eq!(run(), run());
}

fn pause(mean_s: f64, per: ThinkPer) -> ThinkPlan {
    ThinkPlan { mean_s, distribution: ThinkDistribution::Constant, per }
}

#[test]
fn a_session_thinks_after_each_transaction() {
    let think = pause(0.005, ThinkPer::Transaction);
    let setup = Setup { think: Some(think), ..Setup::default() };
    // The third one fails: a think time follows it as well.
    let outcome = simulate(&setup, &One, |call| {
        (10 * MS, if call.number == 2 { refusal("1062", false, false) } else { None })
    });
    let sent: Vec<u64> = outcome.sent().iter().map(|request| request.0 / MS).collect();
    let expected: Vec<u64> = (0..67).map(|index| index * 15).collect();
    assert_eq!(sent, expected);
    assert_eq!((outcome.group().committed(), outcome.group().failed.get()), (65, 1));
    assert_eq!(outcome.latency().mean_ns(), 10.0 * MS as f64);
}

#[test]
fn a_session_that_thinks_and_loses_its_connection_goes_on_with_the_next_transaction() {
    let think = pause(0.09, ThinkPer::Transaction);
    let setup = Setup { think: Some(think), lost: Some((50 * MS, 0..1)), ..Setup::default() };
    let outcome = simulate(&setup, &One, |_| (10 * MS, None));
    assert_eq!(outcome.group().failed.get(), 0);
    let indexes: Vec<&Value> = outcome.log.iter().map(|request| &request.values[1]).collect();
    assert!(indexes.iter().enumerate().all(|(n, &index)| *index == Value::Int(n as i64)));
    let second_ns = outcome.log[1].at_ns as u64;
    assert!((50 * MS..=60 * MS).contains(&second_ns), "{second_ns}");
}

#[test]
fn a_slow_client_pauses_before_each_operation_within_its_transaction() {
    let setup = Setup { think: Some(pause(0.005, ThinkPer::Operation)), ..Setup::default() };
    let outcome = simulate(&setup, &Three, |_| (10 * MS, None));
    // The first pause begins with the load: 5 ms, then 10 ms at the server, and so on.
    let sent = outcome.sent();
    assert_eq!(sent.len(), 67);
    let expected = |n: u64| ((5 + 15 * n) * MS, (n % 3) as u16);
    assert!(sent.iter().enumerate().all(|(n, &request)| request == expected(n as u64)));
    // 45 ms a transaction; the statements' times are those of the server.
    assert_eq!(outcome.group().committed(), 22);
    assert_eq!(outcome.latency().mean_ns(), 45.0 * MS as f64);
    let mut write = Histogram::default();
    outcome.group().classes[1].add_to(&mut write);
    assert_eq!((write.count(), write.mean_ns()), (22, 10.0 * MS as f64));
}

thread_local! {
    /// When the server of `one_at_a_time` will have answered all requests.
    static FREE_NS: Cell<i64> = const { Cell::new(0) };
}

/// A server that answers requests one by one, 1 ms each.
fn one_at_a_time(call: Call<'_>) -> (u64, Option<ServerError>) {
    let answer_ns = FREE_NS.get().max(call.at_ns) + MS as i64;
    FREE_NS.set(answer_ns);
    ((answer_ns - call.at_ns) as u64, None)
}

#[test]
fn a_slow_client_costs_throughput_alone_and_nothing_once_the_server_is_saturated() {
    let committed = |sessions, pause_s| {
        FREE_NS.set(0);
        let think = Some(pause(pause_s, ThinkPer::Operation));
        let outcome = simulate(&Setup { sessions, think, ..Setup::default() }, &One, one_at_a_time);
        outcome.group().committed()
    };
    // Alone: 1 ms or 4 ms of the client's and 1 ms of the server's time, alternating.
    assert_eq!([committed(1, 0.001), committed(1, 0.004)], [499, 199]);
    // Many: an answer each millisecond except during the first pause, when there is nothing to do.
    assert_eq!([committed(16, 0.001), committed(16, 0.004)], [998, 995]);
}

#[test]
fn an_attempt_that_is_repeated_pauses_again() {
    let setup = Setup { think: Some(pause(0.005, ThinkPer::Operation)), ..Setup::default() };
    let outcome = simulate(&setup, &Three, |call| {
        (MS, if call.number == 1 { refusal("1213", true, true) } else { None })
    });
    assert_eq!(outcome.group().retries.get(), 1);
    // BEGIN at 5 ms and the write at 11 ms; it fails at 12 ms, backs off at most 1 ms, pauses.
    let sent: Vec<u64> = outcome.sent().iter().map(|request| request.0).collect();
    assert_eq!(sent[..2], [5 * MS, 11 * MS]);
    assert!((17 * MS..18 * MS).contains(&(sent[2] - MS / 2)), "{}", sent[2]);
    // The first attempt's clock has run since 0 ms, and BEGIN leaves at `sent[2]`.
    assert_eq!(outcome.latency().max_ns(), range_of(bucket_of(sent[2] + 13 * MS)).1);
}

#[test]
fn a_deadline_that_comes_in_a_pause_rolls_back_what_is_open() {
    let think = Some(pause(0.04, ThinkPer::Operation));
    let setup = Setup { think, deadline_ns: 100 * MS, ..Setup::default() };
    // Pause to 40 ms, BEGIN to 50 ms, pause to 90 ms, write to 100 ms: too late for the COMMIT.
    let outcome = simulate(&setup, &Three, |_| (10 * MS, None));
    let group = outcome.group();
    assert_eq!(group.committed(), 0);
    assert_eq!(outcome.codes, BTreeMap::from([("deadline".to_owned(), 9)]));
    // The session keeps its connection, and the next transaction begins at once.
    assert_eq!(outcome.sent()[..3], [(40 * MS, 0), (90 * MS, 1), (140 * MS, 0)]);
    assert_eq!(group.lost.get(), 0);
}

#[test]
fn a_connection_lost_in_a_pause_fails_its_transaction() {
    let think = Some(pause(0.04, ThinkPer::Operation));
    let setup = Setup { think, lost: Some((60 * MS, 0..1)), ..Setup::default() };
    let outcome = simulate(&setup, &Three, |_| (10 * MS, None));
    assert_eq!(outcome.codes, BTreeMap::from([("lost".to_owned(), 1)]));
    assert_eq!(outcome.group().failed.get(), 1);
}

/// BEGIN, a read of which two rows are expected, COMMIT.
struct Checked;

impl Workload for Checked {
    fn requests(&self) -> Vec<Request> {
        let mut statements = Three.requests();
        statements[1].expect = Some(Expect { rows: Some(2..=2), affected: None });
        statements
    }
    fn fill(&self, session: u32, index: u64, tx: &mut Transaction) {
        Three.fill(session, index, tx);
    }
    fn changes_data(&self) -> bool {
        true
    }
    fn tables(&self) -> Vec<Table> {
        vec![]
    }
    fn rows(&self, _: usize, _: std::ops::Range<u64>, _: &mut dyn RowSink) {}
}

#[test]
fn an_unexpected_answer_fails_its_transaction_for_good() {
    let outcome = simulate(&Setup::default(), &Checked, |_| (10 * MS, None));
    let group = outcome.group();
    // BEGIN and the read take 20 ms, the ROLLBACK none; no COMMIT is ever sent.
    assert_eq!(outcome.codes, BTreeMap::from([("check".to_owned(), 49)]));
    assert_eq!((group.committed(), group.failed.get(), group.retries.get()), (0, 49, 0));
    assert!(outcome.log.iter().all(|request| request.request != 2));
    let Notice::Error { code, message, .. } = &outcome.notices[0] else { panic!("no error") };
    assert_eq!(code, "check");
    assert_eq!(message, "statement write: expected 2 rows, seen 1");
}
