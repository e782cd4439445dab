//! Columns of a result, and their values in binary rows, as text.
//!
//! Sources: MySQL protocol, "Protocol::ColumnDefinition41", "Binary Protocol Resultset Row",
//! "Binary Protocol Value".

use super::packet::{Fields, broken};
use dyno_core::error::Result;
use dyno_core::rows::Rows;
use std::io::Write;

/// Column flag: no sign.
const UNSIGNED: u16 = 0x20;
/// Most digits of a fraction of a second; a column of another kind has 31 for "unknown".
const FRACTION_MAX: u8 = 6;

/// How a column's values look on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    kind: u8,
    is_unsigned: bool,
    /// Digits of a second's fraction.
    decimals: u8,
}

impl Column {
    /// Reads a definition.
    pub fn parse(payload: &[u8]) -> Result<Self> {
        let mut fields = Fields(payload);
        let parsed = (|| {
            // Catalog, schema, table and its own name, column and its own name.
            for _ in 0..6 {
                fields.lenenc_bytes()??;
            }
            let mut rest = Fields(fields.lenenc_bytes()??);
            let (_collation, _length) = (rest.u16()?, rest.u32()?);
            let (kind, flags, decimals) = (rest.u8()?, rest.u16()?, rest.u8()?);
            Some(Self { kind, is_unsigned: flags & UNSIGNED != 0, decimals })
        })();
        parsed.ok_or_else(|| broken("a column definition cut short"))
    }

    /// Takes one value off a binary row and appends it as text.
    fn value(self, fields: &mut Fields<'_>, rows: &mut Rows) -> Option<()> {
        let mut digits = itoa::Buffer::new();
        let mut text = Vec::new();
        let value = match self.kind {
            0x01 => self.int(fields.bytes(1)?, &mut digits),
            0x02 | 0x0d => self.int(fields.bytes(2)?, &mut digits),
            0x03 | 0x09 => self.int(fields.bytes(4)?, &mut digits),
            0x08 => self.int(fields.bytes(8)?, &mut digits),
            0x04 => {
                let number = f32::from_le_bytes(fields.bytes(4)?.try_into().ok()?);
                write!(text, "{number}").ok()?;
                &text
            }
            0x05 => {
                let number = f64::from_le_bytes(fields.bytes(8)?.try_into().ok()?);
                write!(text, "{number}").ok()?;
                &text
            }
            0x07 | 0x0a | 0x0c => {
                self.put_date(sized(fields)?, &mut text)?;
                &text
            }
            0x0b => {
                self.put_time(sized(fields)?, &mut text)?;
                &text
            }
            _ => fields.lenenc_bytes()??,
        };
        rows.value(Some(value));
        Some(())
    }

    fn int<'a>(self, bytes: &[u8], digits: &'a mut itoa::Buffer) -> &'a [u8] {
        let is_negative = !self.is_unsigned && bytes.last().is_some_and(|last| last & 0x80 != 0);
        let mut word = [if is_negative { 0xff } else { 0 }; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        match self.is_unsigned {
            true => digits.format(u64::from_le_bytes(word)).as_bytes(),
            false => digits.format(i64::from_le_bytes(word)).as_bytes(),
        }
    }

    /// `2026-01-31`, and a time of day where the column has one.
    fn put_date(self, mut bytes: Fields<'_>, out: &mut Vec<u8>) -> Option<()> {
        let (mut year, mut month, mut day) = (0, 0, 0);
        if !bytes.0.is_empty() {
            (year, month, day) = (bytes.u16()?, bytes.u8()?, bytes.u8()?);
        }
        write!(out, "{year:04}-{month:02}-{day:02}").ok()?;
        if self.kind == 0x0a {
            return Some(());
        }
        let (mut hour, mut minute, mut second) = (0, 0, 0);
        if !bytes.0.is_empty() {
            (hour, minute, second) = (bytes.u8()?, bytes.u8()?, bytes.u8()?);
        }
        write!(out, " {hour:02}:{minute:02}:{second:02}").ok()?;
        self.put_fraction(bytes, out)
    }

    /// `-30:05:00`: a length of time.
    fn put_time(self, mut bytes: Fields<'_>, out: &mut Vec<u8>) -> Option<()> {
        let (mut days, mut hour, mut minute, mut second) = (0, 0, 0, 0);
        if !bytes.0.is_empty() {
            if bytes.u8()? != 0 {
                out.push(b'-');
            }
            (days, hour, minute, second) = (bytes.u32()?, bytes.u8()?, bytes.u8()?, bytes.u8()?);
        }
        let hours = u64::from(days) * 24 + u64::from(hour);
        write!(out, "{hours:02}:{minute:02}:{second:02}").ok()?;
        self.put_fraction(bytes, out)
    }

    fn put_fraction(self, mut bytes: Fields<'_>, out: &mut Vec<u8>) -> Option<()> {
        let micros = if bytes.0.is_empty() { 0 } else { bytes.u32()? };
        if (1..=FRACTION_MAX).contains(&self.decimals) {
            let digits = format!("{micros:06}");
            out.push(b'.');
            out.extend_from_slice(digits.get(..usize::from(self.decimals))?.as_bytes());
        }
        Some(())
    }
}

/// A value whose first byte is its length.
fn sized<'a>(fields: &mut Fields<'a>) -> Option<Fields<'a>> {
    let length = fields.u8()?;
    fields.bytes(usize::from(length)).map(Fields)
}

/// Appends a binary row.
pub fn binary_row(payload: &[u8], columns: &[Column], rows: &mut Rows) -> Result<()> {
    let mut fields = Fields(payload);
    rows.row();
    let parsed = (|| {
        let _head = fields.u8()?;
        let nulls = fields.bytes((columns.len() + 2).div_ceil(8))?;
        for (place, column) in columns.iter().enumerate() {
            let bit = place + 2;
            if nulls[bit / 8] >> (bit % 8) & 1 == 1 {
                rows.value(None);
            } else {
                column.value(&mut fields, rows)?;
            }
        }
        fields.0.is_empty().then_some(())
    })();
    parsed.ok_or_else(|| broken("a row that does not fit its columns"))
}

/// Appends a row of the text protocol.
pub fn text_row(payload: &[u8], columns: u64, rows: &mut Rows) -> Result<()> {
    let mut fields = Fields(payload);
    rows.row();
    for _ in 0..columns {
        let value = fields.lenenc_bytes().ok_or_else(|| broken("a row cut short"))?;
        rows.value(value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::packet::put_lenenc_bytes;
    use proptest::prelude::*;

    /// A definition as servers send it.
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

    fn read(kind: u8, flags: u16, decimals: u8, value: &[u8]) -> String {
        let column = Column::parse(&definition(kind, flags, decimals)).unwrap();
        let mut rows = Rows::default();
        binary_row(&[&[0, 0], value].concat(), &[column], &mut rows).unwrap();
        rows.first().unwrap().text(0).unwrap().to_owned()
    }

    #[test]
    fn binary_values_read_as_their_text() {
        assert_eq!(read(0x01, 0, 0, &[0xff]), "-1");
        assert_eq!(read(0x01, UNSIGNED, 0, &[0xff]), "255");
        assert_eq!(read(0x02, 0, 0, &(-300_i16).to_le_bytes()), "-300");
        assert_eq!(read(0x03, 0, 0, &3001_i32.to_le_bytes()), "3001");
        assert_eq!(read(0x08, UNSIGNED, 0, &u64::MAX.to_le_bytes()), u64::MAX.to_string());
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
        let mut rows = Rows::default();
        // The third column is NULL: bit 4.
        binary_row(b"\0\x10\x01\0\0\0\x02\0\0\0", &[column; 3], &mut rows).unwrap();
        assert_eq!(format!("{rows:?}"), r#"[[Some("1"), Some("2"), None]]"#);
        assert!(binary_row(b"\0\x10\x01\0\0\0", &[column; 3], &mut rows).is_err());
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
            let _ = binary_row(&bytes, &columns, &mut Rows::default());
            let _ = text_row(&bytes, 3, &mut Rows::default());
        }
    }
}
