//! Column definitions, decoded rows, and binary values as the text that the server itself would
//! print.
//!
//! Sources: MySQL protocol, "Protocol::ColumnDefinition41", "Text Resultset Row", "Binary Protocol
//! Resultset Row", "Binary Protocol Value"; MySQL reference manual, "Floating-Point Types", "Fractional Seconds in Time Values".

use super::flags::{column_flag, field_type};
use super::packet::broken;
use crate::bytes::Bytes;
use dyno_core::error::{Error, Result};
use std::io::Write;

/// `decimals` of a floating-point column without declared decimals.
const DECIMALS_NONE: u8 = 31;

/// Significant digits of a FLOAT.
const FLOAT_DIGITS: usize = 6;

/// Maximum number of digits before the point, or of zeros after it, without an exponent.
const PLAIN_DIGITS_MAX: i32 = 15;

/// The parts of a column definition that determine how values are encoded and printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    kind: u8,
    flags: u16,
    /// Display width, characters.
    length: u32,
    decimals: u8,
}

impl Column {
    /// Parses a definition's payload.
    pub fn parse(payload: &[u8]) -> Result<Self> {
        Self::read(Bytes(payload)).ok_or_else(|| broken("a column definition cut short"))
    }

    fn read(mut fields: Bytes<'_>) -> Option<Self> {
        // Catalogue, schema, table and column; the last two with alias and original name.
        for _ in 0..6 {
            fields.lenenc_string()?;
        }
        let mut fixed = Bytes(fields.lenenc_string()?);
        let _collation = fixed.u16()?;
        let length = fixed.u32()?;
        let kind = fixed.byte()?;
        let flags = fixed.u16()?;
        Some(Self { kind, flags, length, decimals: fixed.byte()? })
    }

    fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

/// Passes the fields of a binary row to `put` as text. `scratch`: buffer for the conversion.
pub fn binary_row(
    payload: &[u8],
    columns: &[Column],
    scratch: &mut Vec<u8>,
    put: &mut dyn FnMut(Option<&[u8]>),
) -> Result<()> {
    let mut fields = Bytes(payload);
    let head = fields.byte().zip(fields.take((columns.len() + 2).div_ceil(8)));
    let Some((0, nulls)) = head else { return Err(misfit()) };
    for (index, column) in columns.iter().enumerate() {
        // The first two bits of the bitmap are unused in rows.
        let bit = index + 2;
        if nulls[bit / 8] & (1 << (bit % 8)) != 0 {
            put(None);
            continue;
        }
        scratch.clear();
        match value(column, &mut fields, scratch).ok_or_else(misfit)? {
            Some(bytes) => put(Some(bytes)),
            None => put(Some(scratch)),
        }
    }
    if fields.0.is_empty() { Ok(()) } else { Err(misfit()) }
}

/// Passes the fields of a text row to `put`.
pub fn text_row(payload: &[u8], columns: u64, put: &mut dyn FnMut(Option<&[u8]>)) -> Result<()> {
    let mut fields = Bytes(payload);
    for _ in 0..columns {
        put(fields.nullable().ok_or_else(misfit)?);
    }
    if fields.0.is_empty() { Ok(()) } else { Err(misfit()) }
}

fn misfit() -> Error {
    broken("a row that does not fit its columns")
}

/// Reads one value: raw bytes, or (`Some(None)`) text written to `out`.
fn value<'a>(
    column: &Column,
    fields: &mut Bytes<'a>,
    out: &mut Vec<u8>,
) -> Option<Option<&'a [u8]>> {
    match column.kind {
        field_type::TINY => {
            let byte = fields.byte()?;
            integer(column, i64::from(byte as i8), u64::from(byte), out);
        }
        field_type::SHORT => {
            let word = fields.u16()?;
            integer(column, i64::from(word as i16), u64::from(word), out);
        }
        field_type::LONG | field_type::INT24 => {
            let word = fields.u32()?;
            integer(column, i64::from(word as i32), u64::from(word), out);
        }
        field_type::LONGLONG => {
            let word = fields.u64()?;
            integer(column, word as i64, word, out);
        }
        field_type::YEAR => write_to(out, format_args!("{:04}", fields.u16()?)),
        field_type::FLOAT => {
            let number = f64::from(f32::from_bits(fields.u32()?));
            float(column, number, Some(FLOAT_DIGITS), out);
        }
        field_type::DOUBLE => float(column, f64::from_bits(fields.u64()?), None, out),
        field_type::DATE => date_time(column, fields, false, out)?,
        field_type::DATETIME | field_type::TIMESTAMP => date_time(column, fields, true, out)?,
        field_type::TIME => time(column, fields, out)?,
        field_type::NULL => return None,
        _ => return Some(Some(fields.lenenc_string()?)),
    }
    if column.has(column_flag::ZEROFILL) {
        let zeros = (column.length as usize).min(255).saturating_sub(out.len());
        out.splice(0..0, std::iter::repeat_n(b'0', zeros));
    }
    Some(None)
}

fn write_to(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to a vector cannot fail.
    let _ = out.write_fmt(text);
}

fn integer(column: &Column, signed: i64, unsigned: u64, out: &mut Vec<u8>) {
    let mut buffer = itoa::Buffer::new();
    out.extend_from_slice(match column.has(column_flag::UNSIGNED) {
        true => buffer.format(unsigned).as_bytes(),
        false => buffer.format(signed).as_bytes(),
    });
}

/// `digits`: maximum number of significant digits; none: the shortest distinct form.
fn float(column: &Column, number: f64, digits: Option<usize>, out: &mut Vec<u8>) {
    if column.decimals < DECIMALS_NONE {
        return put_fixed(number, usize::from(column.decimals), out);
    }
    let mut scientific = [0; 40];
    let mut rest = &mut scientific[..];
    let written = match digits {
        Some(digits) => write!(rest, "{number:.*e}", digits - 1),
        None => write!(rest, "{number:.*e}", shortest(number) - 1),
    };
    let left = rest.len();
    let text = &scientific[..scientific.len() - left];
    // Infinities cannot be stored; printed unchanged if a server sends one.
    let parts = text.iter().position(|byte| *byte == b'e').filter(|_| written.is_ok());
    let Some(at) = parts else { return out.extend_from_slice(text) };
    let exponent = std::str::from_utf8(&text[at + 1..]).ok().and_then(|text| text.parse().ok());
    let negative = text[0] == b'-';
    let mut mantissa = [0; 40];
    let digits = text[usize::from(negative)..at].iter().filter(|byte| **byte != b'.');
    let count = digits.zip(&mut mantissa).map(|(digit, place)| *place = *digit).count();
    let significant = mantissa[..count].iter().rposition(|digit| *digit != b'0');
    if negative {
        out.push(b'-');
    }
    put_digits(&mantissa[..significant.map_or(1, |last| last + 1)], exponent.unwrap_or(0), out);
}

/// Number of digits that distinguish a number from its neighbours. Of two such texts the nearer one
/// is printed, at equal distance the even one.
fn shortest(number: f64) -> usize {
    let mut text = [0; 40];
    let mut rest = &mut text[..];
    let written = write!(rest, "{number:e}");
    debug_assert!(written.is_ok());
    let mantissa = text.iter().take_while(|byte| **byte != b'e');
    mantissa.filter(|byte| byte.is_ascii_digit()).count().max(1)
}

/// Writes `decimals` decimals, padded with zeros after the shortest distinct form.
fn put_fixed(number: f64, decimals: usize, out: &mut Vec<u8>) {
    write_to(out, format_args!("{number}"));
    let point = out.iter().position(|byte| *byte == b'.');
    let fraction = point.map_or(0, |at| out.len() - at - 1);
    if fraction > decimals {
        out.clear();
        return write_to(out, format_args!("{number:.decimals$}"));
    }
    if point.is_none() && decimals > 0 {
        out.push(b'.');
    }
    out.extend(std::iter::repeat_n(b'0', decimals - fraction));
}

/// Writes `d.ddd * 10^exponent`.
fn put_digits(digits: &[u8], exponent: i32, out: &mut Vec<u8>) {
    let zeros = |out: &mut Vec<u8>, count: usize| out.extend(std::iter::repeat_n(b'0', count));
    if !(-PLAIN_DIGITS_MAX..PLAIN_DIGITS_MAX).contains(&exponent) {
        out.push(digits[0]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        return write_to(out, format_args!("e{exponent}"));
    }
    if exponent < 0 {
        out.extend_from_slice(b"0.");
        zeros(out, (-exponent - 1) as usize);
        return out.extend_from_slice(digits);
    }
    let whole = exponent as usize + 1;
    if digits.len() <= whole {
        out.extend_from_slice(digits);
        return zeros(out, whole - digits.len());
    }
    out.extend_from_slice(&digits[..whole]);
    out.push(b'.');
    out.extend_from_slice(&digits[whole..]);
}

/// Trailing zero parts are not sent.
fn date_time(
    column: &Column,
    fields: &mut Bytes<'_>,
    with_time: bool,
    out: &mut Vec<u8>,
) -> Option<()> {
    let length = usize::from(fields.byte()?);
    let mut parts = Bytes(fields.take(length)?);
    let (mut year, mut month, mut day) = (0, 0, 0);
    if length > 0 {
        (year, month, day) = (parts.u16()?, parts.byte()?, parts.byte()?);
    }
    write_to(out, format_args!("{year:04}-{month:02}-{day:02}"));
    if with_time {
        let (hour, minute, second, micros) = clock(&mut parts)?;
        write_to(out, format_args!(" {hour:02}:{minute:02}:{second:02}"));
        put_fraction(column, micros, out);
    }
    Some(())
}

fn time(column: &Column, fields: &mut Bytes<'_>, out: &mut Vec<u8>) -> Option<()> {
    let length = usize::from(fields.byte()?);
    let mut parts = Bytes(fields.take(length)?);
    let (mut negative, mut days) = (0, 0);
    if length > 0 {
        (negative, days) = (parts.byte()?, parts.u32()?);
    }
    let (hour, minute, second, micros) = clock(&mut parts)?;
    let sign = if negative != 0 { "-" } else { "" };
    let hours = u64::from(days) * 24 + u64::from(hour);
    write_to(out, format_args!("{sign}{hours:02}:{minute:02}:{second:02}"));
    put_fraction(column, micros, out);
    Some(())
}

/// Hour, minute, second and microseconds; parts that were not sent are 0.
fn clock(parts: &mut Bytes<'_>) -> Option<(u8, u8, u8, u32)> {
    if parts.0.is_empty() {
        return Some((0, 0, 0, 0));
    }
    let (hour, minute, second) = (parts.byte()?, parts.byte()?, parts.byte()?);
    let micros = if parts.0.is_empty() { 0 } else { parts.u32()? };
    Some((hour, minute, second, micros))
}

/// Prints the column's number of decimals; if that exceeds the maximum of 6, as many as needed.
fn put_fraction(column: &Column, micros: u32, out: &mut Vec<u8>) {
    let digits = match column.decimals {
        digits @ 0..=6 => usize::from(digits),
        _ if micros == 0 => 0,
        _ => 6,
    };
    if digits > 0 {
        write_to(out, format_args!(".{micros:06}"));
        out.truncate(out.len() - (6 - digits));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::packet::put_lenenc_bytes;
    use proptest::prelude::*;

    /// A definition in the servers' format.
    fn definition(kind: u8, flags: u16, decimals: u8) -> Vec<u8> {
        let mut out = vec![];
        for name in ["def", "dyno", "t", "t", "c", "c"] {
            put_lenenc_bytes(&mut out, name.as_bytes());
        }
        out.extend_from_slice(&[0x0c, 45, 0, 0xff, 0, 0, 0, kind]);
        out.extend_from_slice(&flags.to_le_bytes());
        out.extend_from_slice(&[decimals, 0, 0]);
        out
    }

    /// The fields of a binary row.
    fn fields(row: &[u8], columns: &[Column]) -> Result<Vec<Option<String>>> {
        let mut fields = vec![];
        let mut put = |field: Option<&[u8]>| {
            fields.push(field.map(|text| String::from_utf8_lossy(text).into_owned()));
        };
        binary_row(row, columns, &mut vec![], &mut put)?;
        Ok(fields)
    }

    fn read(kind: u8, flags: u16, decimals: u8, value: &[u8]) -> String {
        let column = Column::parse(&definition(kind, flags, decimals)).unwrap();
        fields(&[&[0, 0], value].concat(), &[column]).unwrap().remove(0).unwrap()
    }

    #[test]
    fn binary_values_read_as_their_text() {
        assert_eq!(read(0x01, 0, 0, &[0xff]), "-1");
        assert_eq!(read(0x01, column_flag::UNSIGNED, 0, &[0xff]), "255");
        assert_eq!(read(0x02, 0, 0, &(-300_i16).to_le_bytes()), "-300");
        assert_eq!(read(0x03, 0, 0, &3001_i32.to_le_bytes()), "3001");
        assert_eq!(
            read(0x08, column_flag::UNSIGNED, 0, &u64::MAX.to_le_bytes()),
            u64::MAX.to_string()
        );
        assert_eq!(read(0x05, 0, 31, &2.5_f64.to_le_bytes()), "2.5");
        assert_eq!(read(0xf6, 0, 2, b"\x05-1.05"), "-1.05");
        assert_eq!(read(0x0c, 0, 0, b"\x04\xea\x07\x01\x1f"), "2026-01-31 00:00:00");
        assert_eq!(
            read(0x0c, 0, 3, b"\x0b\xea\x07\x01\x1f\x01\x02\x03\x40\xe2\x01\0"),
            "2026-01-31 01:02:03.123"
        );
        assert_eq!(read(0x0a, 0, 0, b"\0"), "0000-00-00");
        assert_eq!(read(0x0b, 0, 0, b"\x08\x01\x01\0\0\0\x06\x05\0"), "-30:05:00");
    }

    #[test]
    fn nulls_have_no_bytes() {
        let column = Column::parse(&definition(0x03, 0, 0)).unwrap();
        // The third column is NULL: bit 4.
        let row = b"\0\x10\x01\0\0\0\x02\0\0\0";
        assert_eq!(fields(row, &[column; 3]).unwrap(), [Some("1".into()), Some("2".into()), None]);
        assert!(fields(&row[..6], &[column; 3]).is_err());
        assert!(fields(&[&row[..], b"x"].concat(), &[column; 3]).is_err());
    }

    #[test]
    fn numbers_look_as_the_server_prints_them() {
        let double = |number: f64| read(field_type::DOUBLE, 0, 31, &number.to_le_bytes());
        for (number, text) in [
            (0.0, "0"),
            (-0.5, "-0.5"),
            (1e14, "100000000000000"),
            (1e15, "1e15"),
            (123_456_789_012_345_680.0, "1.2345678901234568e17"),
            (1e-15, "0.000000000000001"),
            (1e-16, "1e-16"),
            (1.5e300, "1.5e300"),
            (0.1 + 0.2, "0.30000000000000004"),
        ] {
            assert_eq!(double(number), text);
        }
        let float = |number: f32| read(field_type::FLOAT, 0, 31, &number.to_le_bytes());
        assert_eq!(float(16_777_216.0), "16777200");
        assert_eq!(float(0.1), "0.1");
        let fixed =
            |number: f64, decimals| read(field_type::DOUBLE, 0, decimals, &number.to_le_bytes());
        assert_eq!(fixed(1.005, 2), "1.00");
        assert_eq!(fixed(-3.0, 3), "-3.000");
        assert_eq!(fixed(7.0, 0), "7");
        assert_eq!(read(field_type::SHORT, column_flag::ZEROFILL, 0, &[42, 0]).len(), 255);
    }

    proptest! {
        #[test]
        fn rubbish_is_refused_without_a_panic(
            bytes: Vec<u8>, kinds in prop::collection::vec(any::<(u8, u16, u8)>(), 0..20),
        ) {
            let _ = Column::parse(&bytes);
            let columns = kinds.iter().map(|&(kind, flags, decimals)| {
                Column::parse(&definition(kind, flags, decimals)).unwrap()
            });
            let columns: Vec<Column> = columns.collect();
            let _ = fields(&bytes, &columns);
            let _ = text_row(&bytes, 3, &mut |_| {});
        }
    }
}
