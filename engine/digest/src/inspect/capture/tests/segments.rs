//! Tests that events do not depend on the size, the order (within a window) or the repetition of
//! segments.

use super::{Dialect, Spoken, capture, lines, mysql, postgres, read};
use proptest::prelude::*;

fn shuffled(spoken: &Spoken, seed: u64, size_max: u64, window: u64) -> Vec<super::Sent> {
    let mut state = seed;
    // SplitMix64 (Steele, Lea, Flood 2014).
    let mut below = |bound: u64| {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ z >> 31) % bound
    };
    let sent = spoken.segments(|| 1 + below(size_max) as usize);
    // The handshake stays in front: without it the reader cannot know the first sequence numbers.
    let mut placed: Vec<(u64, usize, super::Sent)> = Vec::new();
    for (number, sent) in sent.into_iter().enumerate() {
        let at = number as u64 * 4 + if number > 2 { below(window * 4) } else { 0 };
        if below(4) == 0 {
            placed.push((at + below(window * 4), number, sent.clone()));
        }
        placed.push((at, number, sent));
    }
    placed.sort_by_key(|(at, number, _)| (*at, *number));
    let begin = |placed: &(u64, usize, super::Sent)| placed.1 > 2;
    placed.sort_by_key(begin);
    placed.into_iter().map(|(_, _, sent)| sent).collect()
}

/// The lines without durations, which depend on the capture times of segments.
fn untimed(lines: &[impl AsRef<str>]) -> Vec<String> {
    let drop = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let at = words.iter().rposition(|word| *word == "ms");
        let kept = |number: &usize| at.is_none_or(|at| *number != at && *number + 1 != at);
        (0..words.len()).filter(kept).map(|n| words[n]).collect::<Vec<_>>().join(" ")
    };
    lines.iter().map(|line| drop(line.as_ref())).collect()
}

proptest! {
    #[test]
    fn the_events_do_not_depend_on_segments(
        seed in any::<u64>(),
        size_max in prop_oneof![Just(1_u64), 1..40_u64, Just(2000)],
        window in 1..5_u64,
        is_mysql in any::<bool>(),
    ) {
        let (dialect, port, spoken, told) = if is_mysql {
            (Dialect::Mysql, 3306, mysql::conversation(), mysql::TOLD)
        } else {
            (Dialect::Postgres, 5432, postgres::conversation(), postgres::TOLD)
        };
        let sent = shuffled(&spoken, seed, size_max, window);
        let kept = read(dialect, &capture(&sent, port, usize::MAX));
        prop_assert_eq!(untimed(&lines(&kept)), untimed(told));
        prop_assert_eq!(kept.not_understood, []);
    }
}
