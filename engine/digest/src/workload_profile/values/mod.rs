//! Summarises the values of one place in a statement, without storing any of them.

pub(in crate::workload_profile) mod ascending;
pub(in crate::workload_profile) mod distribution;
pub(in crate::workload_profile) mod literal;
mod texts;

use ascending::Upwards;
use literal::{Found, classify, decimals, inner};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hasher};
pub use texts::Text;
use texts::Texts;

/// Maximum number of counters for frequent values (the algorithm "space saving").
const COUNTERS: usize = 512;
/// Maximum number of reported shares.
const HOT: usize = 20;
/// Number of smallest hashes stored, to estimate the number of different values.
const LEAST: usize = 1024;
/// Statistics of the values of one place.
#[derive(Default)]
pub struct Values {
    count: u64,
    kinds: [u64; KINDS],
    /// Number of quoted values by kind.
    quoted: [u64; KINDS],
    least: Option<f64>,
    greatest: Option<f64>,
    /// Maximum number of decimal places.
    decimals: u8,
    /// Numbers that are not repeated from the previous execution in the transaction.
    fresh: u64,
    /// Those of them that are greater than all earlier numbers.
    records: u64,
    upwards: Upwards,
    texts: Texts,
    counters: HashMap<u64, u64>,
    hashes: BinaryHeap<u64>,
    /// The same hashes, for lookups.
    known: HashSet<u64>,
}

const KINDS: usize = Found::NAMES.len();

/// Distribution of the values of one parameter.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    /// Number of values.
    pub count: u64,
    /// Type: `whole`, `decimal`, `date`, `moment` (date with time) or `text`; `null` if all are NULL;
    /// `unknown` if the log does not contain the values.
    pub kind: String,
    /// Share of NULLs among the known values, 0 to 1.
    pub nulls: f64,
    /// Whether most values other than NULL are quoted.
    pub is_quoted: bool,
    /// Smallest number; for dates and moments, seconds since 1970. Null for texts.
    pub least: Option<f64>,
    /// Largest number, in the same unit. Null for texts.
    pub greatest: Option<f64>,
    /// Maximum number of decimal places.
    pub decimals: u8,
    /// Number of different values, estimated if above 1,023.
    pub distinct: u64,
    /// Whether the values ascend, overall or within each session, like keys of new rows.
    pub is_sequence: bool,
    /// Exponent of the Zipfian distribution that fits the most frequent value; 0: no value is more frequent
    /// than others.
    pub theta: f64,
    /// Shares of the values that are more frequent than others, descending, at most 20. For texts with at
    /// most 20 different values: the shares of all, or none if they may be equally frequent.
    pub hot: Vec<f64>,
    /// Lengths and characters of texts; null for other types.
    pub text: Option<Text>,
}

impl Values {
    /// Adds a literal as written in a statement; empty: the log does not contain it. `is_held`: it equals
    /// the value of the previous execution in the transaction.
    pub fn add(&mut self, literal: &[u8], is_held: bool, session: Option<u64>) {
        self.count += 1;
        let (found, number, is_quoted) = classify(literal);
        self.kinds[found as usize] += 1;
        self.quoted[found as usize] += u64::from(is_quoted);
        if matches!(found, Found::Unknown | Found::Null) {
            return;
        }
        if let Some(number) = number {
            let is_record = self.greatest.is_none_or(|greatest| number > greatest);
            self.fresh += u64::from(!is_held);
            self.records += u64::from(is_record && !is_held);
            if let (Some(session), false) = (session, is_held) {
                self.upwards.add(session, number);
            }
            self.least = Some(self.least.map_or(number, |least| least.min(number)));
            self.greatest = Some(self.greatest.map_or(number, |greatest| greatest.max(number)));
        }
        if found == Found::Decimal {
            self.decimals = self.decimals.max(decimals(literal));
        }
        if found == Found::Text {
            self.texts.add(inner(literal));
        }
        let mut hash = DefaultHasher::new();
        hash.write(literal);
        self.count_value(hash.finish());
    }

    fn count_value(&mut self, hash: u64) {
        let has_room = self.counters.len() < COUNTERS;
        match self.counters.get_mut(&hash) {
            Some(count) => *count += 1,
            None if has_room => {
                self.counters.insert(hash, 1);
            }
            None => self.replace(hash),
        }
        if self.hashes.len() < LEAST || self.hashes.peek().is_some_and(|&greatest| hash < greatest)
        {
            if !self.known.insert(hash) {
                return;
            }
            self.hashes.push(hash);
            if self.hashes.len() > LEAST
                && let Some(dropped) = self.hashes.pop()
            {
                self.known.remove(&dropped);
            }
        }
    }

    /// Reassigns the smallest counter, with its count, to a value without one.
    fn replace(&mut self, hash: u64) {
        if let Some((&least, &count)) = self.counters.iter().min_by_key(|counter| *counter.1) {
            self.counters.remove(&least);
            self.counters.insert(hash, count + 1);
        }
    }

    fn distinct(&self) -> u64 {
        match self.hashes.peek() {
            Some(&greatest) if self.hashes.len() >= LEAST => {
                let share = greatest as f64 / u64::MAX as f64;
                ((LEAST - 1) as f64 / share.max(f64::MIN_POSITIVE)).round() as u64
            }
            _ => self.hashes.len() as u64,
        }
    }

    /// Summarises the values.
    pub fn finish(self) -> Summary {
        let of = |kind: Found| self.kinds[kind as usize];
        let distinct = self.distinct();
        let known = self.count - of(Found::Unknown);
        let present = known - of(Found::Null);
        let kind = self.kind();
        let is_text = kind == Found::Text;
        let hot = match is_text && distinct <= HOT as u64 {
            true => self.shares(present),
            false => self.hot(present, distinct),
        };
        let numbers = self.kinds[..Found::Text as usize].iter().sum::<u64>();
        let quoted = self.quoted.iter().sum::<u64>();
        Summary {
            count: self.count,
            kind: Found::NAMES[kind as usize].to_owned(),
            nulls: of(Found::Null) as f64 / known.max(1) as f64,
            is_quoted: if is_text {
                self.quoted[Found::Text as usize] * 2 > of(Found::Text)
            } else {
                quoted * 2 > present
            },
            least: self.least.filter(|_| !is_text),
            greatest: self.greatest.filter(|_| !is_text),
            decimals: self.decimals,
            distinct,
            is_sequence: numbers == present
                && self.fresh >= 20
                && (self.records * 10 >= self.fresh * 9
                    || self.upwards.is_sequence(self.fresh, distinct)),
            theta: theta(&hot, distinct),
            hot,
            text: is_text.then(|| self.texts.finish(self.kinds[Found::Text as usize])),
        }
    }

    /// The type of the values, regardless of NULLs; one text makes all values texts.
    fn kind(&self) -> Found {
        let of = |kind: Found| self.kinds[kind as usize];
        let kinds = [Found::Whole, Found::Decimal, Found::Date, Found::Moment, Found::Unknown];
        let most = kinds.into_iter().max_by_key(|&kind| of(kind)).unwrap_or(Found::Unknown);
        match () {
            () if of(Found::Text) > 0 => Found::Text,
            () if of(Found::Unknown) + of(Found::Null) == self.count && of(Found::Null) > 0 => {
                Found::Null
            }
            () if of(Found::Decimal) > 0 && matches!(most, Found::Whole | Found::Decimal) => {
                Found::Decimal
            }
            () => most,
        }
    }

    /// Shares of all values, each of which has a counter; empty if chance explains their differences.
    fn shares(&self, present: u64) -> Vec<f64> {
        let counts = self.counts();
        let even = present as f64 / counts.len().max(1) as f64;
        let distance: f64 = counts.iter().map(|&n| (n as f64 - even).powi(2) / even).sum();
        let freedom = counts.len().saturating_sub(1) as f64;
        // Chi-squared by Wilson and Hilferty's cube root, at 3.1 deviations: one in a thousand.
        let spread = 2.0 / (9.0 * freedom);
        if freedom < 1.0 || (distance / freedom).cbrt() <= 1.0 - spread + 3.1 * spread.sqrt() {
            return Vec::new();
        }
        counts.into_iter().map(|count| count as f64 / present as f64).collect()
    }

    /// Counts of the values, descending.
    fn counts(&self) -> Vec<u64> {
        let mut counts: Vec<u64> = self.counters.values().copied().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts
    }

    /// Shares of the values that are certainly more frequent than others.
    fn hot(&self, present: u64, distinct: u64) -> Vec<f64> {
        let counts = self.counts();
        // A reassigned counter exceeds the true count by at most the smallest counter.
        let error =
            if distinct > COUNTERS as u64 { counts.last().copied().unwrap_or(0) } else { 0 };
        let even = present as f64 / distinct.max(1) as f64;
        let counts = counts.into_iter().map(|count| count.saturating_sub(error) as f64);
        counts
            .filter(|&count| count > even * 2.0 + 5.0)
            .take(HOT)
            .map(|c| c / present as f64)
            .collect()
    }
}

/// The exponent at which the most frequent of `distinct` values has its share.
fn theta(hot: &[f64], distinct: u64) -> f64 {
    let Some(&first) = hot.first() else { return 0.0 };
    let n = distinct.clamp(2, 10_000_000);
    let (mut low, mut high) = (0.0_f64, 5.0_f64);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if 1.0 / harmonic(n, middle) < first { low = middle } else { high = middle }
    }
    (f64::midpoint(low, high) * 100.0).round() / 100.0
}

/// The sum of k^-theta for k from 1 to n: the first thousand exactly, the rest by the integral.
fn harmonic(n: u64, theta: f64) -> f64 {
    let exact = n.min(1000);
    let sum: f64 = (1..=exact).map(|k| (k as f64).powf(-theta)).sum();
    if n == exact {
        return sum;
    }
    let (from, to) = (exact as f64 + 0.5, n as f64 + 0.5);
    let rest = if (theta - 1.0).abs() < 1e-9 {
        (to / from).ln()
    } else {
        (to.powf(1.0 - theta) - from.powf(1.0 - theta)) / (1.0 - theta)
    };
    sum + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(literals: impl IntoIterator<Item = String>) -> Summary {
        let mut values = Values::default();
        literals.into_iter().for_each(|literal| values.add(literal.as_bytes(), false, None));
        values.finish()
    }

    /// Reproducible uniform numbers from 0 to 2^64 - 1.
    fn draw(n: u64) -> u64 {
        let mut x = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x ^ (x >> 27)
    }

    #[test]
    fn keys_asked_for_evenly_have_a_range_and_no_hot_ones() {
        let found = of((0..20_000).map(|n| (draw(n) % 1000 + 1).to_string()));
        assert_eq!(
            (found.kind.as_str(), found.least, found.greatest),
            ("whole", Some(1.0), Some(1000.0))
        );
        assert_eq!((found.theta, found.hot.len(), found.is_sequence), (0.0, 0, false));
        assert!((900..=1100).contains(&found.distinct), "{}", found.distinct);
    }

    #[test]
    fn hot_keys_show_their_shares_and_the_exponent() {
        // Draws by inversion of the cumulative distribution, theta = 1 over 1,000 values.
        let weights: Vec<f64> = (1..=1000).map(|k| 1.0 / f64::from(k)).collect();
        let total: f64 = weights.iter().sum();
        let drawn = (0..50_000).map(|n| {
            let mut left = draw(n) as f64 / u64::MAX as f64 * total;
            let place = weights.iter().position(|w| {
                left -= w;
                left <= 0.0
            });
            place.unwrap_or(999).to_string()
        });
        let found = of(drawn);
        assert!((0.9..=1.1).contains(&found.theta), "{}", found.theta);
        assert!((found.hot[0] - 1.0 / total).abs() < 0.01, "{:?}", found.hot);
        assert_eq!(found.hot.len(), 20);
    }

    #[test]
    fn few_texts_tell_all_their_shares_unless_they_are_even() {
        let word = |n: u64| match draw(n) % 100 {
            0..=38 => "'new'",
            39..=63 => "'paid'",
            64..=83 => "'sent'",
            84..=94 => "'back'",
            _ => "'lost'",
        };
        let found = of((0..20_000).map(|n| word(n).to_owned()));
        assert_eq!(found.hot.len(), 5);
        for (share, wanted) in found.hot.iter().zip([0.39, 0.25, 0.20, 0.11, 0.05]) {
            assert!((share - wanted).abs() < 0.01, "{:?}", found.hot);
        }
        let even = of((0..20_000).map(|n| format!("'{}'", ["a", "b", "c"][draw(n) as usize % 3])));
        assert_eq!((even.distinct, even.hot.len(), even.theta), (3, 0, 0.0));
        assert!(of((0..20).map(|_| "'one'".to_owned())).hot.is_empty());
    }

    #[test]
    fn new_keys_count_upwards() {
        assert!(of((500..900).map(|n| n.to_string())).is_sequence);
        assert!(!of((0..400).map(|n| (draw(n) % 100).to_string())).is_sequence);
    }

    #[test]
    fn texts_leave_their_lengths_and_kinds_of_characters_only() {
        let found = of((0..100).map(|n| format!("'{:05}-ab{}'", draw(n) % 100_000, n % 10)));
        assert_eq!(found.kind, "text");
        let text = found.text.unwrap();
        assert_eq!((text.bytes_least, text.bytes_greatest), (9, 9));
        assert_eq!(text.pattern.as_deref(), Some("#####-@@#"));
        assert_eq!(of(["'a'".into(), "'bcd'".into()]).text.unwrap().pattern, None);
        assert_eq!((text.alphabet.as_str(), text.is_hex), ("#@*", true));
        let other = of(["'xy z'".into()]).text.unwrap();
        assert_eq!((other.alphabet.as_str(), other.is_hex), ("@*", false));
    }

    #[test]
    fn bits_are_no_texts_in_quotes() {
        for literal in ["0xAB", "x'12'", "b'1'"] {
            let found = of([literal.to_owned()]);
            assert_eq!((found.kind.as_str(), found.is_quoted), ("text", false), "{literal}");
        }
    }

    #[test]
    fn dates_moments_and_decimals_are_told_apart() {
        let kind = |literal: &str| of([literal.to_owned()]).kind;
        assert_eq!(kind("'2025-11-22'"), "date");
        assert_eq!(kind("'2025-11-22 04:05:06.5'"), "moment");
        assert_eq!(kind("'2025-13-22'"), "text");
        assert_eq!(kind("-12.50"), "decimal");
        assert_eq!(kind("'0123'"), "text");
        assert_eq!(kind("'42'"), "whole");
        assert_eq!(kind(""), "unknown");
        assert_eq!(of(["1.25".into(), "3".into()]).kind, "decimal");
    }

    #[test]
    fn nulls_are_a_share_and_do_not_change_what_the_others_are() {
        for (value, kind) in [("'7'", "whole"), ("1.5", "decimal"), ("'2025-11-22'", "date")] {
            let found = of((0..40).map(|n| if n % 2 == 0 { "NULL" } else { value }.to_owned()));
            assert_eq!((found.kind.as_str(), found.nulls, found.distinct), (kind, 0.5, 1));
            assert_eq!(found.is_quoted, value.starts_with('\''));
        }
        let texts = of(["'ab'".into(), "NULL".into(), "NULL".into(), "null".into()]);
        assert_eq!((texts.kind.as_str(), texts.nulls, texts.is_quoted), ("text", 0.75, true));
        assert_eq!(texts.text.unwrap().bytes_greatest, 2);
        assert_eq!(of(["NULL".into(), "".into()]).kind, "null");
        let keys = of((0..40).map(|n| if n % 4 == 0 { "NULL".into() } else { n.to_string() }));
        assert!(keys.is_sequence);
    }

    #[test]
    fn values_that_hold_on_in_a_transaction_count_upwards_once() {
        let mut values = Values::default();
        for n in 0..100 {
            values.add((n / 4).to_string().as_bytes(), n % 4 > 0, Some(1));
        }
        assert!(values.finish().is_sequence);
    }

    #[test]
    fn documents_are_told_from_texts() {
        let is_document = |literals: &[&str]| {
            of(literals.iter().map(|&literal| literal.to_owned())).text.unwrap().is_document
        };
        assert!(is_document(&[r#"'{"k": 1}'"#, "'[1, 2]'", "NULL"]));
        assert!(!is_document(&["'{}'", "'[info] started'"]));
    }

    #[test]
    fn many_different_values_are_counted_within_a_tenth() {
        let found = of((0..200_000).map(|n| draw(n).to_string()));
        assert!((180_000..=220_000).contains(&found.distinct), "{}", found.distinct);
    }
}
