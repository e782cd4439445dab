use super::*;
use proptest::prelude::*;

const S: i64 = 1_000_000_000;

fn frame(times: &Times) -> (f64, f64) {
    (times.frame().begin_unix_s(), times.frame().bucket_s())
}

fn columns(times: &Times) -> (Vec<u64>, Vec<f64>) {
    (times.counts_in(times.frame()), times.seconds_in(times.frame()))
}

#[test]
fn all_in_one_second_is_one_bucket() {
    let mut times = Times::default();
    times.add(5 * S + 7, 7, 1);
    times.add(5 * S + 999, 8, 1);
    assert_eq!(frame(&times), (5.0, 1.0));
    assert_eq!(columns(&times), (vec![2], vec![15e-9]));
}

#[test]
fn buckets_double_until_the_range_fits() {
    let mut times = Times::default();
    times.add(0, 0, 1);
    times.add(1000 * S, 0, 1);
    assert_eq!(frame(&times), (0.0, 4.0));
    let (count, _) = columns(&times);
    assert_eq!((count.len(), count[0], count[250]), (251, 1, 1));
}

#[test]
fn a_gap_counts_in_the_bucket_where_it_ends() {
    let (mut times, mut gaps) = (Times::default(), Gaps::default());
    for end_ns in [7 * S, S, S + S / 4, 7 * S + S / 2] {
        times.add(end_ns, 0, 1);
        gaps.add(end_ns);
    }
    assert_eq!(gaps.longest_in(times.frame()), [0.25, 0.0, 0.0, 0.0, 0.0, 0.0, 5.75]);
}

#[test]
fn moments_before_1970_and_far_apart_are_kept() {
    let (mut times, mut gaps) = (Times::default(), Gaps::default());
    for end_ns in [-5, i64::MIN, i64::MAX] {
        times.add(end_ns, 1, 1);
        gaps.add(end_ns);
    }
    assert_eq!(columns(&times).0.iter().sum::<u64>(), 3);
    assert!(gaps.longest_in(times.frame()).len() <= BUCKETS);
}

#[test]
fn a_long_event_is_spread_over_the_time_that_it_ran() {
    let mut times = Times::default();
    times.add(10 * S + S / 2, S as u64 / 4, 1);
    times.add(13 * S + S / 4, 2 * S as u64, 3);
    let (count, time_s) = columns(&times);
    assert_eq!((count, time_s), (vec![1, 0, 0, 1], vec![0.25, 2.25, 3.0, 0.75]));
    // An event that ends where a bucket begins ran in those before it.
    times.add(12 * S, S as u64, 1);
    assert_eq!(columns(&times), (vec![1, 0, 1, 1], vec![0.25, 3.25, 3.0, 0.75]));
}

#[test]
fn what_ran_before_the_first_end_has_buckets_as_far_as_they_get_at_most_twice_as_long() {
    let mut times = Times::default();
    times.add(1000 * S, 100 * S as u64, 1);
    assert_eq!(
        (frame(&times), columns(&times).1),
        ((900.0, 1.0), [vec![1.0; 100], vec![0.0]].concat())
    );
    times.add(1003 * S, 600 * S as u64, 1);
    assert_eq!(frame(&times), (492.0, 2.0));
    let (count, time_s) = columns(&times);
    assert_eq!((count.len(), count[254], count[255]), (256, 1, 1));
    assert_eq!((time_s[0], time_s[203], time_s[204], time_s[255]), (2.0, 2.0, 4.0, 1.0));
    // Further back only once there is an end.
    times.add(100 * S, 0, 1);
    assert_eq!(frame(&times), (100.0, 4.0));
    assert_eq!(columns(&times).1.iter().sum::<f64>(), 700.0);
}

#[test]
fn impossible_durations_make_buckets_at_most_twice_as_long() {
    let mut times = Times::default();
    for n in 0..1000 {
        times.add(1_700_000_000 * S + n * S / 10, u64::MAX, 1);
    }
    assert_eq!((columns(&times).0.len(), frame(&times).1), (256, 2.0));
    let cells: usize = times.earlier.iter().map(|cells| cells.values.len()).sum();
    assert!(cells < 30 * 2 * NEAR_S as usize, "{cells}");
}

/// Nanoseconds of events within each bucket, one by one.
fn slowly(events: &[(i64, u64)], times: &Times) -> Vec<f64> {
    let (begin_s, width_s) = frame(times);
    let width_ns = width_s as i64 * S;
    let of = |bucket: usize| {
        let from_ns = begin_s as i64 * S + bucket as i64 * width_ns;
        let within = |&(end_ns, ns): &(i64, u64)| {
            let from = from_ns.max(end_ns - ns as i64);
            (end_ns.min(from_ns + width_ns) - from).max(0)
        };
        events.iter().map(within).sum::<i64>() as f64 / SECOND_NS
    };
    (0..columns(times).0.len()).map(of).collect()
}

/// Ends and durations: of most the end and the duration within a short time, so that buckets are of
/// any length.
fn events() -> impl Strategy<Value = Vec<(i64, u64)>> {
    let span_s = prop_oneof![Just(20_i64), Just(400), Just(4000), Just(400_000)];
    (span_s, prop_oneof![Just(1_u64), Just(100), Just(10_000), Just(1_000_000)]).prop_flat_map(
        |(span_s, longest_s)| {
            let duration = prop_oneof![0_u64..100, 0..longest_s * S as u64];
            let end = prop_oneof![0..span_s * S, (0..span_s).prop_map(|s| s * S)];
            proptest::collection::vec((end, duration), 1..200)
        },
    )
}

proptest! {
    #[test]
    fn what_threads_saw_adds_up_however_it_was_shared_out(
        events in events(),
        shares in proptest::collection::vec(0_usize..3, 200),
    ) {
        let mut parts = vec![(Times::default(), Gaps::default()); 3];
        let (mut times, mut gaps) = (Times::default(), Gaps::default());
        for (&(end_ns, duration), &share) in events.iter().zip(&shares) {
            parts[share].0.add(end_ns, duration, 1);
            parts[share].1.add(end_ns);
            times.add(end_ns, duration, 1);
            gaps.add(end_ns);
        }
        let (mut all_times, mut all_gaps) = (Times::default(), Gaps::default());
        for (times, gaps) in &parts {
            all_times.merge(times);
            all_gaps.merge(gaps);
        }
        prop_assert_eq!(all_times.frame(), times.frame());
        prop_assert_eq!(columns(&all_times), columns(&times));
        prop_assert_eq!(all_gaps.longest_in(all_times.frame()), gaps.longest_in(times.frame()));
        prop_assert_eq!(&columns(&times).1, &slowly(&events, &times));
        for (at, (part, _)) in parts.iter().enumerate() {
            let mut mine = events.clone();
            let mut share = shares.iter();
            mine.retain(|_| share.next() == Some(&at));
            prop_assert_eq!(part.seconds_in(times.frame()), slowly(&mine, &times));
        }
    }
}
