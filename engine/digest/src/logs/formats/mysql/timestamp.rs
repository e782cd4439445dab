//! The two forms of timestamps in MySQL's and MariaDB's logs, and decimal fractions.
//!
//! `2025-11-22T04:42:15.123456Z` (MySQL 5.7.2 and later; with `log_timestamps=SYSTEM` an offset instead of
//! the `Z`) and `251122  4:42:15` (before, and MariaDB; local time; Percona adds a fraction). Sources:
//! MySQL Reference Manual, "The Slow Query Log" and `log_timestamps`; logs of real servers.

const NS: i64 = 1_000_000_000;

/// A timestamp as written in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stamp {
    /// Nanoseconds since 1970 (UTC).
    Utc(i64),
    /// Nanoseconds since 1970 in the server's local time.
    Local(i64),
}

impl Stamp {
    /// Nanoseconds since 1970 (UTC), where local time is `offset_s` seconds ahead of UTC.
    pub(crate) fn utc(self, offset_s: i32) -> i64 {
        match self {
            Stamp::Utc(ns) => ns,
            Stamp::Local(ns) => ns - i64::from(offset_s) * NS,
        }
    }
}

/// The timestamp at the start of `text`, in either form, and its length in bytes.
pub(crate) fn stamp(text: &[u8]) -> Option<(Stamp, usize)> {
    if text.len() > 10 && text[4] == b'-' { iso(text) } else { short(text) }
}

/// `2025-11-22T04:42:15.123456Z` or `...+01:00`.
fn iso(text: &[u8]) -> Option<(Stamp, usize)> {
    let head: &[u8; 19] = text.first_chunk()?;
    let marks = [head[4], head[7], head[10], head[13], head[16]];
    if marks != *b"--T::" {
        return None;
    }
    let year = two(head, 0)? * 100 + two(head, 2)?;
    let seconds = seconds(
        [year, two(head, 5)?, two(head, 8)?],
        [two(head, 11)?, two(head, 14)?, two(head, 17)?],
    )?;
    let (fraction_ns, mut at) = fraction(text, 19);
    let offset_s = match text.get(at)? {
        b'Z' => 0,
        sign @ (b'+' | b'-') => {
            let tail: &[u8; 6] = text.get(at..)?.first_chunk()?;
            let offset = two(tail, 1)? * 3600 + two(tail, 4)? * 60;
            at += 5;
            if tail[3] != b':' {
                return None;
            }
            if *sign == b'-' { -offset } else { offset }
        }
        _ => return None,
    };
    // No log has years that nanoseconds in 64 bits cannot represent.
    let ns = (seconds - offset_s).checked_mul(NS)?.checked_add(fraction_ns)?;
    Some((Stamp::Utc(ns), at + 1))
}

/// `251122  4:42:15`, optionally with a fraction.
fn short(text: &[u8]) -> Option<(Stamp, usize)> {
    let head: &[u8; 15] = text.first_chunk()?;
    if [head[6], head[9], head[12]] != *b" ::" {
        return None;
    }
    let year = two(head, 0)?;
    let year = if year < 70 { 2000 + year } else { 1900 + year };
    let hour = if head[7] == b' ' { digit(head[8])? } else { two(head, 7)? };
    let seconds =
        seconds([year, two(head, 2)?, two(head, 4)?], [hour, two(head, 10)?, two(head, 13)?])?;
    let (fraction_ns, at) = fraction(text, 15);
    Some((Stamp::Local(seconds * NS + fraction_ns), at))
}

/// The fraction of a second that begins with a dot at `at`, if any: (nanoseconds, offset after it).
/// Ignores digits after the ninth.
pub(crate) fn fraction(text: &[u8], at: usize) -> (i64, usize) {
    if text.get(at) != Some(&b'.') {
        return (0, at);
    }
    let (mut ns, mut unit, mut end) = (0, NS, at + 1);
    while let Some(digit) = text.get(end).and_then(|&byte| digit(byte)) {
        unit /= 10;
        ns += digit * unit;
        end += 1;
    }
    (ns, end)
}

fn digit(byte: u8) -> Option<i64> {
    byte.is_ascii_digit().then(|| i64::from(byte - b'0'))
}

fn two(text: &[u8], at: usize) -> Option<i64> {
    Some(digit(text[at])? * 10 + digit(text[at + 1])?)
}

/// Seconds since 1970 of a date and a time of day.
fn seconds([year, month, day]: [i64; 3], [hour, minute, second]: [i64; 3]) -> Option<i64> {
    let valid = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    valid.then(|| days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Days since 1970 in the proleptic Gregorian calendar: years begin in March, so that leap days are
/// last (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: i64 = 1_763_786_535;

    #[test]
    fn iso_times_are_utc_whatever_their_offset() {
        let at = Stamp::Utc(AT * NS + 123_456_000);
        assert_eq!(stamp(b"2025-11-22T04:42:15.123456Z\n"), Some((at, 27)));
        assert_eq!(stamp(b"2025-11-22T05:42:15.123456+01:00 "), Some((at, 32)));
        assert_eq!(stamp(b"2025-11-21T23:12:15.123456-05:30"), Some((at, 32)));
        assert_eq!(stamp(b"1970-01-01T00:00:00Z"), Some((Stamp::Utc(0), 20)));
        assert_eq!(stamp(b"2024-02-29T00:00:00Z"), Some((Stamp::Utc(1_709_164_800 * NS), 20)));
    }

    #[test]
    fn short_times_are_local() {
        assert_eq!(stamp(b"251122  4:42:15"), Some((Stamp::Local(AT * NS), 15)));
        let (at, length) = stamp(b"251122 04:42:15.5\t").unwrap();
        assert_eq!((at.utc(3600), length), ((AT - 3600) * NS + 500_000_000, 17));
        assert_eq!(stamp(b"991231 23:59:59"), Some((Stamp::Local(946_684_799 * NS), 15)));
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            &b""[..],
            b"251122",
            b"251122  4:42:1x",
            b"251322  4:42:15",
            b"2025-11-22T04:42:15",
            b"2025-11-22 04:42:15Z",
            b"2025-11-22T24:42:15Z",
            b"2025-11-22T04:42:15+0",
            b"2025-11-22T04:42:15+01-00",
            // Nanoseconds in 64 bits cannot represent these.
            b"9999-12-31T23:59:59Z",
            b"0001-01-01T00:00:00Z",
        ] {
            assert_eq!(stamp(text), None, "{}", String::from_utf8_lossy(text));
        }
    }
}
