//! How the values of one place in a statement are spread, without keeping any of them.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hasher};

/// Values counted one by one, to find hot ones (the algorithm "space saving").
const COUNTERS: usize = 512;
/// Least hashes kept, to estimate how many different values there are.
const LEAST: usize = 1024;
/// Characters of a text whose kinds are looked at.
const PATTERN_MAX: usize = 128;

/// Gathers the values of one place.
#[derive(Default)]
pub struct Values {
    count: u64,
    kinds: [u64; KINDS],
    quoted: u64,
    least: Option<f64>,
    greatest: Option<f64>,
    /// Digits behind the point, at most.
    decimals: u8,
    /// Values greater than all before them.
    records: u64,
    texts: Texts,
    counters: HashMap<u64, u64>,
    hashes: BinaryHeap<u64>,
    /// The same hashes, to find one that is there already.
    known: HashSet<u64>,
}

const KINDS: usize = 6;

/// What a literal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Whole,
    Decimal,
    Date,
    Moment,
    Text,
    /// Its value is not in the log.
    Unknown,
}

/// What is known of texts.
#[derive(Default)]
struct Texts {
    bytes_least: Option<u64>,
    bytes_greatest: u64,
    bytes_sum: u64,
    pattern: Option<Vec<u8>>,
    has_digits: bool,
    has_letters: bool,
    has_others: bool,
    /// Whether something is there that hexadecimal digits and dashes do not have.
    has_no_hex: bool,
}

/// How the values of one place are spread.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    /// Values seen.
    pub count: u64,
    /// `whole`, `decimal`, `date`, `moment`, `text`; `unknown` if the log has no values for it.
    pub kind: String,
    /// Whether numbers, dates or moments stand in quotes.
    pub is_quoted: bool,
    /// The least number; of dates and moments seconds since 1970.
    pub least: Option<f64>,
    /// The greatest.
    pub greatest: Option<f64>,
    /// Digits behind the point, at most.
    pub decimals: u8,
    /// How many different ones, estimated.
    pub distinct: u64,
    /// Whether they count upwards, as keys of new rows do.
    pub is_sequence: bool,
    /// Exponent of the zipfian distribution that comes nearest; 0: none is hotter than the others.
    pub theta: f64,
    /// Shares of the most frequent ones, at most 20.
    pub hot: Vec<f64>,
    /// Of texts.
    pub text: Option<Text>,
}

/// Lengths and characters of texts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Text {
    /// The shortest, bytes.
    pub bytes_least: u64,
    /// The longest.
    pub bytes_greatest: u64,
    /// Their mean.
    pub bytes_mean: f64,
    /// If all are alike in length: `#` for a digit, `@` for a letter, `*` for either or another, and
    /// the signs `- : . / _` and space where all have them.
    pub pattern: Option<String>,
    /// Kinds of characters in them: `#` digits, `@` letters, `*` others.
    pub alphabet: String,
    /// Whether all consist of hexadecimal digits and dashes, as UUIDs do.
    pub is_hex: bool,
}

impl Values {
    /// A literal as it stands in a statement; empty: the log does not have it.
    pub fn add(&mut self, literal: &[u8]) {
        self.count += 1;
        let (found, number, is_quoted) = classify(literal);
        self.kinds[found as usize] += 1;
        self.quoted += u64::from(is_quoted);
        if found == Found::Unknown {
            return;
        }
        if let Some(number) = number {
            self.records += u64::from(self.greatest.is_none_or(|greatest| number > greatest));
            self.least = Some(self.least.map_or(number, |least| least.min(number)));
            self.greatest = Some(self.greatest.map_or(number, |greatest| greatest.max(number)));
        }
        if found == Found::Decimal {
            let point = literal.iter().rposition(|&b| b == b'.');
            let digits = |at: usize| literal[at + 1..].iter().take_while(|b| b.is_ascii_digit());
            let decimals = point.map_or(0, |at| digits(at).count());
            self.decimals = self.decimals.max(decimals.min(30) as u8);
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

    /// A value without a counter takes over the least one, with its count.
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

    /// What it comes to.
    pub fn finish(self) -> Summary {
        let most = (0..KINDS).max_by_key(|&kind| self.kinds[kind]).unwrap_or(0);
        let distinct = self.distinct();
        let known = self.count - self.kinds[Found::Unknown as usize];
        let hot = self.hot(known, distinct);
        let numbers = self.kinds[..Found::Text as usize].iter().sum::<u64>();
        // Any text among numbers makes all of them texts.
        let kind = match () {
            () if known == 0 => "unknown",
            () if self.kinds[Found::Text as usize] > 0 => "text",
            () if self.kinds[Found::Decimal as usize] > 0 && most <= Found::Decimal as usize => {
                "decimal"
            }
            () => NAMES[most],
        };
        Summary {
            count: self.count,
            kind: kind.to_owned(),
            is_quoted: self.quoted * 2 > known,
            least: self.least.filter(|_| kind != "text"),
            greatest: self.greatest.filter(|_| kind != "text"),
            decimals: self.decimals,
            distinct,
            is_sequence: numbers == known && known >= 20 && self.records * 10 >= known * 9,
            theta: theta(&hot, distinct),
            hot,
            text: (kind == "text").then(|| self.texts.finish(self.kinds[Found::Text as usize])),
        }
    }

    /// Shares of the values that surely come up more often than the others.
    fn hot(&self, known: u64, distinct: u64) -> Vec<f64> {
        let mut counts: Vec<u64> = self.counters.values().copied().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        // A counter that was taken over may count too much by the least one's count.
        let error =
            if distinct > COUNTERS as u64 { counts.last().copied().unwrap_or(0) } else { 0 };
        let even = known as f64 / distinct.max(1) as f64;
        let counts = counts.into_iter().map(|count| count.saturating_sub(error) as f64);
        counts
            .filter(|&count| count > even * 2.0 + 5.0)
            .take(20)
            .map(|c| c / known as f64)
            .collect()
    }
}

const NAMES: [&str; KINDS] = ["whole", "decimal", "date", "moment", "text", "unknown"];

/// The exponent with which the hottest value would come up as often as it does, among so many.
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

/// The sum of n^-theta: the first thousand one by one, the rest by the integral.
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

impl Texts {
    fn add(&mut self, text: &[u8]) {
        let bytes = text.len() as u64;
        self.bytes_least = Some(self.bytes_least.map_or(bytes, |least| least.min(bytes)));
        self.bytes_greatest = self.bytes_greatest.max(bytes);
        self.bytes_sum += bytes;
        for byte in text {
            match byte {
                b'0'..=b'9' => self.has_digits = true,
                b'a'..=b'z' | b'A'..=b'Z' => self.has_letters = true,
                _ => self.has_others = true,
            }
            self.has_no_hex |= !byte.is_ascii_hexdigit() && *byte != b'-';
        }
        let kinds = text.iter().take(PATTERN_MAX + 1).map(|&byte| kind_of(byte));
        match &mut self.pattern {
            None => self.pattern = Some(kinds.collect()),
            Some(pattern) => {
                for (known, kind) in pattern.iter_mut().zip(kinds) {
                    if *known != kind {
                        *known = b'*';
                    }
                }
            }
        }
    }

    fn finish(self, count: u64) -> Text {
        let bytes_least = self.bytes_least.unwrap_or(0);
        let fits = bytes_least == self.bytes_greatest && bytes_least <= PATTERN_MAX as u64;
        let pattern = self.pattern.filter(|_| fits);
        Text {
            bytes_least,
            bytes_greatest: self.bytes_greatest,
            bytes_mean: self.bytes_sum as f64 / count.max(1) as f64,
            pattern: pattern.map(|pattern| String::from_utf8_lossy(&pattern).into_owned()),
            alphabet: [('#', self.has_digits), ('@', self.has_letters), ('*', self.has_others)]
                .iter()
                .filter_map(|&(kind, is_there)| is_there.then_some(kind))
                .collect(),
            is_hex: !self.has_no_hex,
        }
    }
}

fn kind_of(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => b'#',
        b'a'..=b'z' | b'A'..=b'Z' => b'@',
        b'-' | b':' | b'.' | b'/' | b'_' | b' ' => byte,
        _ => b'*',
    }
}

/// What stands between the quotes, escapes left as they are.
pub fn inner(literal: &[u8]) -> &[u8] {
    let Some(open) = literal.iter().position(|&b| b == b'\'' || b == b'"') else { return literal };
    let rest = &literal[open + 1..];
    rest.strip_suffix(&literal[open..=open]).unwrap_or(rest)
}

fn classify(literal: &[u8]) -> (Found, Option<f64>, bool) {
    if literal.is_empty() || literal == b"?" {
        return (Found::Unknown, None, false);
    }
    let text = inner(literal);
    let is_quoted = text.len() != literal.len();
    if let [b'x' | b'X' | b'b' | b'B', b'\'', ..] = literal {
        return (Found::Text, None, false); // Bits, whatever their digits look like.
    }
    let number = std::str::from_utf8(text).ok().filter(|text| is_number(text));
    if let Some(number) = number.and_then(|text| text.parse::<f64>().ok()) {
        let is_whole = text.iter().enumerate().all(|(at, b)| b.is_ascii_digit() || at == 0);
        // A text of digits with a zero before them is no number: it would come back without it.
        if !(is_quoted && text.len() > 1 && text[0] == b'0' && is_whole) {
            return (if is_whole { Found::Whole } else { Found::Decimal }, Some(number), is_quoted);
        }
    }
    match moment(text) {
        Some((seconds, true)) => (Found::Date, Some(seconds), true),
        Some((seconds, false)) => (Found::Moment, Some(seconds), true),
        None => (Found::Text, None, is_quoted),
    }
}

/// The greater end of a range less the lower one, of dates and moments in seconds; None if the log
/// does not have both, or they cannot be subtracted.
pub fn width(low: &[u8], high: &[u8]) -> Option<f64> {
    // Whole numbers may have more digits than a float holds.
    let whole = |literal: &[u8]| match literal {
        [b'x' | b'X' | b'b' | b'B', ..] => None,
        _ => std::str::from_utf8(inner(literal)).ok()?.parse::<i128>().ok(),
    };
    if let (Some(low), Some(high)) = (whole(low), whole(high)) {
        return Some(high.checked_sub(low)? as f64);
    }
    let (Found::Whole | Found::Decimal | Found::Date | Found::Moment, Some(from), _) =
        classify(low)
    else {
        return None;
    };
    let (found, Some(to), _) = classify(high) else { return None };
    let is_moment = |found| matches!(found, Found::Date | Found::Moment);
    if is_moment(classify(low).0) != is_moment(found) {
        return None;
    }
    // What decimals are apart has no more digits than they have.
    Some(((to - from) * 1e9).round() / 1e9)
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.len() <= 40
        && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
        && digits.matches('.').count() <= 1
}

/// Seconds since 1970 of `2025-11-22` or `2025-11-22 04:05:06`, and whether it is a day only.
fn moment(text: &[u8]) -> Option<(f64, bool)> {
    let text = std::str::from_utf8(text).ok().filter(|text| text.len() <= 40 && text.is_ascii())?;
    let (day, time) = match text.len() {
        10 => (text, None),
        19.. => (text.get(..10)?, Some(text.get(11..)?)),
        _ => return None,
    };
    let mut parts = day.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let days = days_from_civil(year, month, day) as f64;
    let Some(time) = time else { return Some((days * 86400.0, true)) };
    let mut parts = time.get(..8)?.split(':').map(|part| part.parse::<u32>().ok());
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let seconds = f64::from(hour * 3600 + minute * 60 + second);
    (hour < 24 && minute < 60 && second <= 60).then_some((days * 86400.0 + seconds, false))
}

/// Days since 1970 of a day of the Gregorian calendar.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(literals: impl IntoIterator<Item = String>) -> Summary {
        let mut values = Values::default();
        literals.into_iter().for_each(|literal| values.add(literal.as_bytes()));
        values.finish()
    }

    /// Numbers from 0 below 2^64, spread evenly and always the same.
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
        // By inversion of the distribution's sum, theta = 1 over 1,000 values.
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
        assert_eq!(moment(b"2000-03-01"), Some((951_868_800.0, true)));
        assert_eq!(of(["1.25".into(), "3".into()]).kind, "decimal");
    }

    #[test]
    fn many_different_values_are_counted_within_a_tenth() {
        let found = of((0..200_000).map(|n| draw(n).to_string()));
        assert!((180_000..=220_000).contains(&found.distinct), "{}", found.distinct);
    }
}
