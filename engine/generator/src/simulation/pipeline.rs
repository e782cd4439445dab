//! Transactions that are sent together: each one counts by itself.

use super::*;
use dyno_core::histogram::{bucket_of, range_of};
use dyno_core::plan::{Process, RateStep, ThinkDistribution, ThinkPer};

/// [`One`], of which a session sends as many together.
pub struct Together(pub u32);

impl Workload for Together {
    fn requests(&self) -> Vec<Request> {
        One.requests()
    }
    fn fill(&self, session: u32, index: u64, tx: &mut Transaction) {
        One.fill(session, index, tx);
    }
    fn pipeline(&self) -> u32 {
        self.0
    }
    fn changes_data(&self) -> bool {
        false
    }
    fn tables(&self) -> Vec<Table> {
        vec![]
    }
    fn rows(&self, _: usize, _: std::ops::Range<u64>, _: &mut dyn RowSink) {}
}

/// (time in ms, number of the transaction) of each request.
fn sent(outcome: &Outcome) -> Vec<(u64, i64)> {
    let number = |request: &Sent| match request.values[1] {
        Value::Int(number) => (request.at_ns as u64 / MS, number),
        ref other => panic!("no number: {other:?}"),
    };
    outcome.log.iter().map(number).collect()
}

#[test]
fn the_next_ones_are_sent_when_all_are_answered() {
    let outcome = simulate(&Setup::default(), &Together(4), |_| (10 * MS, None));
    let group = outcome.group();
    assert_eq!((group.committed(), group.operations.get(), group.rows.get()), (396, 396, 396));
    assert_eq!(outcome.class(0), 396);
    assert_eq!((group.writes.get(), group.written.get()), (100, 400));
    assert_eq!(outcome.latency().mean_ns(), 10.0 * MS as f64);
    let together: Vec<(u64, i64)> = (0..400).map(|n| (n as u64 / 4 * 10, n)).collect();
    assert_eq!(sent(&outcome), together);
    assert_eq!(group.in_flight_oldest_ns.get(), 10 * MS - 1);
}

#[test]
fn a_latency_lasts_from_the_write_to_the_own_answer() {
    // Answers after 1, 2, 3 and 4 ms; the next four are sent with the last one.
    let setup = Setup { length_ns: 40 * MS + 1, ..Setup::default() };
    let outcome = simulate(&setup, &Together(4), |call| ((call.number % 4 + 1) * MS, None));
    assert_eq!(outcome.group().committed(), 40);
    assert_eq!(outcome.latency().mean_ns(), 2.5 * MS as f64);
    assert_eq!(outcome.latency().max_ns(), range_of(bucket_of(4 * MS)).1);
    assert_eq!(sent(&outcome)[..5], [(0, 0), (0, 1), (0, 2), (0, 3), (4, 4)]);
    // What the end interrupts is not counted.
    let setup = Setup { length_ns: 2 * MS + 1, ..Setup::default() };
    let outcome = simulate(&setup, &Together(4), |call| ((call.number % 4 + 1) * MS, None));
    assert_eq!((outcome.group().committed(), outcome.group().failed.get()), (2, 0));
}

#[test]
fn a_refusal_fails_its_own_transaction_alone() {
    let setup = Setup { length_ns: 20 * MS + 1, ..Setup::default() };
    let outcome = simulate(&setup, &Together(4), |call| {
        (10 * MS, if call.number == 1 { refusal("OOM", false, true) } else { None })
    });
    let group = outcome.group();
    assert_eq!((group.committed(), group.failed.get(), group.retries.get()), (7, 1, 0));
    assert_eq!(outcome.codes, BTreeMap::from([("OOM".to_owned(), 1)]));
    assert_eq!(outcome.censored().count(), 1);
}

#[test]
fn a_retry_sends_again_what_was_refused_and_nothing_else_meanwhile() {
    let setup = Setup { length_ns: 30 * MS, ..Setup::default() };
    let outcome = simulate(&setup, &Together(4), |call| {
        let again = matches!(call.number, 1 | 3);
        (10 * MS, if again { refusal("TRYAGAIN", true, true) } else { None })
    });
    let group = outcome.group();
    assert_eq!((group.committed(), group.failed.get(), group.retries.get()), (4, 0, 2));
    assert_eq!(outcome.codes, BTreeMap::from([("TRYAGAIN".to_owned(), 2)]));
    let numbers: Vec<i64> = sent(&outcome).iter().map(|request| request.1).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 1, 3, 4, 5, 6, 7]);
    // Together after a back-off of at most 1 ms, on the clock of the first write.
    let again_ns = outcome.sent()[4].0;
    assert_eq!(outcome.sent()[5].0, again_ns);
    assert!((10 * MS..=11 * MS).contains(&again_ns), "{again_ns}");
    assert_eq!(outcome.latency().max_ns(), range_of(bucket_of(again_ns + 10 * MS)).1);
}

#[test]
fn retries_end_for_each_by_itself() {
    let setup = Setup { retries: 1, length_ns: 40 * MS, ..Setup::default() };
    let outcome = simulate(&setup, &Together(3), |call| {
        // Transaction 0 is refused twice, transaction 1 once.
        let is_refused = matches!(call.number, 0 | 1 | 3);
        (10 * MS, if is_refused { refusal("TRYAGAIN", true, true) } else { None })
    });
    let group = outcome.group();
    assert_eq!((group.committed(), group.failed.get(), group.retries.get()), (5, 1, 2));
}

#[test]
fn a_deadline_fails_what_has_no_answer() {
    let setup = Setup { deadline_ns: 100 * MS, length_ns: 110 * MS, ..Setup::default() };
    let outcome = simulate(&setup, &Together(4), |call| {
        (if call.number >= 2 { 3600 * SECOND } else { 5 * MS }, None)
    });
    let group = outcome.group();
    assert_eq!(outcome.codes, BTreeMap::from([("deadline".to_owned(), 2)]));
    assert_eq!((group.failed.get(), outcome.censored().count()), (2, 2));
    assert_eq!(outcome.censored().mean_ns(), 100.0 * MS as f64);
    // The new connection sends the next four; two of them are answered by the end.
    assert_eq!(sent(&outcome)[4..], [(100, 4), (100, 5), (100, 6), (100, 7)]);
    assert_eq!(group.committed(), 4);
}

#[test]
fn a_lost_connection_fails_what_has_no_answer() {
    let setup = Setup { lost: Some((4 * MS, 0..1)), length_ns: 100 * MS, ..Setup::default() };
    let outcome =
        simulate(&setup, &Together(4), |call| (if call.number == 0 { MS } else { 10 * MS }, None));
    assert_eq!(outcome.codes, BTreeMap::from([("lost".to_owned(), 3)]));
    assert_eq!(outcome.group().failed.get(), 3);
    assert_eq!(outcome.log[4].values[1], Value::Int(4));
}

#[test]
fn a_session_thinks_once_for_what_it_sends_together() {
    let think = ThinkPlan {
        mean_s: 0.02,
        distribution: ThinkDistribution::Constant,
        per: ThinkPer::Transaction,
    };
    let setup = Setup { think: Some(think), length_ns: 70 * MS, ..Setup::default() };
    let outcome = simulate(&setup, &Together(2), |_| (10 * MS, None));
    assert_eq!(sent(&outcome), [(0, 0), (0, 1), (30, 2), (30, 3), (60, 4), (60, 5)]);
    assert_eq!(outcome.latency().mean_ns(), 10.0 * MS as f64);
}

/// An arrival each 10 ms.
fn arrivals() -> Option<Arrivals> {
    let steps = vec![RateStep { for_s: None, from_per_s: 100.0, to_per_s: 100.0 }];
    Some(Arrivals { process: Process::Uniform, steps })
}

#[test]
fn an_open_loop_sends_together_what_is_due_and_waits_for_no_more() {
    let setup =
        Setup { arrivals: arrivals(), length_ns: 100 * MS, drain_ns: SECOND, ..Setup::default() };
    let outcome = simulate(&setup, &Together(16), |_| (35 * MS, None));
    // The answer at 35 ms finds three due; that at 70 ms finds four, that at 105 ms the rest.
    assert_eq!((outcome.group().writes.get(), outcome.group().written.get()), (4, 10));
    let expected =
        [(0, 0), (35, 1), (35, 2), (35, 3), (70, 4), (70, 5), (70, 6), (70, 7), (105, 8), (105, 9)];
    assert_eq!(sent(&outcome), expected);
    assert_eq!(outcome.latency().mean_ns(), 35.0 * MS as f64);
    let (total, _) = outcome.open.unwrap();
    // The last two begin after the measured time.
    assert_eq!((total.due, total.begun, total.left, total.failed), (10, 8, 0, 0));
    // Each from its own due time on: 35; 60, 50, 40; 65, 55, 45, 35; 60, 50 ms.
    assert_eq!(total.response.unwrap().mean_ns, 49.5 * MS as f64);
}

#[test]
fn an_open_loop_sends_no_more_together_than_the_pipeline_is_long() {
    let setup = Setup { arrivals: arrivals(), length_ns: 100 * MS, ..Setup::default() };
    let outcome = simulate(&setup, &Together(2), |_| (35 * MS, None));
    assert_eq!(sent(&outcome), [(0, 0), (35, 1), (35, 2), (70, 3), (70, 4)]);
    // Two in flight and five that have not begun.
    let (total, _) = outcome.open.unwrap();
    assert_eq!((total.due, total.begun, total.left), (10, 5, 7));
}

#[test]
fn arrivals_without_an_answer_count_as_given_up_or_left() {
    let setup = Setup {
        arrivals: arrivals(),
        deadline_ns: 50 * MS,
        length_ns: 100 * MS,
        drain_ns: SECOND,
        ..Setup::default()
    };
    // Of the three sent at 35 ms one is refused and one is never answered.
    let outcome = simulate(&setup, &Together(16), |call| match call.value(1) {
        0 => (35 * MS, None),
        1 => (10 * MS, refusal("OOM", false, true)),
        3 => (3600 * SECOND, None),
        _ => (10 * MS, None),
    });
    assert_eq!(sent(&outcome)[4..], [(85, 4), (85, 5), (85, 6), (85, 7), (85, 8), (95, 9)]);
    let (total, _) = outcome.open.unwrap();
    assert_eq!((total.due, total.begun, total.failed, total.left), (10, 10, 2, 0));
    let codes = [("OOM".to_owned(), 1), ("deadline".to_owned(), 1)];
    assert_eq!(outcome.codes, BTreeMap::from(codes));
}
