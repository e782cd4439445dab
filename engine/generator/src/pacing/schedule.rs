//! The rate of an open loop over time, with its integral and the integral's inverse: the expected number
//! of arrivals in a period, and the time at which the expectation reaches a number.
//!
//! Arrivals are drawn in *position*: the expected number of arrivals since the start of the measured
//! phase, in which every schedule has rate 1. Mapping positions to time through the inverse of the
//! expectation derives any schedule from one process (Çinlar's inversion; Lewis and Shedler,
//! "Simulation of nonhomogeneous Poisson processes by thinning", 1979, section 1). In the warm-up,
//! which has the first rate, positions are negative.

use dyno_core::plan::RateStep;

/// A piecewise linear rate.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// At least one; the last one is constant and has no end.
    pieces: Vec<Piece>,
}

/// A linear piece, from `start_s` to the start of the next piece.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Piece {
    start_s: f64,
    /// Position at its start.
    position: f64,
    from_per_s: f64,
    /// Change of the rate per second.
    slope: f64,
}

impl Schedule {
    /// Creates a schedule of validated steps: at least one, all but the last with a positive length.
    pub fn new(steps: &[RateStep]) -> Self {
        let (mut start_s, mut position) = (0.0, 0.0);
        let mut pieces = Vec::with_capacity(steps.len() + 1);
        for step in steps {
            let RateStep { for_s, from_per_s, to_per_s } = *step;
            let slope = for_s.map_or(0.0, |length_s| (to_per_s - from_per_s) / length_s);
            pieces.push(Piece { start_s, position, from_per_s, slope });
            let length_s = for_s.unwrap_or(0.0);
            start_s += length_s;
            position += length_s * (from_per_s + to_per_s) / 2.0;
        }
        if let Some(RateStep { for_s: Some(_), to_per_s, .. }) = steps.last() {
            pieces.push(Piece { start_s, position, from_per_s: *to_per_s, slope: 0.0 });
        }
        Self { pieces }
    }

    /// The rate of the warm-up.
    pub fn warmup_per_s(&self) -> f64 {
        self.pieces[0].from_per_s
    }

    /// Arrivals expected from the start of the measured phase to `at_s`; negative in the warm-up.
    pub fn position(&self, at_s: f64) -> f64 {
        if at_s < 0.0 {
            return at_s * self.warmup_per_s();
        }
        let after = self.pieces.partition_point(|piece| piece.start_s <= at_s);
        let piece = self.pieces[after - 1];
        let since_s = at_s - piece.start_s;
        piece.position + since_s * (piece.from_per_s + piece.slope * since_s / 2.0)
    }

    /// Time at which the expectation exceeds `position` (after any pause that begins with it), in seconds
    /// since the start of the measured phase; infinite if it never does.
    pub fn at_s(&self, position: f64) -> f64 {
        if position < 0.0 {
            return position / self.warmup_per_s();
        }
        let after = self.pieces.partition_point(|piece| piece.position <= position);
        let piece = self.pieces[after - 1];
        let rest = position - piece.position;
        if piece.from_per_s == 0.0 && piece.slope <= 0.0 {
            return f64::INFINITY;
        }
        if rest == 0.0 {
            return piece.start_s;
        }
        // The root of `from t + slope t^2 / 2 = rest`, in the form that loses no precision when
        // the slope is small.
        let root = piece.from_per_s.mul_add(piece.from_per_s, 2.0 * piece.slope * rest);
        let since_s = 2.0 * rest / (piece.from_per_s + root.max(0.0).sqrt());
        let end_s = self.pieces.get(after).map_or(f64::INFINITY, |next| next.start_s);
        (piece.start_s + since_s).min(end_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn step(for_s: impl Into<Option<f64>>, from_per_s: f64, to_per_s: f64) -> RateStep {
        RateStep { for_s: for_s.into(), from_per_s, to_per_s }
    }

    #[test]
    fn a_level_rate_is_a_straight_line_also_before_the_start() {
        let schedule = Schedule::new(&[step(None, 50.0, 50.0)]);
        assert_eq!(schedule.position(3.0), 150.0);
        assert_eq!(schedule.at_s(150.0), 3.0);
        assert_eq!((schedule.position(-2.0), schedule.at_s(-100.0)), (-100.0, -2.0));
    }

    #[test]
    fn a_ramp_from_nothing_holds_its_end() {
        let schedule = Schedule::new(&[step(10.0, 0.0, 100.0)]);
        assert_eq!(schedule.position(10.0), 500.0);
        assert_eq!(schedule.position(5.0), 125.0);
        assert_eq!((schedule.at_s(0.0), schedule.at_s(125.0)), (0.0, 5.0));
        assert_eq!((schedule.at_s(500.0), schedule.at_s(700.0)), (10.0, 12.0));
        assert_eq!(schedule.warmup_per_s(), 0.0);
    }

    #[test]
    fn a_pause_is_skipped_and_an_end_is_never_passed() {
        let schedule =
            Schedule::new(&[step(1.0, 10.0, 10.0), step(2.0, 0.0, 0.0), step(1.0, 10.0, 0.0)]);
        // The arrival at position 10 comes after the pause.
        assert_eq!(schedule.at_s(10.0), 3.0);
        assert_eq!(schedule.position(2.5), 10.0);
        assert_eq!(schedule.position(9.0), 15.0);
        assert!(schedule.at_s(14.9) < 4.0);
        assert_eq!(schedule.at_s(15.0), f64::INFINITY);
    }

    proptest! {
        #[test]
        fn time_and_position_are_inverse(
            steps in prop::collection::vec((0.1_f64..20.0, 0.0_f64..1e4, 0.0_f64..1e4), 1..6),
            at in 0.0_f64..1.0,
        ) {
            let steps: Vec<_> = steps.iter().map(|&(s, from, to)| step(s, from, to)).collect();
            let schedule = Schedule::new(&steps);
            let length_s: f64 = steps.iter().filter_map(|step| step.for_s).sum();
            let position = schedule.position(at * length_s);
            let again = schedule.position(schedule.at_s(position));
            prop_assert!((again - position).abs() <= 1e-6 * position.max(1.0), "{} {}", again, position);
        }

        #[test]
        fn later_positions_are_never_earlier(
            steps in prop::collection::vec((0.1_f64..20.0, 0.0_f64..1e4, 0.0_f64..1e4), 1..6),
            mut positions in prop::collection::vec(0.0_f64..1e5, 2..50),
        ) {
            let steps: Vec<_> = steps.iter().map(|&(s, from, to)| step(s, from, to)).collect();
            let schedule = Schedule::new(&steps);
            positions.sort_by(f64::total_cmp);
            let times: Vec<f64> = positions.iter().map(|&p| schedule.at_s(p)).collect();
            prop_assert!(times.windows(2).all(|pair| pair[0] <= pair[1]), "{:?}", times);
        }
    }
}
