//! Classifies literals, and computes the difference of two literals.

use crate::timestamp::days_from_1970;

/// The type of a literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    Whole,
    Decimal,
    Date,
    Moment,
    Text,
    /// NULL among the values of a statement.
    Null,
    /// The log does not contain the value.
    Unknown,
}

impl Found {
    /// The names of all variants, in the order of their discriminants.
    pub const NAMES: [&str; 7] = ["whole", "decimal", "date", "moment", "text", "null", "unknown"];
}

/// The text between the quotes, escapes unchanged; all of a literal without quotes.
pub fn inner(literal: &[u8]) -> &[u8] {
    let Some(open) = literal.iter().position(|&b| b == b'\'' || b == b'"') else { return literal };
    let rest = &literal[open + 1..];
    rest.strip_suffix(&literal[open..=open]).unwrap_or(rest)
}

/// The type of a literal, its number (for numbers, dates and moments), and whether it is quoted.
pub fn classify(literal: &[u8]) -> (Found, Option<f64>, bool) {
    if literal.is_empty() || literal == b"?" {
        return (Found::Unknown, None, false);
    }
    if literal.eq_ignore_ascii_case(b"null") {
        return (Found::Null, None, false);
    }
    let text = inner(literal);
    let is_quoted = text.len() != literal.len();
    if let [b'x' | b'X' | b'b' | b'B', b'\'', ..] = literal {
        return (Found::Text, None, false); // Bits, whatever their digits look like.
    }
    // A text of digits with a leading zero is not a number: a number would lose the zero.
    let is_padded = is_quoted && matches!(text, [b'0', b'0'..=b'9', ..]);
    if let Some(number) = number(text).filter(|_| !is_padded) {
        let is_whole = text.iter().enumerate().all(|(at, b)| b.is_ascii_digit() || at == 0);
        let is_whole = is_whole && text[0] != b'.';
        return (if is_whole { Found::Whole } else { Found::Decimal }, Some(number), is_quoted);
    }
    match moment(text) {
        Some((seconds, true)) => (Found::Date, Some(seconds), true),
        Some((seconds, false)) => (Found::Moment, Some(seconds), true),
        None => (Found::Text, None, is_quoted),
    }
}

/// Parses `12`, `-1.50`, `.5` or `12.34e0` if a float can represent it.
fn number(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok().filter(|text| text.len() <= 48)?;
    let (mantissa, exponent) = parts(text);
    let digits = mantissa.strip_prefix(['-', '+']).unwrap_or(mantissa);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) || whole.len() + fraction.len() == 0 {
        return None;
    }
    if let Some(exponent) = exponent {
        let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        if digits.is_empty() || !is_digits(digits) {
            return None;
        }
    }
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// The mantissa, and the exponent if there is one.
fn parts(number: &str) -> (&str, Option<&str>) {
    match number.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (number, None),
    }
}

/// Number of digits after the decimal point if the number is written without an exponent.
pub fn decimals(literal: &[u8]) -> u8 {
    let (mantissa, exponent) = parts(std::str::from_utf8(inner(literal)).unwrap_or(""));
    let digits = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len() as i64);
    let shift: i64 = exponent.and_then(|exponent| exponent.parse().ok()).unwrap_or(0);
    (digits - shift).clamp(0, 30) as u8
}

/// Whether a text reads as a JSON document, or as one of PostgreSQL's arrays.
pub fn is_document(text: &[u8]) -> bool {
    matches!(text.trim_ascii(), [b'{', .., b'}'] | [b'[', .., b']'])
}

/// The upper end of a range minus the lower one, for dates and moments in seconds; `None` if the log does
/// not contain both, or they cannot be subtracted.
pub fn width(low: &[u8], high: &[u8]) -> Option<f64> {
    // Whole numbers may have more digits than a float can represent.
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
    // The difference of two decimals has no more digits than they have.
    Some(((to - from) * 1e9).round() / 1e9)
}

/// Seconds since 1970 of `2025-11-22` or `2025-11-22 04:05:06`, and whether the text is a date only.
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
    let days = days_from_1970(year, month, day) as f64;
    let Some(time) = time else { return Some((days * 86400.0, true)) };
    let mut parts = time.get(..8)?.split(':').map(|part| part.parse::<u32>().ok());
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let seconds = f64::from(hour * 3600 + minute * 60 + second);
    (hour < 24 && minute < 60 && second <= 60).then_some((days * 86400.0 + seconds, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_in_every_way_that_they_are_written() {
        let of = |literal: &str| {
            let (found, number, _) = classify(literal.as_bytes());
            (found, number, decimals(literal.as_bytes()))
        };
        assert_eq!(of(".5"), (Found::Decimal, Some(0.5), 1));
        assert_eq!(of("-.25"), (Found::Decimal, Some(-0.25), 2));
        assert_eq!(of("12.34e0"), (Found::Decimal, Some(12.34), 2));
        assert_eq!(of("1.5E3"), (Found::Decimal, Some(1500.0), 0));
        assert_eq!(of("'1e-07'"), (Found::Decimal, Some(1e-7), 7));
        assert_eq!(of("-42"), (Found::Whole, Some(-42.0), 0));
        for no_number in [".", "e5", "1e", "1e+", "1.2.3", "1e999", "'0123'", "'00e1'", "0x1F"] {
            assert_eq!(classify(no_number.as_bytes()).0, Found::Text, "{no_number}");
        }
    }

    #[test]
    fn moments_are_seconds_since_1970() {
        assert_eq!(moment(b"2000-03-01"), Some((951_868_800.0, true)));
        assert_eq!(moment(b"2000-03-01 00:00:01.5"), Some((951_868_801.0, false)));
        assert_eq!(moment(b"2000-13-01"), None);
    }
}
