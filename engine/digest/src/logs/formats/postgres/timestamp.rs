//! Timestamps in PostgreSQL's logs: `2026-11-22 06:40:01.389 CET`, in the zone `log_timezone`, written
//! as an abbreviation or as an offset (`+03`, `+0530`).

/// Abbreviations of IANA's zones in which servers are run, and their offsets from UTC, minutes. Without
/// abbreviations of several common zones (`IST`: India, Israel, Ireland; `CST`: America, China), for
/// which users give the offset.
const ZONES: &[(&[u8], i32)] = &[
    (b"UTC", 0),
    (b"GMT", 0),
    (b"UCT", 0),
    (b"Z", 0),
    (b"WET", 0),
    (b"WEST", 60),
    (b"BST", 60),
    (b"CET", 60),
    (b"MET", 60),
    (b"CEST", 120),
    (b"MEST", 120),
    (b"EET", 120),
    (b"SAST", 120),
    (b"CAT", 120),
    (b"EEST", 180),
    (b"IDT", 180),
    (b"MSK", 180),
    (b"EAT", 180),
    (b"WAT", 60),
    (b"PKT", 300),
    (b"WIB", 420),
    (b"HKT", 480),
    (b"AWST", 480),
    (b"JST", 540),
    (b"KST", 540),
    (b"ACST", 570),
    (b"ACDT", 630),
    (b"AEST", 600),
    (b"AEDT", 660),
    (b"NZST", 720),
    (b"NZDT", 780),
    (b"NST", -210),
    (b"NDT", -150),
    (b"ADT", -180),
    (b"EDT", -240),
    (b"EST", -300),
    (b"CDT", -300),
    (b"MDT", -360),
    (b"MST", -420),
    (b"PDT", -420),
    (b"PST", -480),
    (b"AKDT", -480),
    (b"AKST", -540),
    (b"HST", -600),
];

/// Parses timestamps. Caches the last minute and zone, which are usually also those of the next
/// timestamp.
#[derive(Debug, Clone, Default)]
pub(super) struct Clock {
    minute: [u8; 16],
    minute_s: i64,
    zone: Vec<u8>,
    zone_s: Option<i64>,
    /// The user's offset from UTC for unknown zones, seconds.
    offset_s: Option<i64>,
}

/// A timestamp in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Timestamp {
    /// Nanoseconds since 1970 (UTC).
    At(i64),
    /// In an unknown zone.
    Elsewhere,
}

impl Clock {
    /// `utc_offset_s`: the user's offset of server-local time from UTC, seconds; 0 if not given.
    pub(super) fn new(utc_offset_s: i32) -> Self {
        let offset_s = (utc_offset_s != 0).then_some(i64::from(utc_offset_s));
        Self { offset_s, ..Self::default() }
    }

    /// Parses a timestamp with its zone at the start of `text`: (length in bytes, timestamp).
    #[inline]
    pub(super) fn read(&mut self, text: &[u8]) -> Option<(usize, Timestamp)> {
        let length = time_length(text)?;
        if text[..16] != self.minute {
            self.minute_s = minute(&text[..16])?;
            self.minute.copy_from_slice(&text[..16]);
        }
        let second = i64::from(text[17] - b'0') * 10 + i64::from(text[18] - b'0');
        let mut nanos = 0;
        if length > 19 {
            let digits = &text[20..length];
            nanos = digits.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
            nanos *= 10_i64.pow(9 - digits.len() as u32);
        }
        if text.get(length) != Some(&b' ') {
            return None;
        }
        let zone = &text[length + 1..];
        let is_zone: fn(&&u8) -> bool = match zone.first() {
            Some(b'+' | b'-') => |byte| byte.is_ascii_digit(),
            _ => |byte| byte.is_ascii_alphabetic(),
        };
        let sign = usize::from(matches!(zone.first(), Some(b'+' | b'-')));
        let zone = &zone[..sign + zone[sign..].iter().take_while(is_zone).count()];
        if zone.is_empty() {
            return None;
        }
        if zone != self.zone {
            self.zone_s = zone_s(zone);
            self.zone.clear();
            self.zone.extend_from_slice(zone);
        }
        let used = length + 1 + zone.len();
        Some(match self.zone_s.or(self.offset_s) {
            Some(zone_s) => {
                let seconds = self.minute_s + second - zone_s;
                // No log has years that nanoseconds in 64 bits cannot represent.
                (used, Timestamp::At(seconds.checked_mul(1_000_000_000)?.checked_add(nanos)?))
            }
            None => (used, Timestamp::Elsewhere),
        })
    }
}

/// Length of `2026-11-22 06:40:01` or `2026-11-22 06:40:01.389` at the start of `text`.
#[inline]
fn time_length(text: &[u8]) -> Option<usize> {
    const SHAPE: &[u8; 19] = b"0000-00-00 00:00:00";
    let head = text.get(..19)?;
    let is_time = head
        .iter()
        .zip(SHAPE)
        .all(|(byte, shape)| if *shape == b'0' { byte.is_ascii_digit() } else { byte == shape });
    if !is_time {
        return None;
    }
    if text.get(19) != Some(&b'.') {
        return Some(19);
    }
    let digits = text[20..].iter().take(9).take_while(|byte| byte.is_ascii_digit()).count();
    (digits > 0).then_some(20 + digits)
}

/// Whether `text` begins with a timestamp and a zone.
pub(super) fn begins_with_time(text: &[u8]) -> bool {
    Clock::default().read(text).is_some()
}

/// Seconds since 1970 of `2026-11-22 06:40`.
fn minute(text: &[u8]) -> Option<i64> {
    let number = |from: usize, to: usize| {
        text[from..to].iter().fold(0_i64, |sum, digit| sum * 10 + i64::from(digit - b'0'))
    };
    let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
    let (hour, minute) = (number(11, 13), number(14, 16));
    let is_date = year >= 1970 && (1..=12).contains(&month) && (1..=31).contains(&day);
    (is_date && hour < 24 && minute < 60)
        .then(|| days(year, month, day) * 86_400 + hour * 3600 + minute * 60)
}

/// Days since 1970 of a date of the Gregorian calendar, with years that begin in March.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719_468
}

/// Offset of a zone from UTC, seconds.
fn zone_s(zone: &[u8]) -> Option<i64> {
    if let Some((_, minutes)) = ZONES.iter().find(|(name, _)| *name == zone) {
        return Some(i64::from(*minutes) * 60);
    }
    let sign = match zone.first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits = &zone[1..];
    if !matches!(digits.len(), 2 | 4) {
        return None;
    }
    let two = |at: usize| i64::from(digits[at] - b'0') * 10 + i64::from(digits[at + 1] - b'0');
    let minutes = if digits.len() == 4 { two(2) } else { 0 };
    Some(sign * (two(0) * 3600 + minutes * 60))
}

/// Parses RFC 3339 (`2020-05-20T20:10:08.731+00:00`), as MongoDB writes it: nanoseconds since 1970 (UTC).
pub(in crate::logs::formats) fn rfc3339(text: &[u8]) -> Option<i64> {
    let mut local: Vec<u8> = text.to_vec();
    *local.get_mut(10).filter(|byte| **byte == b'T')? = b' ';
    let length = time_length(&local)?;
    // PostgreSQL's offsets have no colon.
    let zone: Vec<u8> = local.drain(length..).filter(|byte| *byte != b':').collect();
    local.push(b' ');
    local.extend(zone);
    match Clock::default().read(&local)? {
        (used, Timestamp::At(ns)) if used == local.len() => Some(ns),
        _ => None,
    }
}

/// Parses RFC 3164's `Nov  2 06:40:01` in local time that is `offset_s` ahead of UTC: nanoseconds since 1970
/// (UTC). The year is the last in which it is at most a day after `now_s` (clocks differ).
pub(super) fn without_year(text: &[u8], now_s: i64, offset_s: i32) -> Option<i64> {
    const MONTHS: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    let text: &[u8; 15] = text.try_into().ok()?;
    let month = MONTHS.chunks(3).position(|month| *month == text[..3])? as i64 + 1;
    let marks = [text[3], text[6], text[9], text[12]];
    let two = |at: usize| match (text[at], text[at + 1]) {
        (b' ', one @ b'0'..=b'9') => Some(i64::from(one - b'0')),
        (ten @ b'0'..=b'9', one @ b'0'..=b'9') => Some(i64::from((ten - b'0') * 10 + one - b'0')),
        _ => None,
    };
    let (day, hour, minute, second) = (two(4)?, two(7)?, two(10)?, two(13)?);
    if marks != *b"  ::" || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let time = hour * 3600 + minute * 60 + second - i64::from(offset_s);
    // One year more than by the mean length of years, which is at most a day off.
    let this_year = 1970 + now_s / 31_556_952 + 1;
    let at = |year| days(year, month, day) * 86_400 + time;
    let latest = now_s.saturating_add(86_400);
    let seconds = (0..3).map(|ago| at(this_year - ago)).find(|seconds| *seconds <= latest)?;
    seconds.checked_mul(1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(usize, Timestamp)> {
        Clock::new(0).read(text.as_bytes())
    }

    #[test]
    fn zones_are_names_or_offsets() {
        let at = |s: i64, ms: i64| Timestamp::At(s * 1_000_000_000 + ms * 1_000_000);
        assert_eq!(read("2026-11-22 06:40:01.389 CET [1]"), Some((27, at(1_795_326_001, 389))));
        assert_eq!(read("2026-11-22 05:40:01 UTC:"), Some((23, at(1_795_326_001, 0))));
        assert_eq!(read("2026-11-22 11:10:01 +0530"), Some((25, at(1_795_326_001, 0))));
        assert_eq!(read("2026-11-22 08:40:01 +03:1.2.3.4"), Some((23, at(1_795_326_001, 0))));
        assert_eq!(read("2026-11-22 02:40:01 -03 x"), Some((23, at(1_795_326_001, 0))));
        assert_eq!(read("1970-01-01 00:00:00 UTC-7-"), Some((23, at(0, 0))));
        assert_eq!(read("2024-02-29 00:00:00 GMT"), Some((23, at(1_709_164_800, 0))));
    }

    #[test]
    fn zones_of_several_meanings_ask_the_user() {
        assert_eq!(read("2026-11-22 06:40:01 CST"), Some((23, Timestamp::Elsewhere)));
        let mut told = Clock::new(8 * 3600);
        let (_, moment) = told.read(b"1970-01-01 08:00:01 CST").expect("a time");
        assert_eq!(moment, Timestamp::At(1_000_000_000));
        // A zone in the log takes precedence.
        let (_, moment) = told.read(b"1970-01-01 01:00:01 CET").expect("a time");
        assert_eq!(moment, Timestamp::At(1_000_000_000));
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "2026",
            "2026-13-22 06:40:01 UTC",
            "2026-11-22T06:40:01 UTC",
            "2026-11-22 06:40:01",
            "2026-11-22 06:40:01. UTC",
            "2026-11-22 06:40:01 ",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn rfc_3339_has_a_t_and_an_offset() {
        assert_eq!(rfc3339(b"1970-01-01T02:00:00.001+02:00"), Some(1_000_000));
        assert_eq!(rfc3339(b"1970-01-01T00:00:00.001Z"), Some(1_000_000));
        assert_eq!(rfc3339(b"1970-01-01T00:00"), None);
    }

    #[test]
    fn times_without_a_year_are_of_the_last_one_that_is_over() {
        // 2026-11-22 05:40:01 UTC
        let now = 1_795_326_001;
        let read = |text: &str, now, offset| {
            without_year(text.as_bytes(), now, offset).map(|ns| ns / 1_000_000_000)
        };
        assert_eq!(read("Nov 22 05:40:01", now, 0), Some(now));
        assert_eq!(read("Nov 22 06:40:01", now, 3600), Some(now));
        assert_eq!(read("Nov 23 04:40:01", now, 0), Some(now + 82_800), "a clock that is ahead");
        assert_eq!(read("Nov 24 05:40:01", now, 0), Some(now - 363 * 86_400));
        assert_eq!(read("Jan  1 00:00:00", now, 0), Some(1_767_225_600));
        // Around the turn of a year.
        for (now, text, expected) in [
            (1_767_225_600, "Dec 31 23:59:59", 1_767_225_599),
            (1_767_225_601, "Jan  1 00:00:01", 1_767_225_601),
            (1_767_225_599, "Jan  1 00:00:01", 1_767_225_601),
        ] {
            assert_eq!(read(text, now, 0), Some(expected));
        }
        for text in [
            "",
            "Nov 22",
            "Nox 22 05:40:01",
            "Nov 32 05:40:01",
            "Nov 22 25:40:01",
            "Nov 2x 05:40:01",
        ] {
            assert_eq!(read(text, now, 0), None);
        }
        assert_eq!(read("Nov 22 05:40:01", i64::MAX / 2, 0), None);
    }
}
