//! Parses timestamps and UTC offsets as people type them.

/// Parses Unix seconds (with a fraction) or an RFC 3339 time (`T` may be a space) to nanoseconds
/// since 1970, UTC. A time without an offset is UTC; a date alone is its midnight.
pub fn parse(text: &str) -> Option<i64> {
    if let Ok(seconds) = text.parse::<f64>() {
        // Whole seconds keep full precision.
        let ns = match text.parse::<i64>() {
            Ok(whole) => return whole.checked_mul(1_000_000_000),
            Err(_) => seconds * 1e9,
        };
        return (ns.is_finite() && ns.abs() < 9e18).then_some(ns as i64);
    }
    let date = text.get(..10)?;
    let mut parts = date.split('-').map(digits);
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if parts.next().is_some() || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let days = days_from_1970(year, month, day);
    let rest = &text[10..];
    if rest.is_empty() {
        return (days * 86_400).checked_mul(1_000_000_000);
    }
    let time = rest.strip_prefix(['T', 't', ' '])?;
    let zone = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
    let (time, zone) = time.split_at(zone);
    let offset_s = match zone {
        "" | "Z" | "z" => 0,
        zone => offset_s(zone)?,
    };
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut parts = time.split(':').map(digits);
    let (hour, minute) = (parts.next()??, parts.next()??);
    let second = parts.next().unwrap_or(Some(0))?;
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 60 || fraction.len() > 9 {
        return None;
    }
    let fraction_ns = digits(&format!("{fraction:0<9}"))?;
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - i64::from(offset_s);
    seconds.checked_mul(1_000_000_000)?.checked_add(fraction_ns)
}

/// Parses `+02:00`, `-0330`, `+2` or seconds to seconds; at most a day.
pub fn offset_s(text: &str) -> Option<i32> {
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => (1, text),
    };
    let seconds = match rest.split_once(':') {
        Some((hours, minutes)) => digits(hours)? * 3600 + digits(minutes)? * 60,
        None if rest.len() <= 2 => digits(rest)? * 3600,
        None if rest.len() == 4 && rest.len() < text.len() => {
            digits(&rest[..2])? * 3600 + digits(&rest[2..])? * 60
        }
        None => digits(rest)?,
    };
    (seconds <= 86_400).then_some(sign * seconds as i32)
}

fn digits(text: &str) -> Option<i64> {
    (!text.is_empty() && text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())?
}

/// Days since 1970-01-01 in the Gregorian calendar (Hinnant, "chrono-compatible low-level date
/// algorithms": years begin in March, eras have 400 years).
pub(crate) fn days_from_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_unix_seconds_or_rfc_3339() {
        let s = 1_000_000_000;
        assert_eq!(parse("0"), Some(0));
        assert_eq!(parse("1700000000"), Some(1_700_000_000 * s));
        assert_eq!(parse("1.5"), Some(s * 3 / 2));
        assert_eq!(parse("2023-11-14T22:13:20Z"), Some(1_700_000_000 * s));
        assert_eq!(parse("2023-11-15 00:13:20.25+02:00"), Some(1_700_000_000 * s + s / 4));
        assert_eq!(parse("2000-02-29"), Some(951_782_400 * s));
        assert_eq!(parse("1969-12-31T23:59:59Z"), Some(-s));
        for wrong in ["", "x", "2023-13-01", "2023-11-14T25:00Z", "é2023-11-1", "1e30", "inf"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn offsets_are_hours_and_minutes_or_seconds() {
        assert_eq!(offset_s("+02:00"), Some(7200));
        assert_eq!(offset_s("-0330"), Some(-12_600));
        assert_eq!(offset_s("7200"), Some(7200));
        assert_eq!(offset_s("+5"), Some(18_000));
        assert_eq!(offset_s("x"), None);
        assert_eq!(offset_s(""), None);
    }
}
