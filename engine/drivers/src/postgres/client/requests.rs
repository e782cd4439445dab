//! Messages for prepared statements, named `s0`, `s1`, ... by their number.
//!
//! Values are sent as text, and the server infers their types from the context, as for `libpq`
//! without types: the same integer fits `integer`, `bigint` and `numeric` columns, and a date is a
//! text. Results are text because scripts read text, and binary was no cheaper for the server
//! (`statements.rs`). Each request ends in `Sync` and is sent in one write.

use super::super::messages;
use dyno_core::driver::client::Bind;
use std::io::Write;

/// Largest magnitude up to which a double represents every integer.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
/// Maximum number of values in a Bind.
const VALUES_MAX: usize = u16::MAX as usize;
/// Length field of a NULL.
const NULL: [u8; 4] = [0xff; 4];

/// The server-side name of a statement.
struct Name {
    bytes: [u8; 11],
    length: usize,
}

impl Name {
    fn of(statement: u32) -> Self {
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(statement).as_bytes();
        let mut bytes = [b's'; 11];
        bytes[1..=digits.len()].copy_from_slice(digits);
        Self { bytes, length: 1 + digits.len() }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Prepares `sql`, whose parameters are numbered, and requests its parameters and columns.
pub(super) fn prepare(statement: u32, sql: &[u8], out: &mut Vec<u8>) {
    let name = Name::of(statement);
    messages::parse(name.bytes(), sql, &[], out);
    messages::describe(name.bytes(), out);
    out.extend_from_slice(&messages::SYNC);
}

/// Executes a statement through the unnamed portal, without a row limit.
#[inline]
pub(super) fn execute(statement: u32, values: &[Bind<'_>], out: &mut Vec<u8>) {
    // One value too many makes the count wrong, which the server refuses.
    let values = &values[..values.len().min(VALUES_MAX)];
    messages::message(b'B', out, |out| {
        messages::string(b"", out);
        messages::string(Name::of(statement).bytes(), out);
        // No format codes: text.
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&(values.len() as u16).to_be_bytes());
        values.iter().for_each(|value| put(value, out));
        out.extend_from_slice(&[0, 0]);
    });
    messages::message(b'E', out, |out| out.extend_from_slice(&[0; 5]));
    out.extend_from_slice(&messages::SYNC);
}

/// Closes a statement.
pub(super) fn close(statement: u32, out: &mut Vec<u8>) {
    messages::close(Name::of(statement).bytes(), out);
    out.extend_from_slice(&messages::SYNC);
}

#[inline]
fn put(value: &Bind<'_>, out: &mut Vec<u8>) {
    match *value {
        Bind::Null => out.extend_from_slice(&NULL),
        Bind::Int(number) => sized(itoa::Buffer::new().format(number).as_bytes(), out),
        Bind::Double(number) => double(number, out),
        Bind::Text(bytes) => sized(bytes, out),
    }
}

#[inline]
fn sized(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    out.extend_from_slice(bytes);
}

/// Writes an integral number without a fraction, so that an integer column accepts it.
fn double(number: f64, out: &mut Vec<u8>) {
    if number.trunc() == number && number.abs() <= EXACT_MAX {
        sized(itoa::Buffer::new().format(number as i64).as_bytes(), out);
        return;
    }
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    // The fewest digits that parse to the same double; writing to memory cannot fail.
    let _ = write!(out, "{number:e}");
    let length = (out.len() - at - 4) as u32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(value: Bind<'_>) -> Option<String> {
        let mut out = Vec::new();
        put(&value, &mut out);
        let (length, text) = out.split_first_chunk::<4>().unwrap();
        if *length == NULL {
            return None;
        }
        assert_eq!(u32::from_be_bytes(*length) as usize, text.len());
        Some(String::from_utf8(text.to_vec()).unwrap())
    }

    #[test]
    fn values_are_text() {
        assert_eq!(text_of(Bind::Null), None);
        for (value, expected) in [
            (Bind::Int(i64::MIN), "-9223372036854775808"),
            (Bind::Double(5.0), "5"),
            (Bind::Double(-0.5), "-5e-1"),
            (Bind::Double(1e300), "1e300"),
            (Bind::Double(f64::NAN), "NaN"),
            (Bind::Double(f64::NEG_INFINITY), "-inf"),
            (Bind::Text(b""), ""),
            (Bind::Text(b"it's"), "it's"),
        ] {
            assert_eq!(text_of(value).as_deref(), Some(expected));
        }
        let third = text_of(Bind::Double(1.0 / 3.0)).unwrap();
        assert_eq!(third.parse::<f64>().unwrap(), 1.0 / 3.0);
    }

    #[test]
    fn an_execution_is_one_flight() {
        let mut out = Vec::new();
        execute(7, &[Bind::Int(12), Bind::Null], &mut out);
        let bind = b"B\0\0\0\x18\0s7\0\0\0\0\x02\0\0\0\x0212\xff\xff\xff\xff\0\0";
        assert_eq!(out, [&bind[..], b"E\0\0\0\x09\0\0\0\0\0", b"S\0\0\0\x04"].concat());
        assert_eq!(Name::of(u32::MAX).bytes(), b"s4294967295");
    }

    #[test]
    fn more_values_than_fit_are_not_a_shorter_list() {
        let mut out = Vec::new();
        execute(0, &vec![Bind::Null; 70_000], &mut out);
        assert_eq!(out[11..13], [0xff, 0xff]);
    }
}
