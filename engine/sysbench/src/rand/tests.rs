use super::*;
use crate::options::Value;
use proptest::prelude::*;

const SETTINGS: Settings = Settings {
    kind: Kind::Special,
    iterations: 12,
    special_percent: 1,
    special_hits_percent: 75,
    pareto_h: 0.2,
    zipfian_exp: 0.8,
    seed: 42,
};
const KINDS: [Kind; 5] =
    [Kind::Uniform, Kind::Gaussian, Kind::Special, Kind::Pareto, Kind::Zipfian];

fn session(number: u32) -> Rand {
    Rand::new(SETTINGS, number, Arc::new(Uniques::new(SETTINGS.seed)))
}

/// 200,000 draws from 10 to 29, against what each number's probability promises.
fn assert_follows(kind: Kind, probability: impl Fn(i64) -> f64) {
    const DRAWS: f64 = 200_000.0;
    let mut rand = session(0);
    let mut counts = [0.0; 20];
    for _ in 0..DRAWS as u64 {
        counts[(rand.draw(kind, 10, 29) - 10) as usize] += 1.0;
    }
    let expected: Vec<f64> = (0..20).map(|at| probability(at) * DRAWS).collect();
    assert!((expected.iter().sum::<f64>() / DRAWS - 1.0).abs() < 1e-9, "{expected:?}");
    let chi2: f64 = counts.iter().zip(&expected).map(|(n, e)| (n - e).powi(2) / e).sum();
    // 0.9999 quantile of chi-square with 19 degrees of freedom.
    assert!(chi2 < 52.4, "{kind:?}: chi-square {chi2}, {counts:?}");
}

#[test]
fn uniform_is_even() {
    assert_follows(Kind::Uniform, |_| 0.05);
}

#[test]
fn zipfian_follows_its_power_law() {
    let total: f64 = (1..=20).map(|k| f64::from(k).powf(-0.8)).sum();
    assert_follows(Kind::Zipfian, |at| (at as f64 + 1.0).powf(-0.8) / total);
}

#[test]
fn pareto_follows_its_distribution_function() {
    // P(x <= p) = p^(log(1 - h) / log h).
    let power = 0.8f64.ln() / 0.2f64.ln();
    let below = |at: i64| (at as f64 / 20.0).powf(power);
    assert_follows(Kind::Pareto, |at| below(at + 1) - below(at));
}

/// P(mean of 12 uniform draws <= x): Irwin and Hall's closed form.
fn bell(x: f64) -> f64 {
    let sum = 12.0 * x;
    let (mut choose, mut total) = (1.0, 0.0);
    for k in 0..=sum.floor().min(12.0) as i32 {
        let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
        total += sign * choose * (sum - f64::from(k)).powi(12);
        choose *= f64::from(12 - k) / f64::from(k + 1);
    }
    total / 479_001_600.0
}

/// P(20 * mean lies in [at, at + 1)), by symmetry from the lower half, where the form is exact enough.
fn bell_bar(at: i64) -> f64 {
    let at = at.min(19 - at);
    bell((at + 1) as f64 / 20.0) - bell(at as f64 / 20.0)
}

#[test]
fn gaussian_is_the_mean_of_twelve_draws() {
    let mut rand = session(0);
    let mut counts = [0.0; 20];
    for _ in 0..200_000 {
        counts[(rand.draw(Kind::Gaussian, 10, 29) - 10) as usize] += 1.0;
    }
    for (at, count) in counts.iter().enumerate() {
        let expected = bell_bar(at as i64) * 200_000.0;
        // The tails are too thin for chi-square.
        assert!(
            (count - expected).abs() <= 5.0 * expected.sqrt() + 3.0,
            "{at}: {count}, {expected}"
        );
    }
}

#[test]
fn special_hits_the_middle_as_often_as_told() {
    // 1 % of 1,000 numbers are the ten in the middle.
    let mut rand = session(0);
    let hits = (0..200_000).filter(|_| (596..=605).contains(&rand.draw(Kind::Special, 101, 1100)));
    let share = hits.count() as f64 / 200_000.0;
    let expected = 0.75 + 0.25 * (bell(0.505) - bell(0.495));
    assert!((share - expected).abs() < 0.005, "{share}, not {expected}");
}

#[test]
fn sessions_draw_their_own_numbers_and_the_same_again() {
    let draws = |number| {
        let mut rand = session(number);
        [(); 4].map(|()| rand.default(1, 1_000_000))
    };
    assert_eq!(draws(3), draws(3));
    assert_ne!(draws(3), draws(4));
}

#[test]
fn more_ranges_than_are_kept_ready_are_still_drawn_from() {
    let mut rand = session(0);
    for round in 0..3 {
        for span in 0..2 * READY as i64 {
            let drawn = rand.draw(Kind::Zipfian, round, round + span);
            assert!((round..=round + span).contains(&drawn));
        }
    }
    assert_eq!(rand.ready.len(), READY);
}

#[test]
fn sessions_of_a_run_share_what_is_unique() {
    let uniques = Arc::new(Uniques::new(1));
    let mut sessions = [0, 1].map(|number| Rand::new(SETTINGS, number, Arc::clone(&uniques)));
    let mut had: Vec<i64> = (0..100).map(|i| sessions[i % 2].unique(-49, 50)).collect();
    // Another range between does not disturb the first.
    had.sort_unstable();
    assert_eq!(had, (-49..=50).collect::<Vec<_>>());
}

#[test]
fn strings_have_their_lengths() {
    let (mut rand, mut seen) = (session(0), [0; 4]);
    for _ in 0..1000 {
        let mut text = vec![];
        rand.varstring(3, 5, &mut text);
        assert!(text.iter().all(u8::is_ascii_alphanumeric), "{text:?}");
        seen[text.len() - 2] += 1;
    }
    assert!(seen[0] == 0 && seen[1..].iter().all(|&count| count > 270), "{seen:?}");
    let mut text = vec![];
    rand.string(b"a-##-@@", &mut text);
    assert_eq!((text.len(), &text[..2]), (7, &b"a-"[..]));
}

fn options() -> Options {
    let mut options = Options::default();
    let values = [
        ("rand-type", Value::Text("pareto".into())),
        ("rand-spec-iter", Value::Int(12)),
        ("rand-spec-pct", Value::Int(1)),
        ("rand-spec-res", Value::Int(75)),
        ("rand-pareto-h", Value::Double(0.2)),
        ("rand-zipfian-exp", Value::Double(0.8)),
        ("rand-seed", Value::Int(0)),
    ];
    for (name, value) in values {
        options.set(name, value, false);
    }
    options
}

#[test]
fn options_make_the_settings() {
    let expected = Settings { kind: Kind::Pareto, seed: 99, ..SETTINGS };
    assert_eq!(Settings::of(&options(), 99), Ok(expected));
    let mut seeded = options();
    seeded.set("rand-seed", Value::Int(-7), true);
    assert_eq!(Settings::of(&seeded, 99).map(|settings| settings.seed), Ok(-7i64 as u64));
    let wrong = [
        ("rand-type", Value::Text("normal".into())),
        ("rand-spec-iter", Value::Int(0)),
        ("rand-spec-pct", Value::Int(101)),
        ("rand-spec-res", Value::Int(-1)),
        ("rand-pareto-h", Value::Double(1.0)),
        ("rand-zipfian-exp", Value::Double(f64::NAN)),
    ];
    for (name, value) in wrong {
        let mut options = options();
        options.set(name, value, true);
        assert!(Settings::of(&options, 99).is_err(), "{name}");
    }
}

fn ends() -> impl Strategy<Value = (i64, i64)> {
    prop_oneof![
        any::<(i64, i64)>(),
        any::<(i32, i32)>().prop_map(|(a, b)| (a.into(), b.into())),
        any::<i64>().prop_map(|a| (a, a)),
        Just((0, 0)),
        Just((0, u32::MAX.into())),
        Just((i64::MIN, i64::MAX)),
    ]
}

proptest! {
    #[test]
    fn every_draw_is_in_range_whatever_the_order_of_its_ends((a, b) in ends(), number: u32) {
        let mut rand = session(number);
        let range = a.min(b)..=a.max(b);
        for kind in KINDS {
            for _ in 0..20 {
                prop_assert!(range.contains(&rand.draw(kind, a, b)), "{:?}", kind);
            }
        }
        for _ in 0..20 {
            prop_assert!(range.contains(&rand.unique(a, b)));
            prop_assert!((0.0..1.0).contains(&rand.uniform_double()));
        }
    }
}
