//! Parses and formats days and seconds in the proleptic Gregorian calendar without time zones:
//! `2024-02-29`, `2024-02-29 23:59:59`.
//!
//! Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms" (public domain), for the
//! arithmetic of eras of 400 years.

/// Seconds per day.
pub const DAY_S: i64 = 86_400;

/// Parses a date to days since 1970-01-01. `None` if it does not exist or its year is not 1 to 9999.
pub fn day(text: &str) -> Option<i64> {
    let mut parts = text.split('-');
    let (y, m, d) =
        (digits(parts.next()?, 4)?, digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    if parts.next().is_some() || y == 0 {
        return None;
    }
    let days = days_of(y, m, d);
    // A date that does not exist converts to a different one.
    (date_of(days) == (y, m, d)).then_some(days)
}

/// Parses a date, or a date and a time separated by a blank or `T`, to seconds since
/// 1970-01-01 00:00:00. `None` if it is invalid.
pub fn second(text: &str) -> Option<i64> {
    let Some((date, time)) = text.split_once([' ', 'T']) else {
        return day(text).map(|day| day * DAY_S);
    };
    let mut parts = time.split(':');
    let (h, m) = (digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    let s = parts.next().map_or(Some(0), |text| digits(text, 2))?;
    if parts.next().is_some() || h > 23 || m > 59 || s > 59 {
        return None;
    }
    Some(day(date)? * DAY_S + h * 3600 + m * 60 + s)
}

/// Appends a day, in days since 1970-01-01, as `YYYY-MM-DD`.
pub fn put_day(days: i64, out: &mut Vec<u8>) {
    let (y, m, d) = date_of(days);
    put(y, 4, out);
    out.push(b'-');
    put(m, 2, out);
    out.push(b'-');
    put(d, 2, out);
}

/// Appends a second, in seconds since 1970-01-01 00:00:00, as `YYYY-MM-DD HH:MM:SS`.
pub fn put_second(seconds: i64, out: &mut Vec<u8>) {
    put_day(seconds.div_euclid(DAY_S), out);
    let s = seconds.rem_euclid(DAY_S);
    for (separator, part) in [(b' ', s / 3600), (b':', s / 60 % 60), (b':', s % 60)] {
        out.push(separator);
        put(part, 2, out);
    }
}

fn digits(text: &str, count: usize) -> Option<i64> {
    let ascii = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    ascii.then(|| text.parse().ok()).flatten()
}

fn put(number: i64, digits: usize, out: &mut Vec<u8>) {
    let at = out.len();
    out.resize(at + digits, b'0');
    let mut rest = number;
    for place in out[at..].iter_mut().rev() {
        *place = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

/// Days since 1970-01-01. Internally years begin in March, so that the leap day is the last of its year.
fn days_of(y: i64, m: i64, d: i64) -> i64 {
    let y = if m <= 2 { y - 1 } else { y };
    let (era, year) = (y.div_euclid(400), y.rem_euclid(400));
    let day_of_year = (153 * ((m + 9) % 12) + 2) / 5 + d - 1;
    era * 146_097 + year * 365 + year / 4 - year / 100 + day_of_year - 719_468
}

fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let d = day_of_year - (153 * month + 2) / 5 + 1;
    let m = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(m <= 2), m, d)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(put: fn(i64, &mut Vec<u8>), number: i64) -> String {
        let mut out = vec![];
        put(number, &mut out);
        String::from_utf8(out).expect("digits")
    }

    #[test]
    fn known_days_and_seconds() {
        for (text, days) in [
            ("1970-01-01", 0),
            ("2000-02-29", 11_016),
            ("1900-03-01", -25_508),
            ("9999-12-31", 2_932_896),
            ("0001-01-01", -719_162),
        ] {
            assert_eq!(day(text), Some(days), "{text}");
            assert_eq!(shown(put_day, days), text);
        }
        assert_eq!(second("2001-09-09 01:46:40"), Some(1_000_000_000));
        assert_eq!(second("2001-09-09T01:46"), Some(999_999_960));
        assert_eq!(second("1970-01-02"), Some(86_400));
        assert_eq!(shown(put_second, -1), "1969-12-31 23:59:59");
    }

    #[test]
    fn days_that_do_not_exist() {
        for text in
            ["2023-02-29", "1900-02-29", "2023-13-01", "2023-00-01", "2023-04-31", "0000-01-01"]
        {
            assert_eq!(day(text), None, "{text}");
        }
        for text in ["", "2023", "2023-1-01", "2023-01-01-01", "+023-01-01", "2023-01-0a"] {
            assert_eq!(day(text), None, "{text}");
        }
        for text in ["2023-01-01 24:00:00", "2023-01-01 1:00", "2023-01-01 01:60", "x 01:00:00"] {
            assert_eq!(second(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn texts_read_back(seconds in -62_135_596_800i64..=253_402_300_799) {
            prop_assert_eq!(second(&shown(put_second, seconds)), Some(seconds));
            let days = seconds.div_euclid(DAY_S);
            prop_assert_eq!(day(&shown(put_day, days)), Some(days));
            prop_assert!(shown(put_day, days) < shown(put_day, days + 1) || days == 2_932_896);
        }
    }
}
