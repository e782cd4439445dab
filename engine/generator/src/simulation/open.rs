//! Open loops: transactions begin when they are due; response times count from then on.

use super::*;
use dyno_core::histogram::{bucket_of, range_of};
use dyno_core::plan::{Process, RateStep, ThinkDistribution, ThinkPer};
use proptest::prelude::*;

fn steady(process: Process, rate_per_s: f64) -> Option<Arrivals> {
    let steps = vec![RateStep { for_s: None, from_per_s: rate_per_s, to_per_s: rate_per_s }];
    Some(Arrivals { process, steps })
}

fn uniform(rate_per_s: f64) -> Option<Arrivals> {
    steady(Process::Uniform, rate_per_s)
}

/// Upper bound of the bucket of `ms` milliseconds, which percentiles report.
fn bucket_ms(ms: u64) -> u64 {
    range_of(bucket_of(ms * MS)).1
}

fn of(values_ns: impl IntoIterator<Item = u64>) -> Histogram {
    let mut histogram = Histogram::default();
    values_ns.into_iter().for_each(|value_ns| histogram.record(value_ns));
    histogram
}

/// (begin in ns, arrival number), by number.
fn begun(outcome: &Outcome) -> Vec<(i64, i64)> {
    let number = |request: &Sent| match request.values[1] {
        Value::Int(number) => number,
        ref other => panic!("no number: {other:?}"),
    };
    let mut begun: Vec<_> =
        outcome.log.iter().map(|request| (request.at_ns, number(request))).collect();
    begun.sort_by_key(|&(at_ns, number)| (number, at_ns));
    begun
}

/// Due times of an open loop's arrivals, relative to the start of the measured phase.
fn due(arrivals: &Arrivals, warmup_s: f64, length_ns: u64) -> Vec<i64> {
    let mut stream = Stream::new(arrivals, 42, 0, warmup_s);
    let next = || {
        let due_ns = stream.due_ns();
        stream.advance();
        Some(due_ns)
    };
    std::iter::from_fn(next).take_while(|&due_ns| due_ns < length_ns as i64).collect()
}

#[test]
fn a_rate_is_kept_by_all_sessions_together() {
    let setup = Setup { sessions: 4, arrivals: uniform(100.0), ..Setup::default() };
    let outcome = simulate(&setup, &One, |_| (MS, None));
    let due: Vec<(i64, i64)> =
        (0..100).map(|arrival| (arrival * 10 * MS as i64, arrival)).collect();
    assert_eq!(begun(&outcome), due);
    assert_eq!(outcome.latency().mean_ns(), MS as f64);
    let (total, _) = outcome.open.unwrap();
    assert_eq!((total.due, total.begun, total.left, total.failed), (100, 100, 0, 0));
    assert_eq!((total.backlog_end, total.backlog_max), (0, 0));
    assert_eq!(total.response.as_ref().unwrap().mean_ns, MS as f64);
    // All except the first, which was due as the load began, had a session waiting; and nothing is late
    // in simulated time.
    let dispatch = total.dispatch_lag.unwrap();
    assert_eq!((dispatch.count, dispatch.mean_ns), (99, 0.0));
    let response = total.response.unwrap();
    assert_eq!((response.censored, response.at_least.len()), (0, 0));
}

#[test]
fn a_slow_client_lengthens_response_and_service_at_a_fixed_rate() {
    let think = ThinkPlan {
        mean_s: 0.003,
        distribution: ThinkDistribution::Constant,
        per: ThinkPer::Operation,
    };
    let setup =
        Setup { sessions: 4, arrivals: uniform(100.0), think: Some(think), ..Setup::default() };
    let outcome = simulate(&setup, &One, |_| (MS, None));
    // Each begins when due, is sent 3 ms later, and is answered in 1 ms: the rate is as planned.
    let sent: Vec<(i64, i64)> =
        (0..100).map(|arrival| ((arrival * 10 + 3) * MS as i64, arrival)).collect();
    assert_eq!(begun(&outcome), sent);
    assert_eq!(outcome.latency().mean_ns(), 4.0 * MS as f64);
    let (total, _) = outcome.open.unwrap();
    assert_eq!((total.due, total.begun, total.left, total.failed), (100, 100, 0, 0));
    assert_eq!((total.backlog_end, total.backlog_max), (0, 0));
    assert_eq!(total.response.unwrap().mean_ns, 4.0 * MS as f64);
    let dispatch = total.dispatch_lag.unwrap();
    assert_eq!((dispatch.count, dispatch.mean_ns), (99, 0.0));
}

#[test]
fn a_rate_beyond_all_time_sends_the_first_arrival_only() {
    let setup = Setup { sessions: 3, arrivals: uniform(1e-12), ..Setup::default() };
    let outcome = simulate(&setup, &One, |_| (0, None));
    assert_eq!(outcome.group().committed(), 1);
}

#[test]
fn an_end_that_comes_sooner_lets_nothing_begin_that_is_due_later() {
    // An arrival each 100 ms for 10 s. At 1.05 s all sessions wait for one; the end becomes 1.25 s.
    let setup = Setup {
        sessions: 5,
        arrivals: uniform(10.0),
        length_ns: 10 * SECOND,
        drain_ns: SECOND,
        enough: Some((1050 * MS, 1250 * MS)),
        ..Setup::default()
    };
    let outcome = simulate(&setup, &One, |_| (70 * MS, None));
    let numbers: Vec<i64> = begun(&outcome).iter().map(|&(_, number)| number).collect();
    assert_eq!(numbers, (0..13).collect::<Vec<_>>());
    let (total, _) = outcome.open.unwrap();
    assert_eq!((total.due, total.begun, total.left, total.failed), (13, 13, 0, 0));
    assert_eq!(total.response.unwrap().count, 13);
}

#[test]
fn what_a_transaction_sends_depends_on_its_arrival_alone() {
    let sent = |sessions| {
        let setup = Setup {
            sessions,
            arrivals: steady(Process::Poisson, 300.0),
            length_ns: 2 * SECOND,
            drain_ns: 5 * SECOND,
            ..Setup::default()
        };
        let outcome = simulate(&setup, &One, |_| (5 * MS, None));
        let mut values: Vec<_> =
            outcome.log.iter().map(|request| format!("{:?}", request.values)).collect();
        values.sort();
        values
    };
    assert_eq!(sent(1), sent(7));
    let mut unique = sent(7);
    unique.dedup();
    assert_eq!(unique.len(), sent(7).len());
}

/// Frozen from 4 s to 5 s of every 10 s: an answer due then is delayed by the rest of the freeze.
fn frozen(call: Call<'_>) -> (u64, Option<ServerError>) {
    let phase_ns = call.at_ns as u64 % (10 * SECOND);
    let rest_ns = (5 * SECOND).saturating_sub(phase_ns);
    (MS + if phase_ns >= 4 * SECOND { rest_ns } else { 0 }, None)
}

#[test]
fn a_frozen_server_shows_in_the_response_as_arithmetic_predicts() {
    // 100/s, 1 ms each. With a session for each arrival, arrival k of the frozen second responds after
    // 1001 - 10 k ms: a tenth of all arrivals, evenly between 11 ms and 1001 ms.
    let setup = Setup {
        sessions: 200,
        arrivals: uniform(100.0),
        length_ns: 30 * SECOND,
        ..Setup::default()
    };
    let (total, histograms) = simulate(&setup, &One, frozen).open.unwrap();
    let delayed = (0..100).map(|k| (1001 - 10 * k) * MS);
    let period: Vec<u64> = delayed.chain([MS; 900]).collect();
    assert_eq!(histograms.response, of(period.repeat(3)));
    let response = total.response.unwrap();
    assert_eq!(response.p50_ns, Some(bucket_ms(1)));
    assert_eq!(response.p95_ns, Some(bucket_ms(501)));
    assert_eq!(response.p99_ns, Some(bucket_ms(901)));
    assert_eq!(response.max_ns, bucket_ms(1001));
}

#[test]
fn one_session_hides_the_freeze_from_service_time_and_not_from_response_time() {
    let setup = Setup { arrivals: uniform(100.0), length_ns: 30 * SECOND, ..Setup::default() };
    let outcome = simulate(&setup, &One, frozen);
    // Arrival k from the frozen second on begins k ms after its end: 1001 - 9 k ms, until the
    // backlog is empty with k = 111.
    let delayed = (0..112).map(|k| (1001 - 9 * k) * MS);
    let period: Vec<u64> = delayed.chain([MS; 888]).collect();
    let service = outcome.latency();
    let (total, histograms) = outcome.open.unwrap();
    assert_eq!(histograms.response, of(period.repeat(3)));
    // The 50th and 10th longest of each thousand.
    let response = total.response.unwrap();
    assert_eq!(response.p95_ns, Some(bucket_ms(1001 - 9 * 50)));
    assert_eq!(response.p99_ns, Some(bucket_ms(1001 - 9 * 10)));
    // One request in a thousand has waited for the server; the others for earlier requests.
    let once = of([MS; 999].into_iter().chain([1001 * MS]).collect::<Vec<_>>().repeat(3));
    assert_eq!(service, once);
    assert_eq!(service.quantile_ns(0.99), bucket_ms(1));
    assert_eq!((total.left, total.failed), (0, 0));
}

#[test]
fn twice_the_capacity_fills_a_counter_and_leaves_lower_bounds() {
    // 200/s against 100/s for 10 s, 2 s of drain.
    let setup = Setup {
        arrivals: uniform(200.0),
        length_ns: 10 * SECOND,
        drain_ns: 2 * SECOND,
        ..Setup::default()
    };
    let outcome = simulate(&setup, &One, |_| (10 * MS, None));
    let committed = outcome.group().committed();
    let (total, histograms) = outcome.open.unwrap();
    assert_eq!((total.due, total.begun), (2000, 1000));
    assert_eq!((total.backlog_end, total.backlog_max), (1000, 1000));
    // Answers at 10 ms, 20 ms ... 11.99 s; one request is in progress at the end of the drain.
    assert_eq!((committed, total.left, total.failed), (1199, 801, 0));
    assert_eq!(total.drain_s, 2.0);
    let answered = (0..1199).map(|k| (10 * (k + 1) - 5 * k) * MS);
    let left = (1199..2000).map(|k| (12_000 - 5 * k) * MS);
    assert_eq!((histograms.response, histograms.censored), (of(answered), of(left)));
    // 2005 ms to 6005 ms: 599 of those answered and the 801 left; 600 before.
    let response = total.response.unwrap();
    assert!(response.p50_ns.unwrap() > 2005 * MS && response.p50_ns.unwrap() < 4100 * MS);
    assert_eq!((response.count, response.censored), (2000, 801));
    assert_eq!(response.at_least, ["mean_ns", "p50_ns", "p95_ns", "p99_ns"]);
}

#[test]
fn an_absurd_overload_ends_on_time_with_all_arrivals_counted() {
    let setup = Setup {
        sessions: 3,
        arrivals: steady(Process::Poisson, 1e7),
        length_ns: 5 * SECOND,
        drain_ns: SECOND,
        ..Setup::default()
    };
    let outcome = simulate(&setup, &One, |_| (100 * MS, None));
    let (total, histograms) = outcome.open.unwrap();
    assert!((total.due as f64 - 5e7).abs() < 5.0 * 5e7_f64.sqrt(), "{}", total.due);
    assert_eq!(total.begun, 150);
    assert_eq!(total.backlog_end, total.due - 150);
    assert_eq!(total.left, total.due - 177);
    let (least_ns, bucket_ns) = (histograms.censored.min_ns(), SECOND / 128);
    assert!((SECOND - bucket_ns..SECOND + 100_000).contains(&least_ns), "{least_ns}");
    assert_eq!(total.response.unwrap().count, total.due);
}

#[test]
fn a_drain_ends_what_was_due_and_begins_nothing_else() {
    // Frozen from 0.95 s to 1.95 s: five arrivals are late.
    let setup = Setup {
        arrivals: uniform(100.0),
        drain_ns: 3 * SECOND,
        warmup_ns: 500 * MS,
        ..Setup::default()
    };
    let outcome = simulate(&setup, &One, |call| {
        (if call.at_ns == 950 * MS as i64 { SECOND } else { MS }, None)
    });
    let begun = begun(&outcome);
    assert_eq!(begun.len(), 150, "50 in the warm-up, 100 in the measured second");
    assert_eq!(begun.last(), Some(&(1953 * MS as i64, 149)));
    let service = outcome.latency().count();
    let (total, histograms) = outcome.open.unwrap();
    assert_eq!((total.due, total.begun, total.backlog_end), (100, 96, 4));
    assert_eq!((total.left, histograms.censored.count()), (0, 0));
    let late = [1000, 991, 982, 973, 964].map(|ms| ms * MS);
    assert_eq!(histograms.response, of([MS; 95].into_iter().chain(late)));
    assert_eq!(service, 150);
}

#[test]
fn arrivals_of_the_warm_up_do_not_respond_in_the_measured_phase() {
    // The warm-up leaves a backlog of 50 arrivals; each takes 10 ms of the measured second.
    let setup = Setup {
        arrivals: uniform(100.0),
        warmup_ns: 500 * MS,
        drain_ns: SECOND,
        ..Setup::default()
    };
    let outcome = simulate(&setup, &One, |call| {
        (if call.at_ns == -500 * MS as i64 { 500 * MS } else { 5 * MS }, None)
    });
    let (total, histograms) = outcome.open.unwrap();
    assert_eq!((total.due, histograms.response.count()), (100, 100));
    // 49 arrivals are served from 0 on, 5 ms each: measured arrival k responds after
    // 5 (49 + k + 1) - 10 k ms until that has decreased to its own 5 ms.
    let response = (0..100_u64).map(|k| (250_u64.saturating_sub(5 * k)).max(5) * MS);
    assert_eq!(histograms.response, of(response));
}

#[test]
fn bursts_and_ramps_have_their_exact_counts() {
    let step = |for_s, from_per_s, to_per_s| RateStep { for_s, from_per_s, to_per_s };
    let steps =
        vec![step(Some(2.0), 0.0, 100.0), step(Some(0.5), 800.0, 800.0), step(None, 50.0, 50.0)];
    let setup = Setup {
        sessions: 4,
        arrivals: Some(Arrivals { process: Process::Uniform, steps }),
        warmup_ns: SECOND,
        length_ns: 4 * SECOND,
        drain_ns: SECOND,
        ..Setup::default()
    };
    let outcome = simulate(&setup, &One, |_| (MS, None));
    let count = |from_ms: u64, to_ms: u64| {
        let range = (from_ms * MS) as i64..(to_ms * MS) as i64;
        outcome.log.iter().filter(|request| range.contains(&request.at_ns)).count()
    };
    assert_eq!((count(0, 2000), count(2000, 2500), count(2500, 4000)), (100, 400, 75));
    assert_eq!(outcome.open.as_ref().unwrap().0.due, 575);
}

#[test]
fn an_arrival_whose_session_is_lost_goes_to_one_that_waits() {
    // Ten sessions wait for arrivals 100 ms apart; at 50 ms the sessions that wait for arrivals 1 to 3 lose
    // their connections, and reconnect within 10 ms.
    let setup = Setup {
        sessions: 10,
        arrivals: uniform(10.0),
        length_ns: 2 * SECOND,
        lost: Some((50 * MS, 1..4)),
        ..Setup::default()
    };
    let outcome = simulate(&setup, &One, |_| (MS, None));
    let due: Vec<(i64, i64)> = (0..20).map(|n| (n * 100 * MS as i64, n)).collect();
    assert_eq!(begun(&outcome), due);
    let (total, _) = outcome.open.unwrap();
    assert_eq!((total.begun, total.failed, total.left), (20, 0, 0));
    assert_eq!(total.response.unwrap().mean_ns, MS as f64);
}

#[test]
fn an_arrival_given_back_when_nobody_waits_begins_with_the_next_free_session() {
    // Session 0 serves arrival 0 for 200 ms; session 1, which waits for arrival 1 (due at 100 ms), loses
    // its connection at 99 ms and reconnects after 5 to 10 ms.
    let setup = Setup {
        sessions: 2,
        arrivals: uniform(10.0),
        length_ns: 300 * MS,
        lost: Some((99 * MS, 1..2)),
        ..Setup::default()
    };
    let outcome =
        simulate(&setup, &One, |call| (if call.at_ns == 0 { 200 * MS } else { MS }, None));
    let begun = begun(&outcome);
    assert_eq!(begun.len(), 3);
    assert!((104..=109).contains(&(begun[1].0 / MS as i64)), "{begun:?}");
    let (total, _) = outcome.open.unwrap();
    assert_eq!((total.due, total.failed, total.left), (3, 0, 0));
    assert!(total.response.unwrap().max_ns <= bucket_ms(200));
}

#[test]
fn an_arrival_under_way_on_a_lost_connection_has_failed() {
    let setup = Setup {
        sessions: 2,
        arrivals: uniform(10.0),
        lost: Some((101 * MS, 0..2)),
        drain_ns: SECOND,
        ..Setup::default()
    };
    let outcome = simulate(&setup, &One, |_| (2 * MS, None));
    let (total, histograms) = outcome.open.unwrap();
    assert_eq!((total.due, total.failed, total.left), (10, 1, 0));
    assert_eq!(histograms.censored, of([MS]), "begun at 100 ms, lost at 101 ms");
    let response = total.response.unwrap();
    assert_eq!((response.count, response.censored), (10, 1));
    assert_eq!(outcome.codes, BTreeMap::from([("lost".to_owned(), 1)]));
}

#[test]
fn a_deadline_is_a_lower_bound_of_the_response() {
    let setup = Setup {
        arrivals: uniform(10.0),
        deadline_ns: 150 * MS,
        drain_ns: SECOND,
        ..Setup::default()
    };
    // Arrival 2 hangs from 200 ms to its deadline at 350 ms, and arrival 3 begins 50 ms late.
    let outcome =
        simulate(&setup, &One, |call| (if call.value(1) == 2 { 3600 * SECOND } else { MS }, None));
    let (total, histograms) = outcome.open.unwrap();
    assert_eq!((total.due, total.failed, total.left), (10, 1, 0));
    assert_eq!(histograms.censored, of([150 * MS]));
    assert_eq!(histograms.response, of([MS; 8].into_iter().chain([51 * MS])));
    assert_eq!(total.response.unwrap().at_least, ["mean_ns"]);
}

#[test]
fn a_retried_arrival_responds_once_from_its_due_time() {
    let setup = Setup { arrivals: uniform(10.0), drain_ns: SECOND, ..Setup::default() };
    let outcome = simulate(&setup, &One, |call| {
        (MS, if call.number % 2 == 0 { refusal("1213", true, true) } else { None })
    });
    assert_eq!((outcome.group().retries.get(), outcome.group().failed.get()), (10, 0));
    let service = outcome.latency();
    let (total, histograms) = outcome.open.unwrap();
    assert_eq!((total.begun, total.failed), (10, 0));
    assert_eq!(histograms.response, service);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Work is conserved: arrivals begin in order, each when it is due or as soon as the first of the
    /// sessions is free (the recursion of Kiefer and Wolfowitz for a queue with several servers).
    #[test]
    fn no_session_is_free_while_an_arrival_waits(
        sessions in 1_u32..6,
        rate_per_s in 50.0_f64..900.0,
        is_poisson: bool,
        warmup_ms in 0_u64..500,
    ) {
        let process = if is_poisson { Process::Poisson } else { Process::Uniform };
        let setup = Setup {
            sessions,
            arrivals: steady(process, rate_per_s),
            warmup_ns: warmup_ms * MS,
            drain_ns: 60 * SECOND,
            ..Setup::default()
        };
        let service_ns = |number: i64| (number * 7919 % 13 + 1) as u64 * MS;
        let outcome = simulate(&setup, &One, |call| {
            ((call.value(1) * 7919 % 13 + 1) as u64 * MS, None)
        });
        let warmup_ns = -(setup.warmup_ns as i64);
        let mut free_ns = vec![warmup_ns; sessions as usize];
        let arrivals = setup.arrivals.as_ref().unwrap();
        let due = due(arrivals, setup.warmup_ns as f64 / 1e9, setup.length_ns);
        let mut expected = Vec::new();
        let mut responses = Histogram::default();
        for (number, &due_ns) in due.iter().enumerate() {
            let first = free_ns.iter_mut().min().unwrap();
            let begin_ns = due_ns.max(*first);
            *first = begin_ns + service_ns(number as i64) as i64;
            if due_ns >= 0 {
                responses.record((*first - due_ns) as u64);
            }
            expected.push((begin_ns, number as i64));
        }
        prop_assert_eq!(begun(&outcome), expected);
        let (total, histograms) = outcome.open.unwrap();
        prop_assert_eq!((total.left, total.failed), (0, 0));
        prop_assert_eq!(histograms.response, responses);
    }
}
